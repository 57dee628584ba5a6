//! Rate limits that a response does not declare as such.
//!
//! The status of a rate limit is 429, with a `Retry-After` (RFC 6585). Some services send another
//! status instead, give the time in headers that count requests, or give the reason or the time in
//! the body (`body`). This module gives such a response the status 429 and a `Retry-After`, so that
//! the rest of the gateway knows one form only. No time is made up: a response whose service gives
//! none has no `Retry-After`.

mod body;

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{HeaderMap, RETRY_AFTER};

pub use self::body::Refusal;
use super::error::whole_seconds;
use super::response::Response;
use super::retry_after::{retry_after, until};

/// Headers with the number of remaining requests, and with the time at which there are more.
const COUNTERS: [(&str, &str); 3] = [
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("x-rate-limit-remaining", "x-rate-limit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
];

/// Maximum size of a body that is searched for a reason.
const MAX_REFUSAL_BYTES: usize = 16 << 10;

/// The time after which the next attempt may succeed, if the headers of an error say so. They get
/// it as `Retry-After` in seconds, and lose one that is no time. A refusal with a time is a rate
/// limit, and gets the status 429.
pub(super) fn normalize(status: &mut StatusCode, headers: &mut HeaderMap) -> Option<Duration> {
    if !status.is_client_error() && !status.is_server_error() {
        return None;
    }
    let delay = retry_after(headers).or_else(|| until_reset(*status, headers));
    headers.remove(RETRY_AFTER);
    let delay = delay?;
    headers.insert(RETRY_AFTER, whole_seconds(delay).into());
    if *status == StatusCode::FORBIDDEN {
        *status = StatusCode::TOO_MANY_REQUESTS;
    }
    Some(delay)
}

/// As [`heed`], for a response whose body is not read yet.
pub(super) async fn recognize(response: &mut Response) {
    if !body_says_more(response) {
        return;
    }
    // An error of reading the body is repeated to the next reader.
    let Ok(body) = response.body.peek(MAX_REFUSAL_BYTES).await else { return };
    let refusal = Refusal::read(body);
    heed(response, &refusal);
}

/// If the body of a refusal says that it is a rate limit, sets the status 429. If the body says
/// when the next attempt may succeed, and the headers do not, sets `Retry-After`.
pub(super) fn heed(response: &mut Response, refusal: &Refusal) {
    let may_be_limit = Refusal::may_be_rate_limit(response.status.as_u16());
    if !body_says_more(response) || may_be_limit && !refusal.is_rate_limit() {
        return;
    }
    if may_be_limit {
        response.status = StatusCode::TOO_MANY_REQUESTS;
    }
    if response.retry_after.is_none()
        && let Some(delay) = refusal.retry_after()
    {
        response.retry_after = Some(delay);
        response.headers.insert(RETRY_AFTER, whole_seconds(delay).into());
    }
}

/// Returns `true` if the head leaves open what the body may say.
fn body_says_more(response: &Response) -> bool {
    let has_no_time = response.retry_after.is_none();
    let is_limit = matches!(response.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    Refusal::may_be_rate_limit(response.status.as_u16()) || is_limit && has_no_time
}

/// The time until a used-up limit allows requests again. A refusal with the status 429 needs no
/// count of remaining requests.
fn until_reset(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let limited = status == StatusCode::TOO_MANY_REQUESTS;
    if !limited && status != StatusCode::FORBIDDEN {
        return None;
    }
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let used_up = |remaining| match text(remaining) {
        Some(remaining) => remaining.parse() == Ok(0_u64),
        None => limited,
    };
    COUNTERS.into_iter().filter(|(remaining, _)| used_up(remaining)).find_map(|(_, reset)| until(text(reset)?))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::{Duration, HeaderMap, RETRY_AFTER, StatusCode, normalize};

    /// Status and `Retry-After` of a response.
    fn read(status: u16, headers: &[(&'static str, &str)]) -> (u16, Option<u64>) {
        let mut status = StatusCode::from_u16(status).unwrap();
        let mut headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        normalize(&mut status, &mut headers);
        (status.as_u16(), headers.get(RETRY_AFTER).map(|value| value.to_str().unwrap().parse().unwrap()))
    }

    #[test]
    fn a_refusal_with_a_time_for_the_next_attempt_is_a_rate_limit() {
        assert_eq!(read(403, &[("retry-after", "60")]), (429, Some(60)));
        assert_eq!(read(403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "30")]), (429, Some(30)));
        assert_eq!(read(429, &[("x-rate-limit-remaining", "0"), ("x-rate-limit-reset", "30")]), (429, Some(30)));
        assert_eq!(read(429, &[("x-rate-limit-reset", "30")]), (429, Some(30)));
        assert_eq!(read(429, &[("ratelimit-remaining", "0"), ("ratelimit-reset", "30.2")]), (429, Some(31)));
        assert_eq!(read(429, &[("retry-after", "soon"), ("x-ratelimit-reset", "30")]), (429, Some(30)));
    }

    #[test]
    fn a_reset_may_be_a_timestamp() {
        let soon = SystemTime::now() + Duration::from_secs(100);
        let soon = soon.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs().to_string();
        let (status, delay) = read(403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &soon)]);
        assert!(status == 429 && delay.is_some_and(|delay| (90..=100).contains(&delay)), "{delay:?}");
        assert_eq!(read(403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1000000001")]), (429, Some(1)));
    }

    #[test]
    fn a_date_becomes_seconds() {
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(100));
        let (status, delay) = read(429, &[("retry-after", &soon)]);
        assert!(status == 429 && delay.is_some_and(|delay| (90..=100).contains(&delay)), "{delay:?}");
        assert_eq!(read(503, &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), (503, Some(1)));
    }

    #[test]
    fn what_is_no_time_is_left_out() {
        for status in [403, 429, 503] {
            assert_eq!(read(status, &[("retry-after", "soon")]), (status, None));
        }
    }

    #[test]
    fn other_responses_are_not_changed() {
        for (status, headers) in [
            (403, &[][..]),
            (403, &[("x-ratelimit-remaining", "12"), ("x-ratelimit-reset", "30")]),
            (403, &[("x-ratelimit-remaining", "0")]),
            (200, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "30")]),
            (503, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "30")]),
            (429, &[]),
        ] {
            assert_eq!(read(status, headers), (status, None), "{headers:?}");
        }
        assert_eq!(read(503, &[("retry-after", "5")]), (503, Some(5)));
    }
}
