//! Times as the databases store them: milliseconds since 1970-01-01T00:00:00Z.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A duration in milliseconds. Durations longer than `i64` can hold become its maximum.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A time in milliseconds since 1970. Earlier ones become 0.
pub(crate) fn to_millis(time: SystemTime) -> i64 {
    millis(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// The reverse of [`to_millis`].
pub(crate) fn from_millis(millis: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}
