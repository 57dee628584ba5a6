//! GET /connectors/{connector}/success-authorize-callback: the user's browser comes back from the
//! provider. The browser has no token of the gateway. The `state` identifies the authorization. It
//! is issued once and accepted once.

use std::sync::Arc;

use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use secrecy::SecretString;
use tokio::time::Instant;
use url::form_urlencoded;

use crate::connect::{Words, check_return, message_in, message_page_of, redirect, return_to_page};
use body::Body;
use calls::Connection;
use endpoint::route::HttpCall;
use gateway::Gateway;
use integrations::{AuthorizationResult, NoAuthorization};
use pipeline::connect;
use problem::Problem;
use store::Authorization;
use store::digest::{sha256, sha256_of_secret};

/// The way from this path to the root of the gateway.
const ROOT: &str = "../../";

/// The query, as the provider made it.
#[derive(Default)]
struct Returned {
    state: Option<String>,
    code: Option<SecretString>,
    error: Option<String>,
    /// The provider that sends the user back (RFC 9207). Many providers do not say it.
    issuer: Option<String>,
}

/// Answers the browser.
pub async fn complete_authorization(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let words = Words::for_browser(&call.head.headers);
    let Some(returned) = parse(call.head.uri.query().unwrap_or_default()) else {
        return Ok(message_in(words, StatusCode::BAD_REQUEST, words.returned.not_complete, ROOT));
    };
    // If the browser closed the connection in the middle, the code would be used up and its tokens
    // would be lost. So the work runs in its own task.
    let (gateway, connector, arrived) = (Arc::clone(call.gateway), call.arguments.connector.to_owned(), call.arrived);
    let (headers, request_id) = (call.head.headers.clone(), call.request_id.to_owned());
    let completed =
        async move { complete(&gateway, words, &connector, returned, &headers, (&request_id, arrived)).await };
    Ok(call.gateway.integrations.spawn(completed).await.unwrap_or_else(|_| unavailable(words)))
}

async fn complete(
    gateway: &Gateway,
    words: &'static Words,
    connector: &str,
    returned: Returned,
    headers: &HeaderMap,
    (request_id, arrived): (&str, Instant),
) -> Response<Body> {
    let state = returned.state.unwrap_or_default();
    let authorization = match gateway.integrations.take_authorization(connector, &state).await {
        Ok(Ok(authorization)) => authorization,
        Ok(Err(reason)) => {
            tracing::warn!(?reason, "the state of a callback belongs to no authorization");
            return refusal(words, reason);
        }
        Err(error) => {
            error.log("a callback cannot be answered");
            return unavailable(words);
        }
    };
    let of_link = match check_return(gateway, &authorization, headers).await {
        Ok(of_link) => of_link,
        Err(response) => return response,
    };
    let checked = match &returned.issuer {
        Some(issuer) => gateway.integrations.check_issuer(&authorization, issuer).await,
        None => Ok(()),
    };
    let result = match (checked, returned.error, returned.code) {
        (Err(result), ..) => result,
        (Ok(()), Some(error), _) => {
            let result = AuthorizationResult::of_provider(&error);
            tracing::info!(?result, "the provider gave no code");
            result
        }
        (Ok(()), None, Some(code)) => connect::complete(gateway.services(), &authorization, code, arrived).await,
        (Ok(()), None, None) => AuthorizationResult::failed("answer_not_understood"),
    };
    let response = match (of_link, &result) {
        (Some(browser), _) => return_to_page(gateway, &browser, connector, &result),
        (None, AuthorizationResult::OtherAccount { user_identifier, connected, consented }) => {
            tracing::warn!(user_identifier, "the user has consented with another account than the connected one");
            other_account(words, user_identifier, connected, consented)
        }
        (None, result) => send_on(words, result, &authorization),
    };
    let Authorization { holder, key_id, .. } = &authorization;
    let status = Some(response.status().as_u16());
    let connection = Connection { request_id, holder, key_id: key_id.as_ref(), began: arrived, status };
    gateway.record_connection(&connection, &result);
    response
}

/// Reads the query. Returns `None` if there is no state, or if a parameter is there twice.
fn parse(query: &str) -> Option<Returned> {
    let mut returned = Returned::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let is_repeated = match &*name {
            "state" => returned.state.replace(value.into_owned()).is_some(),
            "code" => returned.code.replace(value.into_owned().into()).is_some(),
            "error" => returned.error.replace(value.into_owned()).is_some(),
            "iss" => returned.issuer.replace(value.into_owned()).is_some(),
            _ => false,
        };
        if is_repeated {
            return None;
        }
    }
    returned.state.is_some().then_some(returned)
}

/// The digests of the parameters `state`, `code` and `error` of a callback's query, if the gateway
/// accepts it. The fuzz target of the query calls this.
pub fn callback_digests(query: &str) -> Option<[Option<[u8; 32]>; 3]> {
    let Returned { state, code, error, .. } = parse(query)?;
    let digest = |text: Option<String>| text.map(|text| sha256(text.as_bytes()));
    Some([digest(state), code.as_ref().map(sha256_of_secret), digest(error)])
}

fn send_on(words: &'static Words, result: &AuthorizationResult, authorization: &Authorization) -> Response<Body> {
    let location = result.location(authorization).ok();
    match location.and_then(|url| HeaderValue::from_str(url.as_str()).ok()) {
        Some(location) => redirect(StatusCode::FOUND, location),
        // The URL was checked before it was stored.
        None => unavailable(words),
    }
}

/// The user reads this, because only the user knows which account was meant.
fn other_account(words: &'static Words, user_identifier: &str, connected: &str, consented: &str) -> Response<Body> {
    let known = [("{consented}", consented), ("{connected}", connected), ("{name}", user_identifier)];
    let text = filled(words.returned.another_account_text, &known);
    message_page_of(words, StatusCode::CONFLICT, words.returned.another_account, &text, ROOT)
}

/// A text with values in the places of their names. No value is searched for names.
fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, name, value)) = values
        .iter()
        .filter_map(|(name, value)| rest.split_once(name).map(|(before, _)| (before, *name, *value)))
        .min_by_key(|(before, ..)| before.len())
    {
        filled.push_str(before);
        filled.push_str(value);
        rest = rest.get(before.len() + name.len()..).unwrap_or_default();
    }
    filled + rest
}

fn refusal(words: &'static Words, reason: NoAuthorization) -> Response<Body> {
    let message = match reason {
        NoAuthorization::Unknown | NoAuthorization::OtherConnector => words.returned.not_known,
        NoAuthorization::Used => words.returned.used,
        NoAuthorization::Expired => words.returned.expired,
    };
    message_in(words, StatusCode::BAD_REQUEST, message, ROOT)
}

fn unavailable(words: &'static Words) -> Response<Body> {
    message_in(words, StatusCode::SERVICE_UNAVAILABLE, words.returned.unavailable, ROOT)
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[test]
    fn a_providers_parameters_are_read_and_others_are_ignored() {
        let returned = parse("code=a%2Fb&scope=x&state=s&authuser=0").unwrap();
        assert_eq!(returned.state.as_deref(), Some("s"));
        assert_eq!(sha256_of_secret(&returned.code.unwrap()), sha256(b"a/b"));
        assert_eq!(parse("error=access_denied&state=s").unwrap().error.as_deref(), Some("access_denied"));
        let returned = parse("state=s&code=a&iss=https%3A%2F%2Facme.example").unwrap();
        assert_eq!(returned.issuer.as_deref(), Some("https://acme.example"));
    }

    #[test]
    fn a_query_with_a_repeated_parameter_or_without_a_state_is_refused() {
        for query in [
            "",
            "code=a",
            "state=s&state=t&code=a",
            "state=s&code=a&code=b",
            "state=s&error=a&error=b",
            "state=s&code=a&iss=a&iss=b",
        ] {
            assert!(parse(query).is_none(), "{query}");
        }
    }

    #[test]
    fn a_value_that_looks_like_the_name_of_another_is_a_text() {
        let values = [("{a}", "{b}"), ("{b}", "2")];
        assert_eq!(filled("{b} is not {a} and {a}.", &values), "2 is not {b} and {b}.");
        assert_eq!(filled("none", &values), "none");
    }

    #[tokio::test]
    async fn the_page_about_another_account_names_both_and_runs_nothing_of_their_names() {
        let words = Words::for_browser(&HeaderMap::new());
        let response = other_account(words, "work", "ann@example.com", "<script>alert(1)</script>");
        assert_eq!(response.status(), StatusCode::CONFLICT);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let html = String::from_utf8_lossy(&body);
        assert!(html.contains("ann@example.com") && html.contains("&#60;script&#62;alert(1)"), "{html}");
        assert!(!html.contains("<script"), "{html}");
    }

    #[tokio::test]
    async fn the_page_loads_nothing_and_is_not_cached() {
        let response = refusal(Words::for_browser(&HeaderMap::new()), NoAuthorization::Used);
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert!(header("content-security-policy").starts_with("default-src 'none'"));
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cache-control"), "no-store");
        assert!(!response.headers().contains_key("location"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(!String::from_utf8_lossy(&body).contains("<script"));
    }
}
