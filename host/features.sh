#!/usr/bin/env bash
# Checks that each crate has the same features in the binary and in the tests. Otherwise `make test` builds the crate twice, and
# everything that depends on it. A part of `make lint`.
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints each crate with its features, if these dependencies are built.
features() {
  cargo tree --quiet --workspace --edges "$1" --prefix none --format '{p} [{f}]' | sed 's/ (\*)$//' | sort -u
}

of_binary=$(features normal,build)
of_tests=$(features normal,build,dev)
# Crates that only tests need are built once.
different=$(awk -F ' \\[' 'NR == FNR { known[$1]; same[$0]; next } $1 in known && !($0 in same)' <(echo "$of_binary") <(echo "$of_tests"))
[ -z "$different" ] || {
  echo "$different"
  echo "features.sh: only the tests turn a feature of these crates on. List it in [workspace.dependencies], so that the binary has the same build." >&2
  exit 1
}
