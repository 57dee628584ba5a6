//! The sessions of operators, and the cookie that stands for one.
//!
//! Browsers send a cookie with every request to the gateway, also with those that another page
//! starts. `SameSite=Strict` keeps it from requests of other sites. A page at another origin of the
//! same site could still start requests, so a request with the cookie must come from the gateway's
//! own origin, and a change must have the header `X-Console`, which a form cannot send.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderValue, ORIGIN, SET_COOKIE};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use serde_json::json;
use url::Url;

use crate::answer::private_answer;
use crate::authorize::AuthorizedCaller;
use crate::records::{ConsoleSessionRecord, SignedOutRecord};
use crate::route::HttpCall;
use auth::{AuthError, Caller};
use body::Body;
use config::Config;
use gateway::Gateway;
use integrations::random_secret;
use problem::{self, Problem, integration_problem, store_problem};
use store::digest::sha256;
use store::{ConsoleSession, SessionHolder, SessionPerson, StoreError};

/// Browsers accept a cookie with this prefix only from the host itself, and only for https or for
/// this machine.
const COOKIE_NAME: &str = "__Host-console";

/// Longest time of a session.
pub(super) const LIFETIME: Duration = Duration::from_secs(8 * 3600);

/// Time without a request after which a session ends.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// The header that a change must have.
const CONSOLE: &str = "x-console";

/// The secret in the cookie of the console, if a request has one.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<&str> {
    cookie_named(headers, COOKIE_NAME)
}

/// The value of a cookie.
pub(super) fn cookie_named<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find_map(|(name, value)| (name == wanted).then_some(value))
}

/// The caller with the key of a session.
///
/// # Errors
/// 403 if the request does not come from the console, and 503 if the store fails. The inner error
/// says why the session or its key is not accepted.
pub(crate) async fn caller_of_cookie(
    gateway: &Gateway,
    head: &Parts,
    cookie: &str,
) -> Result<Result<Arc<Caller>, AuthError>, Problem> {
    check_origin(head, &gateway.config)?;
    let found = gateway.store.console_sessions().get(&sha256(cookie.as_bytes()), IDLE).await;
    let Some(session) = found.map_err(|error| unavailable(&error))? else {
        return Ok(Err(AuthError::SessionEnded));
    };
    Ok(match session.holder {
        SessionHolder::Key { hash, .. } => gateway.authenticator.authenticate_hash(&hash).await,
        SessionHolder::Person(person) => caller_of_person(&gateway.config, &person),
    })
}

/// The caller of a person's session. The right ends when the operator takes the provider from the
/// configuration.
fn caller_of_person(config: &Config, person: &SessionPerson) -> Result<Arc<Caller>, AuthError> {
    let settings = config.console_oidc.as_ref().filter(|settings| settings.issuer == person.issuer);
    let settings = settings.ok_or(AuthError::SessionEnded)?;
    let name = name_in_audit(&person.subject, &settings.host());
    Ok(Arc::new(Caller::of_operator(&person.subject, name)))
}

/// The name of a person in the audit.
pub(super) fn name_in_audit(subject: &str, host: &str) -> String {
    format!("{subject}@{host}")
}

/// POST /console/session: signs in with an API key of the scope `admin`.
pub(crate) async fn sign_in(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, .. } = call;
    // A session must not prolong itself.
    if !head.headers.contains_key(AUTHORIZATION) {
        return Err(problem::UNAUTHENTICATED
            .with_detail("Signing in needs an API key: send it as `Authorization: Bearer cgw_…`.")
            .challenge("Bearer"));
    }
    let Some(key_id) = caller.key_id() else {
        return Err(
            problem::BAD_REQUEST.with_detail("A session belongs to an API key. Sign in with a key instead of a JWT.")
        );
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
pub(crate) async fn get_session(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let secret = cookie(&call.head.headers).ok_or_else(no_session)?;
    let found = call.gateway.store.console_sessions().get(&sha256(secret.as_bytes()), IDLE).await;
    let session = found.map_err(|error| unavailable(&error))?.ok_or_else(no_session)?;
    Ok(private_answer(&json!(record(call.gateway, &caller, &session))))
}

/// DELETE /console/session: signs out.
pub(crate) async fn sign_out(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
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

pub(super) fn unavailable(error: &StoreError) -> Problem {
    store_problem(error, "The sessions of the console cannot be read or written now; try again.")
}

/// Requires that a request with the cookie comes from the console.
///
/// # Errors
/// 403 if another page has started it.
fn check_origin(head: &Parts, config: &Config) -> Result<(), Problem> {
    let headers = &head.headers;
    let site = headers.get("sec-fetch-site");
    let is_own = match site {
        Some(site) => site == "same-origin",
        None => has_own_origin(headers, config),
    };
    let is_allowed = if head.method.is_safe() {
        // A person can enter an address. A program sends neither header.
        is_own || site.is_none_or(|site| site == "none") && !headers.contains_key(ORIGIN)
    } else {
        is_own && headers.contains_key(CONSOLE)
    };
    if is_allowed {
        return Ok(());
    }
    Err(problem::NOT_FROM_CONSOLE.with_detail(
        "With the cookie of the console, a change must come from the page of this gateway and have the header `X-Console`. In \
         programs, use an API key.",
    ))
}

/// Returns `true` if `Origin` is the origin of the gateway, by the name that the browser uses or by
/// its public URL.
fn has_own_origin(headers: &HeaderMap, config: &Config) -> bool {
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()).and_then(|origin| Url::parse(origin).ok());
    let Some(origin) = origin else { return false };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    origin.origin() == config.public_url.origin() || host == Some(origin.authority())
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn is_allowed(method: &str, sent: &[(&str, &str)]) -> bool {
        let config = Config { public_url: Url::parse("https://gateway.example/base/").unwrap(), ..Config::default() };
        let request = Request::builder().method(method).header("host", "127.0.0.1:8080");
        let request = sent.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        check_origin(&request.body(()).unwrap().into_parts().0, &config).is_ok()
    }

    #[test]
    fn a_change_comes_from_the_page_and_has_the_header() {
        let own = ("sec-fetch-site", "same-origin");
        let header = ("x-console", "1");
        assert!(is_allowed("POST", &[own, header]) && is_allowed("DELETE", &[own, header]));
        assert!(is_allowed("POST", &[("origin", "https://gateway.example"), header]));
        assert!(is_allowed("POST", &[("origin", "http://127.0.0.1:8080"), header]));
        for sent in [
            &[own][..],
            &[header],
            &[header, ("sec-fetch-site", "none")],
            &[header, ("sec-fetch-site", "same-site"), ("origin", "https://gateway.example")],
            &[header, ("sec-fetch-site", "cross-site")],
            &[header, ("origin", "https://other.gateway.example")],
            &[header, ("origin", "null")],
        ] {
            assert!(!is_allowed("POST", sent), "{sent:?}");
        }
    }

    #[test]
    fn another_page_cannot_read() {
        assert!(is_allowed("GET", &[]) && is_allowed("GET", &[("sec-fetch-site", "same-origin")]));
        assert!(is_allowed("GET", &[("sec-fetch-site", "none")]));
        for sent in [("sec-fetch-site", "same-site"), ("sec-fetch-site", "cross-site"), ("origin", "https://a.example")]
        {
            assert!(!is_allowed("GET", &[sent]), "{sent:?}");
        }
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let headers = |text: &'static str| HeaderMap::from_iter([(COOKIE, HeaderValue::from_static(text))]);
        assert_eq!(cookie(&headers("a=b; __Host-console=x_y; c=d")), Some("x_y"));
        assert_eq!(cookie(&headers("console=x; __Host-consoles=y")), None);
    }
}
