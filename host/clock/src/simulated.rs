//! The clocks of simulated gateways.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::random::Random;

tokio::task_local! {
    static CLOCK: Arc<SimulatedClock>;
}

/// The time at which each simulation begins, in milliseconds since 1970.
const BEGIN: i64 = 1_800_000_000_000;

/// The clock of one gateway, and its random numbers.
pub struct SimulatedClock {
    began: Instant,
    /// Milliseconds by which this clock is ahead of the others. A test changes them.
    pub skew_ms: AtomicI64,
    random: AtomicU64,
}

impl SimulatedClock {
    /// A clock that shows the begin of the simulation, and the skew, at `began`.
    pub fn new(began: Instant, skew_ms: i64, seed: u64) -> Arc<Self> {
        Arc::new(Self { began, skew_ms: skew_ms.into(), random: seed.into() })
    }

    /// Its time, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        let elapsed = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        BEGIN + elapsed + self.skew_ms.load(Ordering::Relaxed)
    }

    /// Lets a task have this clock.
    pub fn scope<F: Future>(self: &Arc<Self>, work: F) -> impl Future<Output = F::Output> + use<F> {
        CLOCK.scope(Arc::clone(self), work)
    }
}

/// The time of the task's clock, or of the machine's if the task has none.
pub fn now() -> SystemTime {
    let now = CLOCK.try_with(|clock| UNIX_EPOCH + Duration::from_millis(clock.now_ms().unsigned_abs()));
    now.unwrap_or_else(|_| SystemTime::now())
}

/// A number of the gateway's own sequence, in place of the operating system's.
pub fn random_byte() -> Option<u8> {
    let next = |clock: &Arc<SimulatedClock>| {
        let mut random = Random::new(clock.random.load(Ordering::Relaxed));
        let number = random.next();
        clock.random.store(number, Ordering::Relaxed);
        number as u8
    };
    CLOCK.try_with(next).ok()
}

/// Lets a new task have the clock of the task that starts it.
pub fn inherit<F: Future>(work: F) -> impl Future<Output = F::Output> + use<F> {
    // Not in the future, which has only the clock of the new task.
    let clock = CLOCK.try_with(Arc::clone);
    async move {
        match clock {
            Ok(clock) => CLOCK.scope(clock, work).await,
            Err(_) => work.await,
        }
    }
}
