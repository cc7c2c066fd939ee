#!/bin/sh
# install.sh PACKAGE...: installs Debian packages, as root on a machine with apt; elsewhere it does nothing. Whoever calls
# it looks afterwards whether what was needed is there.
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || exit 0
echo "setup: installing $*" >&2
{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@"; } >&2 || true
