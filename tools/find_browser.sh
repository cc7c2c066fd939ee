#!/bin/sh
# Makes sure of a Chromium, in which the tests open the pages. Without one they skip and say so.
set -eu

found() {
    for name in chromium chromium-browser google-chrome chrome; do
        command -v "$name" >/dev/null 2>&1 && return 0
    done
    return 1
}

found || sh "$(dirname "$0")/install.sh" chromium
found || echo "setup: no Chromium, so tests that look at pages will skip" >&2
