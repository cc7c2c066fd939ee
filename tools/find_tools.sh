#!/bin/sh
# Prints a Python of at least 3.11 that can make virtual environments, after making sure of Rust and a C linker.
# As root on a machine with apt it installs what is missing; otherwise it names it and stops.
set -eu

say() { echo "setup: $*" >&2; }

usable_python() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if command -v "$name" >/dev/null 2>&1 && usable_python "$name"; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

missing() {
    command -v cc >/dev/null 2>&1 || echo gcc libc6-dev
    find_python >/dev/null || echo python3 python3-venv
}

packages=$(missing | tr '\n' ' ')
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086
    sh "$(dirname "$0")/install.sh" $packages
    packages=$(missing | tr '\n' ' ')
fi
if [ -n "$packages" ]; then
    say "missing: $packages(Python must be 3.11 or later, with the venv module; cc is a C compiler)"
    exit 3
fi
if ! command -v cargo >/dev/null 2>&1; then
    say "missing: Rust 1.90 or later (cargo); distributions call it rustup or cargo"
    exit 3
fi
find_python
