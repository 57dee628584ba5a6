#!/bin/sh
# Compiles the crates of this workspace for libFuzzer: with counters of the code that an input reaches. `make fuzz` names this
# script in RUSTC_WORKSPACE_WRAPPER. The flags are those of `cargo fuzz`, and need no nightly toolchain. Dependencies have no
# counters, so they are those of `make build`.
set -eu
case " $* " in
    # These run inside of the compiler or of Cargo, which have no libFuzzer.
    *" proc-macro "* | *" build_script_build "*) exec "$@" ;;
esac
exec "$@" --cfg fuzzing -Copt-level=1 -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares
