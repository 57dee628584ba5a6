#!/bin/sh
# Builds the connectors to core WebAssembly modules: every package in connectors/* but the SDK, and packages named by -p.
#
#   connectors/build.sh [-p PACKAGE]... [--only]      --only: just the packages named by -p
#
# The modules lie in target/wasm/wasm32-unknown-unknown/connector/<package>.wasm; `connector-gateway connectors pack` makes
# components of them. The ordinary toolchain builds them if it has the target or can get it, else Debian's packages do:
# rustc-web, cargo-web, rust-web-src and lld-19, which build the standard library from its sources.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
target=wasm32-unknown-unknown
export CARGO_TARGET_DIR="$root/target/wasm"

# A small stack is enough for connectors and costs fewer pages; it lies first, so that an overflow traps and overwrites nothing.
# The directories of this machine are no part of a module. Flags are separated by 0x1f, so that a directory may hold blanks, and
# are for the target alone: what runs while building is built without them.
separator=$(printf '\037')
flags="-Clink-arg=-zstack-size=65536${separator}-Clink-arg=--stack-first"
flags="$flags${separator}--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo${separator}--remap-path-prefix=$root=gateway"
export CARGO_ENCODED_RUSTFLAGS="$flags"

all=yes
packages=
while [ $# -gt 0 ]; do
    case $1 in
        -p) [ $# -ge 2 ] || { echo "build.sh: -p needs the name of a package" >&2; exit 2; }
            packages="$packages -p $2"; shift 2 ;;
        --only) all=no; shift ;;
        *) echo "usage: connectors/build.sh [-p PACKAGE]... [--only]" >&2; exit 2 ;;
    esac
done
if [ $all = yes ]; then
    for manifest in connectors/*/Cargo.toml; do
        package=$(basename "$(dirname "$manifest")")
        [ "$package" = sdk ] || packages="$packages -p $package"
    done
fi

has_target() {
    libraries=$(rustc --print target-libdir --target "$target" 2>/dev/null) && ls "$libraries"/libcore-*.rlib >/dev/null 2>&1
}

# Names of packages hold no blanks, so $packages may be split.
# shellcheck disable=SC2086
build_ordinary() {
    cargo build --profile connector --target "$target" $packages
}

# shellcheck disable=SC2086
build_debian() {
    # A toolchain manager puts its own rustc before this one by these variables.
    env -u RUSTUP_TOOLCHAIN RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc \
        CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19 \
        /usr/bin/cargo build --profile connector --target "$target" -Z build-std=std,panic_abort $packages
}

has_debian() {
    [ -x /usr/bin/cargo ] && [ -x /usr/bin/rustc ] && command -v wasm-ld-19 >/dev/null 2>&1 &&
        [ -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library/std" ]
}

install_debian() {
    command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ] || return 1
    echo "build.sh: installing Debian's packages for WebAssembly" >&2
    { apt-get update && apt-get install -y --no-install-recommends rustc-web cargo-web rust-web-src lld-19; } >/dev/null 2>&1
}

add_target() {
    command -v rustup >/dev/null 2>&1 && timeout 60 rustup target add "$target" >/dev/null 2>&1 && has_target
}

if has_target; then
    build_ordinary
elif has_debian; then
    build_debian
elif add_target; then
    build_ordinary
elif install_debian && has_debian; then
    build_debian
else
    echo "build.sh: the target $target is missing. Either of these brings it:" >&2
    echo "    rustup target add $target" >&2
    echo "    apt-get install -y --no-install-recommends rustc-web cargo-web rust-web-src lld-19    # as root, Debian 12 or later" >&2
    exit 1
fi
