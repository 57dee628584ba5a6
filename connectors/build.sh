#!/bin/sh
# Builds core WebAssembly modules: of every connector, and of the packages named by -p. Each folder
# in connectors/ with a Cargo.toml is a connector, except the SDK. Folders in connectors/shared/ are
# libraries.
#
#   connectors/build.sh [-p PACKAGE]... [--only]      --only: only the packages named by -p
#   connectors/build.sh --root FOLDER [--target-dir FOLDER] [--random] -p PACKAGE
#                                                     a package of the Cargo workspace in another folder;
#                                                     --random: the SDK gives the crate getrandom its numbers
#
# The script writes wasm/wasm32-unknown-unknown/connector/<package>.wasm in the target folder, which is
# `target` unless --target-dir names another one;
# `connector-gateway connectors pack` turns such a module into a component.
# `connector-gateway connectors build` does both for one connector: the binary contains this script.
#
# The script builds with the installed toolchain if the toolchain has the target or can install it.
# Otherwise it builds with Debian's packages rustc-web, cargo-web, rust-web-src and lld-19, which
# compile the standard library from source.
set -eu

root=
target_dir=
all=yes
random=no
packages=
while [ $# -gt 0 ]; do
    case $1 in
        -p) [ $# -ge 2 ] || { echo "build.sh: -p needs the name of a package" >&2; exit 2; }
            packages="$packages -p $2"; shift 2 ;;
        --root) [ $# -ge 2 ] || { echo "build.sh: --root needs a folder" >&2; exit 2; }
            root=$2; all=no; shift 2 ;;
        --target-dir) [ $# -ge 2 ] || { echo "build.sh: --target-dir needs a folder" >&2; exit 2; }
            target_dir=$2; shift 2 ;;
        --random) random=yes; shift ;;
        --only) all=no; shift ;;
        *) echo "usage: connectors/build.sh [--root FOLDER] [--target-dir FOLDER] [--random] [-p PACKAGE]... [--only]" >&2; exit 2 ;;
    esac
done
[ -n "$root" ] || root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
target=wasm32-unknown-unknown
export CARGO_TARGET_DIR="${target_dir:-$root/target}/wasm"

# With this stack, a connector of thin operations fits in one page of memory, which the gateway
# resets after each invocation. The stack is placed before all data, so that an overflow traps and
# overwrites nothing. Cargo names sources of a workspace by their path in it, and those of other
# crates by a path of this machine, which is removed from the module. So the flags are the same in
# every folder, and projects that share a target folder share what it has. Flags are separated by
# 0x1f, because a path may contain spaces. They apply to the target only, not to build scripts and
# macros.
separator=$(printf '\037')
flags="-Clink-arg=-zstack-size=24576${separator}-Clink-arg=--stack-first"
flags="$flags${separator}--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
[ $random = no ] || flags="$flags${separator}--cfg=getrandom_backend=\"custom\""
export CARGO_ENCODED_RUSTFLAGS="$flags"

if [ $all = yes ]; then
    for manifest in connectors/*/Cargo.toml; do
        package=$(basename "$(dirname "$manifest")")
        [ "$package" = sdk ] || packages="$packages -p $package"
    done
fi

has_target() {
    libraries=$(rustc --print target-libdir --target "$target" 2>/dev/null) && ls "$libraries"/libcore-*.rlib >/dev/null 2>&1
}

# Names of packages contain no spaces, so the shell may split $packages.
# shellcheck disable=SC2086
build_ordinary() {
    cargo build --profile connector --target "$target" $packages
}

# shellcheck disable=SC2086
build_debian() {
    # Otherwise rustup would replace the compiler because of this variable.
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
    echo "build.sh: the target $target is missing. Install it with one of these commands:" >&2
    echo "    rustup target add $target" >&2
    echo "    apt-get install -y --no-install-recommends rustc-web cargo-web rust-web-src lld-19    # as root, Debian 12 or later" >&2
    exit 1
fi
