//! The queue in front of an upstream that limits concurrent calls and requires an interval between
//! them.
//!
//! Only the call at the head of the queue waits for a permit and for its start time. The other
//! calls wait to become the head, in the order of arrival. A waiting call that is cancelled has
//! neither a permit nor a start time, so it leaves no gap.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use super::error::EgressError;

/// The settings of the queue in front of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Minimum time between the starts of two calls.
    pub interval: Duration,
    /// Maximum number of concurrent calls; 0 counts as 1.
    pub concurrency: u32,
    /// Maximum time in the queue. A call that would wait longer is refused.
    pub max_wait: Duration,
}

/// The queue of one upstream, or of several that share it.
pub(super) struct Pacer {
    pacing: Pacing,
    /// Locked by the head of the queue. The mutex of tokio is fair.
    head: tokio::sync::Mutex<()>,
    permits: Arc<Semaphore>,
    /// Earliest start of the next call.
    next_start: Mutex<Instant>,
    waiting: AtomicU32,
}

/// The permit of one concurrent call. It is held until the response has been read or dropped.
pub(super) struct Permit {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Pacer {
    pub(super) fn new(pacing: Pacing) -> Self {
        let concurrency = usize::try_from(pacing.concurrency.max(1)).unwrap_or(usize::MAX);
        Self {
            pacing,
            head: tokio::sync::Mutex::new(()),
            permits: Arc::new(Semaphore::new(concurrency.min(Semaphore::MAX_PERMITS))),
            next_start: Mutex::new(Instant::now()),
            waiting: AtomicU32::new(0),
        }
    }

    pub(super) fn pacing(&self) -> Pacing {
        self.pacing
    }

    /// Waits until the call may start. Calls start in the order of arrival.
    ///
    /// # Errors
    /// `RateLimited` immediately, if the intervals of the calls ahead take longer than `max_wait`
    /// of the pacing or last beyond the deadline. `RateLimited` later, if the call still waits at
    /// that time.
    pub(super) async fn enter(&self, deadline: Instant) -> Result<Permit, EgressError> {
        let now = Instant::now();
        let max_wait = self.pacing.max_wait.min(deadline.saturating_duration_since(now));
        let waiting = Waiting::join(&self.waiting);
        let expected =
            self.next_start().saturating_duration_since(now) + self.pacing.interval.saturating_mul(waiting.ahead);
        if expected > max_wait {
            return Err(EgressError::RateLimited { retry_after: expected.saturating_sub(self.pacing.max_wait) });
        }
        timeout(max_wait, self.turn())
            .await
            .map_err(|_| EgressError::RateLimited { retry_after: self.pacing.interval.max(Duration::from_secs(1)) })
    }

    async fn turn(&self) -> Permit {
        let _head = self.head.lock().await;
        // Fails only if the semaphore is closed, and nothing closes it.
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        let start = self.next_start();
        if start > Instant::now() {
            sleep_until(start).await;
        }
        *self.next_start.lock() = Instant::now() + self.pacing.interval;
        Permit { _permit: permit }
    }

    fn next_start(&self) -> Instant {
        *self.next_start.lock()
    }
}

/// Counts a call in the queue until it starts or is cancelled.
struct Waiting<'a> {
    counter: &'a AtomicU32,
    ahead: u32,
}

impl<'a> Waiting<'a> {
    fn join(counter: &'a AtomicU32) -> Self {
        Self { counter, ahead: counter.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.counter.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, Duration, EgressError, Instant, Pacer, Pacing, Permit};

    const INTERVAL: Duration = Duration::from_secs(3);

    fn pacer(concurrency: u32, max_wait: u64) -> Arc<Pacer> {
        Arc::new(Pacer::new(Pacing { interval: INTERVAL, concurrency, max_wait: Duration::from_secs(max_wait) }))
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    async fn enter(pacer: &Arc<Pacer>) -> Result<Permit, EgressError> {
        pacer.enter(later()).await
    }

    #[tokio::test(start_paused = true)]
    async fn calls_start_in_the_order_of_arrival_an_interval_apart() {
        let pacer = pacer(10, 60);
        let begin = Instant::now();
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        for number in 0..5 {
            let (pacer, sender) = (Arc::clone(&pacer), sender.clone());
            tokio::spawn(async move {
                let _permit = enter(&pacer).await.unwrap();
                sender.send((number, begin.elapsed())).unwrap();
            });
            tokio::task::yield_now().await;
        }
        for number in 0..5_u32 {
            let (arrived, after) = receiver.recv().await.unwrap();
            assert_eq!(arrived, number);
            assert!(after >= INTERVAL * number && after < INTERVAL * (number + 1), "{number} after {after:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_would_wait_too_long_is_refused_immediately() {
        let pacer = pacer(10, 5);
        let begin = Instant::now();
        let _first = enter(&pacer).await.unwrap();
        let waiting = tokio::spawn({
            let pacer = Arc::clone(&pacer);
            async move { enter(&pacer).await }
        });
        tokio::task::yield_now().await;
        let refused = enter(&pacer).await.err().unwrap();
        assert_eq!(begin.elapsed(), Duration::ZERO);
        assert_eq!(refused, EgressError::RateLimited { retry_after: Duration::from_secs(1) });
        assert!(waiting.await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn no_call_waits_beyond_its_deadline() {
        let pacer = pacer(10, 60);
        let _first = enter(&pacer).await.unwrap();
        let refused = pacer.enter(Instant::now() + Duration::from_secs(1)).await.err().unwrap();
        assert!(matches!(refused, EgressError::RateLimited { .. }), "{refused}");
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_calls_are_limited_until_one_ends() {
        let pacer = pacer(1, 10);
        let first = enter(&pacer).await.unwrap();
        assert!(enter(&pacer).await.is_err());
        drop(first);
        assert!(enter(&pacer).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_call_leaves_the_queue_intact() {
        let pacer = pacer(1, 60);
        let first = enter(&pacer).await.unwrap();
        let wait = |_| {
            let pacer = Arc::clone(&pacer);
            tokio::spawn(async move { enter(&pacer).await.map(drop) })
        };
        let mut queue: Vec<_> = (0..3).map(wait).collect();
        tokio::task::yield_now().await;
        queue.remove(0).abort();
        queue.remove(0).abort();
        tokio::task::yield_now().await;
        drop(first);
        let begin = Instant::now();
        queue.remove(0).await.unwrap().unwrap();
        assert!(begin.elapsed() <= INTERVAL, "a cancelled call keeps no start time");
        assert_eq!(pacer.waiting.load(super::Ordering::SeqCst), 0);
    }
}
