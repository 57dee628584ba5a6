//! Times as X takes them (`2026-01-31T23:59:59Z`), and times that X gives in headers.

use connector_sdk::{Fault, Response, clock};
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

/// Reads a field with a time in RFC 3339.
///
/// # Errors
/// [`Fault::InvalidInput`] that names the field, if the time does not exist.
pub(crate) fn read(field: &str, text: Option<&String>) -> Result<Option<OffsetDateTime>, Fault> {
    let refused =
        |_| Fault::invalid_input(format!("/{field}"), "Give a time that exists, such as 2026-01-31T23:59:59Z.");
    text.map(|text| OffsetDateTime::parse(text, &Rfc3339).map_err(refused)).transpose()
}

/// The time in UTC, to the second: X takes no fractions.
///
/// # Errors
/// [`Fault::Failed`] for a time after the year 9999.
pub(crate) fn write(time: OffsetDateTime) -> Result<String, Fault> {
    let whole = time.to_offset(UtcOffset::UTC).replace_nanosecond(0);
    let text = whole.ok().and_then(|time| time.format(&Rfc3339).ok());
    text.ok_or_else(|| Fault::Failed("A time is not between the years 0 and 9999.".to_owned()))
}

/// The time at which X takes requests again, from a response with the status 429. `None` if the
/// response does not have it.
pub(crate) fn retry_at(response: &Response) -> Option<String> {
    let number = |name: &str| response.header(name)?.trim().parse::<i64>().ok();
    let in_seconds = |seconds: i64| i64::try_from(clock::now() / 1000).unwrap_or(i64::MAX).checked_add(seconds);
    let seconds = number("x-rate-limit-reset").or_else(|| in_seconds(number("retry-after")?))?;
    write(OffsetDateTime::from_unix_timestamp(seconds).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use connector_sdk::testing::{Answer, Gateway};
    use connector_sdk::{Fault, Request, http};

    use super::{read, retry_at, write};

    #[test]
    fn times_are_written_in_utc_to_the_second() {
        for (text, expected) in [
            ("2026-01-31T23:59:59Z", "2026-01-31T23:59:59Z"),
            ("2026-01-01T00:30:00+02:00", "2025-12-31T22:30:00Z"),
            ("2025-12-31T23:30:00.999-01:00", "2026-01-01T00:30:00Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ] {
            let time = read("start_time", Some(&text.to_owned())).expect("a time").expect("given");
            assert_eq!(write(time).expect("a text"), expected);
        }
        assert!(matches!(read("start_time", None), Ok(None)));
    }

    #[test]
    fn a_time_that_does_not_exist_is_refused() {
        for text in ["2026-02-29T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00", "soon", ""] {
            let Err(Fault::InvalidInput(violations)) = read("end_time", Some(&text.to_owned())) else {
                panic!("{text}")
            };
            assert_eq!(violations[0].pointer, "/end_time");
        }
    }

    #[test]
    fn the_next_attempt_is_at_the_reset_or_after_the_pause() {
        let at = |headers: &[(&str, &str)]| {
            let answer = headers.iter().fold(Answer::new(429, ""), |answer, (name, value)| answer.header(name, value));
            let _gateway = Gateway::new().now(1_767_225_659_999).answer(answer);
            retry_at(&http::send(Request::get("api", "/")).expect("a response"))
        };
        assert_eq!(at(&[("x-rate-limit-reset", "1767226500")]).as_deref(), Some("2026-01-01T00:15:00Z"));
        assert_eq!(
            at(&[("retry-after", "60"), ("x-rate-limit-reset", " 1767226500 ")]).as_deref(),
            Some("2026-01-01T00:15:00Z")
        );
        assert_eq!(at(&[("retry-after", "60")]).as_deref(), Some("2026-01-01T00:01:59Z"));
        assert_eq!(at(&[("x-rate-limit-reset", "soon")]), None);
        assert_eq!(at(&[("x-rate-limit-reset", "999999999999999")]), None);
        assert_eq!(at(&[("retry-after", "9223372036854775807")]), None);
        assert_eq!(at(&[]), None);
    }
}
