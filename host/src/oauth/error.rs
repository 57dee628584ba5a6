//! Why there are no tokens, and who can mend it.

use std::time::Duration;

use thiserror::Error;
use url::Url;

use egress::{EgressError, Owner};

/// The gateway itself does not let a call go.
const DENIED: &str = "egress-denied";

/// Why the provider gave no tokens. What it says about the reason is short, and holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// The code or the refresh token is no longer good: the user must come back.
    #[error("the provider refused the grant: {}", with_description(error, description.as_deref()))]
    Refused {
        /// The provider's code for it.
        error: String,
        /// What the provider adds.
        description: Option<String>,
    },
    /// The provider does not take this client, its registration is another, or its host was not granted: the operator must
    /// change something.
    #[error("the gateway is not set up to be the provider's client: {}", with_description(error, description.as_deref()))]
    Misconfigured {
        /// The provider's code for it, or the gateway's.
        error: String,
        /// What there is to add.
        description: Option<String>,
    },
    /// The provider cannot answer now.
    #[error("the provider cannot answer now: {detail}")]
    Unavailable {
        /// What happened.
        detail: String,
        /// When the provider wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The provider's answer makes no sense.
    #[error("the provider's answer is not understood: {detail}")]
    NotUnderstood {
        /// What is wrong with it.
        detail: String,
    },
}

impl TokenError {
    pub(super) fn not_understood(detail: impl Into<String>) -> Self {
        Self::NotUnderstood { detail: detail.into() }
    }

    /// The operator does not vouch for the host of an endpoint, so no secret goes there.
    pub(super) fn not_granted(endpoint: &str, url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        let description = format!("the {endpoint} is at {host}, which was not granted to this connector");
        Self::Misconfigured { error: DENIED.to_owned(), description: Some(description) }
    }
}

impl From<EgressError> for TokenError {
    fn from(error: EgressError) -> Self {
        let detail = error.to_string();
        match error {
            EgressError::RateLimited { retry_after } => Self::Unavailable { detail, retry_after: Some(retry_after) },
            _ if error.retryable() => Self::Unavailable { detail, retry_after: None },
            _ if error.owner() == Owner::Operator => {
                Self::Misconfigured { error: DENIED.to_owned(), description: Some(detail) }
            }
            _ => Self::NotUnderstood { detail },
        }
    }
}

fn with_description(error: &str, description: Option<&str>) -> String {
    description.map_or_else(|| error.to_owned(), |description| format!("{error} ({description})"))
}

/// The operator has not said all that is needed to be the provider's client.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the connector `{connector}` cannot be authorized yet; {}", self.wanted().join("; "))]
pub struct NotConfigured {
    /// Identifier of the connector.
    pub connector: String,
    /// Keys of the configuration by their full names: `oauth_clients.acme.client_id`.
    pub missing: Vec<String>,
    /// Hosts where its users' tokens would go, and which the operator has to grant first.
    pub ungranted: Vec<String>,
}

impl NotConfigured {
    /// The environment variables that set the missing keys, in the same order.
    pub fn variables(&self) -> Vec<String> {
        self.missing.iter().map(|key| variable(key)).collect()
    }

    fn wanted(&self) -> Vec<String> {
        let keys: Vec<_> = self.missing.iter().map(|key| format!("`{key}` (or {})", variable(key))).collect();
        [("the configuration lacks", keys), ("it was not granted", self.ungranted.clone())]
            .into_iter()
            .filter(|(_, lacking)| !lacking.is_empty())
            .map(|(what, lacking)| format!("{what} {}", lacking.join(", ")))
            .collect()
    }
}

fn variable(key: &str) -> String {
    format!("GATEWAY__{}", key.to_ascii_uppercase().replace('.', "__"))
}
