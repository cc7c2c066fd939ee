#!/bin/sh
# Prints the features with which the extension module can be built here: `bpf` (RATCP inside the kernel) on Linux with
# libelf, zlib, pkg-config and make. Without them everything else is built all the same; `make deps` brings them.
#   tools/find_features.sh --missing    prints Debian's packages for what is missing
set -eu

if [ "$(uname)" != Linux ] || [ "${BPF:-yes}" = no ]; then exit 0; fi

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

links() {
    printf '#include <libelf.h>\n#include <zlib.h>\nint main(void) { return elf_version(EV_CURRENT) + !zlibVersion(); }\n' > "$directory/try.c"
    cc "$directory/try.c" -lelf -lz -o "$directory/try" 2>/dev/null
}

packages=$({
    links || echo libelf-dev zlib1g-dev
    command -v pkg-config >/dev/null 2>&1 || echo pkg-config
    command -v make >/dev/null 2>&1 || echo make
} | tr '\n' ' ')
if [ "${1:-}" = --missing ]; then
    printf %s "$packages"
elif [ -n "$packages" ]; then
    echo "setup: building without RATCP in the kernel, for which \`make deps\` installs: $packages" >&2
else
    echo bpf
fi
