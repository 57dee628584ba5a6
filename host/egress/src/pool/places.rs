//! The places of requests to one origin: how many are in progress at the same time.
//!
//! If a service answers within a fraction of a millisecond, it and this core decide how many
//! requests a second are answered, and not how many are in progress. Each of those has its data in
//! the processor's cache until others need the room. With a thousand of them, each finds its data
//! in memory. With a few, the others wait where they have touched little yet, and all are answered
//! sooner. For any other service, a limit would cost requests, so it has none.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// Requests that are in progress at a quick service at the same time. With as many, a service that
/// answers each in [`QUICK`] gets about as many requests as a core can make.
const PLACES: usize = 32;

/// A service is quick if its quickest response took less than this.
const QUICK: Duration = Duration::from_millis(1);

/// The quickest response is one of the last one to two of these intervals.
const INTERVAL: Duration = Duration::from_secs(1);

/// A request gives its place away when it has been in progress for one to two of these. If half of
/// the places are given away at once, the service is taken for a slow one until its next quick
/// response, and all waiting requests begin.
const TURN: Duration = Duration::from_millis(4);

/// The places of one origin.
pub(super) struct Places(Mutex<State>);

struct State {
    quickest: Quickest,
    /// The number of this turn. It changes only while requests wait.
    turn: u64,
    /// The requests with a place that began in this turn, and in the one before.
    began: [usize; 2],
    waiting: VecDeque<oneshot::Sender<Place>>,
    /// `true` while a task ends the turns.
    has_turns: bool,
}

/// The quickest responses of this interval, and of the one before.
struct Quickest {
    since: Instant,
    now: Duration,
    before: Duration,
}

/// The place of a request, until it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    /// The turn in which it was taken. `None` for a request that needs no place.
    turn: Option<u64>,
}

impl Default for Places {
    fn default() -> Self {
        let quickest = Quickest { since: Instant::now(), now: Duration::MAX, before: Duration::MAX };
        Self(Mutex::new(State { quickest, turn: 1, began: [0; 2], waiting: VecDeque::new(), has_turns: false }))
    }
}

impl Places {
    /// Takes a place, after all that wait for one.
    pub(super) async fn take(self: Arc<Self>) -> Place {
        let place = {
            let mut state = self.0.lock();
            if !state.quickest.is_below(QUICK) {
                return self.clone().place(None);
            }
            if state.waiting.is_empty() && state.has_free() {
                return self.clone().place(Some(state.begin()));
            }
            let (give, place) = oneshot::channel();
            state.waiting.push_back(give);
            if !std::mem::replace(&mut state.has_turns, true) {
                tokio::spawn(take_turns(Arc::downgrade(&self)));
            }
            place
        };
        // The sender is dropped only with the places, which this call holds.
        place.await.unwrap_or_else(|_| self.place(None))
    }

    /// Takes note of a response that took this time.
    pub(super) fn note_response(&self, took: Duration) {
        self.0.lock().quickest.note(Instant::now(), took);
    }

    fn place(self: Arc<Self>, turn: Option<u64>) -> Place {
        Place { places: self, turn }
    }

    /// Gives free places to those that wait, in their order.
    fn give_free(self: &Arc<Self>) {
        loop {
            let (waiting, turn) = {
                let mut state = self.0.lock();
                if !state.has_free() {
                    return;
                }
                let Some(waiting) = state.first_waiting() else { return };
                (waiting, state.begin())
            };
            // If the request has just ended, its place is free again.
            let _ = waiting.send(Arc::clone(self).place(Some(turn)));
        }
    }

    /// Ends a turn. Returns `false` if no request waits.
    fn end_turn(self: &Arc<Self>) -> bool {
        let released = {
            let mut state = self.0.lock();
            let slow = state.began[1];
            state.began = [0, state.began[0]];
            state.turn += 1;
            match slow >= PLACES / 2 {
                true => {
                    state.quickest.forget();
                    std::mem::take(&mut state.waiting)
                }
                false => VecDeque::new(),
            }
        };
        for waiting in released {
            let _ = waiting.send(Arc::clone(self).place(None));
        }
        self.give_free();
        let mut state = self.0.lock();
        state.has_turns = !state.waiting.is_empty();
        state.has_turns
    }
}

async fn take_turns(places: Weak<Places>) {
    loop {
        sleep(TURN).await;
        if !places.upgrade().is_some_and(|places| places.end_turn()) {
            return;
        }
    }
}

impl State {
    fn has_free(&self) -> bool {
        self.began[0] + self.began[1] < PLACES
    }

    /// Counts a request that begins. Returns the turn.
    fn begin(&mut self) -> u64 {
        self.began[0] += 1;
        self.turn
    }

    /// The first request that waits and has not ended.
    fn first_waiting(&mut self) -> Option<oneshot::Sender<Place>> {
        std::iter::from_fn(|| self.waiting.pop_front()).find(|waiting| !waiting.is_closed())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(turn) = self.turn else { return };
        {
            let mut state = self.places.0.lock();
            let turns = usize::try_from(state.turn - turn).unwrap_or(usize::MAX);
            // Otherwise its place was given away when its second turn ended.
            if let Some(began) = state.began.get_mut(turns) {
                *began -= 1;
            }
        }
        self.places.give_free();
    }
}

impl Quickest {
    fn note(&mut self, now: Instant, took: Duration) {
        let age = now.saturating_duration_since(self.since);
        if age >= INTERVAL {
            self.before = if age < 2 * INTERVAL { self.now } else { Duration::MAX };
            (self.since, self.now) = (now, Duration::MAX);
        }
        self.now = self.now.min(took);
    }

    fn is_below(&self, limit: Duration) -> bool {
        self.now.min(self.before) < limit
    }

    fn forget(&mut self) {
        (self.now, self.before) = (Duration::MAX, Duration::MAX);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use tokio::time::advance;

    use super::*;

    /// The places of a service whose quickest response took this time.
    fn places(quickest: Duration) -> Arc<Places> {
        let places = Arc::<Places>::default();
        places.note_response(quickest);
        places
    }

    /// A place that is free now.
    fn now(places: &Arc<Places>) -> Option<Place> {
        Arc::clone(places).take().now_or_never()
    }

    fn all(places: &Arc<Places>) -> Vec<Place> {
        (0..PLACES).map(|_| now(places).unwrap()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_quick_service_gets_few_requests_at_a_time_and_the_others_in_their_order() {
        let places = places(QUICK / 2);
        let mut taken = all(&places);
        let [mut first, mut second] = [(); 2].map(|()| Box::pin(Arc::clone(&places).take()));
        assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
        taken.pop();
        assert!(now(&places).is_none(), "the free place is for the first one");
        assert!(second.as_mut().now_or_never().is_none());
        let first = first.as_mut().now_or_never().unwrap();
        drop(first);
        assert!(second.as_mut().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_is_slow_or_not_known_has_no_limit() {
        for places in [Arc::<Places>::default(), places(QUICK)] {
            assert_eq!((0..10 * PLACES).map_while(|_| now(&places)).collect::<Vec<_>>().len(), 10 * PLACES);
        }
        let places = places(QUICK / 2);
        for _ in 0..2 {
            advance(INTERVAL).await;
            places.note_response(QUICK);
        }
        assert_eq!((0..10 * PLACES).map_while(|_| now(&places)).collect::<Vec<_>>().len(), 10 * PLACES);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_requests_to_a_quick_service_keep_no_other_waiting_for_longer_than_two_turns() {
        let places = places(QUICK / 2);
        let began = Instant::now();
        let many = join_all((0..100 * PLACES).map(|_| Arc::clone(&places).take())).await;
        assert!(began.elapsed() <= 3 * TURN, "{:?}", began.elapsed());
        places.note_response(QUICK / 2);
        drop(many);
        assert_eq!(places.0.lock().began, [0, 0]);
        assert_eq!(all(&places).len(), PLACES, "each place is free once");
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_slow_requests_to_a_quick_service_have_no_place_after_two_turns() {
        let places = places(QUICK / 2);
        let mut slow = all(&places);
        slow.truncate(PLACES / 4);
        for _ in 0..12 {
            let quick: Vec<Place> = std::iter::from_fn(|| now(&places)).collect();
            advance(QUICK).await;
            drop(quick);
        }
        assert_eq!(all(&places).len(), PLACES);
        assert!(places.0.lock().quickest.is_below(QUICK), "the service is a quick one still");
        drop(slow);
        assert_eq!(places.0.lock().began, [0, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_ends_while_it_waits_leaves_nothing() {
        let places = places(QUICK / 2);
        let taken = all(&places);
        for _ in 0..10 {
            assert!(now(&places).is_none());
        }
        drop(taken);
        assert!(places.0.lock().waiting.is_empty());
        assert_eq!(all(&places).len(), PLACES);
        sleep(2 * TURN).await;
        assert!(!places.0.lock().has_turns, "turns end when no request waits");
    }
}
