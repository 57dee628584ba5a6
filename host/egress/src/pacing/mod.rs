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
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::select;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use self::queue::Hold;
pub use self::queue::{PacedQueue, QUEUE_LEASE, QueueGrant, QueueReport};
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
    /// Locked by the only call in the queue that gives way, until it starts. So at most every second
    /// start is one of such a call while others wait.
    giving_way: tokio::sync::Mutex<()>,
    permits: Arc<Semaphore>,
    state: Mutex<State>,
    /// The head of the queue may perhaps start now, because this gateway holds the queue.
    may_start: Notify,
}

struct State {
    /// Earliest start of the next call.
    next_start: Instant,
    /// The arrivals of the calls that wait, in their order.
    waiting: BTreeMap<u64, Instant>,
    /// The number of calls that run.
    running: u32,
    /// The number of the next call.
    next: u64,
    /// This gateway's right to start calls. `None` if no other gateway uses the queue.
    hold: Option<Hold>,
}

/// Why the head of the queue does not start now.
enum Blocked {
    /// The interval since the last start has not passed.
    Until(Instant),
    /// This gateway may not start the call. It asks the other ones for the queue at this time.
    Elsewhere(Instant),
}

/// The permit of one concurrent call. It is held until the response has been read or dropped.
pub(super) struct Permit {
    _permit: Option<OwnedSemaphorePermit>,
    place: Place,
}

impl Permit {
    /// Waits for the end of a request, but not beyond the lease of a queue that gateways share:
    /// another gateway then starts calls.
    ///
    /// # Errors
    /// `QueueUnknown` if the lease is over.
    pub(super) async fn cover<T>(permit: Option<&Self>, request: impl Future<Output = T>) -> Result<T, EgressError> {
        let Some(permit) = permit else { return Ok(request.await) };
        select! {
            biased;
            ended = request => Ok(ended),
            () = permit.lapsed() => Err(EgressError::QueueUnknown),
        }
    }

    /// Waits until the gateway has no lease of the queue any more. Never ends if the queue is the
    /// gateway's own.
    pub(super) fn lapsed(&self) -> impl Future<Output = ()> + Send + use<> {
        let pacer = Arc::clone(&self.place.pacer);
        async move {
            loop {
                let until = pacer.state.lock().hold.as_ref().map(Hold::holds_until);
                match until {
                    Some(until) if until <= Instant::now() => return,
                    // The lease may be renewed until then.
                    Some(until) => sleep_until(until).await,
                    None => pending().await,
                }
            }
        }
    }
}

impl Pacer {
    pub(super) fn new(pacing: Pacing) -> Self {
        let concurrency = usize::try_from(pacing.concurrency.max(1)).unwrap_or(usize::MAX);
        let state = State { next_start: Instant::now(), waiting: BTreeMap::new(), running: 0, next: 0, hold: None };
        Self {
            pacing,
            head: tokio::sync::Mutex::new(()),
            giving_way: tokio::sync::Mutex::new(()),
            permits: Arc::new(Semaphore::new(concurrency.min(Semaphore::MAX_PERMITS))),
            state: Mutex::new(state),
            may_start: Notify::new(),
        }
    }

    pub(super) fn pacing(&self) -> Pacing {
        self.pacing
    }

    /// Waits until the call may start. Calls start in the order of arrival. A call that gives way
    /// arrives once the previous one of them has started.
    ///
    /// # Errors
    /// `RateLimited` immediately, if the intervals of the calls ahead take longer than `max_wait`
    /// of the pacing or last beyond the deadline. `RateLimited` later, if the call still waits at
    /// that time. Instead of it `QueueUnknown` if the gateway then has no lease of the shared
    /// queue, and `QueueStuck` if the gateway that holds it does not respond.
    pub(super) async fn enter(self: &Arc<Self>, deadline: Instant, gives_way: bool) -> Result<Permit, EgressError> {
        let begin = Instant::now();
        let max_wait = self.pacing.max_wait.min(deadline.saturating_duration_since(begin));
        let turn = async {
            let _only = match gives_way {
                true => Some(self.giving_way.lock().await),
                false => None,
            };
            let now = Instant::now();
            let (place, expected) = Place::join(self, now);
            if expected > max_wait.saturating_sub(now.saturating_duration_since(begin)) {
                return Err(self.refusal(expected.saturating_sub(self.pacing.max_wait)));
            }
            Ok(self.turn(place).await)
        };
        timeout(max_wait, turn).await.unwrap_or_else(|_| Err(self.refusal(self.pacing.interval)))
    }

    /// Why a call does not start within its time.
    fn refusal(&self, retry_after: Duration) -> EgressError {
        let state = self.state.lock();
        match &state.hold {
            Some(hold) if hold.has_lapsed(Instant::now()) => EgressError::QueueUnknown,
            Some(hold) if hold.is_stuck() => {
                EgressError::QueueStuck { retry_after: QUEUE_LEASE + self.pacing.interval }
            }
            _ => EgressError::RateLimited { retry_after: retry_after.max(Duration::from_secs(1)) },
        }
    }

    async fn turn(&self, place: Place) -> Permit {
        let _head = self.head.lock().await;
        // Fails only if the semaphore is closed, and nothing closes it.
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        loop {
            let blocked = self.state.lock().start(place.number, self.pacing.interval);
            match blocked {
                Ok(()) => return Permit { _permit: permit, place },
                Err(Blocked::Until(start)) => sleep_until(start).await,
                Err(Blocked::Elsewhere(ask_at)) => drop(timeout_at(ask_at, self.may_start.notified()).await),
            }
        }
    }
}

impl State {
    /// Starts the call with this number.
    fn start(&mut self, number: u64, interval: Duration) -> Result<(), Blocked> {
        let now = Instant::now();
        let is_free = self.free_in(now) == Some(Duration::ZERO);
        // The place of a call is dropped after its turn, so the call is there.
        if let (Some(hold), Some(arrived)) = (&mut self.hold, self.waiting.get(&number))
            && !hold.allows(*arrived, now)
        {
            return Err(Blocked::Elsewhere(hold.ask(is_free, now)));
        }
        if self.next_start > now {
            return Err(Blocked::Until(self.next_start));
        }
        self.next_start = now + interval;
        self.running += u32::from(self.waiting.remove(&number).is_some());
        Ok(())
    }

    /// Time until the gateway may give the queue away. `None` while calls run.
    fn free_in(&self, now: Instant) -> Option<Duration> {
        (self.running == 0).then(|| self.next_start.saturating_duration_since(now))
    }
}

/// The place of a call in the queue, until it ends or is cancelled.
struct Place {
    pacer: Arc<Pacer>,
    number: u64,
}

impl Place {
    /// Joins the queue. Returns the time until the start as well, as far as this gateway knows it.
    fn join(pacer: &Arc<Pacer>, arrived: Instant) -> (Self, Duration) {
        let mut state = pacer.state.lock();
        let ahead = u32::try_from(state.waiting.len()).unwrap_or(u32::MAX);
        let expected =
            state.next_start.saturating_duration_since(arrived) + pacer.pacing.interval.saturating_mul(ahead);
        let number = state.next;
        state.next += 1;
        state.waiting.insert(number, arrived);
        (Self { pacer: Arc::clone(pacer), number }, expected)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.pacer.state.lock();
        let has_run = state.waiting.remove(&self.number).is_none();
        state.running -= u32::from(has_run);
        // Another gateway waits for the end of the last call.
        if let Some(hold) = &state.hold
            && has_run
            && state.running == 0
            && hold.is_wanted()
        {
            hold.wake.notify_one();
        }
    }
}
