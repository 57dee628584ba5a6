//! What one invocation may use, and the record of the limit it broke.

use std::fmt;
use std::time::{Duration, Instant};

use wasmtime::{ResourceLimiter, Trap};

use super::engine::MAX_TABLE_ELEMENTS;

/// Bounds of one invocation.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All linear memories and tables together, in bytes.
    pub memory_bytes: usize,
    /// The guest's own computing.
    pub cpu: Duration,
    /// What the guest may hand over in one call, and the answer it may compose, in bytes.
    pub output_bytes: usize,
    /// Bodies of responses that are read into memory, in bytes.
    pub response_bytes: u64,
    /// Files that are handed on, in bytes.
    pub download_bytes: u64,
}

/// Requests that one invocation may send.
pub(super) const MAX_REQUESTS: u32 = 256;

/// Lines that one invocation may log, and their length.
pub(super) const MAX_LOG_LINES: u32 = 256;
pub(super) const MAX_LOG_LINE_BYTES: usize = 4 << 10;

/// Documents and responses that one invocation may hold at once.
pub(super) const MAX_HANDLES: usize = 100_000;

/// A limit that an invocation broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// See [`Limits::memory_bytes`].
    Memory,
    /// What the gateway holds for it: four times [`Limits::output_bytes`].
    HostMemory,
    /// See [`Limits::cpu`].
    Cpu,
    /// See [`Limits::output_bytes`].
    Output,
    /// The WebAssembly stack.
    Stack,
    /// Documents and responses held at once.
    Handles,
}

impl Limit {
    /// The word for it in metrics and problem details.
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
        // Whoever reads this learns which key allows more.
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

/// Adds up every memory and table of a store.
pub(super) struct MemoryBudget {
    limit: usize,
    used: usize,
    /// Set once growth was refused; a guest seldom survives that, and the trap that follows has this as its cause.
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

/// Counts the guest's own computing, and what the gateway computes for it.
pub(super) struct CpuBudget {
    left: Duration,
}

impl CpuBudget {
    pub(super) fn new(limit: Duration) -> Self {
        Self { left: limit }
    }

    /// Takes from the budget, or traps when there is too little left.
    pub(super) fn spend(&mut self, time: Duration) -> Result<(), Trap> {
        self.left = self.left.checked_sub(time).ok_or(Trap::Interrupt)?;
        Ok(())
    }

    /// When a computation that begins now must end.
    pub(super) fn end(&self) -> Instant {
        Instant::now() + self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computing_ends_with_the_budget() {
        let mut budget = CpuBudget::new(Duration::from_millis(3));
        assert!(budget.spend(Duration::from_millis(2)).is_ok());
        assert!(budget.spend(Duration::from_millis(1)).is_ok());
        assert_eq!(budget.spend(Duration::from_millis(1)), Err(Trap::Interrupt));
    }

    #[test]
    fn all_memories_and_tables_draw_on_one_budget() {
        let mut budget = MemoryBudget::new(1000);
        assert!(budget.memory_growing(0, 400, None).unwrap());
        assert!(budget.memory_growing(0, 400, None).unwrap());
        assert!(budget.table_growing(0, 20, None).unwrap());
        assert!(!budget.exceeded);
        assert!(!budget.memory_growing(400, 500, None).unwrap());
        assert!(budget.exceeded);
    }
}
