//! Work that takes long for large values: sealing, parsing, writing JSON. Threads that serve callers do not wait for it.

use std::pin::pin;

use tokio::task::block_in_place;

/// Work on fewer bytes takes less than a millisecond.
const LARGE_BYTES: usize = 64 << 10;

/// Runs work on a value of this size. If the value is large, other tasks of this thread go on in another one.
pub(super) fn compute<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes < LARGE_BYTES { work() } else { block_in_place(work) }
}

/// As [`compute`], for work that waits in between.
pub(super) async fn run<T>(bytes: usize, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    std::future::poll_fn(|context| compute(bytes, || work.as_mut().poll(context))).await
}
