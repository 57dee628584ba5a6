//! The limits of an invocation.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use wasmtime::{ResourceLimiter, Trap};

use super::engine::MAX_TABLE_ELEMENTS;

/// The limits of one invocation.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All its linear memories and tables together, in bytes.
    pub memory_bytes: usize,
    /// Its CPU time.
    pub cpu: Duration,
    /// Data that it passes to the gateway in one call, and an answer that it composes, in bytes.
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
    /// Memory of the gateway for the invocation: four times [`Limits::output_bytes`].
    HostMemory,
    /// See [`Limits::cpu`].
    Cpu,
    /// See [`Limits::output_bytes`].
    Output,
    /// The WebAssembly stack.
    Stack,
    /// Number of documents, responses and links.
    Handles,
}

impl Limit {
    /// The name in metrics and problem details.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory | Self::HostMemory => "memory",
            Self::Cpu => "cpu",
            Self::Output => "output",
            Self::Stack => "stack",
            Self::Handles => "handles",
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
            Self::Output => " (`limits.response_mb`)",
            Self::Stack | Self::Handles => "",
        };
        write!(formatter, "{}{key}", self.name())
    }
}

/// Adds up the memories and tables of a store.
pub(super) struct MemoryBudget {
    limit: usize,
    used: usize,
    /// `true` if growth was refused. A guest that is refused memory usually traps, and then this is the cause.
    pub(super) exceeded: bool,
}

impl MemoryBudget {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, used: 0, exceeded: false }
    }

    fn take(&mut self, bytes: usize) -> bool {
        match self.used.checked_add(bytes) {
            Some(used) if used <= self.limit => {
                self.used = used;
                true
            }
            _ => {
                self.exceeded = true;
                false
            }
        }
    }
}

impl ResourceLimiter for MemoryBudget {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.take(desired.saturating_sub(current)))
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > MAX_TABLE_ELEMENTS {
            self.exceeded = true;
            return Ok(false);
        }
        let elements = desired.saturating_sub(current);
        Ok(self.take(elements.saturating_mul(size_of::<usize>())))
    }
}

/// Counts the CPU time of the guests of one call, and that of the gateway for them. Clones share it: a guest that is run again has
/// what the first run left.
#[derive(Clone, Debug)]
pub struct CpuBudget(Arc<AtomicU64>);

impl CpuBudget {
    /// A budget of this time.
    pub fn new(limit: Duration) -> Self {
        Self(Arc::new(AtomicU64::new(nanoseconds(limit))))
    }

    /// Takes time from the budget. Traps if too little is left.
    pub(super) fn spend(&self, time: Duration) -> Result<(), Trap> {
        let time = nanoseconds(time);
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(time)));
        if left.is_ok_and(|left| left >= time) { Ok(()) } else { Err(Trap::Interrupt) }
    }

    /// The instant at which a computation that starts now must end.
    pub(super) fn end(&self) -> Instant {
        Instant::now() + Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
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
    fn all_memories_and_tables_share_one_budget() {
        let mut budget = MemoryBudget::new(1000);
        assert!(budget.memory_growing(0, 400, None).unwrap());
        assert!(budget.memory_growing(0, 400, None).unwrap());
        assert!(budget.table_growing(0, 20, None).unwrap());
        assert!(!budget.exceeded);
        assert!(!budget.memory_growing(400, 500, None).unwrap());
        assert!(budget.exceeded);
    }
}
