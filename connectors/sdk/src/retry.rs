//! Tries again, later each time.
//!
//! The gateway itself repeats requests that may be repeated, if there was no response or a status of
//! 502, 503 or 504. [`retry`] is for what only the connector knows: that a request which changes
//! data may be sent again, that a service answers 429 for a short time, or that a result is not
//! ready yet.

use std::time::Duration;

use crate::{Fault, UpstreamFault, clock, random};

/// The statuses after which a service may answer otherwise a moment later.
const PASSING: [u16; 4] = [429, 502, 503, 504];

/// The number of attempts, and the delays between them. Each delay is twice the previous one.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The number of attempts. 0 counts as 1.
    pub attempts: u32,
    /// The delay after the first attempt. Up to a half of it is taken off by chance, so that callers
    /// who failed at the same time do not come back at the same time.
    pub first: Duration,
    /// The longest delay. A service that asks for a longer one is not asked again.
    pub longest: Duration,
}

impl Backoff {
    /// Four attempts within about four seconds.
    pub const STANDARD: Self = Self { attempts: 4, first: Duration::from_millis(500), longest: Duration::from_secs(8) };
}

/// Runs a function until it succeeds, fails for good, or has had all attempts. It is tried again
/// after a [`Fault::Upstream`] with the status 429, 502, 503 or 504. The delay is at least the one
/// that the service asks for (`Retry-After`).
///
/// ```
/// # use connector_sdk::testing::{Answer, Gateway};
/// use connector_sdk::retry::{Backoff, retry};
/// use connector_sdk::{Fault, Request, http};
///
/// # let refused = Answer::json(429, "{}").header("retry-after", "2");
/// # let gateway = Gateway::new().answer(refused).answer(Answer::json(200, r#"{"id": 1}"#));
/// # let before = connector_sdk::clock::now();
/// let send = || http::send(Request::post("api", "/orders").json("{}"))?.successful();
/// let response = retry(Backoff::STANDARD, send)?;
/// # assert_eq!(response.status(), 200);
/// # assert_eq!(connector_sdk::clock::now() - before, 2000);
/// # Ok::<(), Fault>(())
/// ```
///
/// # Errors
/// The fault of the last attempt.
pub fn retry<T>(backoff: Backoff, mut run: impl FnMut() -> Result<T, Fault>) -> Result<T, Fault> {
    let mut delay = backoff.first.min(backoff.longest);
    let mut left = backoff.attempts;
    loop {
        let result = run();
        left = left.saturating_sub(1);
        let asked = match &result {
            Err(Fault::Upstream(UpstreamFault { status, retry_after_seconds, .. })) if PASSING.contains(status) => {
                Duration::from_secs(retry_after_seconds.unwrap_or_default().into())
            }
            _ => return result,
        };
        if left == 0 || asked > backoff.longest {
            return result;
        }
        let [chance] = random::array();
        clock::sleep((delay - delay * u32::from(chance) / 512).max(asked));
        delay = (delay * 2).min(backoff.longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Gateway;

    fn failing(status: u16, seconds: Option<u32>) -> Fault {
        let Fault::Upstream(fault) = Fault::upstream(status, "Not now.") else { unreachable!() };
        Fault::Upstream(UpstreamFault { retry_after_seconds: seconds, ..fault })
    }

    /// The number of attempts at a service that always fails so, and the seconds that they took.
    fn attempts(backoff: Backoff, fault: impl Fn() -> Fault) -> (u32, f64) {
        let _gateway = Gateway::new();
        let (mut count, before) = (0, clock::now());
        let result = retry(backoff, || {
            count += 1;
            Err::<(), _>(fault())
        });
        assert!(result.is_err());
        (count, (clock::now() - before) as f64 / 1000.0)
    }

    #[test]
    fn a_passing_failure_is_tried_again_later_each_time() {
        let (count, seconds) = attempts(Backoff::STANDARD, || failing(503, None));
        assert!(count == 4 && (1.75..=3.5).contains(&seconds), "{count} attempts in {seconds} s");
        let short = Backoff { longest: Duration::from_millis(600), ..Backoff::STANDARD };
        let (count, seconds) = attempts(short, || failing(429, None));
        assert!(count == 4 && (0.85..=1.7).contains(&seconds), "{count} attempts in {seconds} s");
    }

    #[test]
    fn the_service_may_ask_for_a_longer_delay_but_not_for_any() {
        assert_eq!(attempts(Backoff::STANDARD, || failing(429, Some(5))), (4, 15.0));
        assert_eq!(attempts(Backoff::STANDARD, || failing(429, Some(9))), (1, 0.0));
    }

    #[test]
    fn another_failure_is_final() {
        for fault in [|| failing(404, None), || Fault::not_found("No."), || Fault::Failed("A defect.".to_owned())] {
            assert_eq!(attempts(Backoff::STANDARD, fault), (1, 0.0));
        }
        let none = Backoff { attempts: 0, ..Backoff::STANDARD };
        assert_eq!(attempts(none, || failing(503, None)).0, 1);
    }
}
