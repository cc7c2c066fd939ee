#!/bin/sh
# Builds the congestion control that runs inside the kernel, and notes from which source, so that a test can tell whether
# the object that is shipped is up to date. Needs clang; as root on a machine with apt it installs what is missing.
set -eu
cd "$(dirname "$0")/../crates/varicap-testbed/bpf"

say() { echo "bpf: $*" >&2; }

# The first of the programs that exists.
first() {
    for name in "$@"; do
        command -v "$name" && return 0
    done
    return 1
}

find_clang() { first ${CLANG:-clang clang-19 clang-18 clang-17 clang-16}; }
find_strip() { first ${LLVM_STRIP:-llvm-strip llvm-strip-19 llvm-strip-18 llvm-strip-17 llvm-strip-16}; }

if ! { find_clang && find_strip; } >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing clang and llvm"
        { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends clang llvm; } >&2
    else
        say "missing: clang and llvm-strip (Debian: clang llvm)"
        exit 3
    fi
fi
"$(find_clang)" -O2 -g -Wall -Wextra -Werror -target bpf -mcpu=v3 -c ratcp.bpf.c -o ratcp.bpf.o
"$(find_strip)" -g ratcp.bpf.o
cat kernel.h ratcp.bpf.c | sha256sum | cut -d' ' -f1 > ratcp.bpf.sha256
