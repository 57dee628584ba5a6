//! Metrics that every call changes. The cores of the machine share no part of them.
//!
//! If two cores add to one number, its cache line moves from core to core at each call, and each of them waits for it. So these
//! metrics have a shard for each core. A thread adds to the shard of its core, and a reader sums all shards. Nothing is locked,
//! so a reader may see one part of a call that is counted at this moment, and not yet another part.
//!
//! - here: the shards, and the shard of a thread
//! - `counter`: counters and gauges; `histogram`: histograms of times

mod counter;
mod histogram;

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread::available_parallelism;

pub use self::counter::{Counter, Gauge};
pub use self::histogram::Histogram;

/// Maximum number of shards. A machine with more cores has some that share one.
const MAX_SHARDS: usize = 64;

/// The number of shards: one for each core.
static SHARDS: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, usize::from).min(MAX_SHARDS));

/// The number of threads that were given a shard in turn.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD_OF_THREAD: Cell<usize> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed) % *SHARDS);
}

/// From now on, this thread uses the shard of a core. Other threads are given shards in turn, so that two cores that serve could
/// get the same one.
pub fn use_shard_of(core: usize) {
    SHARD_OF_THREAD.set(core % *SHARDS);
}

/// A value for each core. Clones share it.
#[derive(Debug)]
struct Sharded<T>(Arc<[Slot<T>]>);

/// Empty until a thread of the core uses the shard, because most operations are never called.
type Slot<T> = OnceLock<Box<Shard<T>>>;

/// The value of one core. Processors read ahead in pairs of cache lines, so it has both lines of a pair for itself.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard<T>(T);

impl<T> Clone for Sharded<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Sharded<T> {
    fn default() -> Self {
        Self((0..*SHARDS).map(|_| Slot::new()).collect())
    }
}

impl<T: Default> Sharded<T> {
    /// The value of this thread's core.
    fn own(&self) -> &T {
        &self.0[SHARD_OF_THREAD.get()].get_or_init(Box::default).0
    }

    /// The values of all cores that have one.
    fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter().filter_map(Slot::get).map(|shard| &shard.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use prometheus_client::encoding::text;
    use prometheus_client::registry::{Metric, Registry};

    use super::*;

    /// The text of a metric with the name `name`.
    pub(super) fn text_of(metric: impl Metric) -> String {
        let (mut registry, mut text) = (Registry::default(), String::new());
        registry.register("name", "Help", metric);
        text::encode(&mut text, &registry).unwrap();
        text
    }

    /// The shard that a new thread uses, after it was told its core.
    fn shard_of_a_thread(core: Option<usize>) -> usize {
        let thread = thread::spawn(move || {
            core.inspect(|core| use_shard_of(*core));
            SHARD_OF_THREAD.get()
        });
        thread.join().unwrap()
    }

    #[test]
    fn all_threads_of_a_core_use_its_shard() {
        for core in 0..*SHARDS {
            assert_eq!((shard_of_a_thread(Some(core)), shard_of_a_thread(Some(core))), (core, core));
        }
        assert_eq!(shard_of_a_thread(Some(*SHARDS)), 0, "there are no more shards");
    }

    #[test]
    fn threads_without_a_core_are_given_shards_that_exist() {
        for _ in 0..=*SHARDS {
            assert!(shard_of_a_thread(None) < *SHARDS);
        }
    }

    #[test]
    fn a_shard_takes_memory_only_once_its_core_uses_it() {
        let sharded = Sharded::<AtomicU64>::default();
        assert_eq!(sharded.all().count(), 0);
        let clone = sharded.clone();
        clone.own().store(7, Ordering::Relaxed);
        let values: Vec<u64> = sharded.all().map(|value| value.load(Ordering::Relaxed)).collect();
        assert_eq!(values, [7]);
    }

    #[test]
    fn no_two_shards_share_a_pair_of_cache_lines() {
        assert_eq!((align_of::<Shard<AtomicU64>>(), size_of::<Shard<AtomicU64>>()), (128, 128));
    }
}
