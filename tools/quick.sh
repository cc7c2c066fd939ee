#!/bin/sh
# The fast tier: formats, lint of what changed, unit tests, one example on each engine. `make quick` builds first.
set -eu
cd "$(dirname "$0")/.."
BIN=.venv/bin

say() { echo "quick: $*"; }

# What differs from the last commit; if nothing does, what that commit changed.
changed=$({ git diff --name-only --diff-filter=d HEAD; git ls-files --others --exclude-standard; } | sort -u)
[ -n "$changed" ] || changed=$(git diff --name-only --diff-filter=d HEAD~1 HEAD)
crates=$(echo "$changed" | sed -n 's,^crates/\([^/]*\)/.*,-p \1,p' | sort -u | tr '\n' ' ')
python=$(echo "$changed" | grep '\.py$' || true)

say "formats and lint (${crates:-no crate, }$(echo "$python" | grep -c . || true) Python files)"
cargo fmt --all --check
$BIN/ruff check --quiet
$BIN/ruff format --check --quiet
# shellcheck disable=SC2086
[ -z "$crates" ] || cargo clippy --locked --quiet $crates -- -D warnings

say "unit tests"
cargo test --workspace --locked --quiet --lib
$BIN/python -m pytest --quiet --numprocesses auto -m "not real_time and not slow" tests python

say "an example on each engine"
$BIN/varicap run examples/fixed.toml --seeds 1 --set duration="'20 s'" --json >/dev/null
$BIN/varicap run examples/fixed.toml --engine model --json >/dev/null
status=0
$BIN/varicap run examples/fixed.toml --engine kernel --seeds 1 --set duration="'5 s'" --set warmup="'1 s'" --json >/dev/null || status=$?
case $status in
    0) ;;
    3) say "this machine lacks what the kernel engine needs (varicap doctor says what): not run" ;;
    *) exit "$status" ;;
esac
say "all well"
