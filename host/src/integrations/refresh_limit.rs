//! A limit on refreshes of credentials that a service refuses.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use parking_lot::Mutex;

use store::Integration;

/// A service may refuse a credential that has not expired. Without a limit, every call would
/// refresh it. After this many refreshes in a row, an integration gets one refresh in each
/// [`PERIOD`].
const BURST: NonZeroU32 = NonZeroU32::new(20).unwrap();
const PERIOD: Duration = Duration::from_secs(10);

/// Counts the refreshes of refused credentials, by integration.
pub(super) struct RefreshLimit {
    limiter: DefaultKeyedRateLimiter<String>,
    /// The last version of each integration that was counted, so that calls with the same
    /// credential count once.
    counted: Mutex<HashMap<String, i64>>,
}

impl RefreshLimit {
    pub(super) fn new() -> Self {
        let quota = Quota::with_period(PERIOD).unwrap_or(Quota::per_minute(BURST)).allow_burst(BURST);
        Self { limiter: RateLimiter::keyed(quota), counted: Mutex::default() }
    }

    /// Returns whether a refused credential may be refreshed now. All calls that were refused with
    /// the same version, or an older one, count once.
    pub(super) fn allows(&self, Integration { id, version, .. }: &Integration) -> bool {
        let mut counted = self.counted.lock();
        if counted.get(id).is_some_and(|counted| counted >= version) {
            return true;
        }
        let is_allowed = self.limiter.check_key(id).is_ok();
        if is_allowed {
            counted.insert(id.clone(), *version);
        }
        is_allowed
    }

    /// Removes integrations that were not refused lately. A version may then count twice, which
    /// does no harm.
    pub(super) fn forget_idle(&self) {
        self.limiter.retain_recent();
        self.counted.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrations::tests::integration;

    #[test]
    fn calls_with_one_refused_credential_count_once_and_endless_refusals_are_bounded() {
        let limit = RefreshLimit::new();
        assert!((0..1000).all(|_| limit.allows(&integration("a", 1))));
        let allowed = (2..1000).take_while(|version| limit.allows(&integration("a", *version))).count();
        assert!(allowed < 100, "{allowed}");
        limit.forget_idle();
        assert!(!limit.allows(&integration("a", 1000)));
    }

    #[test]
    fn each_integration_has_a_limit_of_its_own() {
        let limit = RefreshLimit::new();
        assert!((0..1000).all(|number| limit.allows(&integration(&number.to_string(), 1))));
    }
}
