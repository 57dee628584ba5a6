//! The clock of this machine. All code that leases, refreshes or ends something asks it here, so
//! that tests can set it.

pub mod timestamp;

/// The present time.
#[cfg(not(feature = "simulation"))]
pub fn now() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// Lets a new task have the clock of the task that starts it.
#[cfg(not(feature = "simulation"))]
pub fn inherit<F: Future>(work: F) -> F {
    work
}

#[cfg(feature = "simulation")]
pub mod random;
#[cfg(feature = "simulation")]
mod simulated;

#[cfg(feature = "simulation")]
pub use self::simulated::{SimulatedClock, inherit, now, random_byte};
