//! The time that a service wants to pass before the next request, in each form in which services
//! give it.

use std::time::{Duration, SystemTime};

use hyper::header::{HeaderMap, RETRY_AFTER};

/// The longest time that is passed on. Who waited for it asks again, and hears the rest.
pub const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Numbers up to this one are seconds from now on. Larger ones are Unix timestamps.
const MAX_RELATIVE: f64 = 1e9;

/// Timestamps above this one are in milliseconds. In seconds, it is in the year 5138.
const MAX_SECONDS: f64 = 1e11;

/// The header `Retry-After`: the first of its lines that is a time.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get_all(RETRY_AFTER).iter().find_map(|value| until(value.to_str().ok()?))
}

/// The time from now until the moment that a text names, at most [`LONGEST_RETRY_AFTER`]: seconds,
/// also with a fraction or a unit, a date of HTTP (RFC 9110, section 10.2.3), a date of RFC 3339,
/// or a Unix timestamp. A moment in the past is now.
pub(super) fn until(text: &str) -> Option<Duration> {
    let text = text.trim();
    let moment = httpdate::parse_http_date(text).or_else(|_| humantime::parse_rfc3339(text));
    let delay = match (number(text), text.strip_suffix('s').and_then(number), moment) {
        (Some(number), ..) => until_number(number),
        (_, Some(seconds), _) => capped(seconds),
        (.., Ok(moment)) => moment.duration_since(SystemTime::now()).unwrap_or_default(),
        (.., Err(_)) => humantime::parse_duration(text).ok()?,
    };
    Some(delay.min(LONGEST_RETRY_AFTER))
}

/// The time until a number names: seconds, or a timestamp.
fn until_number(number: f64) -> Duration {
    if number <= MAX_RELATIVE {
        return capped(number);
    }
    let timestamp = if number > MAX_SECONDS { number / 1000.0 } else { number };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    capped(timestamp - now.as_secs_f64())
}

/// A number without a sign. It may have a fraction.
fn number(text: &str) -> Option<f64> {
    let is_number = text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| is_number)
}

/// Seconds as a duration from zero to the longest one.
fn capped(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, LONGEST_RETRY_AFTER.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::{Duration, HeaderMap, LONGEST_RETRY_AFTER, RETRY_AFTER, SystemTime, retry_after, until};

    /// A moment in the future, as seconds since 1970.
    fn soon() -> u64 {
        let soon = SystemTime::now() + Duration::from_secs(100);
        soon.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
    }

    #[test]
    fn each_form_of_a_time_is_read() {
        for (text, seconds) in
            [("120", 120.0), (" 0 ", 0.0), ("1.5", 1.5), ("30s", 30.0), ("0.5s", 0.5), ("1m30s", 90.0)]
        {
            assert_eq!(until(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        let moment = SystemTime::now() + Duration::from_secs(100);
        for text in [
            httpdate::fmt_http_date(moment),
            humantime::format_rfc3339(moment).to_string(),
            soon().to_string(),
            (soon() * 1000).to_string(),
        ] {
            let delay = until(&text);
            assert!(delay.is_some_and(|delay| (90..=100).contains(&delay.as_secs())), "{text}: {delay:?}");
        }
    }

    #[test]
    fn a_moment_in_the_past_is_now() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "2015-06-16T14:54:06.105Z", "1000000001", "1500000000000"] {
            assert_eq!(until(text), Some(Duration::ZERO), "{text}");
        }
    }

    #[test]
    fn a_time_is_never_longer_than_the_longest() {
        for text in ["86401", "1000000000", "9999999999", "99999999999999999999999", "9999-12-31T00:00:00Z", "9000h"] {
            assert_eq!(until(text), Some(LONGEST_RETRY_AFTER), "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_time() {
        for text in ["", "-1", "+1", "soon", "1.5.2", ".", "1e3", "inf", "nan", "s"] {
            assert_eq!(until(text), None, "{text}");
        }
    }

    #[test]
    fn the_first_line_that_is_a_time_counts() {
        let first = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(RETRY_AFTER, line.parse().unwrap());
            }
            retry_after(&headers)
        };
        assert_eq!(first(&["soon", "7", "9"]), Some(Duration::from_secs(7)));
        assert_eq!((first(&["soon"]), first(&[])), (None, None));
    }
}
