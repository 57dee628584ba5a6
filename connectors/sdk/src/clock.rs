//! The clock of the gateway.

use std::time::Duration;

use crate::host;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[must_use]
pub fn now() -> u64 {
    host::clock::now()
}

/// Waits. The time counts to the deadline of the call, and not to the connector's CPU time. A
/// connector that still waits at the deadline is ended. `std::thread::sleep` does not work in the
/// sandbox.
///
/// A part of a millisecond counts as a whole one. In a test, [`Gateway`](crate::testing::Gateway)
/// does not wait: its clock advances.
pub fn sleep(duration: Duration) {
    let milliseconds = duration.as_nanos().div_ceil(1_000_000);
    host::clock::sleep(u64::try_from(milliseconds).unwrap_or(u64::MAX));
}
