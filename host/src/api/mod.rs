//! What callers see: one file a family of routes.
//!
//! - [`server`]: takes the connections
//! - [`router`]: from a path to its family
//! - [`auth`]: who calls
//! - [`body`]: what a request carries
//! - [`problem`]: the form of every error
//! - [`operations`], [`integrations`], [`connectors`], [`admin`], [`system`]: the families

mod admin;
mod body;
mod connectors;
mod integrations;
pub mod openapi;
mod operations;
pub mod problem;
mod router;
pub mod server;
mod system;

use std::sync::Arc;

use hyper::Request;
use hyper::header::AUTHORIZATION;

use self::problem::Problem;
use crate::auth::{AuthError, Caller, JwtError, Scope};
use crate::gateway::Gateway;

/// Finds out who calls, and whether they may do what needs this scope.
async fn authorize<B>(gateway: &Gateway, request: &Request<B>, scope: Option<Scope>) -> Result<Arc<Caller>, Problem> {
    let caller = gateway
        .authenticator
        .authenticate(request.headers().get(AUTHORIZATION))
        .await
        .map_err(|error| unauthenticated(&error))?;
    if let Some(scope) = scope {
        caller.require(scope).map_err(|missing| {
            problem::MISSING_SCOPE
                .because(format!("This token lacks the scope `{}`; use one that has it.", missing.0.name()))
                .with("scope", missing.0.name())
        })?;
    }
    Ok(caller)
}

fn unauthenticated(error: &AuthError) -> Problem {
    if let AuthError::Unavailable(cause) = error {
        tracing::error!(error = %cause, "the keys cannot be read");
        return problem::STORE_UNAVAILABLE.because("The keys cannot be read just now; try again.").retry_after(1);
    }
    if let AuthError::Jwt(JwtError::KeysUnavailable) = error {
        return problem::ISSUER_UNAVAILABLE.because(format!("{error} just now; try again.")).retry_after(5);
    }
    problem::UNAUTHENTICATED
        .because(format!(
            "{error}. Send an API key as `Authorization: Bearer cgw_…`; `connector-gateway keys create` makes one."
        ))
        .challenge(match error {
            AuthError::Missing => "Bearer",
            _ => "Bearer error=\"invalid_token\"",
        })
}
