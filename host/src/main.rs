//! `connector-gateway`: see `connector-gateway --help`.

use std::ffi::c_long;
use std::process::ExitCode;

use clap::Parser;
use connector_gateway::{Arguments, run};
use mimalloc::MiMalloc;

/// A call makes many small allocations, and frees them on other threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The number of `mi_option_purge_delay` in `mimalloc.h`.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// The time in milliseconds for which the allocator keeps free blocks of pages. Calls that follow each other use them again, and a page
/// that was given back to the operating system would cost a page fault. By default it is a second, in which the threads of an attack
/// keep several times the budget of memory.
const KEPT_MS: c_long = 10;

fn main() -> ExitCode {
    give_memory_back_soon();
    run(&Arguments::parse())
}

#[expect(unsafe_code, reason = "the allocator has no safe interface for its options")]
fn give_memory_back_soon() {
    // SAFETY: this sets one integer. No other thread runs yet.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, KEPT_MS) };
}
