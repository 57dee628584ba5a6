//! Problems of webhooks.

use serde_json::json;

use super::violations::violations_problem;
use super::{INTERNAL, Problem, WEBHOOK_SECRET_REQUIRED, store_problem};
use schema::Violation;
use store::vault::VaultError;
use webhooks::{CallbackError, WebhookError};

/// The problem of a call whose URLs are not accepted. They are in the member `member` of the body.
pub fn callback_problem(error: CallbackError, member: &str) -> Problem {
    match error {
        CallbackError::Invalid(wrong) => violations_problem(
            wrong
                .into_iter()
                .map(|(index, detail)| Violation { pointer: format!("/{member}/{index}"), detail })
                .collect(),
        ),
        CallbackError::SecretRequired => WEBHOOK_SECRET_REQUIRED
            .with_detail(
                "Webhooks are signed, and the tenant has no valid secret. Make one with POST /webhooks/secrets.",
            )
            .with("action", json!({"method": "POST", "path": "/webhooks/secrets"})),
        CallbackError::Failed(error) => webhook_problem(&error),
    }
}

/// The problem of secrets that cannot be read or written. The cause goes to the log.
pub fn webhook_problem(error: &WebhookError) -> Problem {
    match error {
        WebhookError::Store(error) | WebhookError::Vault(VaultError::Store(error)) => {
            store_problem(error, "The webhooks and their secrets cannot be read or written now; try again.")
        }
        WebhookError::SecretMayBeStored(error) => store_problem(
            error,
            "The database failed while the secret was stored, so that it may be the current one; GET /webhooks/secrets lists it \
             then. Delete it there before you make another one, because otherwise the secret before it would end.",
        )
        .of_unknown_outcome(),
        WebhookError::Vault(_)
        | WebhookError::NoRandomness
        | WebhookError::DamagedSecret
        | WebhookError::DamagedDelivery => {
            tracing::error!(%error, "webhook secrets cannot be read or written");
            INTERNAL.with_detail(
                "A webhook secret cannot be encrypted or decrypted. The operator finds the cause in the gateway's log.",
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use store::StoreError;

    use super::*;

    #[test]
    fn a_secret_that_may_be_stored_is_not_told_as_one_that_is_not() {
        let problem = webhook_problem(&WebhookError::SecretMayBeStored(StoreError::Closed));
        assert!(!problem.did_nothing());
        assert_eq!(problem.document("1")["outcome"], "unknown");
        assert!(webhook_problem(&WebhookError::Store(StoreError::Closed)).did_nothing());
    }
}
