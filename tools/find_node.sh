#!/bin/sh
# Makes sure of Node and npm, which build the page for browsers. As root on a machine with apt it installs what is missing;
# otherwise it names it and stops.
set -eu

missing() {
    command -v node >/dev/null 2>&1 || echo nodejs
    command -v npm >/dev/null 2>&1 || echo npm
}

packages=$(missing | tr '\n' ' ')
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086
    sh "$(dirname "$0")/install.sh" $packages
    packages=$(missing | tr '\n' ' ')
fi
if [ -n "$packages" ]; then
    echo "web: missing: $packages(Debian's names; Node 18 or later)" >&2
    exit 3
fi
