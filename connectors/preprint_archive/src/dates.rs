//! Times of submission: as callers write them, and as arXiv's query language writes them
//! (`202601312359`, in GMT).

use connector_sdk::Fault;
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime, UtcOffset};

/// A time in GMT. arXiv searches by the minute, so the text forms have no seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Minute(OffsetDateTime);

/// The minute of the day that a date without a time means.
#[derive(Clone, Copy)]
pub(crate) enum Edge {
    First,
    Last,
}

impl Minute {
    /// The minute that contains this time, given in milliseconds since 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    /// [`Fault::Failed`] for a time after the year 9999.
    pub(crate) fn of_milliseconds(milliseconds: u64) -> Result<Self, Fault> {
        let seconds = i64::try_from(milliseconds / 60_000 * 60).unwrap_or(i64::MAX);
        match OffsetDateTime::from_unix_timestamp(seconds) {
            Ok(time) => Ok(Self(time)),
            Err(_) => Err(Fault::Failed("The gateway's clock is after the year 9999.".to_owned())),
        }
    }

    pub(crate) fn a_day_earlier(self) -> Self {
        Self(self.0.saturating_sub(Duration::DAY))
    }

    /// Reads `2026-01-31` or an RFC 3339 date-time, in which the seconds and the offset may be
    /// missing. Without an offset, the time is in GMT. Seconds are dropped. `None` if the text has
    /// another form or the time does not exist.
    pub(crate) fn parse(text: &str, edge: Edge) -> Option<Self> {
        let (date, time) = text.split_at_checked("2026-01-31".len())?;
        let complete = match (time, edge) {
            ("", Edge::First) => format!("{date}T00:00:00Z"),
            ("", Edge::Last) => format!("{date}T23:59:00Z"),
            (time, _) => {
                let (clock, offset) = time.split_at_checked(time.find(['Z', 'z', '+', '-']).unwrap_or(time.len()))?;
                let seconds = if clock.len() == "T23:59".len() { ":00" } else { "" };
                let offset = if offset.is_empty() { "Z" } else { offset };
                format!("{date}{clock}{seconds}{offset}")
            }
        };
        let time = OffsetDateTime::parse(&complete, &Rfc3339).ok()?.to_offset(UtcOffset::UTC);
        time.replace_second(0).and_then(|time| time.replace_nanosecond(0)).ok().map(Self)
    }

    /// `202601312359`
    pub(crate) fn compact(self) -> String {
        let ((year, month, day), (hour, minute, _)) = (self.0.to_calendar_date(), self.0.to_hms());
        format!("{year:04}{:02}{day:02}{hour:02}{minute:02}", u8::from(month))
    }

    /// `2026-01-31T23:59:00Z`
    pub(crate) fn iso(self) -> String {
        let ((year, month, day), (hour, minute, _)) = (self.0.to_calendar_date(), self.0.to_hms());
        format!("{year:04}-{:02}-{day:02}T{hour:02}:{minute:02}:00Z", u8::from(month))
    }
}

#[cfg(test)]
mod tests {
    use super::{Edge, Minute};

    fn compact(text: &str, edge: Edge) -> Option<String> {
        Minute::parse(text, edge).map(Minute::compact)
    }

    #[test]
    fn a_date_without_a_time_is_its_first_or_last_minute() {
        assert_eq!(compact("2024-02-29", Edge::First).as_deref(), Some("202402290000"));
        assert_eq!(compact("2024-02-29", Edge::Last).as_deref(), Some("202402292359"));
    }

    #[test]
    fn a_time_is_converted_to_gmt() {
        for (text, expected) in [
            ("2026-01-01T06:30:59Z", "202601010630"),
            ("2026-01-01T00:30:00+02:00", "202512312230"),
            ("2025-12-31T23:30:00.250-01:00", "202601010030"),
            ("2026-01-01T06:30", "202601010630"),
            ("2026-01-01 06:30:00z", "202601010630"),
        ] {
            assert_eq!(compact(text, Edge::First).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_not_a_date_is_refused() {
        for text in [
            "",
            "2026",
            "2026-13-01",
            "2025-02-29",
            "2026-1-01",
            "2026-01-01T",
            "2026-01-01T24:00:00Z",
            "2026-01-01T06:30:00+2",
            "01/02/2026",
            "2026-01-0\u{663}",
            "2026-01-31T12:0\u{663}",
        ] {
            assert!(compact(text, Edge::First).is_none(), "{text}");
        }
    }

    #[test]
    fn iso_is_written_with_the_offset() {
        let minute = Minute::of_milliseconds(1_767_225_659_999).expect("a time");
        assert_eq!(minute.iso(), "2026-01-01T00:00:00Z");
        assert_eq!(minute.a_day_earlier().iso(), "2025-12-31T00:00:00Z");
    }
}
