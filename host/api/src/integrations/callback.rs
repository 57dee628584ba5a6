//! GET /connectors/{connector}/success-authorize-callback: the user's browser comes back from the
//! provider. The browser has no token of the gateway. The `state` identifies the authorization. It
//! is issued once and accepted once.

use std::sync::Arc;

use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;
use url::form_urlencoded;

use crate::connect::{check_return, message_page, redirect, return_to_page};
use crate::route::HttpCall;
use body::Body;
use calls::Connection;
use gateway::Gateway;
use integrations::{AuthorizationResult, NoAuthorization};
use pipeline::connect;
use problem::Problem;
use store::Authorization;

/// The way from this path to the root of the gateway.
const ROOT: &str = "../../";

const START_AGAIN: &str =
    "Nothing was connected. Go back to the application that sent you, and start again from there.";

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
pub(crate) async fn complete_authorization(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let Some(returned) = parse(call.head.uri.query().unwrap_or_default()) else {
        return Ok(message_page(StatusCode::BAD_REQUEST, "This link is not complete", START_AGAIN, ROOT));
    };
    // If the browser closed the connection in the middle, the code would be used up and its tokens
    // would be lost. So the work runs in its own task.
    let (gateway, connector, arrived) = (Arc::clone(call.gateway), call.arguments.connector.to_owned(), call.arrived);
    let (headers, request_id) = (call.head.headers.clone(), call.request_id.to_owned());
    let completed = async move { complete(&gateway, &connector, returned, &headers, (&request_id, arrived)).await };
    Ok(call.gateway.integrations.spawn(completed).await.unwrap_or_else(|_| unavailable()))
}

async fn complete(
    gateway: &Gateway,
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
            return refusal(reason);
        }
        Err(error) => {
            error.log("a callback cannot be answered");
            return unavailable();
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
        (Some(browser), _) => return_to_page(gateway, &browser, connector, &result).await,
        (None, AuthorizationResult::OtherAccount { user_identifier, connected, consented }) => {
            tracing::warn!(user_identifier, "the user has consented with another account than the connected one");
            other_account(user_identifier, connected, consented)
        }
        (None, result) => send_on(result, &authorization),
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

/// The parameters `state`, `code` and `error` of a callback's query, if the gateway accepts it. The
/// fuzz target of the query calls this.
pub fn callback_parameters(query: &str) -> Option<[Option<String>; 3]> {
    let Returned { state, code, error, .. } = parse(query)?;
    Some([state, code.map(|code| code.expose_secret().to_owned()), error])
}

fn send_on(result: &AuthorizationResult, authorization: &Authorization) -> Response<Body> {
    let location = result.location(authorization).ok();
    match location.and_then(|url| HeaderValue::from_str(url.as_str()).ok()) {
        Some(location) => redirect(StatusCode::FOUND, location),
        // The URL was checked before it was stored.
        None => unavailable(),
    }
}

/// The user reads this, because only the user knows which account was meant.
fn other_account(user_identifier: &str, connected: &str, consented: &str) -> Response<Body> {
    let text = format!(
        "You have signed in as {consented}, but the account that is connected as {user_identifier} is {connected}. Nothing was \
         changed. Go back to the application that sent you. Start again and sign in as {connected}, or connect {consented} as \
         another account there."
    );
    message_page(StatusCode::CONFLICT, "This is another account", &text, ROOT)
}

fn refusal(reason: NoAuthorization) -> Response<Body> {
    let title = match reason {
        NoAuthorization::Unknown | NoAuthorization::OtherConnector => "This link is not known",
        NoAuthorization::Used => "This link was used before",
        NoAuthorization::Expired => "This link has expired",
    };
    message_page(StatusCode::BAD_REQUEST, title, START_AGAIN, ROOT)
}

fn unavailable() -> Response<Body> {
    message_page(StatusCode::SERVICE_UNAVAILABLE, "This cannot be completed now", START_AGAIN, ROOT)
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[test]
    fn a_providers_parameters_are_read_and_others_are_ignored() {
        let returned = parse("code=a%2Fb&scope=x&state=s&authuser=0").unwrap();
        assert_eq!(returned.state.as_deref(), Some("s"));
        assert_eq!(returned.code.unwrap().expose_secret(), "a/b");
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

    #[tokio::test]
    async fn the_page_about_another_account_names_both_and_runs_nothing_of_their_names() {
        let response = other_account("work", "ann@example.com", "<script>alert(1)</script>");
        assert_eq!(response.status(), StatusCode::CONFLICT);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let html = String::from_utf8_lossy(&body);
        assert!(html.contains("ann@example.com") && html.contains("&#60;script&#62;alert(1)"), "{html}");
        assert!(!html.contains("<script"), "{html}");
    }

    #[tokio::test]
    async fn the_page_loads_nothing_and_is_not_cached() {
        let response = refusal(NoAuthorization::Used);
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
