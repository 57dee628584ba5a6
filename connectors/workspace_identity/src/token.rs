//! What the access token permits, and for how long.

use connector_sdk::http::Credential;
use connector_sdk::{Document, Fault, Outcome, Request, UpstreamFault, http};
use serde::Serialize;

#[derive(Serialize)]
struct TokenInfo {
    audience: Option<String>,
    user_id: Option<String>,
    email: Option<String>,
    verified_email: Option<bool>,
    scopes: Vec<String>,
    /// Seconds.
    expires_in: Option<i64>,
}

/// The token goes into a form, so that it is in no log of URLs; the gateway puts it there.
pub(crate) fn info() -> Result<Outcome, Fault> {
    let request = Request::post("oauth2", "/tokeninfo").credential(Credential::FormField("access_token".to_owned()));
    let response = http::send(request)?;
    // Of this request only the token can be wrong.
    if response.status() == 400 {
        return Err(Fault::Upstream(UpstreamFault {
            status: 401,
            detail: "Google no longer accepts the token.".to_owned(),
            body: response.document().ok().map(|body| body.text()),
            retry_after_seconds: None,
        }));
    }
    let token = response.successful()?.document()?;
    let scope = token.string("/scope").unwrap_or_default();
    Outcome::json(&TokenInfo {
        audience: token.string("/audience"),
        user_id: token.string("/user_id"),
        email: token.string("/email"),
        verified_email: scalar(&token, "/verified_email"),
        scopes: scope.split_whitespace().map(str::to_owned).collect(),
        expires_in: scalar(&token, "/expires_in"),
    })
}

/// A number or a boolean; none when there is nothing, or something else.
fn scalar<T: std::str::FromStr>(document: &Document, pointer: &str) -> Option<T> {
    document.pointer(pointer)?.text().parse().ok()
}
