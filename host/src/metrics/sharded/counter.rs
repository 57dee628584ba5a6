//! Counters and gauges.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

use super::Sharded;

/// A number that only grows.
#[derive(Clone, Debug, Default)]
pub struct Counter(Sharded<AtomicU64>);

impl Counter {
    /// Counts one.
    pub fn inc(&self) {
        self.0.own().fetch_add(1, Ordering::Relaxed);
    }

    fn value(&self) -> u64 {
        self.0.all().map(|shard| shard.load(Ordering::Relaxed)).sum()
    }
}

impl TypedMetric for Counter {
    const TYPE: MetricType = MetricType::Counter;
}

impl EncodeMetric for Counter {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_counter::<NoLabelSet, _, u64>(&self.value(), None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

/// The number of things that are under way. A thing may end on another core than it began on.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Sharded<AtomicI64>);

impl Gauge {
    /// One more is under way.
    pub fn inc(&self) {
        self.0.own().fetch_add(1, Ordering::Relaxed);
    }

    /// One has ended.
    pub fn dec(&self) {
        self.0.own().fetch_sub(1, Ordering::Relaxed);
    }

    /// A reader may see the end of a thing and not its beginning, if both are in shards of different cores.
    fn value(&self) -> i64 {
        self.0.all().map(|shard| shard.load(Ordering::Relaxed)).sum::<i64>().max(0)
    }
}

impl TypedMetric for Gauge {
    const TYPE: MetricType = MetricType::Gauge;
}

impl EncodeMetric for Gauge {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&self.value())
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use prometheus_client::metrics::{counter, gauge};

    use super::*;
    use crate::metrics::sharded::tests::text_of;
    use crate::metrics::sharded::use_shard_of;

    const THREADS: usize = 8;
    const TIMES: usize = 10_000;

    #[test]
    fn threads_of_all_cores_count_exactly() {
        let (counter, gauge) = (Counter::default(), Gauge::default());
        thread::scope(|scope| {
            for core in 0..THREADS {
                let (counter, gauge) = (&counter, &gauge);
                scope.spawn(move || {
                    use_shard_of(core);
                    for _ in 0..TIMES {
                        counter.inc();
                        gauge.inc();
                    }
                });
            }
        });
        assert_eq!((counter.value(), gauge.value()), ((THREADS * TIMES) as u64, (THREADS * TIMES) as i64));
    }

    #[test]
    fn what_began_on_one_core_may_end_on_another() {
        let gauge = Gauge::default();
        thread::scope(|scope| {
            for core in 0..THREADS {
                let gauge = &gauge;
                scope.spawn(move || {
                    for time in 0..TIMES {
                        use_shard_of(core + time);
                        gauge.inc();
                        use_shard_of(core + time + 1);
                        gauge.dec();
                    }
                });
            }
        });
        assert_eq!(gauge.value(), 0);
        gauge.inc();
        assert_eq!(gauge.value(), 1);
    }

    #[test]
    fn a_gauge_of_which_a_reader_sees_only_ends_is_zero() {
        let gauge = Gauge::default();
        gauge.dec();
        assert_eq!(gauge.value(), 0);
    }

    #[test]
    fn the_text_is_that_of_the_usual_types() {
        let (counter, usual_counter) = (Counter::default(), <counter::Counter>::default());
        let (gauge, usual_gauge) = (Gauge::default(), <gauge::Gauge>::default());
        for _ in 0..3 {
            assert_eq!(text_of(counter.clone()), text_of(usual_counter.clone()));
            assert_eq!(text_of(gauge.clone()), text_of(usual_gauge.clone()));
            counter.inc();
            usual_counter.inc();
            gauge.inc();
            usual_gauge.inc();
        }
    }
}
