//! The reason why an integration does not work, for callers.

use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::freshness::Freshness;
use contract::Owner;
use store::Details;

/// Why the integration does not work, and who must act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "IntegrationReason")]
pub struct Reason {
    /// Callers read it to decide if they wait or send the user through the authorization again.
    // Never the caller or the connector.
    #[schemars(with = "String", extend("enum" = ["user", "operator", "provider"]))]
    pub owner: Owner,
    /// A full sentence that says what happened.
    pub detail: String,
    /// How many times in a row the provider has refused, in words that the gateway does not know. Only
    /// the stored reason has it.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(skip)]
    refusals: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Reason {
    pub(super) fn new(owner: Owner, detail: impl Into<String>) -> Self {
        Self { owner, detail: detail.into(), refusals: 0 }
    }

    /// The reason after a refusal in words that the gateway does not know. It follows the stored one.
    pub(super) fn of_refusal(owner: Owner, detail: impl Into<String>, details: &Details) -> Self {
        let refusals = Self::stored(details).map_or(0, |previous| previous.refusals).saturating_add(1);
        Self { refusals, ..Self::new(owner, detail) }
    }

    /// How many times in a row the provider has refused, in words that the gateway does not know.
    pub(super) fn refusals(&self) -> u32 {
        self.refusals
    }

    fn stored(details: &Details) -> Option<Self> {
        details.reason.as_deref().and_then(|text| serde_json::from_str(text).ok())
    }

    /// The reason at a moment, or `None` if the integration works.
    pub(super) fn at(details: &Details, now: SystemTime) -> Option<Self> {
        let stored = Self::stored(details).map(|stored| Self { refusals: 0, ..stored });
        let has_ended = Freshness::at(details, now) == Freshness::Ended;
        stored.or_else(|| {
            has_ended.then(|| Self::new(Owner::User, "The access has expired, and the service gave no refresh token."))
        })
    }

    /// The JSON text that the store keeps.
    pub(super) fn to_text(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tests::integration;

    #[test]
    fn the_user_must_act_once_a_credential_without_refresh_token_has_expired() {
        let expiry = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let details = Details { expires_at: Some(expiry), ..integration("int_1", 1).details };
        assert_eq!(Reason::at(&details, expiry - Duration::from_secs(1)), None);
        assert_eq!(Reason::at(&details, expiry).unwrap().owner, Owner::User);
    }
}
