//! Rate limits that a response does not declare as such.
//!
//! The status of a rate limit is 429, with a `Retry-After` (RFC 6585). Some services send 403
//! instead, give the time in headers that count requests, or give the reason in the body. This
//! module gives such a response the status 429 and a `Retry-After`, so that the rest of the gateway
//! knows one form only.

use std::time::{Duration, SystemTime};

use hyper::StatusCode;
use hyper::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::error::whole_seconds;
use super::response::Response;
use super::retry::retry_after;

/// Headers with the number of remaining requests, and with the time at which there are more.
const COUNTERS: [(&str, &str); 2] =
    [("x-ratelimit-remaining", "x-ratelimit-reset"), ("x-rate-limit-remaining", "x-rate-limit-reset")];

/// Reasons in a body that say that the request may succeed later.
const QUOTA_REASONS: [&str; 5] =
    ["rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded", "RATE_LIMIT_EXCEEDED"];

/// The words of a message before the time of the next attempt, as in
/// `Retry after 2026-03-02T10:00:00.000Z`.
const RETRY_AFTER_WORDS: &str = "Retry after ";

/// Maximum size of a body that is searched for a reason.
const MAX_REFUSAL_BYTES: usize = 16 << 10;

/// Values up to this limit are relative seconds; larger ones are Unix timestamps.
const MAX_RELATIVE_SECONDS: u64 = 1_000_000_000;

/// If the headers of a refusal say that it is a rate limit, sets the status 429 and a `Retry-After`
/// in seconds.
pub(super) fn normalize(status: &mut StatusCode, headers: &mut HeaderMap) {
    if !matches!(*status, StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS) {
        return;
    }
    if let Some(delay) = retry_after(headers).or_else(|| until_reset(*status, headers)) {
        *status = StatusCode::TOO_MANY_REQUESTS;
        headers.insert(RETRY_AFTER, whole_seconds(delay).into());
    }
}

/// If the body of a refusal says that it is a rate limit, sets the status 429. If the body of a
/// rate limit says when the next attempt may succeed, and the headers do not, sets `Retry-After`.
pub(super) async fn recognize(response: &mut Response) {
    let limited = response.status == StatusCode::TOO_MANY_REQUESTS;
    if !limited && response.status != StatusCode::FORBIDDEN || response.headers.contains_key(RETRY_AFTER) {
        return;
    }
    // An error of reading the body is repeated to the next reader.
    let Ok(body) = response.body.peek(MAX_REFUSAL_BYTES).await else { return };
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return };
    if limited || is_quota(&body) {
        response.status = StatusCode::TOO_MANY_REQUESTS;
        if let Some(delay) = until_named_time(&body) {
            response.headers.insert(RETRY_AFTER, whole_seconds(delay).into());
        }
    }
}

/// Returns `true` if `/error/errors` or `/error/details` names such a reason.
fn is_quota(body: &Value) -> bool {
    ["/error/errors", "/error/details"]
        .iter()
        .filter_map(|pointer| body.pointer(pointer)?.as_array())
        .flatten()
        .filter_map(|error| error.get("reason")?.as_str())
        .any(|reason| QUOTA_REASONS.contains(&reason))
}

/// The time until the instant that `/error/message` names.
fn until_named_time(body: &Value) -> Option<Duration> {
    let (_, time) = body.pointer("/error/message")?.as_str()?.split_once(RETRY_AFTER_WORDS)?;
    let time = humantime::parse_rfc3339(time.split_whitespace().next()?).ok()?;
    Some(time.duration_since(SystemTime::now()).unwrap_or_default())
}

/// The time until a used-up limit allows requests again. A refusal with the status 429 needs no
/// count of remaining requests.
fn until_reset(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    let limited = status == StatusCode::TOO_MANY_REQUESTS;
    let used_up = |remaining| number(remaining).map_or(limited, |remaining| remaining == 0);
    let (_, reset) =
        COUNTERS.into_iter().find(|(remaining, reset)| headers.contains_key(*reset) && used_up(remaining))?;
    let reset = Duration::from_secs(number(reset)?);
    if reset.as_secs() <= MAX_RELATIVE_SECONDS {
        return Some(reset);
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Some(reset.saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Duration, HeaderMap, RETRY_AFTER, StatusCode, SystemTime, is_quota, normalize, until_named_time};

    /// Status and `Retry-After` of a response.
    fn read(status: u16, headers: &[(&'static str, &str)]) -> (u16, Option<u64>) {
        let mut status = StatusCode::from_u16(status).unwrap();
        let mut headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        normalize(&mut status, &mut headers);
        (status.as_u16(), headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok()))
    }

    #[test]
    fn a_refusal_with_a_time_for_the_next_attempt_is_a_rate_limit() {
        assert_eq!(read(403, &[("retry-after", "60")]), (429, Some(60)));
        assert_eq!(read(403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "30")]), (429, Some(30)));
        assert_eq!(read(429, &[("x-rate-limit-remaining", "0"), ("x-rate-limit-reset", "30")]), (429, Some(30)));
        assert_eq!(read(429, &[("x-rate-limit-reset", "30")]), (429, Some(30)));
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
    }

    #[test]
    fn a_used_up_quota_is_found_by_the_reason_in_the_body() {
        for reason in super::QUOTA_REASONS {
            for list in ["errors", "details"] {
                let body = json!({"error": {"code": 403, list: [{"domain": "usageLimits", "reason": reason}]}});
                assert!(is_quota(&body), "{body}");
            }
        }
        for body in [
            json!({"error": {"code": 403, "errors": [{"domain": "calendar", "reason": "forbidden"}]}}),
            json!({"error": "rateLimitExceeded"}),
            json!({"error": {"errors": {"reason": "quotaExceeded"}}}),
            json!([]),
        ] {
            assert!(!is_quota(&body), "{body}");
        }
    }

    #[test]
    fn a_message_may_name_the_time_of_the_next_attempt() {
        let until = |message: &str| until_named_time(&json!({"error": {"message": message}}));
        let soon = humantime::format_rfc3339_millis(SystemTime::now() + Duration::from_secs(100));
        let delay = until(&format!("User-rate limit exceeded.  Retry after {soon} (Mail sending)"));
        assert!(delay.is_some_and(|delay| (90..=100).contains(&delay.as_secs())), "{delay:?}");
        assert_eq!(until("Retry after 2015-06-16T14:54:06.105Z"), Some(Duration::ZERO));
        for message in ["User-rate limit exceeded.", "Retry after a while", "Retry after "] {
            assert_eq!(until(message), None, "{message}");
        }
    }

    #[test]
    fn other_responses_are_not_changed() {
        for (status, headers) in [
            (403, &[][..]),
            (403, &[("x-ratelimit-remaining", "12"), ("x-ratelimit-reset", "30")]),
            (403, &[("x-ratelimit-remaining", "0")]),
            (200, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "30")]),
            (429, &[]),
        ] {
            assert_eq!(read(status, headers), (status, None), "{headers:?}");
        }
        assert_eq!(read(503, &[("retry-after", "5")]), (503, Some(5)));
    }
}
