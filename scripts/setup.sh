#!/usr/bin/env bash
# Creates .venv with everything opbench needs, at the versions in constraints.txt.
#
# Run by the Makefile; does nothing if nothing has changed since the last time. System packages (g++,
# valgrind, postgresql, chromium) are installed if that needs no password. opbench works without them:
# it reports the measurements that need them as unsupported, and the tests that need them are skipped.
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

# Installs Debian packages if that needs no password; otherwise fails without a message.
apt_install() {
    local sudo=()
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || return 1
        sudo=(sudo -n)
    fi
    say "installing system packages: $*"
    # Without a network, fail in seconds, not minutes.
    local timeouts=(-o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15 -o Acquire::Retries=1)
    local install=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get "${timeouts[@]}" install -y -qq --no-install-recommends "$@")
    "${install[@]}" >/dev/null 2>&1 && return
    "${sudo[@]}" apt-get "${timeouts[@]}" update -qq >/dev/null 2>&1 || true
    "${install[@]}" >/dev/null 2>&1
}

system_packages() {
    local missing=()
    command -v g++ >/dev/null || missing+=(g++)
    command -v valgrind >/dev/null || missing+=(valgrind)
    # The tests start their own server; a server of the system is neither used nor changed.
    ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null ||
        missing+=(postgresql)
    [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}" ||
        say "not installed: ${missing[*]}; some measurements and tests are skipped (sudo apt-get install ${missing[*]})"
    # The tests open the page in a real browser. Separate, because not every system has these packages.
    command -v chromedriver >/dev/null || apt_install chromium chromium-driver ||
        say "not installed: chromium, chromium-driver; the tests of the page are skipped"
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
# torch first and alone, so that the packages after it find it installed.
say "installing torch (the largest download)"
.venv/bin/python -m pip install --quiet torch==2.13.0 -c constraints.txt
say "installing opbench and its tools"
.venv/bin/python -m pip install --quiet -e '.[torch,opacus,onnx,jax,fleet,dev]' -c constraints.txt
state >"$STAMP"
say "done: .venv/bin/opbench"
