//! The clock of this machine. All code that leases, refreshes or ends something asks it here, so
//! that tests can set it.

/// The present time.
#[cfg(not(test))]
pub(crate) fn now() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// Lets a new task have the clock of the task that starts it.
#[cfg(not(test))]
pub(crate) fn inherit<F: Future>(work: F) -> F {
    work
}

#[cfg(test)]
pub(crate) mod random;
#[cfg(test)]
mod simulated;

#[cfg(test)]
pub(crate) use self::simulated::{SimulatedClock, inherit, now, random_byte};
