#!/bin/sh
# Prints the features with which the extension module can be built here: `bpf` (RATCP inside the kernel) on Linux with
# libelf, zlib, pkg-config and make. As root on a machine with apt it installs what is missing; otherwise it says so, and
# everything else is built all the same.
set -eu

say() { echo "setup: $*" >&2; }

[ "$(uname)" = Linux ] || exit 0
[ "${BPF:-yes}" != no ] || exit 0

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

links() {
    printf '#include <libelf.h>\n#include <zlib.h>\nint main(void) { return elf_version(EV_CURRENT) + !zlibVersion(); }\n' > "$directory/try.c"
    cc "$directory/try.c" -lelf -lz -o "$directory/try" 2>/dev/null
}

missing() {
    links || echo libelf-dev zlib1g-dev
    command -v pkg-config >/dev/null 2>&1 || echo pkg-config
    command -v make >/dev/null 2>&1 || echo make
}

packages=$(missing | tr '\n' ' ')
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086
    sh "$(dirname "$0")/install.sh" $packages
    packages=$(missing | tr '\n' ' ')
fi
if [ -n "$packages" ]; then
    say "building without RATCP in the kernel, for which this is missing: $packages(Debian's names)"
    exit 0
fi
echo bpf
