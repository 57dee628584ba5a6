//! `connector-gateway`: see `connector-gateway --help`.

use std::process::ExitCode;

use clap::Parser;
use cli::{Arguments, run};
use mimalloc::MiMalloc;

/// Calls make many small allocations and free them on other threads. mimalloc is fast at both.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The number of `mi_option_purge_delay` in `mimalloc.h`.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

fn main() -> ExitCode {
    return_freed_memory_immediately();
    run(&Arguments::parse())
}

/// Makes the allocator give memory back to the operating system as soon as a block of pages is
/// free. By default it waits until it is called again after a second. Threads that served an attack
/// would then keep several times the memory budget.
#[expect(unsafe_code, reason = "the allocator has no safe interface for its options")]
fn return_freed_memory_immediately() {
    // SAFETY: this sets one integer. No other thread runs yet.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) };
}
