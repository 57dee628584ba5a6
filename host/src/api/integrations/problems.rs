//! Problems of an account that could not be connected.

use crate::config::Config;
use crate::integrations::{BeginError, GrantError, redirect_uri};
use crate::oauth::{NotConfigured, TokenError};
use crate::pipeline;
use crate::pipeline::connect::KeyError;
use crate::problem::{
    INTEGRATION_NOT_CONFIGURED, Problem, UPSTREAM_FAILED, UPSTREAM_NOT_UNDERSTOOD, integration_problem, invalid,
    pipeline_problem,
};
use crate::registry::GRANT_COMMAND;
use contract::words::sentence;
use egress::whole_seconds;

/// The problem of an authorization that was not begun.
pub(super) fn begin_problem(error: BeginError, config: &Config, connector: &str) -> Problem {
    match error {
        BeginError::NotConfigured(error) => not_configured(&error, config, connector),
        BeginError::Provider(error) => provider_problem(error),
        BeginError::Failed(error) => integration_problem(&error),
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
    detail.extend(ungranted(error, connector));
    INTEGRATION_NOT_CONFIGURED
        .with_detail(detail.join(" "))
        .with("missing", error.missing.clone())
        .with("missing_hosts", error.ungranted.clone())
        .with("variables", error.variables())
        .with("redirect_uri", redirect_uri)
}

/// The sentence about hosts that the operator has not granted, if there are any.
fn ungranted(error: &NotConfigured, connector: &str) -> Option<String> {
    if error.ungranted.is_empty() {
        return None;
    }
    Some(format!(
        "The connector would send users' tokens to {}. If that is right, run `{GRANT_COMMAND} {connector} {}`.",
        error.ungranted.join(", "),
        error.ungranted.join(" ")
    ))
}

/// The problem of an account whose credentials gave no access token. Credentials that the service
/// refuses are a violation of the body.
pub(super) fn grant_problem(error: GrantError) -> Problem {
    let text = error.to_string();
    match error {
        GrantError::Unusable(unusable) => invalid(&format!("/credentials{}", unusable.pointer), unusable.detail),
        GrantError::NotConfigured(error) => {
            let set =
                (!error.missing.is_empty()).then(|| format!("Set {} in the configuration.", error.missing.join(", ")));
            let detail: Vec<_> = set.into_iter().chain(ungranted(&error, &error.connector)).collect();
            INTEGRATION_NOT_CONFIGURED
                .with_detail(detail.join(" "))
                .with("missing", error.missing.clone())
                .with("missing_hosts", error.ungranted.clone())
                .with("variables", error.variables())
        }
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
