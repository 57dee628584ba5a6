//! The sign-in at an OpenID provider: the way to the provider, and the way back.
//!
//! Anyone can open the way back with a code of someone else. The cookie of the sign-in makes sure
//! that the browser which has begun it ends it.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;
use hyper::{Response, StatusCode};
use serde_json::json;
use url::form_urlencoded;

use super::session::{LIFETIME, set_cookie, set_session};
use auth::{Oidc, OidcError, Person, SignInSecret, oidc_error_code};
use body::Body;
use endpoint::answer::private_answer;
use endpoint::console_cookie::{cookie_named, name_in_audit};
use endpoint::records::SignInRecord;
use endpoint::route::HttpCall;
use gateway::Gateway;
use integrations::random_secret;
use problem::{self, Problem, integration_problem};
use rest::connect::{message_page, redirect};
use store::digest::sha256;
use store::{Acting, SessionPerson, acting};

/// Has the secret of a sign-in while the browser is at the provider.
const COOKIE_NAME: &str = "__Host-console-oidc";

/// The time that a person has at the provider.
const TIME: Duration = Duration::from_secs(600);

/// The ways from the path of the way back to the root of the gateway and to the console.
const ROOT: &str = "../../";
const CONSOLE: &str = "../../console";

const START_AGAIN: &str = "No one has signed in. Open the console, and sign in again.";

/// GET /console/sign-in: the ways to sign in.
pub async fn get_ways(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let oidc = call.gateway.oidc.as_ref().map(|oidc| oidc.settings().host());
    Ok(private_answer(&json!(SignInRecord { oidc })))
}

/// GET /console/oidc: leads to the provider.
pub async fn begin(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let oidc = provider(call.gateway)?;
    let text = random_secret().map_err(|error| integration_problem(&error))?;
    let url = match oidc.begin(&SignInSecret::new(text.as_str()), &redirect_uri(call.gateway, oidc)).await {
        Ok(url) => url,
        // The way to the root is shorter from here.
        Err(error) => return Ok(failure(&error, "../")),
    };
    let Ok(location) = HeaderValue::try_from(url.as_str()) else {
        return Err(problem::INTERNAL.with_detail("The address of the OpenID provider cannot be sent."));
    };
    let mut response = redirect(StatusCode::SEE_OTHER, location);
    // The provider is another site, so that a stricter cookie would not come back.
    set_cookie(&mut response, COOKIE_NAME, &text, &format!("SameSite=Lax; Max-Age={}", TIME.as_secs()));
    Ok(response)
}

/// The query, as the provider made it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Returned {
    state: String,
    code: Option<String>,
    error: Option<String>,
}

/// GET /console/oidc/callback: the browser comes back from the provider.
pub async fn finish(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let oidc = provider(call.gateway)?;
    let returned = parse(call.head.uri.query().unwrap_or_default());
    let secret = cookie_named(&call.head.headers, COOKIE_NAME).map(SignInSecret::new);
    // Not constant-time: both are hashes of a secret that the browser already has.
    let own = returned.zip(secret).filter(|(returned, secret)| returned.state == secret.state());
    let Some((returned, secret)) = own else {
        let text = "This browser has not begun this sign-in, or has begun it more than ten minutes ago.";
        return Ok(page(StatusCode::BAD_REQUEST, "This sign-in is not known", text));
    };
    let mut response = match (returned.error, returned.code) {
        (None, Some(code)) => complete(call.gateway, oidc, call.request_id, &secret, &code).await,
        (error, _) => {
            let error = error.map_or_else(|| "no code".to_owned(), |error| oidc_error_code(&error));
            failure(&OidcError::Refused(error), ROOT)
        }
    };
    set_cookie(&mut response, COOKIE_NAME, "", "SameSite=Lax; Max-Age=0");
    Ok(response)
}

async fn complete(
    gateway: &Gateway,
    oidc: &Oidc,
    request_id: &str,
    secret: &SignInSecret,
    code: &str,
) -> Response<Body> {
    let Person { subject, name } = match oidc.finish(secret, code, &redirect_uri(gateway, oidc)).await {
        Ok(person) => person,
        Err(error) => return failure(&error, ROOT),
    };
    let by = Acting::operator(&name_in_audit(&subject, &oidc.settings().host()), request_id);
    let person = SessionPerson { issuer: oidc.settings().issuer.clone(), subject, name };
    let Ok(secret) = random_secret() else {
        return page(StatusCode::SERVICE_UNAVAILABLE, "This cannot be completed now", "There are no random numbers.");
    };
    let hash = sha256(secret.as_bytes());
    let adding = gateway.store.add_session_of_person(&hash, &person, LIFETIME);
    if let Err(error) = acting(by, adding).await {
        tracing::warn!(%error, "a session of the console could not be stored");
        let text = "The sessions of the console cannot be stored now.";
        return page(StatusCode::SERVICE_UNAVAILABLE, "This cannot be completed now", text);
    }
    let mut response = redirect(StatusCode::SEE_OTHER, HeaderValue::from_static(CONSOLE));
    set_session(&mut response, &secret);
    response
}

/// The provider, if the operator has set one.
fn provider(gateway: &Gateway) -> Result<&Arc<Oidc>, Problem> {
    gateway.oidc.as_ref().ok_or_else(|| {
        problem::NOT_FOUND.with_detail(
            "People cannot sign in at an OpenID provider here, because the configuration has no `[console.oidc]`. Open the \
             console, and sign in with an API key.",
        )
    })
}

/// The URL to which the provider sends browsers back.
fn redirect_uri(gateway: &Gateway, oidc: &Oidc) -> String {
    match &oidc.settings().redirect_url {
        Some(url) => url.to_string(),
        None => format!("{}/console/oidc/callback", gateway.config.public_url.as_str().trim_end_matches('/')),
    }
}

/// Reads the query. Returns `None` if there is no state, or if a parameter is there twice.
fn parse(query: &str) -> Option<Returned> {
    let mut returned = Returned::default();
    let mut state = None;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let place = match &*name {
            "state" => &mut state,
            "code" => &mut returned.code,
            "error" => &mut returned.error,
            _ => continue,
        };
        if place.replace(value.into_owned()).is_some() {
            return None;
        }
    }
    returned.state = state?;
    Some(returned)
}

/// The page about a sign-in that failed. It says who can do what.
fn failure(error: &OidcError, root: &str) -> Response<Body> {
    tracing::warn!(%error, "no one has signed in to the console at its OpenID provider");
    let (status, title, advice) = match error {
        OidcError::Unavailable(_) => {
            (StatusCode::BAD_GATEWAY, "The OpenID provider cannot be asked", "Try again, or sign in with an API key.")
        }
        OidcError::NotAdmitted { .. } => (
            StatusCode::FORBIDDEN,
            "You may not use the console",
            "Ask the operator for the right, which `console.oidc.claim` and `console.oidc.value` define.",
        ),
        OidcError::Refused(_) => (
            StatusCode::BAD_REQUEST,
            "The OpenID provider refused the sign-in",
            "Try again. If it is refused again, check the client, its secret and the address of the way back at the provider.",
        ),
        OidcError::NotUnderstood(_) | OidcError::IdToken(_) => (
            StatusCode::BAD_GATEWAY,
            "The OpenID provider is not understood",
            "Try again. If it happens again, check `[console.oidc]` in the configuration.",
        ),
    };
    let text = format!("No one has signed in: {error}. {advice}");
    message_page(status, title, &text, root)
}

fn page(status: StatusCode, title: &str, reason: &str) -> Response<Body> {
    message_page(status, title, &format!("{reason} {START_AGAIN}"), ROOT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_with_a_repeated_parameter_or_without_a_state_is_refused() {
        let expected = Returned { state: "s".into(), code: Some("a/b".into()), error: None };
        assert_eq!(parse("code=a%2Fb&state=s&iss=x&iss=y"), Some(expected));
        for query in ["", "code=a", "state=s&state=s&code=a", "state=s&code=a&code=a"] {
            assert_eq!(parse(query), None, "{query}");
        }
    }
}
