//! Times in options: a time in UTC, or how far it is from now.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use humantime::{parse_duration, parse_rfc3339};

/// The seconds from 1970 to the end of the year 9999. RFC 3339 has no earlier and no later times.
const LAST_SECOND: u64 = 253_402_300_799;

/// Reads a time, or how long ago it was.
///
/// # Errors
/// A sentence that says which texts the option takes, without a full stop.
pub(crate) fn past(text: &str) -> Result<SystemTime, String> {
    let before_now = || SystemTime::now().checked_sub(parse_duration(text).ok()?);
    parse_rfc3339(text).ok().or_else(before_now).filter(can_be_written).ok_or_else(|| {
        "it must be a time in UTC, such as 2026-01-31T12:00:00Z, or how long ago it was, such as 90m, 1h or 2days"
            .to_owned()
    })
}

/// Reads a time that is to come, or in how long it comes.
///
/// # Errors
/// A sentence that says which texts the option takes, without a full stop.
pub(crate) fn future(text: &str) -> Result<SystemTime, String> {
    let after_now = || SystemTime::now().checked_add(parse_duration(text).ok()?);
    let time = parse_rfc3339(text).ok().or_else(after_now).filter(can_be_written).ok_or_else(|| {
        "it must be a time in UTC, such as 2030-01-31T12:00:00Z, or in how long it comes, such as 12h or 90days"
            .to_owned()
    })?;
    if time > SystemTime::now() { Ok(time) } else { Err("it must be in the future".to_owned()) }
}

fn can_be_written(time: &SystemTime) -> bool {
    time.duration_since(UNIX_EPOCH).is_ok_and(|since| since <= Duration::from_secs(LAST_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_utc_or_so_long_ago() {
        assert_eq!(past("1970-01-01T00:01:00Z"), Ok(UNIX_EPOCH + Duration::from_secs(60)));
        for (text, seconds) in [("1h", 3600), ("90m", 5400), ("2days", 172_800), ("1h 30min", 5400)] {
            let earliest = SystemTime::now() - Duration::from_secs(seconds);
            let found = past(text).unwrap();
            assert!(found >= earliest && found <= SystemTime::now() - Duration::from_secs(seconds), "{text}");
        }
        for wrong in ["yesterday", "1", "-1h", "2026-01-31", "", "99999999999years", "100years"] {
            assert!(past(wrong).unwrap_err().contains("such as 90m"), "{wrong}");
        }
    }

    #[test]
    fn an_end_is_in_utc_or_comes_in_so_long() {
        let in_an_hour = Duration::from_secs(3600);
        let earliest = SystemTime::now() + in_an_hour;
        let found = future("1h").unwrap();
        assert!(found >= earliest && found <= SystemTime::now() + in_an_hour);
        assert_eq!(future("2020-01-31T12:00:00Z").unwrap_err(), "it must be in the future");
        assert_eq!(future("0s").unwrap_err(), "it must be in the future");
        for wrong in ["soon", "9000years", "99999999999years"] {
            assert!(future(wrong).unwrap_err().contains("90days"), "{wrong}");
        }
    }
}
