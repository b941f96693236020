#!/usr/bin/env bash
# Lists the Debian packages that are missing for a purpose, then installs them if that needs no password.
#
#   scripts/system_packages.sh measuring         for C++ snippets and instruction counts
#   scripts/system_packages.sh tests             for the tests of the PostgreSQL store and of the page
#   scripts/system_packages.sh python PROGRAM    for `PROGRAM -m venv`; the exit code is 1 without it
#
# With SYSTEM_PACKAGES=no nothing is installed. opbench works without these packages: measurements that
# need them are reported as unsupported, tests that need them are skipped.
set -euo pipefail

say() { printf 'setup: %s\n' "$*" >&2; }

has() { command -v "$1" >/dev/null; }

# "PACKAGES|what they are for", a line for each missing one.
missing_for() {
    case "$1" in
    measuring)
        has g++ || echo "g++|C++ snippets"
        has valgrind || echo "valgrind|instruction counts"
        ;;
    tests)
        # The tests start their own server; a server of the system is neither used nor changed.
        ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || has initdb ||
            echo "postgresql|tests of the PostgreSQL store"
        has chromedriver || echo "chromium chromium-driver|tests of the page in a browser"
        ;;
    python)
        "$2" -c 'import ensurepip, venv' 2>/dev/null ||
            "$2" -c 'import sys; print("python%d.%d-venv|creating .venv" % sys.version_info[:2])'
        ;;
    *)
        say "unknown purpose '$1'; choose from: measuring, tests, python PROGRAM"
        return 2
        ;;
    esac
}

sudo=()

# Why packages cannot be installed here; nothing if they can.
obstacle() {
    if [ "${SYSTEM_PACKAGES:-yes}" = no ]; then
        echo "SYSTEM_PACKAGES=no"
    elif ! has apt-get; then
        echo "there is no apt-get"
    elif [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; then
        echo "it needs root, or sudo without a password"
    fi
}

updated=no

apt_install() {
    # Without a network, fail in seconds, not minutes.
    local timeouts=(-o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15 -o Acquire::Retries=1)
    local install=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get "${timeouts[@]}" install -y -qq --no-install-recommends "$@")
    "${install[@]}" >/dev/null 2>&1 && return
    [ "$updated" = no ] || return 1
    updated=yes
    "${sudo[@]}" apt-get "${timeouts[@]}" update -qq >/dev/null 2>&1 || true
    "${install[@]}" >/dev/null 2>&1
}

rows=$(missing_for "$@")
[ -n "$rows" ] || exit 0

say "missing system packages:"
all=()
while IFS='|' read -r packages purpose; do
    say "$(printf '  %-26s %s' "$packages" "$purpose")"
    read -ra words <<<"$packages"
    all+=("${words[@]}")
done <<<"$rows"

why=$(obstacle)
left=()
if [ -n "$why" ]; then
    left=("${all[@]}")
else
    [ "$(id -u)" -eq 0 ] || sudo=(sudo -n)
    say "installing them with apt-get (SYSTEM_PACKAGES=no does without)"
    # One by one: not every system has all of them.
    while IFS='|' read -r packages _; do
        read -ra words <<<"$packages"
        apt_install "${words[@]}" </dev/null || left+=("${words[@]}")
    done <<<"$rows"
    why="apt-get failed"
fi
[ ${#left[@]} -gt 0 ] || exit 0
say "not installed (${why}): ${left[*]}; to install: sudo apt-get install ${left[*]}"
if [ "$1" = python ]; then exit 1; fi
say "continuing without: what needs them is skipped"
