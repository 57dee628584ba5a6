//! A budget of memory that all calls of the gateway share.
//!
//! Limits of single calls do not protect the process from many calls: 150 bodies of 10 MB are 1.5
//! GB. Everything that a caller, an upstream or a connector can make large therefore takes its size
//! from one budget, and returns it when it is freed. If the budget is used up, the call is refused,
//! and the process is not killed.

mod freed;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep};

pub use freed::return_freed_memory;

/// Bytes below this size cost less than counting them. The limits of connections and calls bound
/// them.
const SMALL_BYTES: usize = 4 << 10;

/// The part of the budget, as a divisor, that calls may not use until they are admitted. Otherwise
/// callers who send large bodies would take the memory of calls that already run.
const RESERVED: u64 = 4;

/// Time for which work that must not be lost waits for memory. See
/// [`Reservation::wait_to_grow_to`].
pub const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Time between two looks for memory.
const LOOK: Duration = Duration::from_millis(100);

/// The budget. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Arc<Counted>);

/// The budget, with a reference count for some of its clones. See [`MemoryBudget::with_own_count`].
#[derive(Debug)]
struct Counted {
    budget: Arc<Budget>,
}

#[derive(Debug)]
struct Budget {
    limit: u64,
    held: AtomicU64,
    /// The budget of which this one is a part. Its bytes are counted there too.
    whole: Option<MemoryBudget>,
}

impl Budget {
    /// Counts more bytes, unless the sum were over the ceiling or the budget.
    fn take(&self, bytes: u64, ceiling: u64) -> Result<(), Exhausted> {
        let fits = |held: u64| held.checked_add(bytes).filter(|&sum| sum <= ceiling);
        let held = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).map_err(|_| Exhausted)?;
        if let Some(whole) = &self.whole {
            // The rest of the gateway has its reserve, however large the part is.
            let taken = whole.0.budget.take(bytes, whole.before_admission());
            return taken.inspect_err(|_| {
                self.held.fetch_sub(bytes, Ordering::Relaxed);
            });
        }
        if held + bytes > self.limit / freed::MUCH {
            freed::much_is_held();
        }
        Ok(())
    }

    /// Returns bytes.
    fn give_back(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.0.budget.give_back(bytes);
        }
    }
}

/// There is not enough memory left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the memory for calls is used up")]
pub struct Exhausted;

/// A part of the budget. Dropping it gives the part back.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    bytes: u64,
    /// Maximum size of all parts together up to which this one may grow.
    ceiling: u64,
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self::of(limit, None)
    }

    /// A budget of one `divisor`th of this one, for requests that must neither take more nor have to
    /// wait for others. Its bytes are counted in both.
    #[must_use]
    pub fn fixed_part(&self, divisor: u64) -> Self {
        Self::of(self.limit() / divisor.max(1), Some(self.clone()))
    }

    fn of(limit: u64, whole: Option<Self>) -> Self {
        Self(Arc::new(Counted { budget: Arc::new(Budget { limit, held: AtomicU64::new(0), whole }) }))
    }

    /// The same budget with a separate reference count. Each call clones it several times. If the
    /// calls of two cores changed one count, each core would wait for the other's cache line.
    #[must_use]
    pub fn with_own_count(&self) -> Self {
        Self(Arc::new(Counted { budget: Arc::clone(&self.0.budget) }))
    }

    /// A budget that is never used up.
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// Half of the memory that the process may use: of its control group if that has a limit, else
    /// of the machine.
    pub fn half_of_the_machine() -> u64 {
        Self::available().unwrap_or(DEFAULT_BYTES) / 2
    }

    /// The memory that the process may use: of its control group if that has a limit, else of the
    /// machine. `None` if the operating system does not say.
    pub fn available() -> Option<u64> {
        memory_of_group().into_iter().chain(memory_of_machine()).min()
    }

    /// The number of bytes in use.
    pub fn held(&self) -> u64 {
        self.0.budget.held.load(Ordering::Relaxed)
    }

    /// The size of the budget in bytes.
    pub fn limit(&self) -> u64 {
        self.0.budget.limit
    }

    /// An empty part of the budget, which can grow.
    pub fn part(&self) -> Reservation {
        self.part_up_to(self.limit())
    }

    /// As [`MemoryBudget::part`], for a call that is not admitted yet: its body, and the values
    /// that validation makes of the body. It leaves a quarter of the budget to running calls.
    pub fn part_before_admission(&self) -> Reservation {
        self.part_up_to(self.before_admission())
    }

    /// The bytes that calls may hold before they are admitted.
    fn before_admission(&self) -> u64 {
        self.limit() - self.limit() / RESERVED
    }

    /// As [`MemoryBudget::part`], for answers to an operator, who looks why there is no memory. They
    /// are counted, and never refused.
    pub fn part_beyond_limit(&self) -> Reservation {
        self.part_up_to(u64::MAX)
    }

    fn part_up_to(&self, ceiling: u64) -> Reservation {
        Reservation { budget: self.clone(), bytes: 0, ceiling }
    }

    /// Takes the size of `bytes` from the budget until the last reference to them is dropped. Small
    /// ones are not counted.
    ///
    /// # Errors
    /// If the budget has too little left.
    pub fn hold_bytes(&self, bytes: Bytes) -> Result<Bytes, Exhausted> {
        let mut held = self.part();
        held.grow_to(bytes.len())?;
        Ok(held.tie_to(bytes))
    }
}

impl Reservation {
    /// Makes the part as large as `size`, if it is smaller. Small sizes are not counted.
    ///
    /// # Errors
    /// If the budget has too little left. The size of the part does not change.
    pub fn grow_to(&mut self, size: usize) -> Result<(), Exhausted> {
        let bytes = (size as u64).saturating_sub(self.bytes);
        if size < SMALL_BYTES || bytes == 0 {
            return Ok(());
        }
        self.budget.0.budget.take(bytes, self.ceiling)?;
        self.bytes += bytes;
        Ok(())
    }

    /// As [`Reservation::grow_to`], and waits for memory, at most for [`LONGEST_WAIT`]. A size that
    /// never fits does not wait.
    ///
    /// # Errors
    /// If the budget has too little left until the end. The size of the part does not change.
    pub async fn wait_to_grow_to(&mut self, size: usize) -> Result<(), Exhausted> {
        let end = Instant::now() + LONGEST_WAIT;
        loop {
            let refused = match self.grow_to(size) {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            };
            if size as u64 > self.ceiling || Instant::now() >= end {
                return Err(refused);
            }
            sleep(LOOK).await;
        }
    }

    /// As [`Reservation::grow_to`], for the result of work that is done, which must not be lost. It is
    /// counted beyond the budget, and never refused.
    pub fn grow_beyond_limit_to(&mut self, size: usize) {
        self.ceiling = u64::MAX;
        // The sum of all bytes is below this ceiling.
        let _ = self.grow_to(size);
    }

    /// Returns all but `size` bytes of the part.
    pub fn shrink_to(&mut self, size: usize) {
        let freed = self.bytes.saturating_sub(size as u64);
        if freed > 0 {
            self.budget.0.budget.give_back(freed);
            self.bytes -= freed;
        }
    }

    /// Ties the part to `bytes`: it is returned when the last reference to them is dropped.
    #[must_use]
    pub fn tie_to(self, bytes: Bytes) -> Bytes {
        if self.bytes == 0 {
            return bytes;
        }
        Bytes::from_owner(ReservedBytes { bytes, _reservation: self })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // Most parts are of small sizes, and all cores write this number.
        if self.bytes > 0 {
            self.budget.0.budget.give_back(self.bytes);
        }
    }
}

struct ReservedBytes {
    bytes: Bytes,
    _reservation: Reservation,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The assumed memory if the system does not report it.
const DEFAULT_BYTES: u64 = 2 << 30;

/// The limit of the control group (version 2), as containers have it.
fn memory_of_group() -> Option<u64> {
    fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse().ok()
}

/// The memory of the machine.
fn memory_of_machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn a_part_is_held_until_it_is_dropped() {
        let budget = MemoryBudget::new(10_000);
        let mut held = budget.part();
        held.grow_to(6000).unwrap();
        assert_eq!(budget.part().grow_to(5000), Err(Exhausted));
        held.grow_to(10_000).unwrap();
        assert_eq!(held.grow_to(10_001), Err(Exhausted));
        assert_eq!(budget.held(), 10_000);
        held.shrink_to(8000);
        held.shrink_to(9000);
        assert_eq!(budget.held(), 8000);
        budget.part().grow_to(SMALL_BYTES - 1).unwrap();
        drop(held);
        assert_eq!(budget.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn work_waits_for_memory_and_may_go_beyond_the_budget() {
        let budget = MemoryBudget::new(100_000);
        let (mut others, mut held) = (budget.part(), budget.part());
        others.grow_to(60_000).unwrap();
        {
            let mut waiting = pin!(held.wait_to_grow_to(50_000));
            assert!(timeout(LONGEST_WAIT / 2, &mut waiting).await.is_err());
            others.shrink_to(50_000);
            timeout(2 * LOOK, waiting).await.unwrap().unwrap();
        }
        assert_eq!(budget.held(), 100_000);

        let began = Instant::now();
        assert_eq!(held.wait_to_grow_to(60_000).await, Err(Exhausted));
        assert!(began.elapsed() >= LONGEST_WAIT);
        held.grow_beyond_limit_to(60_000);
        assert_eq!(budget.held(), 110_000);

        let began = Instant::now();
        assert_eq!(budget.part().wait_to_grow_to(100_001).await, Err(Exhausted));
        assert_eq!(began.elapsed(), Duration::ZERO, "it never fits");
        drop((others, held));
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn calls_that_are_not_admitted_leave_a_quarter_to_those_that_run() {
        let budget = MemoryBudget::new(20_000);
        let mut running = budget.part();
        running.grow_to(5000).unwrap();
        let mut arriving = budget.part_before_admission();
        assert_eq!(arriving.grow_to(10_001), Err(Exhausted));
        arriving.grow_to(10_000).unwrap();
        running.grow_to(10_000).unwrap();
        assert_eq!(budget.held(), 20_000);
    }

    #[test]
    fn a_fixed_part_is_counted_in_the_whole_and_never_larger() {
        let whole = MemoryBudget::new(80_000);
        let fixed = whole.fixed_part(4);
        let mut held = fixed.part();
        assert_eq!(held.grow_to(20_001), Err(Exhausted));
        held.grow_to(20_000).unwrap();
        assert_eq!((fixed.held(), whole.held()), (20_000, 20_000));
        held.shrink_to(5000);
        assert_eq!((fixed.held(), whole.held()), (5000, 5000));

        let mut running = whole.part();
        running.grow_to(54_000).unwrap();
        assert_eq!(held.grow_to(7000), Err(Exhausted), "calls that run keep their quarter");
        assert_eq!((fixed.held(), whole.held()), (5000, 59_000));
        held.grow_to(6000).unwrap();
        drop(held);
        assert_eq!((fixed.held(), whole.held()), (0, 54_000));
    }

    #[test]
    fn clones_that_are_counted_apart_share_the_budget() {
        let budget = MemoryBudget::new(10_000);
        let other = budget.with_own_count();
        let mut held = other.part();
        held.grow_to(6000).unwrap();
        assert_eq!((budget.held(), other.limit()), (6000, 10_000));
        assert_eq!(budget.part().grow_to(5000), Err(Exhausted));
        let counts = [&budget, &other].map(|budget| Arc::strong_count(&budget.0));
        assert_eq!(counts, [1, 2], "the part is a clone of the other one");
        drop(other);
        drop(held);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn bytes_hold_their_part_as_long_as_any_piece_of_them() {
        let budget = MemoryBudget::new(5000);
        let bytes = budget.hold_bytes(Bytes::from(vec![7; 5000])).unwrap();
        let piece = bytes.slice(2..4);
        drop(bytes);
        assert_eq!((&piece[..], budget.held()), (&[7, 7][..], 5000));
        assert_eq!(budget.hold_bytes(Bytes::from(vec![7; 5000])).unwrap_err(), Exhausted);
        budget.hold_bytes(Bytes::from_static(b"small")).unwrap();
        drop(piece);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn the_machine_tells_its_memory() {
        assert!(MemoryBudget::half_of_the_machine() > 64 << 20);
    }
}
