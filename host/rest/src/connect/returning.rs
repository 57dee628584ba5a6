//! The browser of a link, which comes back from a provider.

use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};

use super::browser::Browser;
use super::page::message_in;
use super::visit::{Failure, back_to_page};
use super::words::Words;
use body::Body;
use gateway::Gateway;
use integrations::AuthorizationResult;
use store::Authorization;

/// The way from the path of a callback to the root of the gateway.
const ROOT: &str = "../../";

/// Checks that the browser which comes back from a provider is the one that went there. An
/// authorization that a link did not begin is for every browser.
///
/// # Errors
/// The page for another browser.
pub(crate) async fn check_return(
    gateway: &Gateway,
    authorization: &Authorization,
    headers: &HeaderMap,
) -> Result<Option<ReturningBrowser>, Response<Body>> {
    let Some(id) = &authorization.connect_link else { return Ok(None) };
    let words = Words::for_browser(headers);
    let link = gateway.store.connect_links().get(id).await.map_err(|error| {
        tracing::warn!(%error, "a link cannot be read");
        message_in(words, StatusCode::SERVICE_UNAVAILABLE, words.unavailable, ROOT)
    })?;
    let browser = link.as_ref().and_then(|link| Browser::of_request(headers, link).filter(|browser| browser.has(link)));
    match browser {
        Some(browser) => Ok(Some(ReturningBrowser { token: browser.token().to_owned(), words })),
        // The cookie ends with the link.
        None if link.as_ref().is_none_or(|link| link.has_expired) => {
            Err(message_in(words, StatusCode::GONE, words.ended, ROOT))
        }
        None => {
            tracing::warn!("another browser came back from the provider than the one that has the link");
            Err(message_in(words, StatusCode::FORBIDDEN, words.other_browser, ROOT))
        }
    }
}

/// The browser of a link, which comes back from a provider.
pub(crate) struct ReturningBrowser {
    token: String,
    words: &'static Words,
}

/// Sends a browser that has come back from a provider to the page of its link.
pub(crate) fn return_to_page(
    gateway: &Gateway,
    browser: &ReturningBrowser,
    connector: &str,
    result: &AuthorizationResult,
) -> Response<Body> {
    let mistake = match result {
        AuthorizationResult::Connected { .. } => None,
        AuthorizationResult::OtherAccount { .. } => Some("other_account"),
        AuthorizationResult::Failed { code, .. } => Some(code.as_str()),
        // A link does not ask its maker to confirm.
        AuthorizationResult::Pending { .. } => Some("failed"),
    };
    let failure = mistake.map(|code| Failure { connector, code, way: None });
    back_to_page(gateway, browser.words, &browser.token, failure)
}
