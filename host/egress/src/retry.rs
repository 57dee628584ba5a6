//! Retries of requests.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use hyper::{Method, StatusCode};
use tokio::time::Instant;

/// Maximum number of retries after the first attempt.
pub(super) const MAX_RETRIES: u32 = 2;

/// Average delay before the first retry. Each further delay is twice as long.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);

/// How often the minimum delay after a rate limit doubles.
const MAX_DOUBLINGS: u32 = 6;

/// Returns `true` if a request changes nothing (RFC 9110, section 9.2.1), so that it can be sent
/// again although the upstream may have acted on it. PUT and DELETE are not among them: in some
/// services a second request has a second effect, such as a second file with the same name.
pub(super) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Returns `true` if another attempt may succeed soon after this status. For 429 see
/// [`rate_limit_delay`].
pub(super) fn is_transient(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT)
}

/// The delay before a retry: the one that the upstream requested, else a random one that grows with
/// each retry, so that calls that failed together are not retried together. `None` if no retry or
/// no time remains.
pub(super) fn backoff(retries: u32, requested: Option<Duration>, deadline: Instant) -> Option<Duration> {
    if retries >= MAX_RETRIES {
        return None;
    }
    let delay = requested.unwrap_or_else(|| jitter(FIRST_BACKOFF * 2_u32.pow(retries)));
    (delay < deadline.saturating_duration_since(Instant::now())).then_some(delay)
}

/// The delay after a rate limit: the one that the upstream requested, but at least one that grows
/// with each retry. `None` if the upstream did not say when to try again, or if no time remains.
pub(super) fn rate_limit_delay(retries: u32, requested: Option<Duration>, deadline: Instant) -> Option<Duration> {
    let least = jitter(FIRST_BACKOFF * 2_u32.pow(retries.min(MAX_DOUBLINGS)));
    let delay = requested?.max(least);
    (delay < deadline.saturating_duration_since(Instant::now())).then_some(delay)
}

/// A random duration between half and one and a half times the given one. The keys of the standard
/// library's hasher are random.
fn jitter(duration: Duration) -> Duration {
    let permille = RandomState::new().hash_one(()) % 1000;
    duration / 2 + duration * u32::try_from(permille).unwrap_or(0) / 1000
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, MAX_RETRIES, backoff};

    #[tokio::test(start_paused = true)]
    async fn backoffs_grow_and_are_bounded_in_number_and_time() {
        let deadline = Instant::now() + Duration::from_secs(10);
        for (retries, least, most) in [(0, 50, 150), (1, 100, 300)] {
            let backoff = backoff(retries, None, deadline).unwrap().as_millis();
            assert!((least..=most).contains(&backoff), "{backoff}");
        }
        assert_eq!(backoff(MAX_RETRIES, None, deadline), None);
        assert_eq!(backoff(0, Some(Duration::from_secs(9)), deadline), Some(Duration::from_secs(9)));
        assert_eq!(backoff(0, Some(Duration::from_secs(10)), deadline), None);
    }
}
