//! The cookie of the console, which stands for the session of an operator.
//!
//! Browsers send a cookie with every request to the gateway, also with those that another page
//! starts. `SameSite=Strict` keeps it from requests of other sites. A page at another origin of the
//! same site could still start requests, so a request with the cookie must come from the gateway's
//! own origin, and a change must have the header `X-Console`, which a form cannot send.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{COOKIE, HOST, HeaderMap, ORIGIN};
use hyper::http::request::Parts;
use url::Url;

use auth::{AuthError, Caller};
use config::Config;
use gateway::Gateway;
use problem::{self, Problem, store_problem};
use store::digest::sha256;
use store::{SessionHolder, SessionPerson, StoreError};

/// Browsers accept a cookie with this prefix only from the host itself, and only for https or for
/// this machine.
pub const COOKIE_NAME: &str = "__Host-console";

/// Time without a request after which a session ends.
pub const IDLE: Duration = Duration::from_secs(30 * 60);

/// The header that a change must have.
const CONSOLE: &str = "x-console";

/// The secret in the cookie of the console, if a request has one.
pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    cookie_named(headers, COOKIE_NAME)
}

/// The value of a cookie.
pub fn cookie_named<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find_map(|(name, value)| (name == wanted).then_some(value))
}

/// The caller with the key of a session.
///
/// # Errors
/// 403 if the request does not come from the console, and 503 if the store fails. The inner error
/// says why the session or its key is not accepted.
pub async fn caller_of_cookie(
    gateway: &Gateway,
    head: &Parts,
    cookie: &str,
) -> Result<Result<Arc<Caller>, AuthError>, Problem> {
    check_origin(head, &gateway.config)?;
    let found = gateway.store.console_session(&sha256(cookie.as_bytes()), IDLE).await;
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
pub fn name_in_audit(subject: &str, host: &str) -> String {
    format!("{subject}@{host}")
}

/// The problem of sessions that cannot be read or written.
pub fn unavailable(error: &StoreError) -> Problem {
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
    use hyper::header::HeaderValue;

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
