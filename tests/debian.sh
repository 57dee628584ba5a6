#!/bin/sh
# Unpacks programs of Debian's packages into a folder. Nothing is installed, and no service of them starts.
#
#   tests/debian.sh FOLDER PACKAGE...
#
# A program is at FOLDER/usr/bin/NAME afterwards, and its libraries are below FOLDER/usr/lib. Without Debian's tools or a network the
# script says so, makes no folder and succeeds: tests that need a program fail by name, and all others run.
set -eu

[ $# -gt 1 ] || { echo "usage: tests/debian.sh FOLDER PACKAGE..." >&2; exit 2; }
folder=$1
shift

rm -rf "$folder.new" "$folder"
mkdir -p "$folder.new/packages"
folder=$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")
new=$folder.new

# A second apt-get waits for the first one.
get() { flock /etc/apt apt-get "$@" >/dev/null 2>&1; }
download() { (cd "$new/packages" && get download -qq "$@"); }

if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
    echo "debian.sh: this machine has no apt-get, so the tests that need $* fail: install these programs" >&2
elif download "$@" || { [ "$(id -u)" = 0 ] && get update -qq && download "$@"; }; then
    for package in "$new"/packages/*.deb; do dpkg -x "$package" "$new"; done
    rm -rf "$new/packages"
    mv "$new" "$folder"
else
    echo "debian.sh: $* cannot be downloaded, so the tests that need them fail. As root, try: apt-get update" >&2
fi
rm -rf "$new"
