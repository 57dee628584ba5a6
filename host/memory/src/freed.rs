//! When freed memory goes back to the operating system.
//!
//! While calls hold little memory, freed pages are kept for about a second: the next call uses them
//! again, and would otherwise get them with page faults. While calls hold much, a page that is
//! freed goes back immediately. Otherwise the pages that one call has freed and those that another
//! call uses meanwhile would add up to several times the budget.

use std::ffi::c_long;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The number of `mi_option_purge_delay` in `mimalloc.h`.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Milliseconds for which the allocator keeps freed pages while calls hold little memory.
const DELAY_MS: c_long = 1_000;

/// The interval in which pages that are free for longer than the delay are given back.
const INTERVAL: Duration = Duration::from_millis(500);

/// Calls hold much memory if they hold more than the budget divided by this number.
pub(crate) const MUCH: u64 = 8;

/// Calls have held much memory since the last interval began.
static IS_MUCH_HELD: AtomicBool = AtomicBool::new(false);

/// Keeps freed pages for a moment, and gives them back afterwards. A program whose allocator is
/// mimalloc calls this once, when it starts.
///
/// By default the allocator gives memory back only when it is called again. Threads that served an
/// attack would then keep several times the budget, so a thread does it in the background.
#[expect(unsafe_code, reason = "the allocator has no safe interface")]
pub fn return_freed_memory() {
    let background = thread::Builder::new().name("memory".to_owned()).stack_size(64 << 10);
    let is_running = background.spawn(|| {
        loop {
            thread::sleep(INTERVAL);
            if !IS_MUCH_HELD.swap(false, Ordering::SeqCst) {
                set_delay(DELAY_MS);
                // A call that took much memory at the same time has set the other delay.
                if IS_MUCH_HELD.load(Ordering::SeqCst) {
                    set_delay(0);
                }
            }
            // SAFETY: this works on free pages only, and any thread may call it.
            unsafe { libmimalloc_sys::mi_collect(false) };
        }
    });
    // Without the thread, memory is given back as soon as it is freed.
    set_delay(if is_running.is_ok() { DELAY_MS } else { 0 });
}

/// Calls hold much memory now.
pub(crate) fn much_is_held() {
    // Nearly always it is known, and all cores would write this.
    if !IS_MUCH_HELD.load(Ordering::Relaxed) {
        IS_MUCH_HELD.store(true, Ordering::SeqCst);
        set_delay(0);
    }
}

#[expect(unsafe_code, reason = "the allocator has no safe interface for its options")]
fn set_delay(milliseconds: c_long) {
    // SAFETY: this sets one integer, which the allocator reads atomically.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, milliseconds) };
}
