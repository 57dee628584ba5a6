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

/// The milliseconds since 1970-01-01T00:00:00Z of a time in RFC 3339 in UTC, to the second. `None` for
/// other texts, and for earlier times.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time.split_once('.').map_or(time, |(time, _)| time), ':')?;
    let is_date = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // The inverse of `rfc3339`.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let (era, year) = (year / 400, year % 400);
    let days = era * 146_097 + year * 365 + year / 4 - year / 100 + (153 * month + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    Some((days * 86_400 + hour * 3600 + minute * 60 + second) * 1000)
}

/// Three numbers with a separator between them.
fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut parts = text.splitn(3, separator).map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

#[cfg(test)]
mod tests {
    use super::{parse, rfc3339};

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
            assert_eq!(parse(expected), Some(milliseconds / 1000 * 1000));
        }
    }

    #[test]
    fn a_time_with_a_fraction_is_read_and_other_texts_are_not() {
        assert_eq!(parse("1970-01-01T00:01:00.987654321Z"), Some(60_000));
        for other in ["", "Z", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01T00:00Z", "1969-12-31T23:59:59Z"] {
            assert_eq!(parse(other), None, "{other}");
        }
        for other in
            ["1970-13-01T00:00:00Z", "1970-00-01T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:00:00+00:00"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
