#!/usr/bin/env bash
# Creates .venv with everything opbench needs, at the versions of constraints.txt.
#
# Run by the Makefile. Nothing is done when nothing changed since the last time. System packages
# (g++, valgrind, postgresql, chromium) are installed where that needs no password; without them opbench works
# and only says which measurements it cannot make, and the tests which of them they skip.
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
    say "needs Python 3.10 or newer, and ${PYTHON:-python3} is not. Name one: make setup PYTHON=…"
    return 1
}

# What decides the content of .venv. The folder is part of it: scripts in .venv name it.
state() { { pwd; cat pyproject.toml constraints.txt scripts/setup.sh; } | sha256sum; }

# Installs Debian packages if that needs no password; fails quietly otherwise.
apt_install() {
    local become=()
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || return 1
        become=(sudo -n)
    fi
    say "installing system packages: $*"
    # A machine without a network should learn so in seconds, not minutes.
    local patience=(-o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15 -o Acquire::Retries=1)
    local install=("${become[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get "${patience[@]}" install -y -qq --no-install-recommends "$@")
    "${install[@]}" >/dev/null 2>&1 && return
    "${become[@]}" apt-get "${patience[@]}" update -qq >/dev/null 2>&1 || true
    "${install[@]}" >/dev/null 2>&1
}

system_packages() {
    local missing=()
    command -v g++ >/dev/null || missing+=(g++)
    command -v valgrind >/dev/null || missing+=(valgrind)
    # The tests start a server of their own; nothing of the system's is used or changed.
    ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null ||
        missing+=(postgresql)
    [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}" ||
        say "without ${missing[*]} some measurements and tests are left out: sudo apt-get install ${missing[*]}"
    # The tests look at the page in a real browser. On its own: not every system has it as a package.
    command -v chromedriver >/dev/null || apt_install chromium chromium-driver ||
        say "without chromium and chromium-driver the tests of the page are skipped"
}

make_venv() {
    local python version
    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        version=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        if ! apt_install "$version"; then
            say "$python cannot create environments: sudo apt-get install $version, then make again"
            return 1
        fi
    fi
    say "creating .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
}

if [ -x .venv/bin/opbench ] && [ "$(cat "$STAMP" 2>/dev/null)" = "$(state)" ] &&
    .venv/bin/python -c '' 2>/dev/null; then
    exit 0
fi

system_packages
.venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || make_venv
# torch first and alone: what is installed after it then finds it satisfied.
say "installing torch (the largest download)"
.venv/bin/python -m pip install --quiet torch==2.13.0 -c constraints.txt
say "installing opbench and its tools"
.venv/bin/python -m pip install --quiet -e '.[torch,opacus,onnx,jax,fleet,dev]' -c constraints.txt
state >"$STAMP"
say "done: .venv/bin/opbench"
