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
}

impl Reason {
    pub(super) fn new(owner: Owner, detail: impl Into<String>) -> Self {
        Self { owner, detail: detail.into() }
    }

    /// The reason at a moment, or `None` if the integration works.
    pub(super) fn at(details: &Details, now: SystemTime) -> Option<Self> {
        let stored = details.reason.as_deref().and_then(|text| serde_json::from_str(text).ok());
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
    use crate::integrations::tests::integration;

    #[test]
    fn the_user_must_act_once_a_credential_without_refresh_token_has_expired() {
        let expiry = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let details = Details { expires_at: Some(expiry), ..integration("int_1", 1).details };
        assert_eq!(Reason::at(&details, expiry - Duration::from_secs(1)), None);
        assert_eq!(Reason::at(&details, expiry).unwrap().owner, Owner::User);
    }
}
