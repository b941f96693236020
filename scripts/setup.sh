#!/usr/bin/env bash
# Creates .venv with everything opbench needs, at the versions in constraints.txt.
#
# Run by the Makefile; does nothing if nothing has changed since the last time. What it would add to
# the system is listed first, and left out where it may not (scripts/system_packages.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

STAMP=.venv/opbench-setup
export PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf 'setup: %s\n' "$*" >&2; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    say "Python 3.10 or newer is needed, and ${PYTHON:-python3} is older or missing; choose one: make setup PYTHON=…"
    return 1
}

# Everything that .venv depends on, including the folder, whose path is in its scripts.
state() { { pwd; cat pyproject.toml constraints.txt scripts/setup.sh; } | sha256sum; }

make_venv() {
    local python
    python=$(find_python)
    scripts/system_packages.sh python "$python"
    say "creating .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
}

if [ -x .venv/bin/opbench ] && [ "$(cat "$STAMP" 2>/dev/null)" = "$(state)" ] &&
    .venv/bin/python -c '' 2>/dev/null; then
    exit 0
fi

scripts/system_packages.sh measuring
.venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || make_venv
# torch first and alone, so that the packages after it find it installed.
say "installing torch (the largest download)"
.venv/bin/python -m pip install --quiet torch==2.13.0 -c constraints.txt
say "installing opbench and its tools"
.venv/bin/python -m pip install --quiet -e '.[torch,opacus,onnx,jax,fleet,dev]' -c constraints.txt
state >"$STAMP"
say "done: .venv/bin/opbench"
