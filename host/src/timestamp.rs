//! The format of times in answers and webhooks.

use std::fmt;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// RFC 3339 in UTC, with milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("format" = "date-time"))]
pub struct Timestamp(String);

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        Self(humantime::format_rfc3339_millis(time).to_string())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_time_has_milliseconds_even_if_they_are_zero() {
        let text = |ms| Timestamp::from(SystemTime::UNIX_EPOCH + Duration::from_millis(ms)).to_string();
        assert_eq!(text(1_000), "1970-01-01T00:00:01.000Z");
        assert_eq!(text(1_234), "1970-01-01T00:00:01.234Z");
    }
}
