//! Problems of webhooks.

use serde_json::json;

use super::violations::violations_problem;
use super::{INTERNAL, Problem, STORE_UNAVAILABLE, WEBHOOK_SECRET_REQUIRED};
use crate::schema::Violation;
use crate::webhooks::{CallbackError, WebhookError};

/// The problem of a call whose `callback_urls` are not accepted.
pub(in crate::api) fn callback_problem(error: CallbackError) -> Problem {
    match error {
        CallbackError::Invalid(wrong) => violations_problem(
            wrong
                .into_iter()
                .map(|(index, detail)| Violation { pointer: format!("/callback_urls/{index}"), detail })
                .collect(),
        ),
        CallbackError::SecretRequired => WEBHOOK_SECRET_REQUIRED
            .because("Callbacks are signed, and the tenant has no valid secret. Make one with POST /webhooks/secrets.")
            .with("action", json!({"method": "POST", "path": "/webhooks/secrets"})),
        CallbackError::Failed(error) => webhook_problem(&error),
    }
}

/// The problem of secrets that cannot be read or written. The cause goes to the log.
pub(in crate::api) fn webhook_problem(error: &WebhookError) -> Problem {
    tracing::error!(%error, "webhook secrets cannot be read or written");
    match error {
        WebhookError::Store(_) => {
            STORE_UNAVAILABLE.because("The webhook secrets cannot be read or written now; try again.").retry_after(1)
        }
        WebhookError::Vault(_)
        | WebhookError::NoRandomness
        | WebhookError::DamagedSecret
        | WebhookError::DamagedDelivery => INTERNAL.because(
            "A webhook secret cannot be encrypted or decrypted. The operator finds the cause in the gateway's log.",
        ),
    }
}
