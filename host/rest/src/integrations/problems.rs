//! Problems of an account that could not be connected.

use contract::words::sentence;
use egress::whole_seconds;
use integrations::{BeginError, GrantError};
use oauth::TokenError;
use pipeline::connect::KeyError;
use problem::{
    INTEGRATION_NOT_CONFIGURED, Problem, UPSTREAM_FAILED, UPSTREAM_NOT_UNDERSTOOD, integration_problem, invalid,
    not_configured_problem, pipeline_problem,
};

/// The problem of an authorization that was not begun.
pub(crate) fn begin_problem(error: BeginError) -> Problem {
    match error {
        BeginError::NotConfigured(error) => not_configured_problem(&error),
        BeginError::Provider(error) => provider_problem(error),
        BeginError::Failed(error) => integration_problem(&error),
    }
}

/// The problem of an account whose credentials gave no access token. Credentials that the service
/// refuses are a violation of the body.
pub(super) fn grant_problem(error: GrantError) -> Problem {
    let text = error.to_string();
    match error {
        GrantError::Unusable(unusable) => invalid(&format!("/credentials{}", unusable.pointer), unusable.detail),
        GrantError::NotConfigured(error) => not_configured_problem(&error),
        GrantError::Provider(TokenError::Refused { error, description }) => {
            let description = description.map(|text| format!(" ({text})")).unwrap_or_default();
            let detail = format!("The service refuses these: {error}{description}. Check them and send them again.");
            invalid("/credentials", detail)
        }
        GrantError::Provider(error) => provider_problem(error),
        GrantError::UnusableToken(_) => UPSTREAM_NOT_UNDERSTOOD.with_detail(sentence(&text)),
        GrantError::Failed(error) => integration_problem(&error),
    }
}

/// The problem of a provider that has given nothing, for a reason that the caller cannot change.
fn provider_problem(error: TokenError) -> Problem {
    let text = error.to_string();
    match error {
        // A provider that refuses its client before a user is asked expects another setup.
        TokenError::Misconfigured { .. } | TokenError::Refused { .. } => {
            INTEGRATION_NOT_CONFIGURED.with_detail(sentence(&text))
        }
        TokenError::Unavailable { retry_after, .. } => {
            let problem = UPSTREAM_FAILED.with_detail(sentence(&text));
            match retry_after {
                Some(after) => problem.retry_after(whole_seconds(after)),
                None => problem,
            }
        }
        TokenError::NotUnderstood { .. } => UPSTREAM_NOT_UNDERSTOOD.with_detail(sentence(&text)),
    }
}

/// The problem of an API key that was not accepted. A key that the service refuses is a violation
/// of the body.
pub(super) fn key_problem(error: KeyError, connector: &str) -> Problem {
    match error {
        KeyError::NotSendable(detail) => invalid("/credentials", format!("Cannot be sent to the service: {detail}.")),
        KeyError::Check(pipeline::Error::Upstream(upstream)) if matches!(upstream.status, 401 | 403) => {
            invalid("/credentials", "The service refuses these; check them and send them again.".to_owned())
        }
        KeyError::Check(error) => pipeline_problem(error, connector),
        KeyError::Failed(error) => integration_problem(&error),
    }
}
