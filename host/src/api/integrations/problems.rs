//! Problems of an account that could not be connected.

use crate::config::Config;
use crate::integrations::{BeginError, redirect_uri};
use crate::oauth::NotConfigured;
use crate::pipeline;
use crate::pipeline::connect::KeyError;
use crate::problem::{INTEGRATION_NOT_CONFIGURED, Problem, integration_problem, invalid, pipeline_problem};
use crate::registry::GRANT_COMMAND;

/// The problem of an authorization that was not begun.
pub(super) fn begin_problem(error: BeginError, config: &Config, connector: &str) -> Problem {
    match error {
        BeginError::NotConfigured(error) => not_configured(&error, config, connector),
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
    if !error.ungranted.is_empty() {
        detail.push(format!(
            "The connector would send users' tokens to {}. If that is right, run `{GRANT_COMMAND} {connector} {}`.",
            error.ungranted.join(", "),
            error.ungranted.join(" ")
        ));
    }
    INTEGRATION_NOT_CONFIGURED
        .with_detail(detail.join(" "))
        .with("missing", error.missing.clone())
        .with("missing_hosts", error.ungranted.clone())
        .with("variables", error.variables())
        .with("redirect_uri", redirect_uri)
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
