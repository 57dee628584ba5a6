//! Long computations: parsing, validating, shaping and sealing large values. They must not delay
//! the calls that other tasks of the same thread serve.
//!
//! A computation on a small value runs immediately. A computation on a large value waits for a
//! permit, and then moves the other tasks of its thread to another thread. There is one permit for
//! each core, so that the serving threads always get a share of the cores. Waiting for a permit is
//! an ordinary `await`: put it under the deadline of the call.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::thread::available_parallelism;
use std::time::Instant;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::block_in_place;

/// A value of at least this size is large. Work that reads a smaller one from its beginning to its
/// end takes less than a millisecond.
pub const LARGE_BYTES: usize = 64 << 10;

/// The number of permits: one for each core.
static PERMIT_COUNT: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, usize::from));

static PERMITS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(*PERMIT_COUNT));

static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Microseconds that a thread needs to start on a machine with other work.
const THREAD_START_MICROS: u64 = 5000;

/// The last time at which a thread moved its tasks to another one, in microseconds since the first
/// computation.
static LAST_HANDOVER: AtomicU64 = AtomicU64::new(0);

/// Runs work on a value of this size.
pub async fn run<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes < LARGE_BYTES {
        return work();
    }
    let _permit = acquire_permit().await;
    wait_for_successor().await;
    run_in_place(work)
}

/// As [`run`], for work that waits in between. It holds no permit while it waits.
pub async fn drive<T>(bytes: usize, work: impl Future<Output = T>) -> T {
    if bytes < LARGE_BYTES {
        return work.await;
    }
    let mut work = pin!(work);
    loop {
        let polled = {
            let _permit = acquire_permit().await;
            wait_for_successor().await;
            poll_fn(|context| Poll::Ready(run_in_place(|| work.as_mut().poll(context)))).await
        };
        if let Poll::Ready(result) = polled {
            return result;
        }
        // The work has registered this task's waker with everything that it waits for.
        let mut is_woken = false;
        poll_fn(|_| if std::mem::replace(&mut is_woken, true) { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

/// Drops a value that consists of many parts on another thread. Does not wait for it.
pub fn discard<T: Send + 'static>(value: T) {
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(move || drop(value))),
        Err(_) => drop(value),
    }
}

/// The number of long computations that are running.
pub fn running() -> usize {
    PERMIT_COUNT.saturating_sub(PERMITS.available_permits())
}

/// The number of long computations that wait for a permit.
pub fn waiting() -> usize {
    WAITING.load(Ordering::Relaxed)
}

/// Waits for a permit. The semaphore is never closed, so this does not fail.
async fn acquire_permit() -> Option<SemaphorePermit<'static>> {
    if let Ok(permit) = PERMITS.try_acquire() {
        return Some(permit);
    }
    let _waiting = Waiting::new();
    PERMITS.acquire().await.ok()
}

/// Runs work on this thread, whose other tasks move to another one. A runtime with a single thread
/// has no other one.
fn run_in_place<T>(work: impl FnOnce() -> T) -> T {
    if runtime_of_threads().is_none() {
        return work();
    }
    LAST_HANDOVER.store(now(), Ordering::Relaxed);
    block_in_place(work)
}

/// Waits until the thread that took over the tasks at the last computation has started. Otherwise
/// many short computations would each start a thread, because no earlier thread is idle yet.
async fn wait_for_successor() {
    if now().saturating_sub(LAST_HANDOVER.load(Ordering::Relaxed)) > THREAD_START_MICROS {
        return;
    }
    if let Some(runtime) = runtime_of_threads() {
        // The runtime starts such tasks in order. This fails only while the runtime shuts down.
        let _ = runtime.spawn_blocking(|| ()).await;
    }
}

/// The runtime of this task, if it has several threads.
fn runtime_of_threads() -> Option<Handle> {
    Handle::try_current().ok().filter(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// Microseconds since the first computation.
fn now() -> u64 {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(BEGAN.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// Counts a computation while it waits.
struct Waiting;

impl Waiting {
    fn new() -> Self {
        WAITING.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
