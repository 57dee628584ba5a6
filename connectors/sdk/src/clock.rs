//! The clock of the gateway.

use crate::host;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[must_use]
pub fn now() -> u64 {
    host::clock::now()
}
