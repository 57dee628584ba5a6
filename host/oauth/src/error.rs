//! Errors of OAuth, by who can fix them.

use std::time::Duration;

use thiserror::Error;
use url::Url;

use egress::EgressError;

/// The error code of a call that the gateway itself does not allow.
pub(super) const DENIED: &str = "egress-denied";

/// Why the provider gave no tokens. The provider's texts are cut and contain no secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// The code or the refresh token is no longer valid. The user must authorize again.
    #[error("the provider refused the code or token: {}", with_description(error, description.as_deref()))]
    Refused {
        /// The provider's error code.
        error: String,
        /// The provider's explanation.
        description: Option<String>,
    },
    /// The provider does not accept the client, or its host was not granted. The operator must
    /// change a setting.
    #[error("the gateway's OAuth client cannot be used: {}", with_description(error, description.as_deref()))]
    Misconfigured {
        /// The error code of the provider or of the gateway.
        error: String,
        /// An explanation.
        description: Option<String>,
    },
    /// The provider cannot answer now.
    #[error("the provider cannot answer now: {detail}")]
    Unavailable {
        /// The cause, as a fragment of a sentence.
        detail: String,
        /// Time after which the provider accepts another request.
        retry_after: Option<Duration>,
    },
    /// The provider's response does not have the expected form.
    #[error("the provider's response is not understood: {detail}")]
    NotUnderstood {
        /// The fault of the response, as a fragment of a sentence.
        detail: String,
        /// `true` if the provider refuses the request, in words that the gateway does not know.
        is_refusal: bool,
    },
}

impl TokenError {
    pub(super) fn not_understood(detail: impl Into<String>) -> Self {
        Self::NotUnderstood { detail: detail.into(), is_refusal: false }
    }

    /// The host of an endpoint is not one of the recipients, so no secret is sent there.
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
            EgressError::Denied { .. } | EgressError::NotConfigured { .. } | EgressError::NoAccountUrl { .. } => {
                Self::Misconfigured { error: DENIED.to_owned(), description: Some(detail) }
            }
            _ => Self::not_understood(detail),
        }
    }
}

fn with_description(error: &str, description: Option<&str>) -> String {
    description.map_or_else(|| error.to_owned(), |description| format!("{error} ({description})"))
}

/// Settings or grants are missing, without which the gateway cannot be the provider's client.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the connector `{connector}` cannot be authorized yet; {}", self.missing_parts().join("; "))]
pub struct NotConfigured {
    /// Identifier of the connector.
    pub connector: String,
    /// Full names of configuration keys, such as `oauth_clients.acme.client_id`.
    pub missing: Vec<String>,
    /// Hosts that would receive users' tokens, and that the operator has not granted.
    pub ungranted: Vec<String>,
    /// The URL to register with the provider. `None` if no user visits the provider.
    pub redirect_uri: Option<String>,
}

impl NotConfigured {
    /// Keys of the configuration are missing.
    pub(super) fn missing(connector: &str, missing: Vec<String>) -> Self {
        Self { connector: connector.to_owned(), missing, ungranted: Vec::new(), redirect_uri: None }
    }

    /// The environment variables that set the missing keys, in the same order.
    pub fn variables(&self) -> Vec<String> {
        self.missing.iter().map(|key| variable(key)).collect()
    }

    fn missing_parts(&self) -> Vec<String> {
        let keys: Vec<_> = self.missing.iter().map(|key| format!("`{key}` (or {})", variable(key))).collect();
        [("the configuration lacks", keys), ("it was not granted", self.ungranted.clone())]
            .into_iter()
            .filter(|(_, missing)| !missing.is_empty())
            .map(|(message, missing)| format!("{message} {}", missing.join(", ")))
            .collect()
    }
}

fn variable(key: &str) -> String {
    format!("GATEWAY__{}", key.to_ascii_uppercase().replace('.', "__"))
}
