//! A limit on refreshes of credentials that a service refuses.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::allowance::Allowance;
use store::Integration;

/// A service may refuse a credential that has not expired. Without a limit, every call would
/// refresh it. After this many refreshes in a row, an integration gets one refresh in each
/// [`PERIOD`].
const BURST: u32 = 20;
const PERIOD: Duration = Duration::from_secs(10);

/// Counts the refreshes of refused credentials, by integration.
#[derive(Default)]
pub(super) struct RefreshLimit {
    refused: Mutex<HashMap<String, Refused>>,
}

/// An integration whose credential was refused lately.
struct Refused {
    /// The last version that was counted, so that calls with the same credential count once.
    version: i64,
    refreshes: Allowance,
}

impl RefreshLimit {
    /// Returns whether a refused credential may be refreshed now. All calls that were refused with
    /// the same version, or an older one, count once.
    pub(super) fn allows(&self, Integration { id, version, .. }: &Integration) -> bool {
        let mut refused = self.refused.lock();
        let known = refused
            .entry(id.clone())
            .or_insert_with(|| Refused { version: i64::MIN, refreshes: Allowance::new(BURST, PERIOD) });
        if known.version >= *version {
            return true;
        }
        let is_allowed = known.refreshes.take();
        if is_allowed {
            known.version = *version;
        }
        is_allowed
    }

    /// Removes integrations that were not refused lately. A version may then count twice, which
    /// does no harm.
    pub(super) fn forget_idle(&self) {
        self.refused.lock().retain(|_, refused| !refused.refreshes.is_full());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::integration;

    #[test]
    fn calls_with_one_refused_credential_count_once_and_endless_refusals_are_bounded() {
        let limit = RefreshLimit::default();
        assert!((0..1000).all(|_| limit.allows(&integration("a", 1))));
        let allowed = (2..1000).take_while(|version| limit.allows(&integration("a", *version))).count();
        assert!(allowed < 100, "{allowed}");
        limit.forget_idle();
        assert!(!limit.allows(&integration("a", 1000)));
    }

    #[test]
    fn each_integration_has_a_limit_of_its_own() {
        let limit = RefreshLimit::default();
        assert!((0..1000).all(|number| limit.allows(&integration(&number.to_string(), 1))));
    }
}
