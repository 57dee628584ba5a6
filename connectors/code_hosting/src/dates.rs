//! Dates as GitHub writes them, `2026-01-31` and `2026-01-31T23:59:59Z`. In this form their order as text is their order in time.

use connector_sdk::Violation;

/// A date or time, if it is given, that the calendar knows; what the schema's pattern lets through can still be a 31 February.
pub(crate) fn check(field: &str, given: Option<&String>, violations: &mut Vec<Violation>) {
    let is_known = |text: &String| match text.split_once('T') {
        Some((date, time)) => is_date(date) && is_time(time),
        None => is_date(text),
    };
    if given.is_some_and(|text| !is_known(text)) {
        violations
            .push(Violation { pointer: format!("/{field}"), detail: "Give a day and time that exist.".to_owned() });
    }
}

fn is_date(text: &str) -> bool {
    let mut parts = text.split('-').map(|part| part.parse::<u32>().ok());
    let (Some(Some(year)), Some(Some(month)), Some(Some(day)), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    let mut parts = text.trim_end_matches('Z').split(':').map(|part| part.parse::<u32>().ok());
    matches!(
        (parts.next(), parts.next(), parts.next(), parts.next()),
        (Some(Some(0..24)), Some(Some(0..60)), Some(Some(0..60)), None)
    )
}

/// A moment in milliseconds since 1970-01-01T00:00:00Z, to the second.
pub(crate) fn iso(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day in the Gregorian calendar. Years are counted from March, so that leap days come last.
fn civil(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::{check, iso};

    #[test]
    fn days_and_times_that_do_not_exist_are_refused() {
        let is_refused = |text: &str| {
            let mut violations = Vec::new();
            check("since", Some(&text.to_owned()), &mut violations);
            !violations.is_empty()
        };
        for text in ["2026-01-31", "2024-02-29", "2000-02-29", "2026-12-31T23:59:59Z", "2026-12-31T00:00:00Z"] {
            assert!(!is_refused(text), "{text}");
        }
        for text in [
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-04-31",
            "2026-01-00",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
        ] {
            assert!(is_refused(text), "{text}");
        }
    }

    #[test]
    fn a_moment_is_written_to_the_second() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso(1_767_225_659_999), "2026-01-01T00:00:59Z");
        assert_eq!(iso(1_709_164_800_000), "2024-02-29T00:00:00Z");
        assert_eq!(iso(4_102_444_799_000), "2099-12-31T23:59:59Z");
    }
}
