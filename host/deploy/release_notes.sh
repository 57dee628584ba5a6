#!/bin/sh
# Prints the section of CHANGELOG.md about a version. Fails if the source has another version, or the changelog no such section.
#
#   host/deploy/release_notes.sh VERSION
set -eu
[ $# = 1 ] || { echo "usage: host/deploy/release_notes.sh VERSION" >&2; exit 2; }
cd "$(dirname "$0")/../.."

version=$(sed -n '/^\[workspace\.package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
if [ "$version" != "$1" ]; then
    echo "release_notes.sh: the tag says $1, and Cargo.toml says $version: change one of them" >&2
    exit 1
fi
notes=$(awk -v head="## $1" '/^## / { inside = ($0 == head || index($0, head " ") == 1); next } inside' host/CHANGELOG.md)
if [ -z "$notes" ]; then
    echo "release_notes.sh: host/CHANGELOG.md has no section '## $1': rename the section of unreleased changes" >&2
    exit 1
fi
printf '%s\n' "$notes"
