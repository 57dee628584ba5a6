//! Times as the databases store them: milliseconds since 1970-01-01T00:00:00Z.

use std::ops::Add;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::value::{FromValue, Value};
use crate::{Database, StoreError};

/// A time by the clock of the database, which compares it with its own clock later. Only
/// [`Database::now`] and the rows of the database make one: the clock of a machine may be hours
/// away from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DatabaseTime(SystemTime);

impl DatabaseTime {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(UNIX_EPOCH);

    /// The time since `earlier`. Zero if that is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.duration_since(earlier.0).unwrap_or_default()
    }
}

impl Add<Duration> for DatabaseTime {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

/// To show it.
impl From<DatabaseTime> for SystemTime {
    fn from(time: DatabaseTime) -> Self {
        time.0
    }
}

impl From<DatabaseTime> for Value {
    fn from(time: DatabaseTime) -> Self {
        time.0.into()
    }
}

impl FromValue for DatabaseTime {
    fn from_value(value: Value) -> Option<Self> {
        SystemTime::from_value(value).map(Self)
    }
}

impl Database {
    /// Returns the time by the clock of the database.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn now(&self) -> Result<DatabaseTime, StoreError> {
        self.read(|connection| connection.one("SELECT now_ms()", &[])).await
    }
}

/// A duration in milliseconds. Durations longer than `i64` can hold become its maximum.
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A time in milliseconds since 1970. Earlier ones become 0.
pub fn to_millis(time: SystemTime) -> i64 {
    millis(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// The reverse of [`to_millis`].
pub fn from_millis(millis: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}
