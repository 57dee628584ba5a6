//! The queue as one that gateways share.
//!
//! One gateway at a time holds the queue, and only that one starts calls, as if it were alone. It
//! gives the queue away when none of its calls runs and the interval since its last start has
//! passed. So the next holder may start a call at once, and needs to know nothing of earlier calls.
//! A gateway that can no longer say so loses the queue with its lease, and its calls end then.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Pacer, Pacing, Permit};
use crate::error::EgressError;

/// Time for which a gateway uses the queue after it has told the others that it is alive. Its calls
/// end with the lease, so the others need not wait for them.
pub const QUEUE_LEASE: Duration = Duration::from_secs(5);

/// Time after which a waiting call asks for the queue again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The queue of an upstream, as one that gateways share. Clones are the same queue.
#[derive(Clone)]
pub struct PacedQueue(Arc<Pacer>);

/// The report of a gateway about a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueReport {
    /// The gateway holds the queue from now on.
    pub holds: bool,
    /// Time for which the first of its waiting calls has waited. `None` if no call waits.
    pub waited: Option<Duration>,
    /// `true` if this call is the one of the last report that has an answer.
    pub is_known: bool,
    /// Time until the interval since the last start has passed. `None` while calls run.
    pub free_in: Option<Duration>,
}

/// The answer to a report of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueGrant {
    /// The gateway holds the queue.
    pub holds: bool,
    /// The call that was reported as the first one may start: none of the other gateways' calls has
    /// waited for longer.
    pub may_start: bool,
    /// Time for which the first waiting call of the other gateways has waited.
    pub others_waited: Option<Duration>,
    /// `true` if another gateway holds the queue and does not respond.
    pub is_stuck: bool,
    /// The end of the lease. The others take the queue no earlier.
    pub until: Instant,
}

/// A gateway's right to start calls.
pub(super) struct Hold {
    holds: bool,
    may_start: bool,
    /// The time of the last report.
    reported_at: Instant,
    /// The arrival of the first waiting call in the last report, which has no answer yet.
    reported: Option<Instant>,
    /// The arrival of the first waiting call in the last report that has one.
    answered: Option<Instant>,
    /// The arrival of the call that the last grant was for.
    first: Option<Instant>,
    /// The arrival of the first waiting call of the other gateways.
    others_first: Option<Instant>,
    is_stuck: bool,
    until: Instant,
    /// The earliest time at which a waiting call asks for the queue.
    ask_at: Instant,
    /// Asks for an exchange with the other gateways.
    pub(super) wake: Arc<Notify>,
}

impl Hold {
    /// Returns whether a call may start.
    pub(super) fn allows(&self, arrived: Instant, now: Instant) -> bool {
        self.holds && self.is_first(arrived) && !self.has_lapsed(now)
    }

    /// The end of the lease. It is in the past if the others have taken the queue.
    pub(super) fn holds_until(&self) -> Instant {
        if self.holds { self.until } else { Instant::now() }
    }

    /// Returns whether another gateway holds the queue and does not respond.
    pub(super) fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// Returns whether the lease is over.
    pub(super) fn has_lapsed(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// Asks the other gateways for the queue, if it is time. A gateway that holds the queue while it
    /// `is_free`, and may not use it, asks immediately: with the ask it gives the queue away. Returns
    /// the time of the next ask.
    pub(super) fn ask(&mut self, is_free: bool, now: Instant) -> Instant {
        if self.ask_at <= now || self.holds && is_free {
            self.ask_at = now + ASK_AGAIN;
            self.wake.notify_one();
        }
        self.ask_at
    }

    /// Returns whether another gateway waits for the queue.
    pub(super) fn is_wanted(&self) -> bool {
        self.others_first.is_some()
    }

    /// Returns whether no other gateway has a call that has waited for longer, as far as is known.
    fn is_first(&self, arrived: Instant) -> bool {
        let precedes = |first: Option<Instant>| first.is_some_and(|first| arrived <= first);
        self.may_start && (!self.is_wanted() || precedes(self.others_first) || precedes(self.first))
    }
}

impl Pacer {
    /// Shares the queue with other gateways. This one does not hold it yet. `wake` asks for an
    /// exchange.
    pub(crate) fn share(&self, wake: &Arc<Notify>) {
        let now = Instant::now();
        self.state.lock().hold.get_or_insert_with(|| Hold {
            holds: false,
            may_start: false,
            reported_at: now,
            reported: None,
            answered: None,
            first: None,
            others_first: None,
            is_stuck: false,
            until: now,
            ask_at: now,
            wake: Arc::clone(wake),
        });
    }
}

impl PacedQueue {
    /// A queue without calls that gateways share. `wake` asks for an exchange with them.
    pub fn shared(pacing: Pacing, wake: &Arc<Notify>) -> Self {
        let pacer = Pacer::new(pacing);
        pacer.share(wake);
        Self(Arc::new(pacer))
    }

    /// Runs a call when it may start.
    ///
    /// # Errors
    /// `RateLimited` if the call cannot start before its deadline, or waits for longer than the
    /// pacing allows. `QueueUnknown` if the lease of the queue is over, also while the call runs.
    /// `QueueStuck` if the gateway that holds the queue does not respond.
    pub async fn run<T>(&self, deadline: Instant, call: impl Future<Output = T>) -> Result<T, EgressError> {
        let permit = self.0.enter(deadline, false).await?;
        Permit::cover(Some(&permit), call).await
    }

    pub(crate) fn of(pacer: Arc<Pacer>) -> Self {
        Self(pacer)
    }

    /// Minimum time between the starts of two calls.
    pub fn interval(&self) -> Duration {
        self.0.pacing().interval
    }

    /// Returns whether both are the same queue, and not only equal.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Gives the queue away if no call needs it, and tells what the gateway needs.
    pub fn report(&self) -> QueueReport {
        let mut state = self.0.state.lock();
        let now = Instant::now();
        let first = state.waiting.values().next().copied();
        let waited = first.map(|first| now.saturating_duration_since(first));
        let free_in = state.free_in(now);
        let is_known = first.is_some() && state.hold.as_ref().is_some_and(|hold| hold.answered == first);
        let holds = state.hold.as_mut().is_some_and(|hold| {
            let is_needed = first.is_some_and(|first| hold.is_first(first));
            (hold.reported_at, hold.reported) = (now, first);
            hold.holds &= is_needed || free_in != Some(Duration::ZERO);
            hold.holds
        });
        QueueReport { holds, waited, is_known, free_in }
    }

    /// Time until the gateway may give the queue away. `None` while calls run.
    pub fn free_in(&self) -> Option<Duration> {
        self.0.state.lock().free_in(Instant::now())
    }

    /// Gives the queue away as soon as no call runs. No call starts from now on.
    pub fn close(&self) -> QueueReport {
        if let Some(hold) = &mut self.0.state.lock().hold {
            hold.may_start = false;
        }
        self.report()
    }

    /// Takes what the gateway is told after a report.
    pub fn grant(&self, grant: QueueGrant) {
        let QueueGrant { holds, may_start, others_waited, is_stuck, until } = grant;
        let mut state = self.0.state.lock();
        let head = state.waiting.values().next().copied();
        if let Some(hold) = &mut state.hold {
            let Hold { reported_at, reported, ask_at, .. } = *hold;
            // The time was measured after the report. By the time of now, which may be much later, a
            // call that arrived after it would seem to have arrived before it.
            let others_first = others_waited.map(|waited| reported_at.checked_sub(waited).unwrap_or(reported_at));
            let wake = Arc::clone(&hold.wake);
            // The reported call may have given up meanwhile. Then the next one takes its turn.
            // Otherwise no call would start while the first ones of all gateways give up.
            let first = if hold.holds { reported } else { head };
            *hold = Hold {
                holds,
                may_start,
                reported_at,
                reported,
                answered: reported,
                first,
                others_first,
                is_stuck,
                until,
                ask_at,
                wake,
            };
        }
        drop(state);
        if holds && may_start {
            self.0.may_start.notify_one();
        }
    }
}
