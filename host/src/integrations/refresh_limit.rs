//! How often credentials are renewed because a service refuses them.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use store::Integration;

/// A service may refuse for another reason than the credential's age, and then each call would have it renewed. After so many
/// renewals in a row an integration gets one in each [`PERIOD`].
const IN_A_ROW: NonZeroU32 = NonZeroU32::new(20).unwrap();
const PERIOD: Duration = Duration::from_secs(10);

/// Counts renewals for refresh_limit, by integration.
pub(super) struct RefreshLimit {
    limiter: DefaultKeyedRateLimiter<String>,
    /// The version of each that was counted last.
    counted: Mutex<HashMap<String, i64>>,
}

impl RefreshLimit {
    pub(super) fn new() -> Self {
        let quota = Quota::with_period(PERIOD).unwrap_or(Quota::per_minute(IN_A_ROW)).allow_burst(IN_A_ROW);
        Self { limiter: RateLimiter::keyed(quota), counted: Mutex::default() }
    }

    /// Whether a credential that a service refuses may be renewed for that, now. Calls that are refused with the same one, or
    /// still with an older one, count once.
    pub(super) fn allow(&self, Integration { id, version, .. }: &Integration) -> bool {
        let mut counted = self.counted();
        if counted.get(id).is_some_and(|counted| counted >= version) {
            return true;
        }
        let is_allowed = self.limiter.check_key(id).is_ok();
        if is_allowed {
            counted.insert(id.clone(), *version);
        }
        is_allowed
    }

    /// Forgets what makes no difference any longer.
    pub(super) fn tidy(&self) {
        self.limiter.retain_recent();
        // At worst a version counts twice.
        self.counted().clear();
    }

    fn counted(&self) -> MutexGuard<'_, HashMap<String, i64>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrations::tests::integration;

    #[test]
    fn calls_that_are_refused_together_count_once_and_endless_refusals_are_bounded() {
        let refresh_limit = RefreshLimit::new();
        assert!((0..1000).all(|_| refresh_limit.allow(&integration("a", 1))));
        let renewed = (2..1000).take_while(|version| refresh_limit.allow(&integration("a", *version))).count();
        assert!(renewed < 100, "{renewed}");
        refresh_limit.tidy();
        assert!(!refresh_limit.allow(&integration("a", 1000)));
    }

    #[test]
    fn each_of_a_holders_integrations_counts_for_itself() {
        let refresh_limit = RefreshLimit::new();
        assert!((0..1000).all(|number| refresh_limit.allow(&integration(&number.to_string(), 1))));
    }
}
