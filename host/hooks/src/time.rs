//! The time of an event, as services write it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Larger numbers are milliseconds since 1970. As seconds, this is in the year 5138.
const MOST_SECONDS: f64 = 1e11;

/// The end of the year 9999 in milliseconds, after which RFC 3339 has no times.
const MOST_MILLISECONDS: f64 = 253_402_300_799_999.0;

/// Length of `+01:00`.
const OFFSET: usize = 6;

/// Reads a time: RFC 3339, or seconds or milliseconds since 1970. `None` for any other text.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    match text.parse::<f64>() {
        Ok(number) => from_number(number),
        Err(_) => from_rfc3339(text),
    }
}

fn from_number(number: f64) -> Option<SystemTime> {
    let milliseconds = if number < MOST_SECONDS { number * 1000.0 } else { number };
    let is_time = (0.0..=MOST_MILLISECONDS).contains(&milliseconds);
    is_time.then(|| UNIX_EPOCH + Duration::from_millis(milliseconds as u64))
}

fn from_rfc3339(text: &str) -> Option<SystemTime> {
    let text = text.to_ascii_uppercase();
    if text.ends_with('Z') {
        return humantime::parse_rfc3339(&text).ok();
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub(OFFSET)?)?;
    let local = humantime::parse_rfc3339(&format!("{local}Z")).ok()?;
    let (sign, offset) = offset.split_at_checked(1)?;
    let (hours, minutes) = offset.split_once(':')?;
    let two_digits = |text: &str| text.parse::<u8>().ok().filter(|_| text.len() == 2 && !text.starts_with('+'));
    let offset = Duration::from_secs(u64::from(two_digits(hours)?) * 3600 + u64::from(two_digits(minutes)?) * 60);
    match sign {
        "+" => local.checked_sub(offset).filter(|time| *time >= UNIX_EPOCH),
        "-" => local.checked_add(offset),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<f64> {
        parse(text).map(|time| time.duration_since(UNIX_EPOCH).unwrap().as_secs_f64())
    }

    #[test]
    fn a_time_is_rfc_3339_or_a_number_of_seconds_or_milliseconds() {
        for text in [
            "2026-01-31T12:00:00Z",
            "2026-01-31t12:00:00z",
            "2026-01-31T13:30:00+01:30",
            "2026-01-31T04:00:00-08:00",
            "1769860800",
            "1769860800000",
        ] {
            assert_eq!(seconds(text), Some(1_769_860_800.0), "{text}");
        }
        assert_eq!(seconds("1769860800.5"), Some(1_769_860_800.5));
        assert_eq!(seconds("2026-01-31T12:00:00.250+00:00"), Some(1_769_860_800.25));
        for text in [
            "",
            "soon",
            "-1",
            "NaN",
            "inf",
            "1e300",
            "2026-01-31",
            "2026-01-31T12:00:00",
            "2026-01-31T12:00:00+1:000",
            "1970-01-01T00:00:00+01:00",
            "é+01:00",
            "2026-01-31T12:00:00++1:00",
            "+01:00",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
