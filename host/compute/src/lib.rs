//! Long computations: parsing, validating, shaping and sealing large values. They must not hold up the calls that other tasks of
//! the same thread serve.
//!
//! A computation on a small value runs at once. One on a large value waits for a place, and then gives the other tasks of its
//! thread to another thread. There is one place for each core, so that the threads that serve always get a share of the cores.
//! Waiting for a place is an ordinary `await`: put it under the deadline of the call.

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

/// A value of this size is large. Work that reads a smaller one from its beginning to its end takes less than a millisecond.
pub const LARGE_BYTES: usize = 64 << 10;

/// The number of places: one for each core.
static COUNT: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, usize::from));

static PLACES: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(*COUNT));

static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Microseconds in which a thread begins, on a machine with other work.
const BEGINNING: u64 = 5000;

/// The last time at which a thread gave its tasks to another one, in microseconds since the first computation.
static LAST_HANDOVER: AtomicU64 = AtomicU64::new(0);

/// Runs work on a value of this size.
pub async fn run<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes < LARGE_BYTES {
        return work();
    }
    let _place = place().await;
    let_successor_begin().await;
    aside(work)
}

/// As [`run`], for work that waits in between. It has no place while it waits.
pub async fn drive<T>(bytes: usize, work: impl Future<Output = T>) -> T {
    if bytes < LARGE_BYTES {
        return work.await;
    }
    let mut work = pin!(work);
    loop {
        let polled = {
            let _place = place().await;
            let_successor_begin().await;
            poll_fn(|context| Poll::Ready(aside(|| work.as_mut().poll(context)))).await
        };
        if let Poll::Ready(result) = polled {
            return result;
        }
        // The work has registered this task with what it waits for, and any of its events may wake it.
        let mut is_woken = false;
        poll_fn(|_| if std::mem::replace(&mut is_woken, true) { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

/// Drops a value that consists of many parts in another thread. Does not wait for it.
pub fn discard<T: Send + 'static>(value: T) {
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(move || drop(value))),
        Err(_) => drop(value),
    }
}

/// The number of long computations that run now.
pub fn running() -> usize {
    COUNT.saturating_sub(PLACES.available_permits())
}

/// The number of long computations that wait for a place.
pub fn waiting() -> usize {
    WAITING.load(Ordering::Relaxed)
}

/// Waits for a place. The semaphore is never closed, so there is always one in the end.
async fn place() -> Option<SemaphorePermit<'static>> {
    if let Ok(place) = PLACES.try_acquire() {
        return Some(place);
    }
    let _waiting = Waiting::new();
    PLACES.acquire().await.ok()
}

/// Runs work in this thread, whose other tasks go to another one. A runtime with one thread has no other one.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    if runtime_of_threads().is_none() {
        return work();
    }
    LAST_HANDOVER.store(now(), Ordering::Relaxed);
    block_in_place(work)
}

/// Waits until the thread that took over the tasks at the last computation has begun. Otherwise many short computations would each
/// start a thread, because none of the threads before is idle yet.
async fn let_successor_begin() {
    if now().saturating_sub(LAST_HANDOVER.load(Ordering::Relaxed)) > BEGINNING {
        return;
    }
    if let Some(runtime) = runtime_of_threads() {
        // The runtime begins such tasks in their order. This fails only while the runtime ends.
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
