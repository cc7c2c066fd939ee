#!/bin/sh
# Makes sure of a valgrind, which counts instructions. Without one nothing is counted, and `make instructions` says so.
set -eu

command -v valgrind >/dev/null 2>&1 || sh "$(dirname "$0")/install.sh" valgrind
