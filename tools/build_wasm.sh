#!/bin/sh
# Builds the simulator as a WebAssembly module: tools/build_wasm.sh FILE. Or only makes sure of the libraries of Rust for
# browsers, with --tools in place of the file: exits with 3 where they cannot be had.
set -eu
cd "$(dirname "$0")/.."
OUT=$1
TARGET=wasm32-unknown-unknown
BUILT=${CARGO_TARGET_DIR:-target}/wasm

has_target() {
    [ -d "$(rustc --print sysroot 2>/dev/null)/lib/rustlib/$TARGET/lib" ]
}

if ! has_target && [ "${DEPS:-yes}" != no ] && command -v rustup >/dev/null 2>&1; then
    echo "web: rustup target add $TARGET (DEPS=no adds nothing)" >&2
    rustup --quiet target add $TARGET >&2 || true
fi
if ! has_target; then
    echo "web: missing: the libraries of Rust for WebAssembly: rustup target add $TARGET" >&2
    exit 3
fi
[ "$OUT" != --tools ] || exit 0
cargo build --locked --quiet --profile web --package varicap-web --target $TARGET --target-dir "$BUILT"
mkdir -p "$(dirname "$OUT")"
cp "$BUILT/$TARGET/web/varicap_web.wasm" "$OUT"
