//! Whether, and when, a request is sent once more.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use hyper::header::{HeaderMap, RETRY_AFTER};
use hyper::{Method, StatusCode};
use tokio::time::Instant;

/// After the first attempt.
pub(super) const MAX_RETRIES: u32 = 2;

/// Pause before the first retry, on average; doubled with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Whether doing it twice is the same as doing it once (RFC 9110, section 9.2.2).
pub(super) fn idempotent(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::PUT | Method::DELETE)
}

/// Whether a status says that another attempt may help. 429 does not: the caller is to slow down, and is told so.
pub(super) fn transient(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT)
}

/// How long to wait before a retry: what the upstream asked for, else a growing pause of random length, so that callers who
/// failed together do not come back together. None when there are no retries left, or no time for it.
pub(super) fn pause(retries: u32, asked: Option<Duration>, deadline: Instant) -> Option<Duration> {
    if retries >= MAX_RETRIES {
        return None;
    }
    let pause = asked.unwrap_or_else(|| jitter(FIRST_PAUSE * 2_u32.pow(retries)));
    (pause < deadline.saturating_duration_since(Instant::now())).then_some(pause)
}

/// Between half and one and a half times the duration. The hasher's keys are the standard library's source of randomness.
fn jitter(duration: Duration) -> Duration {
    let permille = RandomState::new().hash_one(()) % 1000;
    duration / 2 + duration * u32::try_from(permille).unwrap_or(0) / 1000
}

/// The header `Retry-After`, in either form (RFC 9110, section 10.2.3). A date that has passed is no time at all.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or(Duration::ZERO))
}
