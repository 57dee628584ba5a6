//! Histograms of times.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

use super::Sharded;

/// Upper bounds in nanoseconds: from one invocation in the sandbox to an operation that waits for its upstream. A time that is
/// equal to a bound is in its bucket.
const BOUNDS: [u64; 16] = [
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    500_000_000,
    1_000_000_000,
    5_000_000_000,
    30_000_000_000,
];

/// The buckets of the bounds, and one for all times above them.
const BUCKETS: usize = BOUNDS.len() + 1;

const NANOSECONDS: f64 = 1e9;

/// The number of times in each bucket, and their sum.
#[derive(Clone, Debug, Default)]
pub struct Histogram(Sharded<Times>);

#[derive(Debug, Default)]
struct Times {
    /// In nanoseconds. It begins again at zero after 584 years, which a reader takes for a restart of the gateway.
    sum: AtomicU64,
    counts: [AtomicU64; BUCKETS],
}

impl Histogram {
    /// Records a time.
    pub fn observe(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < time);
        let times = self.0.own();
        times.counts[bucket].fetch_add(1, Ordering::Relaxed);
        times.sum.fetch_add(time, Ordering::Relaxed);
    }

    /// The number of times in each bucket, without those of the smaller buckets.
    fn counts(&self) -> [u64; BUCKETS] {
        let mut counts = [0; BUCKETS];
        for times in self.0.all() {
            for (sum, count) in counts.iter_mut().zip(&times.counts) {
                *sum += count.load(Ordering::Relaxed);
            }
        }
        counts
    }

    /// The sum of all times in seconds.
    fn sum(&self) -> f64 {
        let sum: u128 = self.0.all().map(|times| u128::from(times.sum.load(Ordering::Relaxed))).sum();
        sum as f64 / NANOSECONDS
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let counts = self.counts();
        let bounds = BOUNDS.iter().map(|bound| *bound as f64 / NANOSECONDS).chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        // Not counted apart, so that it is always the same as the count up to infinity.
        let count = counts.iter().sum();
        encoder.encode_histogram::<NoLabelSet>(self.sum(), count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use prometheus_client::metrics::histogram;

    use super::*;
    use crate::metrics::sharded::tests::text_of;
    use crate::metrics::sharded::{Shard, use_shard_of};

    const THREADS: usize = 8;
    const TIMES: u32 = 2000;

    /// The bounds in seconds, as they are in the text.
    const SECONDS: [f64; 16] = [
        0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0,
        30.0,
    ];

    /// Asserts that the text is the same as that of the usual type.
    fn assert_usual_text(times: &[Duration]) {
        let (ours, usual) = (Histogram::default(), histogram::Histogram::new(SECONDS));
        for time in times {
            ours.observe(*time);
            usual.observe(time.as_secs_f64());
        }
        assert_eq!(text_of(ours), text_of(usual), "{times:?}");
    }

    /// The value of the line that begins so.
    fn value<'a>(text: &'a str, line: &str) -> &'a str {
        text.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(' ')).unwrap()
    }

    #[test]
    fn the_text_is_that_of_the_usual_type() {
        assert_usual_text(&[]);
        assert_usual_text(&[Duration::ZERO]);
        // Sums that a float holds exactly.
        let times = [1.0 / 512.0, 0.031_25, 0.125, 0.5, 0.5, 3.75, 64.0, 3600.0];
        assert_usual_text(&times.map(Duration::from_secs_f64));
    }

    #[test]
    fn a_time_that_is_equal_to_a_bound_is_in_its_bucket() {
        for bound in BOUNDS {
            for time in [bound - 1, bound, bound + 1] {
                assert_usual_text(&[Duration::from_nanos(time)]);
            }
        }
    }

    #[test]
    fn threads_of_all_cores_count_exactly() {
        let histogram = Histogram::default();
        thread::scope(|scope| {
            for core in 0..THREADS {
                let histogram = &histogram;
                scope.spawn(move || {
                    use_shard_of(core);
                    for time in 1..=TIMES {
                        histogram.observe(Duration::from_micros(time.into()));
                    }
                });
            }
        });
        // Each thread has observed 1 to 2000 microseconds.
        let expected = [25, 25, 50, 150, 250, 500, 1000].map(|count| count * THREADS as u64);
        assert_eq!((&histogram.counts()[..7], histogram.counts()[7..].iter().sum()), (&expected[..], 0));
        assert_eq!(value(&text_of(histogram), "name_sum"), "16.008");
    }

    #[test]
    fn the_count_is_that_of_the_last_bucket_also_while_others_write() {
        let (histogram, is_over) = (Histogram::default(), AtomicBool::new(false));
        thread::scope(|scope| {
            for core in 0..THREADS {
                let (histogram, is_over) = (&histogram, &is_over);
                scope.spawn(move || {
                    use_shard_of(core);
                    while !is_over.load(Ordering::Relaxed) {
                        histogram.observe(Duration::from_micros(700));
                    }
                });
            }
            let texts: Vec<String> = (0..100).map(|_| text_of(histogram.clone())).collect();
            // Before the assertions, which would leave the threads running.
            is_over.store(true, Ordering::Relaxed);
            for text in texts {
                assert_eq!(value(&text, "name_count"), value(&text, "name_bucket{le=\"+Inf\"}"));
            }
        });
    }

    #[test]
    fn a_time_that_is_too_long_for_the_sum_is_counted() {
        let histogram = Histogram::default();
        histogram.observe(Duration::MAX);
        assert_eq!(histogram.counts().last(), Some(&1));
    }

    #[test]
    fn a_shard_is_two_pairs_of_cache_lines() {
        assert_eq!(size_of::<Shard<Times>>(), 256);
    }
}
