//! The queue in front of an upstream that wants pauses between calls.
//!
//! Only the head of the queue waits for a place and for its time; everybody else waits to be the head. So the order is that of
//! arrival, and whoever goes away while waiting takes nothing along: neither a place nor a time slot had been given out.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use super::error::EgressError;
use super::upstream::Pacing;

pub(super) struct Pacer {
    pacing: Pacing,
    /// Held by the head of the queue; tokio's mutex is fair.
    head: tokio::sync::Mutex<()>,
    places: Arc<Semaphore>,
    /// Earliest start of the next call.
    next: Mutex<Instant>,
    waiting: AtomicU32,
}

/// A place at the upstream. Kept until the answer has been read or dropped.
pub(super) struct Permit {
    _place: Option<OwnedSemaphorePermit>,
}

impl Pacer {
    pub(super) fn new(pacing: Pacing) -> Self {
        let concurrency = usize::try_from(pacing.concurrency.max(1)).unwrap_or(usize::MAX);
        Self {
            pacing,
            head: tokio::sync::Mutex::new(()),
            places: Arc::new(Semaphore::new(concurrency.min(Semaphore::MAX_PERMITS))),
            next: Mutex::new(Instant::now()),
            waiting: AtomicU32::new(0),
        }
    }

    pub(super) fn pacing(&self) -> Pacing {
        self.pacing
    }

    /// Waits for its turn, in the order of arrival.
    ///
    /// # Errors
    /// `RateLimited`, at once where the pauses alone would take longer than the pacing's `max_wait` or go past the deadline;
    /// else when that time is over.
    pub(super) async fn enter(&self, deadline: Instant) -> Result<Permit, EgressError> {
        let now = Instant::now();
        let patience = self.pacing.max_wait.min(deadline.saturating_duration_since(now));
        let waiting = Waiting::join(&self.waiting);
        let expected = self.next().saturating_duration_since(now) + self.pacing.interval.saturating_mul(waiting.ahead);
        if expected > patience {
            return Err(EgressError::RateLimited { retry_after: expected.saturating_sub(self.pacing.max_wait) });
        }
        timeout(patience, self.turn())
            .await
            .map_err(|_| EgressError::RateLimited { retry_after: self.pacing.interval.max(Duration::from_secs(1)) })
    }

    async fn turn(&self) -> Permit {
        let _head = self.head.lock().await;
        // Fails only on a semaphore that was closed, which this one never is.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let start = self.next();
        if start > Instant::now() {
            sleep_until(start).await;
        }
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + self.pacing.interval;
        Permit { _place: place }
    }

    fn next(&self) -> Instant {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts those in the queue, also when one of them is cancelled.
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
    async fn a_call_that_would_wait_too_long_is_refused_at_once() {
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
    async fn nobody_waits_past_the_deadline() {
        let pacer = pacer(10, 60);
        let _first = enter(&pacer).await.unwrap();
        let refused = pacer.enter(Instant::now() + Duration::from_secs(1)).await.err().unwrap();
        assert!(matches!(refused, EgressError::RateLimited { .. }), "{refused}");
    }

    #[tokio::test(start_paused = true)]
    async fn places_are_limited_until_they_are_given_back() {
        let pacer = pacer(1, 10);
        let first = enter(&pacer).await.unwrap();
        assert!(enter(&pacer).await.is_err());
        drop(first);
        assert!(enter(&pacer).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_goes_away_leaves_the_queue_intact() {
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
        assert!(begin.elapsed() <= INTERVAL, "the slots of those who left were not kept");
        assert_eq!(pacer.waiting.load(super::Ordering::SeqCst), 0);
    }
}
