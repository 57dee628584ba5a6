//! `connector-gateway`: see `connector-gateway --help`.

use std::ffi::c_long;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::Parser;
use cli::{Arguments, run};
use mimalloc::MiMalloc;

/// Calls make many small allocations and free them on other threads. mimalloc is fast at both.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The number of `mi_option_purge_delay` in `mimalloc.h`.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Milliseconds for which the allocator keeps freed pages. Under load, the next call uses them
/// again. Without this delay, each call would get them from the operating system with page faults.
const DELAY_MS: c_long = 1_000;

/// The interval in which pages that are free for longer than the delay are given back.
const INTERVAL: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    return_freed_memory();
    run(&Arguments::parse())
}

/// Gives memory back to the operating system some time after it was freed. By default the allocator
/// does this only when it is called again. Threads that served an attack would then keep several
/// times the memory budget, so a thread does it in the background.
#[expect(unsafe_code, reason = "the allocator has no safe interface for its options")]
fn return_freed_memory() {
    let purger = thread::Builder::new().name("memory".to_owned()).stack_size(64 << 10);
    let is_running = purger.spawn(|| {
        loop {
            thread::sleep(INTERVAL);
            // SAFETY: this works on free pages only, and any thread may call it.
            unsafe { libmimalloc_sys::mi_collect(false) };
        }
    });
    // Without the thread, memory is given back as soon as it is freed.
    let delay = if is_running.is_ok() { DELAY_MS } else { 0 };
    // SAFETY: this sets one integer, which the allocator reads atomically.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, delay) };
}
