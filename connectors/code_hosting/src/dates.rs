//! Dates in GitHub's form: `2026-01-31` and `2026-01-31T23:59:59Z`. In this form, text order is
//! time order.

use connector_sdk::{Fault, Violation};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Adds a violation if `given` is a date or time that does not exist. The pattern in the schema
/// accepts 31 February.
pub(crate) fn check(field: &str, given: Option<&String>, violations: &mut Vec<Violation>) {
    let exists = |text: &String| {
        let midnight = if text.contains('T') { "" } else { "T00:00:00Z" };
        OffsetDateTime::parse(&format!("{text}{midnight}"), &Rfc3339).is_ok()
    };
    if given.is_some_and(|text| !exists(text)) {
        violations
            .push(Violation { pointer: format!("/{field}"), detail: "Give a day and time that exist.".to_owned() });
    }
}

/// The time in RFC 3339, to the second. `milliseconds` counts from 1970-01-01T00:00:00Z.
///
/// # Errors
/// [`Fault::Failed`] for a time after the year 9999.
pub(crate) fn iso(milliseconds: u64) -> Result<String, Fault> {
    let seconds = i64::try_from(milliseconds / 1000).unwrap_or(i64::MAX);
    let Ok(time) = OffsetDateTime::from_unix_timestamp(seconds) else {
        return Err(Fault::Failed("The gateway's clock is after the year 9999.".to_owned()));
    };
    let ((year, month, day), (hour, minute, second)) = (time.to_calendar_date(), time.to_hms());
    Ok(format!("{year:04}-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z", u8::from(month)))
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
    fn a_time_is_written_to_the_second() {
        let written = |milliseconds| iso(milliseconds).expect("a time");
        assert_eq!(written(0), "1970-01-01T00:00:00Z");
        assert_eq!(written(1_767_225_659_999), "2026-01-01T00:00:59Z");
        assert_eq!(written(1_709_164_800_000), "2024-02-29T00:00:00Z");
        assert_eq!(written(4_102_444_799_000), "2099-12-31T23:59:59Z");
    }
}
