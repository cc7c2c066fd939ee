#!/bin/sh
# Builds wheels for Linux, and the source distribution, into dist. Zig's C compiler and linker make them run on systems
# older than this one, and on other processors. Each carries THIRD_PARTY.md, what its extension module links.
#   tools/build_wheels.sh BIN PROFILE [TARGET…]     BIN: the folder that has maturin
set -eu
cd "$(dirname "$0")/.."
BIN=$(cd "$1" && pwd) PROFILE=$2
shift 2
[ $# -gt 0 ] || set -- x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl

say() { echo "wheels: $*" >&2; }

sh tools/deps.sh wheels wheels

# Maturin calls Zig as a module of the Python that it finds first.
PATH=$BIN:$PATH
export PATH
"$BIN/python" tools/licences.py
rm -rf dist
maturin sdist --out dist
for target in "$@"; do
    if ! rustc --print target-libdir --target "$target" | xargs test -d; then
        say "no wheel for $target: rustup target add $target"
        continue
    fi
    features="varicap-py/vendored"
    case $target in
        *-gnu) compatibility=manylinux2014 ;;
        # elfutils cannot be built with musl, which lacks argp and fts; everything but RATCP in the kernel is there.
        *-musl) compatibility=musllinux_1_2 features=varicap-py/quic ;;
    esac
    say "$target"
    # shellcheck disable=SC2086
    maturin build --profile "$PROFILE" --locked --strip --zig --target "$target" --compatibility $compatibility \
        ${features:+--features $features} --out dist
done
ls -l dist
