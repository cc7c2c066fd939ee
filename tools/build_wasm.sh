#!/bin/sh
# Builds the simulator as a WebAssembly module: tools/build_wasm.sh FILE. Or only makes sure of the compiler, with --tools in
# place of the file: exits with 3 where it cannot be had.
#
# Where rustc has the libraries of wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown), it builds. Elsewhere,
# on a machine with apt, Debian's compiler for browsers is unpacked into .cache/wasm, with the sources of its standard
# library, which is built along: a standard library must come from the very compiler that uses it. Nothing is installed.
set -eu
cd "$(dirname "$0")/.."
OUT=$1
TARGET=wasm32-unknown-unknown
BUILT=${CARGO_TARGET_DIR:-target}/wasm
CACHE=$(pwd)/.cache/wasm
PACKAGES="rustc-web rust-web-src libstd-rust-web-dev"

say() { echo "web: $*" >&2; }

has_target() {
    [ -d "$(rustc --print sysroot 2>/dev/null)/lib/rustlib/$TARGET/lib" ]
}

# These packages and what they need that is not installed; it asks, and installs nothing.
needed() {
    { printf '%s\n' "$@"; apt-get install --simulate --no-install-recommends "$@" 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p'; } | sort -u
}

# Whether this machine knows of a package.
known() {
    apt-cache show "$1" >/dev/null 2>&1
}

# Unpacks packages into the cache.
unpack() {
    mkdir -p "$CACHE/packages"
    # shellcheck disable=SC2046
    (cd "$CACHE/packages" && apt-get download -qq $(needed "$@") 2>&1 | grep -v unsandboxed >&2 || true)
    for package in "$CACHE/packages"/*.deb; do
        [ -e "$package" ] || return 1
        dpkg-deb --extract "$package" "$CACHE/root" && rm "$package"
    done
}

# Where the libraries of the unpacked compiler are: the folder is named after the machine.
libraries() {
    find "$CACHE/root/usr/lib" -maxdepth 1 -name '*-linux-gnu*'
}

# Debian's compiler, in the cache; fails where it cannot be had.
fetch() {
    command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || return 1
    known rust-web-src || { [ "$(id -u)" = 0 ] && apt-get update -qq >&2 && known rust-web-src; } || return 1
    say "unpacking Debian's compiler for browsers into .cache/wasm (about 150 MB, once)"
    rm -rf "$CACHE"
    # shellcheck disable=SC2086
    unpack $PACKAGES || return 1
    # A linker that reads what this compiler writes: of the same LLVM.
    llvm=$(LD_LIBRARY_PATH=$(libraries) "$CACHE/root/usr/bin/rustc" -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
    unpack "lld-$llvm" || return 1
    # Of the sources only the standard library is needed.
    find "$CACHE"/root/usr/src/rustc-*/ -mindepth 1 -maxdepth 1 ! -name library ! -name Cargo.lock -exec rm -rf {} +
    touch "$CACHE/ready"
}

build() {
    cargo build --locked --quiet --profile web --package varicap-web --target $TARGET --target-dir "$BUILT" "$@"
}

if ! has_target && ! [ -e "$CACHE/ready" ] && ! fetch; then
    say "missing: the libraries of Rust for WebAssembly. Either of these brings them:"
    say "  rustup target add $TARGET"
    say "  Debian's packages $PACKAGES and lld (as root, or after apt-get update)"
    exit 3
fi
[ "$OUT" != --tools ] || exit 0
if has_target; then
    build
else
    LIBRARIES=$(libraries)
    LINKER=$(find "$CACHE/root/usr/bin" -name 'wasm-ld-*' | head -n 1)
    export LD_LIBRARY_PATH="$LIBRARIES" RUSTC="$CACHE/root/usr/bin/rustc" RUSTC_BOOTSTRAP=1
    export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$LINKER"
    build -Z build-std=std,panic_abort
fi
mkdir -p "$(dirname "$OUT")"
cp "$BUILT/$TARGET/web/varicap_web.wasm" "$OUT"
