#!/bin/sh
# Programs of the system that a target cannot do without: tools/deps.sh TARGET NEED… makes sure of them, and exits with 3
# where one is missing. As root on a machine with apt it installs what is missing, after a line that says what; with
# DEPS=no, and elsewhere, it only says so.
#   tools/deps.sh --optional NEED…    the same for what something can do without (`make deps`): what is missing is said
#   tools/deps.sh --python            prints a Python of at least 3.11 that can make virtual environments
set -eu

say() { echo "deps: $*" >&2; }

has() { command -v "$1" >/dev/null 2>&1; }

find_python() {
    for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if has "$name" && "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

# Debian's packages for what is missing of a need.
missing() {
    case $1 in
        build)
            has cc || echo gcc libc6-dev
            find_python >/dev/null || echo python3 python3-venv
            ;;
        bpf) sh "$(dirname "$0")/find_features.sh" --missing ;;
        browser) has chromium || has chromium-browser || has google-chrome || has chrome || echo chromium ;;
        kernel)
            for tool in bc bison ccache flex gcc:gcc,libc6-dev make perl xz:xz-utils; do
                has "${tool%:*}" || echo "${tool#*:}" | tr ',' ' '
            done
            ;;
        valgrind) has valgrind || echo valgrind ;;
        web)
            has node || echo nodejs
            has npm || echo npm
            ;;
        wheels)
            for tool in autoreconf:autoconf aclocal:automake autopoint:autopoint flex bison gawk make pkg-config msgfmt:gettext; do
                has "${tool%:*}" || echo "${tool#*:}"
            done
            ;;
        *) say "no such need: $1" && exit 2 ;;
    esac
}

# On one line.
of_all() {
    # shellcheck disable=SC2046
    echo $(for need in "$@"; do missing "$need"; done)
}

if [ "$1" = --python ]; then
    find_python
    exit
fi
[ "$1" != --optional ] && target=$1 || target=deps optional=yes
shift
packages=$(of_all "$@")
if [ -n "$packages" ] && [ "${DEPS:-yes}" != no ] && [ "$(id -u)" = 0 ] && has apt-get; then
    say "installing for \`make $target\`: $packages (DEPS=no installs nothing)"
    # shellcheck disable=SC2086
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $packages; } >&2 || true
    packages=$(of_all "$@")
fi
if [ -n "$packages" ]; then
    say "missing for \`make $target\`: $packages (Debian's names; Python 3.11, Node 18 or later)"
    [ -n "${optional:-}" ] || exit 3
fi
