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

/// A time in RFC 3339, to the second. `milliseconds` counts from 1970-01-01T00:00:00Z.
///
/// ```
/// assert_eq!(connector_sdk::clock::rfc3339(1_767_225_659_999), "2026-01-01T00:00:59Z");
/// ```
#[must_use]
pub fn rfc3339(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days are counted from 1 March of the year 0, so that a leap day is the last day of its year.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year + era * 400, month + 3) } else { (year + era * 400 + 1, month - 9) };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn a_time_is_written_in_rfc_3339() {
        for (milliseconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399_000, "2000-02-28T23:59:59Z"),
            (951_868_799_000, "2000-02-29T23:59:59Z"),
            (951_868_800_000, "2000-03-01T00:00:00Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00Z"),
            (1_767_225_599_999, "2025-12-31T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(milliseconds), expected);
        }
    }
}
