#!/bin/sh
# Signs the archives of a release, and their digests, with minisign: FILE.minisig next to each FILE.
#
#   host/deploy/sign.sh SECRET_KEY FOLDER
#
# MINISIGN names the program.
set -eu
[ $# = 2 ] || { echo "usage: host/deploy/sign.sh SECRET_KEY FOLDER" >&2; exit 2; }

found=no
for file in "$2"/connector-gateway-*.tar.gz "$2"/connector-gateway-*.sha256; do
    [ -f "$file" ] || continue
    found=yes
    "${MINISIGN:-minisign}" -S -s "$1" -m "$file" -t "$(basename "$file")" </dev/null
done
[ $found = yes ] || { echo "sign.sh: $2 has no archive: run make dist first" >&2; exit 1; }
