//! Dates as the service writes them in queries: minutes in GMT (`202601312359`), and as callers write them.

/// Minutes since 1970-01-01T00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Minute(pub(crate) i64);

/// Which minute of a day a date without a time means.
#[derive(Clone, Copy)]
pub(crate) enum Edge {
    First,
    Last,
}

const MINUTES_A_DAY: i64 = 24 * 60;

impl Minute {
    /// The minute in which this moment lies.
    pub(crate) fn of_milliseconds(milliseconds: u64) -> Self {
        Self(i64::try_from(milliseconds / 60_000).unwrap_or(i64::MAX))
    }

    pub(crate) fn a_day_earlier(self) -> Self {
        Self(self.0 - MINUTES_A_DAY)
    }

    /// Reads `2026-01-31` or an RFC 3339 date-time; without an offset it is taken as GMT. Seconds are dropped.
    pub(crate) fn parse(text: &str, edge: Edge) -> Option<Self> {
        let (date, time) = match text.split_at_checked(10)? {
            (date, "") => (date, None),
            (date, time) => (date, Some(time.strip_prefix(['T', 't', ' '])?)),
        };
        let mut parts = date.split('-');
        let year = digits(parts.next()?, 4)?;
        let month = digits(parts.next()?, 2)?;
        let day = digits(parts.next()?, 2)?;
        if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
            return None;
        }
        let midnight = days_from_civil(year, month, day) * MINUTES_A_DAY;
        match (time, edge) {
            (None, Edge::First) => Some(Self(midnight)),
            (None, Edge::Last) => Some(Self(midnight + MINUTES_A_DAY - 1)),
            (Some(time), _) => Some(Self(midnight + minutes_of(time)?)),
        }
    }

    /// `202601312359`
    pub(crate) fn compact(self) -> String {
        let (year, month, day) = civil_from_days(self.0.div_euclid(MINUTES_A_DAY));
        let minute = self.0.rem_euclid(MINUTES_A_DAY);
        format!("{year:04}{month:02}{day:02}{:02}{:02}", minute / 60, minute % 60)
    }

    /// `2026-01-31T23:59:00Z`
    pub(crate) fn iso(self) -> String {
        let (year, month, day) = civil_from_days(self.0.div_euclid(MINUTES_A_DAY));
        let minute = self.0.rem_euclid(MINUTES_A_DAY);
        format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:00Z", minute / 60, minute % 60)
    }
}

/// Minutes since midnight GMT of `23:59`, `23:59:59.5Z` or `23:59:59+02:00`.
fn minutes_of(time: &str) -> Option<i64> {
    let (clock, offset) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => time.split_at_checked(at)?,
        None => (time, "Z"),
    };
    let (hour, rest) = clock.split_once(':')?;
    let (minute, second) = rest.split_once(':').unwrap_or((rest, "00"));
    let (second, fraction) = second.split_once('.').unwrap_or((second, "0"));
    let (hour, minute) = (digits(hour, 2)?, digits(minute, 2)?);
    if hour > 23 || minute > 59 || digits(second, 2)? > 60 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let ahead = match offset.split_at_checked(1)? {
        ("Z" | "z", "") => 0,
        (sign, offset) => {
            let (hours, minutes) = offset.split_once(':')?;
            let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            if sign == "+" { hours * 60 + minutes } else { -(hours * 60 + minutes) }
        }
    };
    Some(hour * 60 + minute - ahead)
}

fn digits(text: &str, length: usize) -> Option<i64> {
    if text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. Years are counted from March, so that leap days come last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::{Edge, Minute, civil_from_days, days_from_civil};

    fn compact(text: &str, edge: Edge) -> Option<String> {
        Minute::parse(text, edge).map(Minute::compact)
    }

    #[test]
    fn every_day_of_four_centuries_comes_back() {
        let start = days_from_civil(1900, 1, 1);
        let mut previous = (1899, 12, 31);
        for day in start..start + 146_097 {
            let (year, month, number) = civil_from_days(day);
            assert_eq!(days_from_civil(year, month, number), day);
            assert!((year, month, number) > previous);
            previous = (year, month, number);
        }
        assert_eq!(previous, (2299, 12, 31));
        assert_eq!(days_from_civil(1970, 1, 1), 0);
    }

    #[test]
    fn a_date_alone_is_its_first_or_last_minute() {
        assert_eq!(compact("2024-02-29", Edge::First).as_deref(), Some("202402290000"));
        assert_eq!(compact("2024-02-29", Edge::Last).as_deref(), Some("202402292359"));
    }

    #[test]
    fn a_time_is_taken_to_gmt() {
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
    fn what_is_no_date_is_refused() {
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
        ] {
            assert!(compact(text, Edge::First).is_none(), "{text}");
        }
    }

    #[test]
    fn iso_is_written_with_the_offset() {
        assert_eq!(Minute::of_milliseconds(1_767_225_659_999).iso(), "2026-01-01T00:00:00Z");
        assert_eq!(Minute::of_milliseconds(1_767_225_659_999).a_day_earlier().iso(), "2025-12-31T00:00:00Z");
    }
}
