//! What callers are told when an account cannot be connected, or there is none to run on.

use serde_json::json;

use crate::api::operations::{problem_of, violations_problem};
use crate::api::problem::{self, Problem};
use crate::config::Config;
use crate::integrations::{AccessError, BeginError, IntegrationError, Owner, redirect_uri};
use crate::oauth::NotConfigured;
use crate::pipeline;
use crate::pipeline::connect::KeyError;
use crate::schema::Violation;
use egress::whole_seconds;
use store::StoreError;

/// By then all that are under way have ended, in seconds.
const EXPIRED_AFTER_S: u64 = 600;

/// Why an operation has no account to run on, and what to call.
pub(in crate::api) fn access_problem(error: AccessError, connector: &str) -> Problem {
    let begin = json!({"method": "POST", "path": format!("/connectors/{connector}/integrations")});
    match error {
        AccessError::Required { named } => {
            let whose = named.map(|name| format!(" `{name}`")).unwrap_or_default();
            problem::INTEGRATION_REQUIRED
                .because(format!("Connect the account{whose} first, with POST /connectors/{connector}/integrations."))
                .with("action", begin)
        }
        AccessError::Ambiguous { candidates } => problem::SELECTION_REQUIRED
            .because(format!(
                "Several accounts are connected and none is selected: name one in the header X-User-Identifier, or select one with \
                 POST /connectors/{connector}/integrations/{{user_identifier}}."
            ))
            .with("candidates", candidates)
            .with(
                "action",
                json!({"method": "POST", "path": format!("/connectors/{connector}/integrations/{{user_identifier}}")}),
            ),
        AccessError::Reauthorize { user_identifier, detail } => problem::REAUTHORIZATION_REQUIRED
            .because(format!(
                "{detail} Connect `{user_identifier}` again, with POST /connectors/{connector}/integrations."
            ))
            .with("user_identifier", user_identifier)
            .with("action", begin),
        AccessError::NotRefreshed { user_identifier, reason, retry_after } => {
            let kind = match reason.owner {
                Owner::Operator => &problem::INTEGRATION_NOT_CONFIGURED,
                Owner::User | Owner::Provider => &problem::TOKEN_REFRESH_FAILED,
            };
            kind.because(reason.detail)
                .with("user_identifier", user_identifier)
                .retry_after(whole_seconds(retry_after))
        }
        AccessError::Failed(failure) => failure_problem(&failure),
    }
}

/// Why an authorization was not begun.
pub(super) fn begin_problem(error: BeginError, config: &Config, connector: &str) -> Problem {
    match error {
        BeginError::NotConfigured(error) => not_configured(&error, config, connector),
        BeginError::Failed(failure) => failure_problem(&failure),
    }
}

fn not_configured(error: &NotConfigured, config: &Config, connector: &str) -> Problem {
    let redirect_uri = redirect_uri(config, connector);
    let mut detail = Vec::new();
    if !error.missing.is_empty() {
        detail.push(format!(
            "Register the gateway with the service, with the redirect URL {redirect_uri}; then set {} in the configuration.",
            error.missing.join(", ")
        ));
    }
    if !error.ungranted.is_empty() {
        detail.push(format!(
            "Users' tokens would go to {}: if that is right, grant it, by adding the module again with `--grant` and all hosts that \
             it is to reach.",
            error.ungranted.join(", ")
        ));
    }
    problem::INTEGRATION_NOT_CONFIGURED
        .because(detail.join(" "))
        .with("missing", error.missing.clone())
        .with("missing_hosts", error.ungranted.clone())
        .with("variables", error.variables())
        .with("redirect_uri", redirect_uri)
}

/// Why a key was not taken. That the service refuses it is a violation like any other.
pub(super) fn key_problem(error: KeyError, connector: &str) -> Problem {
    match error {
        KeyError::Unfit(detail) => invalid("/credentials", format!("Cannot be sent to the service: {detail}.")),
        KeyError::Check(pipeline::Error::Upstream { status: 401 | 403, .. }) => {
            invalid("/credentials", "The service refuses these; check them and send them again.".to_owned())
        }
        KeyError::Check(error) => problem_of(error, connector),
        KeyError::Failed(failure) => failure_problem(&failure),
    }
}

/// Over a cap of the holder's, which whoever calls can mend.
fn cap_problem(failure: &IntegrationError) -> Option<Problem> {
    match failure {
        IntegrationError::Store(StoreError::TooManyAuthorizations { limit }) => Some(
            problem::TOO_MANY_AUTHORIZATIONS
                .because(format!(
                    "{limit} authorizations are under way, and no more may be; let users complete theirs, or wait until those that \
                     nobody completes expire, ten minutes after they were begun."
                ))
                .retry_after(EXPIRED_AFTER_S),
        ),
        IntegrationError::Store(StoreError::TooManyIntegrations { limit }) => Some(problem::TOO_MANY_INTEGRATIONS.because(format!(
            "{limit} accounts are connected, and no more may be; disconnect one first, with DELETE \
             /connectors/{{connector}}/integrations/{{user_identifier}}."
        ))),
        _ => None,
    }
}

/// One member of the body is wrong in a way that its schema does not tell.
pub(super) fn invalid(pointer: &str, detail: String) -> Problem {
    violations_problem(vec![Violation { pointer: pointer.to_owned(), detail }])
}

/// The holder has too much stored, or the gateway's own parts failed. What exactly is for the operator; it stands in the log.
pub(in crate::api) fn failure_problem(failure: &IntegrationError) -> Problem {
    if let Some(problem) = cap_problem(failure) {
        return problem;
    }
    tracing::error!(error = %failure, "an integration cannot be used");
    match failure {
        IntegrationError::Store(_) => problem::STORE_UNAVAILABLE
            .because("The integrations cannot be read or written just now; try again.")
            .retry_after(1),
        IntegrationError::Stopping => {
            problem::DRAINING.because("The gateway is about to stop; try again.").retry_after(1)
        }
        IntegrationError::Vault(_) | IntegrationError::Secret(_) | IntegrationError::NoRandomness => problem::INTERNAL
            .because("A credential cannot be sealed or opened; the operator finds the cause in the gateway's log."),
    }
}
