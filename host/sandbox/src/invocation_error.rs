//! Why an invocation has no outcome.

use thiserror::Error;
use wasmtime::{PoolConcurrencyLimitError, Trap};

use super::guest::Guest;
use super::host_memory::TooMuchHeld;
use super::limits::{Awaited, Limit, NoGrowth};
use super::module::NeedsFiber;
use super::trap::TrapReport;

/// Why an invocation has no outcome and no fault.
#[derive(Debug, Error)]
pub enum InvocationError {
    /// It broke a limit.
    #[error("it went over its {0} limit")]
    Limit(Limit),
    /// It did not end before its deadline, because it waited for this.
    #[error("it did not end in time (`limits.timeout_s`)")]
    TimedOut(Awaited),
    /// It trapped.
    #[error("it trapped: {0}")]
    Trapped(Box<TrapReport>),
    /// No slot of the pool is free for the module.
    #[error("no slot for running connectors is free")]
    Busy,
    /// The memory that all calls share is used up.
    #[error("the memory for calls is used up")]
    NoMemory,
}

impl From<NoGrowth> for InvocationError {
    fn from(refused: NoGrowth) -> Self {
        match refused {
            NoGrowth::ForGuest => Self::Limit(Limit::Memory),
            NoGrowth::ForAll => Self::NoMemory,
        }
    }
}

/// The limit that caused a trap, or the report of the trap.
pub(super) fn cause_of(error: &wasmtime::Error, guest: &mut Guest) -> InvocationError {
    if let Some(refused) = guest.refused_growth() {
        return refused.into();
    }
    match error.downcast_ref() {
        Some(TooMuchHeld::ForGuest) => return InvocationError::Limit(Limit::HostMemory),
        Some(TooMuchHeld::ForAll(_)) => return InvocationError::NoMemory,
        None => {}
    }
    // The guest is run again on a fiber, like a guest that needs more time.
    if error.downcast_ref::<NeedsFiber>().is_some() {
        return InvocationError::Limit(Limit::Cpu);
    }
    if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
        return InvocationError::Busy;
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => return InvocationError::Limit(Limit::Cpu),
        Some(Trap::StackOverflow) => return InvocationError::Limit(Limit::Stack),
        _ => {}
    }
    // These two errors have no public type.
    let text = format!("{error:#}");
    if text.contains("hostcalls has been exhausted") {
        return InvocationError::Limit(Limit::Output);
    }
    if text.contains("handle limit exceeded") || text.contains("resource table has no free keys") {
        return InvocationError::Limit(Limit::Handles);
    }
    let lines = if guest.may_repeat_last_lines() { guest.last_lines.take() } else { Vec::new() };
    trapped(error, lines)
}

pub(super) fn trapped(error: &wasmtime::Error, last_lines: Vec<String>) -> InvocationError {
    InvocationError::Trapped(Box::new(TrapReport::new(error, last_lines)))
}
