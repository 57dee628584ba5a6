//! The course of some metrics over the last hour, for the charts of the console.
//!
//! A sample every 15 seconds is taken from the metrics, apart from calls. The samples of an hour
//! are in memory, which never grows beyond them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use crate::{Metrics, Totals};
use memory::MemoryBudget;

/// Time between two samples.
pub const INTERVAL: Duration = Duration::from_secs(15);

/// The samples of an hour.
const KEPT: usize = 240;

/// The work of the gateway since the previous sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The end of the time.
    pub at: SystemTime,
    /// Answers to callers. See [`Totals::answers`].
    pub answers: u64,
    /// Those with a status of 500 or more.
    pub faults: u64,
    /// Half of the operations that succeeded took no longer. `None` without operations. See
    /// [`Totals::quantile_since`].
    pub median_s: Option<f64>,
    /// 95 % of the operations that succeeded took no longer.
    pub p95_s: Option<f64>,
    /// Calls of operations that were running at the end.
    pub in_flight: i64,
    /// The memory that calls held at the end.
    pub memory_held_bytes: u64,
}

/// The samples of the last hour.
#[derive(Debug, Default)]
pub struct Samples(Mutex<VecDeque<Sample>>);

impl Samples {
    /// All samples, the oldest first.
    pub fn all(&self) -> Vec<Sample> {
        self.0.lock().iter().copied().collect()
    }

    /// Adds a sample. The oldest one makes room for it.
    fn add(&self, sample: Sample) {
        let mut samples = self.0.lock();
        if samples.len() == KEPT {
            samples.pop_front();
        }
        samples.push_back(sample);
    }
}

/// Takes samples. Runs until it is dropped.
pub async fn take(samples: Arc<Samples>, metrics: Arc<Metrics>, memory: MemoryBudget) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick is at once.
    ticks.tick().await;
    let mut before = metrics.totals();
    loop {
        ticks.tick().await;
        let now = metrics.totals();
        samples.add(sample(&before, &now, &metrics, &memory));
        before = now;
    }
}

fn sample(before: &Totals, now: &Totals, metrics: &Metrics, memory: &MemoryBudget) -> Sample {
    Sample {
        at: clock::now(),
        answers: now.answers.saturating_sub(before.answers),
        faults: now.faults.saturating_sub(before.faults),
        median_s: now.quantile_since(before, 0.5),
        p95_s: now.quantile_since(before, 0.95),
        in_flight: metrics.calls_in_progress(),
        memory_held_bytes: memory.held(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn samples_have_what_came_since_the_previous_one_and_an_hour_of_them_is_kept() {
        let (samples, metrics) = (Arc::new(Samples::default()), Arc::new(Metrics::default()));
        let taking = tokio::spawn(take(Arc::clone(&samples), Arc::clone(&metrics), MemoryBudget::new(1 << 20)));
        let operation = metrics.operation("mail", "list");
        let call = || {
            operation.succeeded.inc();
            operation.seconds.observe(0.003);
        };
        tokio::time::sleep(INTERVAL / 2).await;
        call();
        call();
        tokio::time::sleep(INTERVAL).await;
        call();
        tokio::time::sleep(INTERVAL * 2).await;
        let taken = samples.all();
        let answers: Vec<u64> = taken.iter().map(|sample| sample.answers).collect();
        assert_eq!(answers, [2, 1, 0]);
        assert_eq!((taken[0].median_s, taken[2].median_s), (Some(0.005), None));
        tokio::time::sleep(INTERVAL * 300).await;
        taking.abort();
        assert_eq!(samples.all().len(), KEPT);
    }
}
