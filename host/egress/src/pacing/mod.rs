//! The queue in front of an upstream that limits concurrent calls and requires an interval between
//! them.
//!
//! Only the call at the head of the queue waits for a permit and for its start time. The other
//! calls wait to become the head, in the order of arrival. A waiting call that is cancelled has
//! neither a permit nor a start time, so it leaves no gap.
//!
//! Gateways that share a database share the queue, too: see [`PacedQueue`].

mod queue;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use self::queue::Hold;
pub use self::queue::{PacedQueue, QueueGrant, QueueReport};
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
    state: Mutex<State>,
    /// The head of the queue may perhaps start now, because this gateway holds the queue.
    may_start: Notify,
}

struct State {
    /// Earliest start of the next call.
    next_start: Instant,
    /// The calls that wait or run, by their order of arrival.
    calls: BTreeMap<u64, Call>,
    /// The number of the next call.
    next: u64,
    /// This gateway's right to start calls. `None` if it shares the queue with nobody.
    hold: Option<Hold>,
}

struct Call {
    arrived: Instant,
    deadline: Instant,
    has_started: bool,
    /// The call has asked for the queue.
    has_asked: bool,
}

/// Why the head of the queue does not start now.
enum Blocked {
    /// The interval since the last start has not passed.
    Until(Instant),
    /// Another gateway holds the queue.
    Elsewhere,
}

/// The permit of one concurrent call. It is held until the response has been read or dropped.
pub(super) struct Permit {
    _permit: Option<OwnedSemaphorePermit>,
    _place: Place,
}

impl Pacer {
    pub(super) fn new(pacing: Pacing) -> Self {
        let concurrency = usize::try_from(pacing.concurrency.max(1)).unwrap_or(usize::MAX);
        let state = State { next_start: Instant::now(), calls: BTreeMap::new(), next: 0, hold: None };
        Self {
            pacing,
            head: tokio::sync::Mutex::new(()),
            permits: Arc::new(Semaphore::new(concurrency.min(Semaphore::MAX_PERMITS))),
            state: Mutex::new(state),
            may_start: Notify::new(),
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
    pub(super) async fn enter(self: &Arc<Self>, deadline: Instant) -> Result<Permit, EgressError> {
        let now = Instant::now();
        let max_wait = self.pacing.max_wait.min(deadline.saturating_duration_since(now));
        let (place, expected) = Place::join(self, now, deadline);
        if expected > max_wait {
            return Err(EgressError::RateLimited { retry_after: expected.saturating_sub(self.pacing.max_wait) });
        }
        timeout(max_wait, self.turn(place))
            .await
            .map_err(|_| EgressError::RateLimited { retry_after: self.pacing.interval.max(Duration::from_secs(1)) })
    }

    async fn turn(&self, place: Place) -> Permit {
        let _head = self.head.lock().await;
        // Fails only if the semaphore is closed, and nothing closes it.
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        loop {
            let blocked = self.state.lock().start(place.number, self.pacing.interval);
            match blocked {
                Ok(()) => return Permit { _permit: permit, _place: place },
                Err(Blocked::Until(start)) => sleep_until(start).await,
                Err(Blocked::Elsewhere) => self.may_start.notified().await,
            }
        }
    }
}

impl State {
    /// Starts the call with this number.
    fn start(&mut self, number: u64, interval: Duration) -> Result<(), Blocked> {
        let now = Instant::now();
        let Some(call) = self.calls.get_mut(&number) else { return Err(Blocked::Elsewhere) };
        if let Some(hold) = &self.hold
            && !hold.allows(call, now)
        {
            if !call.has_asked {
                call.has_asked = true;
                hold.wake.notify_one();
            }
            return Err(Blocked::Elsewhere);
        }
        if self.next_start > now {
            return Err(Blocked::Until(self.next_start));
        }
        self.next_start = now + interval;
        call.has_started = true;
        Ok(())
    }

    /// Calls that wait for their start.
    fn waiting(&self) -> impl Iterator<Item = &Call> {
        self.calls.values().filter(|call| !call.has_started)
    }

    /// Calls that have started and not ended.
    fn running(&self) -> impl Iterator<Item = &Call> {
        self.calls.values().filter(|call| call.has_started)
    }
}

/// The place of a call in the queue, until it ends or is cancelled.
struct Place {
    pacer: Arc<Pacer>,
    number: u64,
}

impl Place {
    /// Joins the queue. Returns the time until the start as well, as far as this gateway knows it.
    fn join(pacer: &Arc<Pacer>, arrived: Instant, deadline: Instant) -> (Self, Duration) {
        let mut state = pacer.state.lock();
        let ahead = u32::try_from(state.waiting().count()).unwrap_or(u32::MAX);
        let expected =
            state.next_start.saturating_duration_since(arrived) + pacer.pacing.interval.saturating_mul(ahead);
        let number = state.next;
        state.next += 1;
        state.calls.insert(number, Call { arrived, deadline, has_started: false, has_asked: false });
        (Self { pacer: Arc::clone(pacer), number }, expected)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.pacer.state.lock();
        state.calls.remove(&self.number);
        // Another gateway waits for the end of the last call.
        if let Some(hold) = &state.hold
            && hold.is_wanted()
            && state.running().next().is_none()
        {
            hold.wake.notify_one();
        }
    }
}
