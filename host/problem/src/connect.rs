//! Problems of an account that could not be connected.

use super::access::{integration_problem, not_configured_problem};
use super::pipeline::pipeline_problem;
use super::violations::invalid;
use super::{INTEGRATION_NOT_CONFIGURED, Problem, UPSTREAM_FAILED, UPSTREAM_NOT_UNDERSTOOD};
use contract::words::sentence;
use egress::whole_seconds;
use integrations::{BeginError, TokenError};
use pipeline::Error;
use pipeline::connect::ConnectError;
use registry::RefusedPart;

/// The problem of an address that the connector refuses.
pub fn address_problem(RefusedPart { name, detail }: RefusedPart) -> Problem {
    invalid(&format!("/address/{name}"), detail)
}

/// The problem of an account that is not connected. Credentials that the service refuses are a
/// violation of the body.
pub fn connect_problem(error: ConnectError, connector: &str) -> Problem {
    let error = match error {
        ConnectError::Begin(error) => error,
        ConnectError::Check(Error::Upstream(upstream)) if matches!(upstream.status, 401 | 403) => {
            return invalid("/credentials", "The service refuses these; check them and send them again.".to_owned());
        }
        ConnectError::Check(error) => return pipeline_problem(error, connector),
    };
    let text = error.to_string();
    match error {
        BeginError::Credentials { pointer, detail } => invalid(&format!("/credentials{pointer}"), detail),
        BeginError::NotConfigured(error) => not_configured_problem(&error),
        BeginError::Provider(error) => provider_problem(error),
        BeginError::UnusableToken(_) => UPSTREAM_NOT_UNDERSTOOD.with_detail(sentence(&text)),
        BeginError::Failed(error) => integration_problem(&error),
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
