//! The sessions of operators: signing in, the session of a cookie, and signing out.
//! `endpoint::console_cookie` has the cookie, and the caller that it stands for.

use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderValue, SET_COOKIE};
use hyper::{Response, StatusCode};
use serde_json::json;

use body::Body;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::console_cookie::{COOKIE_NAME, IDLE, cookie, unavailable};
use endpoint::records::{ConsoleSessionRecord, SignedOutRecord};
use endpoint::route::HttpCall;
use gateway::Gateway;
use integrations::random_secret;
use problem::{self, Problem, integration_problem};
use store::digest::sha256;
use store::{ConsoleSession, SessionHolder, SessionPerson};

/// Longest time of a session.
pub(super) const LIFETIME: Duration = Duration::from_secs(8 * 3600);

/// POST /console/session: signs in with an API key of the scope `admin`.
pub async fn sign_in(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, .. } = call;
    // A session must not prolong itself.
    if !head.headers.contains_key(AUTHORIZATION) {
        return Err(problem::UNAUTHENTICATED
            .with_detail("Signing in needs an API key: send it as `Authorization: Bearer cgw_…`.")
            .challenge("Bearer"));
    }
    let Some(key_id) = caller.key_id() else {
        return Err(match caller.token_ends_at() {
            Some(_) => problem::BAD_REQUEST
                .with_detail("A session belongs to an API key. Sign in with a key instead of a JWT."),
            // The bootstrap key has an id as soon as the keys can be read.
            None => problem::STORE_UNAVAILABLE
                .with_detail("The gateway started without its database and has not reached it since; try again.")
                .retry_after(1),
        });
    };
    let secret = random_secret().map_err(|error| integration_problem(&error))?;
    let added = gateway.store.console_sessions().add(&sha256(secret.as_bytes()), key_id, LIFETIME).await;
    let session = added.map_err(|error| unavailable(&error))?.ok_or_else(|| {
        problem::UNAUTHENTICATED.with_detail("The key was revoked a moment ago. Sign in with another key.")
    })?;
    let mut response = private_answer(&json!(record(gateway, &caller, &session)));
    *response.status_mut() = StatusCode::CREATED;
    set_session(&mut response, &secret);
    Ok(response)
}

/// GET /console/session: the session of the cookie.
pub async fn get_session(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let secret = cookie(&call.head.headers).ok_or_else(no_session)?;
    let found = call.gateway.store.console_sessions().get(&sha256(secret.as_bytes()), IDLE).await;
    let session = found.map_err(|error| unavailable(&error))?.ok_or_else(no_session)?;
    Ok(private_answer(&json!(record(call.gateway, &caller, &session))))
}

/// DELETE /console/session: signs out.
pub async fn sign_out(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let secret = cookie(&call.head.headers).ok_or_else(no_session)?;
    let ended = call.gateway.store.console_sessions().end(&sha256(secret.as_bytes())).await;
    let signed_out = ended.map_err(|error| unavailable(&error))?;
    let mut response = private_answer(&json!(SignedOutRecord { signed_out }));
    set_cookie(&mut response, COOKIE_NAME, "", "SameSite=Strict; Max-Age=0");
    Ok(response)
}

fn record(gateway: &Gateway, caller: &AuthorizedCaller, session: &ConsoleSession) -> ConsoleSessionRecord {
    let (key_id, person) = match &session.holder {
        SessionHolder::Key { id, .. } => (Some(id.0.clone()), None),
        SessionHolder::Person(SessionPerson { subject, name, .. }) => {
            (None, Some(if name.is_empty() { subject.clone() } else { name.clone() }))
        }
    };
    ConsoleSessionRecord {
        key_id,
        person,
        tenant: caller.tenant().to_owned(),
        scopes: caller.scopes(),
        expires_at: session.expires_at.into(),
        gateway: gateway.name.to_string(),
        version: env!("CARGO_PKG_VERSION"),
        public_url: gateway.config.public_url.as_str().trim_end_matches('/').to_owned(),
    }
}

/// Sets the cookie of a session.
pub(super) fn set_session(response: &mut Response<Body>, secret: &str) {
    set_cookie(response, COOKIE_NAME, secret, "SameSite=Strict");
}

/// Sets a cookie that no script can read. The secret has only letters, digits, `-` and `_`.
pub(super) fn set_cookie(response: &mut Response<Body>, name: &str, secret: &str, attributes: &str) {
    let text = format!("{name}={secret}; Path=/; Secure; HttpOnly; {attributes}");
    let Ok(mut value) = HeaderValue::try_from(text) else { return };
    value.set_sensitive(true);
    response.headers_mut().append(SET_COOKIE, value);
}

fn no_session() -> Problem {
    problem::UNAUTHENTICATED
        .with_detail("The request has no cookie of the console. Sign in with POST /console/session.")
        .challenge("Bearer")
}
