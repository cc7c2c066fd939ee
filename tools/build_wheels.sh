#!/bin/sh
# Builds wheels for Linux, and the source distribution, into dist. Zig's C compiler and linker make them run on systems
# older than this one, and on other processors. What libelf needs to be built is installed as root on a machine with apt.
#   tools/build_wheels.sh BIN PROFILE [TARGET…]     BIN: the folder that has maturin
set -eu
cd "$(dirname "$0")/.."
BIN=$(cd "$1" && pwd) PROFILE=$2
shift 2
[ $# -gt 0 ] || set -- x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl

say() { echo "wheels: $*" >&2; }

missing() {
    for tool in autoreconf:autoconf aclocal:automake autopoint:autopoint flex:flex bison:bison gawk:gawk make:make \
        pkg-config:pkg-config msgfmt:gettext; do
        command -v "${tool%:*}" >/dev/null 2>&1 || echo "${tool#*:}"
    done
}

packages=$(missing | tr '\n' ' ')
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086
    sh tools/install.sh $packages
    packages=$(missing | tr '\n' ' ')
fi
if [ -n "$packages" ]; then
    say "missing: $packages(Debian's names)"
    exit 3
fi

# Maturin calls Zig as a module of the Python that it finds first.
PATH=$BIN:$PATH
export PATH
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
        *-musl) compatibility=musllinux_1_2 features= ;;
    esac
    say "$target"
    # shellcheck disable=SC2086
    maturin build --profile "$PROFILE" --locked --strip --zig --target "$target" --compatibility $compatibility \
        ${features:+--features $features} --out dist
done
ls -l dist
