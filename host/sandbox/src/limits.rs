//! The limits of an invocation.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memory::MemoryBudget;
use rustix::time::{ClockId, clock_gettime};
use wasmtime::Trap;

use super::engine::{KEEP_RESIDENT, MAX_TABLE_ELEMENTS};

/// The limits of one invocation.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All its linear memories and tables together, in bytes.
    pub memory_bytes: usize,
    /// Its CPU time.
    pub cpu: Duration,
    /// Data that it passes to the gateway in one host call, and an answer that it composes, in
    /// bytes.
    pub output_bytes: usize,
    /// A response that is read into memory, in bytes.
    pub response_bytes: u64,
    /// A file that is passed to the caller, in bytes.
    pub download_bytes: u64,
    /// Number of its requests.
    pub requests: u32,
}

/// Maximum number of documents, responses and links that one invocation holds.
pub(super) const MAX_HANDLES: usize = 100_000;

/// A limit that an invocation broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// See [`Limits::memory_bytes`].
    Memory,
    /// Memory of the gateway for the invocation: four times [`Limits::response_bytes`].
    HostMemory,
    /// See [`Limits::cpu`].
    Cpu,
    /// See [`Limits::output_bytes`].
    Output,
    /// The WebAssembly stack.
    Stack,
    /// Number of documents, responses and links.
    Handles,
    /// The deadline of the call. The guest has computed for most of the time.
    Time,
}

impl Limits {
    /// The largest response that the call may read, as a file or into memory.
    pub fn largest_response(&self) -> u64 {
        self.response_bytes.max(self.download_bytes)
    }
}

impl Limit {
    /// Returns `true` if a configuration key of the operator raises the limit.
    pub fn is_configured(self) -> bool {
        !matches!(self, Self::Stack | Self::Handles)
    }

    /// The name in metrics and problem details.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory | Self::HostMemory => "memory",
            Self::Cpu => "cpu",
            Self::Output => "output",
            Self::Stack => "stack",
            Self::Handles => "handles",
            Self::Time => "time",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text names the configuration key that raises the limit.
        let key = match self {
            Self::Memory => " (`limits.memory_mb`)",
            Self::HostMemory => " (4 × `limits.response_mb`)",
            Self::Cpu => " (`limits.cpu_ms`)",
            Self::Output => " (`limits.output_mb`)",
            Self::Time => " (`limits.timeout_s`)",
            Self::Stack | Self::Handles => "",
        };
        write!(formatter, "{}{key}", self.name())
    }
}

/// Why a guest was refused memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoGrowth {
    /// It has the maximum of one invocation.
    ForGuest,
    /// The memory for all calls is used up.
    ForAll,
}

/// Adds up the memories and tables of a store.
pub(super) struct GuestMemory {
    limit: usize,
    used: usize,
    /// The part of the memory for all calls. `None` as long as the guest needs no more than the
    /// memory that a slot of the pool keeps.
    part: Option<memory::Reservation>,
    /// Set if growth was refused. The guest then usually traps, and this is the cause.
    pub(super) refused: Option<NoGrowth>,
}

impl GuestMemory {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, used: 0, part: None, refused: None }
    }

    /// Counts the growth of a linear memory. `shared` gives the memory for all calls. Returns
    /// `false` if it is refused.
    pub(super) fn grow_memory(
        &mut self,
        current: usize,
        desired: usize,
        shared: impl FnOnce() -> MemoryBudget,
    ) -> bool {
        self.count(desired.saturating_sub(current), shared)
    }

    /// Counts the growth of a table, as [`Self::grow_memory`] does.
    pub(super) fn grow_table(&mut self, current: usize, desired: usize, shared: impl FnOnce() -> MemoryBudget) -> bool {
        if desired > MAX_TABLE_ELEMENTS {
            return self.refuse(NoGrowth::ForGuest);
        }
        self.count(desired.saturating_sub(current).saturating_mul(size_of::<usize>()), shared)
    }

    fn count(&mut self, bytes: usize, shared: impl FnOnce() -> MemoryBudget) -> bool {
        let Some(used) = self.used.checked_add(bytes).filter(|used| *used <= self.limit) else {
            return self.refuse(NoGrowth::ForGuest);
        };
        if used > KEEP_RESIDENT {
            let part = self.part.get_or_insert_with(|| shared().part());
            if part.grow_to(used).is_err() {
                return self.refuse(NoGrowth::ForAll);
            }
        }
        self.used = used;
        true
    }

    fn refuse(&mut self, reason: NoGrowth) -> bool {
        self.refused = Some(reason);
        false
    }
}

/// The thing that a guest waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Awaited {
    /// A processor: the guest has work to do.
    Processor,
    /// A response of an upstream.
    Upstream,
    /// The store.
    Store,
    /// The end of a time that the guest chose itself.
    Sleep,
}

/// Counts the CPU time of the guests of one call, and of the gateway's work for them. Clones share
/// it: a second run of a guest gets the remaining time of the first run. It also records what the
/// guest waits for while it does not compute.
#[derive(Clone, Debug)]
pub struct CpuBudget(Arc<Account>);

#[derive(Debug)]
struct Account {
    limit: Duration,
    /// In nanoseconds.
    left: AtomicU64,
    /// A value of [`Awaited`].
    awaited: AtomicU8,
}

impl CpuBudget {
    /// A budget of this time.
    pub fn new(limit: Duration) -> Self {
        let left = AtomicU64::new(nanoseconds(limit));
        Self(Arc::new(Account { limit, left, awaited: AtomicU8::new(Awaited::Processor as u8) }))
    }

    /// Takes time from the budget. Traps if too little is left.
    pub(super) fn spend(&self, time: Duration) -> Result<(), Trap> {
        let time = nanoseconds(time);
        let spent = |left: u64| Some(left.saturating_sub(time));
        let left = self.0.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spent);
        if left.is_ok_and(|left| left >= time) { Ok(()) } else { Err(Trap::Interrupt) }
    }

    /// Runs a part of a guest without a pause, and takes the CPU time from the budget that has not
    /// been taken meanwhile: a tick is all that the clock counts for a function of the gateway,
    /// however long it ran. If nothing is left, the guest ends at its next tick. Reading the time
    /// is a system call, so it begins after the first tick, which most guests do not see.
    pub(super) fn measured<T>(&self, part: impl FnOnce() -> T) -> T {
        let before = self.left();
        if before == self.0.limit {
            return part();
        }
        let started = thread_time();
        let result = part();
        let used = thread_time().saturating_sub(started);
        let taken = before.saturating_sub(self.left());
        let _ = self.spend(used.saturating_sub(taken));
        result
    }

    /// The remaining time.
    pub(super) fn left(&self) -> Duration {
        Duration::from_nanos(self.0.left.load(Ordering::Relaxed))
    }

    /// The instant at which a computation that starts now must end.
    pub(super) fn end(&self) -> Instant {
        Instant::now() + self.left()
    }

    /// Records that the guest waits for something other than a processor, until the returned value
    /// is dropped or the deadline of the call passes.
    pub(super) fn wait_for(&self, awaited: Awaited, deadline: tokio::time::Instant) -> Waiting {
        self.0.awaited.store(awaited as u8, Ordering::Relaxed);
        Waiting { cpu: self.clone(), deadline }
    }

    /// The thing that the guest waits for now, or waited for when the deadline passed.
    pub(super) fn awaited(&self) -> Awaited {
        let awaited = self.0.awaited.load(Ordering::Relaxed);
        [Awaited::Upstream, Awaited::Store, Awaited::Sleep]
            .into_iter()
            .find(|one| *one as u8 == awaited)
            .unwrap_or(Awaited::Processor)
    }
}

/// The guest waits for something other than a processor until this is dropped.
pub(super) struct Waiting {
    cpu: CpuBudget,
    deadline: tokio::time::Instant,
}

impl Drop for Waiting {
    /// After the deadline the record stays, because the short computation after it is not the
    /// reason for the timeout.
    fn drop(&mut self) {
        if tokio::time::Instant::now() < self.deadline {
            self.cpu.0.awaited.store(Awaited::Processor as u8, Ordering::Relaxed);
        }
    }
}

/// The CPU time that this thread has used. It does not run while others have the core.
pub(super) fn thread_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_traps_when_its_cpu_budget_is_used_up() {
        let budget = CpuBudget::new(Duration::from_millis(3));
        assert!(budget.spend(Duration::from_millis(2)).is_ok());
        assert!(budget.spend(Duration::from_millis(1)).is_ok());
        assert_eq!(budget.spend(Duration::from_millis(1)), Err(Trap::Interrupt));
    }

    #[test]
    fn a_second_guest_has_what_the_first_one_left() {
        let budget = CpuBudget::new(Duration::from_millis(3));
        assert!(budget.clone().spend(Duration::from_millis(2)).is_ok());
        assert_eq!(budget.spend(Duration::from_millis(2)), Err(Trap::Interrupt));
        assert_eq!(budget.spend(Duration::from_nanos(1)), Err(Trap::Interrupt), "nothing is left");
    }

    #[test]
    fn the_time_in_which_a_thread_does_not_run_is_no_cpu_time() {
        let pause = Duration::from_millis(50);
        let before = thread_time();
        std::thread::sleep(pause);
        assert!(thread_time() - before < pause);
        compute_for(pause);
    }

    #[test]
    fn a_guest_pays_for_all_its_time_after_the_first_tick_and_once() {
        let (second, tick) = (Duration::from_secs(1), Duration::from_millis(1));
        let budget = CpuBudget::new(10 * second);
        budget.measured(|| compute_for(20 * tick));
        assert_eq!(budget.left(), 10 * second, "it has seen no tick");
        budget.spend(tick).unwrap();
        budget.measured(|| {
            compute_for(20 * tick);
            budget.spend(5 * tick).unwrap();
        });
        let spent = 10 * second - budget.left();
        assert!((21 * tick..second).contains(&spent), "{spent:?}");
        budget.measured(|| budget.spend(second).unwrap());
        assert_eq!(10 * second - budget.left(), spent + second, "what was taken meanwhile counts once");
    }

    fn compute_for(time: Duration) {
        let before = thread_time();
        while thread_time() - before < time {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_guest_that_waited_at_the_deadline_is_known_to_have_waited() {
        let (budget, now) = (CpuBudget::new(Duration::from_millis(3)), tokio::time::Instant::now());
        assert_eq!(budget.awaited(), Awaited::Processor);
        let waiting = budget.wait_for(Awaited::Upstream, now + Duration::from_secs(3600));
        assert_eq!(budget.clone().awaited(), Awaited::Upstream);
        drop(waiting);
        assert_eq!(budget.awaited(), Awaited::Processor, "it computes again");
        drop(budget.wait_for(Awaited::Store, now));
        assert_eq!(budget.awaited(), Awaited::Store, "the deadline has passed meanwhile");
    }

    #[test]
    fn all_memories_and_tables_share_one_budget() {
        let mut memory = GuestMemory::new(1000);
        assert!(memory.grow_memory(0, 400, MemoryBudget::unlimited));
        assert!(memory.grow_memory(0, 400, MemoryBudget::unlimited));
        assert!(memory.grow_table(0, 20, MemoryBudget::unlimited));
        assert_eq!(memory.refused, None);
        assert!(!memory.grow_memory(400, 500, MemoryBudget::unlimited));
        assert_eq!(memory.refused, Some(NoGrowth::ForGuest));
    }

    #[test]
    fn a_large_guest_takes_its_memory_out_of_that_for_all_calls() {
        let shared = MemoryBudget::new(4 << 20);
        let mut small = GuestMemory::new(64 << 20);
        assert!(small.grow_memory(0, KEEP_RESIDENT, || panic!("a small guest does not ask")));
        let mut large = GuestMemory::new(64 << 20);
        assert!(large.grow_memory(0, 1 << 20, || shared.clone()));
        assert!(large.grow_memory(1 << 20, 3 << 20, || shared.clone()));
        assert_eq!(shared.held(), 3 << 20);
        assert!(!small.grow_memory(KEEP_RESIDENT, 2 << 20, || shared.clone()));
        assert_eq!(small.refused, Some(NoGrowth::ForAll));
        drop(large);
        assert!(small.grow_memory(KEEP_RESIDENT, 2 << 20, || shared.clone()));
        drop(small);
        assert_eq!(shared.held(), 0);
    }
}
