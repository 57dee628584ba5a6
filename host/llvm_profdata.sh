#!/usr/bin/env bash
# Prints the path of the `llvm-profdata` that reads the profiles of this compiler, and installs it
# if it is missing: with rustup, else from Debian's package of the same major version of LLVM.
set -euo pipefail

triple=$(rustc -vV | sed -n 's/^host: //p')
llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
candidates=("$(rustc --print sysroot)/lib/rustlib/$triple/bin/llvm-profdata" "/usr/lib/llvm-$llvm/bin/llvm-profdata")

print_installed() {
  for candidate in "${candidates[@]}"; do
    if [ -x "$candidate" ]; then
      echo "$candidate"
      exit
    fi
  done
}

print_installed
command -v rustup >/dev/null && rustup component add llvm-tools >&2 || true
print_installed
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq && apt-get install -y -qq --no-install-recommends "llvm-$llvm" >&2
fi
print_installed
echo "llvm-profdata of LLVM $llvm is missing: install it with \`rustup component add llvm-tools\`, then run this command again." >&2
exit 1
