//! The format of times in answers and webhooks.

use std::fmt;
use std::time::{Duration, SystemTime};

use database::time::DatabaseTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The end of the year 9999, after which RFC 3339 has no times: since 1970.
const LAST: Duration = Duration::from_millis(253_402_300_799_999);

/// Reads a time in UTC.
///
/// # Errors
/// If the text is not a time in UTC as in RFC 3339, or if it is after the last time that can be
/// written with milliseconds.
pub fn parse(text: &str) -> Result<SystemTime, NoTime> {
    let time = humantime::parse_rfc3339(text).map_err(|_| NoTime)?;
    if time > SystemTime::UNIX_EPOCH + LAST { Err(NoTime) } else { Ok(time) }
}

/// The text is not a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("Must be a time in UTC as in RFC 3339, such as 2026-01-31T12:00:00Z, before the year 10000.")]
pub struct NoTime;

/// RFC 3339 in UTC, with milliseconds. A time before 1970 or after 9999 becomes the nearest one
/// that is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("format" = "date-time"))]
pub struct Timestamp(String);

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let time = time.clamp(SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + LAST);
        Self(humantime::format_rfc3339_millis(time).to_string())
    }
}

impl From<DatabaseTime> for Timestamp {
    fn from(time: DatabaseTime) -> Self {
        SystemTime::from(time).into()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_milliseconds_even_if_they_are_zero() {
        let text = |ms| Timestamp::from(SystemTime::UNIX_EPOCH + Duration::from_millis(ms)).to_string();
        assert_eq!(text(1_000), "1970-01-01T00:00:01.000Z");
        assert_eq!(text(1_234), "1970-01-01T00:00:01.234Z");
    }

    #[test]
    fn a_time_outside_of_what_rfc_3339_has_is_the_nearest_one() {
        let text = |time: SystemTime| Timestamp::from(time).to_string();
        assert_eq!(text(SystemTime::UNIX_EPOCH + LAST + Duration::from_secs(1)), "9999-12-31T23:59:59.999Z");
        assert_eq!(text(SystemTime::UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_time_after_the_last_one_is_refused() {
        assert_eq!(parse("9999-12-31T23:59:59.999Z"), Ok(SystemTime::UNIX_EPOCH + LAST));
        for text in ["9999-12-31T23:59:59.9996Z", "10000-01-01T00:00:00Z", "2026-01-31", "1969-12-31T23:59:59Z"] {
            assert_eq!(parse(text), Err(NoTime), "{text}");
        }
    }
}
