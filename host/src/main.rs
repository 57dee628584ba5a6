//! `connector-gateway`: see `connector-gateway --help`.

use std::process::ExitCode;

use clap::Parser;
use connector_gateway::{Arguments, run};
use mimalloc::MiMalloc;

/// A call makes many small allocations, and frees them on other threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The number of `mi_option_purge_delay` in `mimalloc.h`.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

fn main() -> ExitCode {
    return_freed_memory_at_once();
    run(&Arguments::parse())
}

/// Lets the allocator give memory back to the operating system as soon as a block of pages is free. By default it waits until it is
/// called again after a second, so that the threads of an attack that is over keep several times the budget of memory.
#[expect(unsafe_code, reason = "the allocator has no safe interface for its options")]
fn return_freed_memory_at_once() {
    // SAFETY: this sets one integer. No other thread runs yet.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) };
}
