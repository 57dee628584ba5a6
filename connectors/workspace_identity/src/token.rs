//! The scopes and the remaining lifetime of the access token.

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

/// Google takes the token in the query or in a form. The upstream declares the form, so that no log
/// of URLs has the token.
pub(crate) fn info() -> Result<Outcome, Fault> {
    let response = http::send(Request::post("oauth2", "/tokeninfo"))?;
    // The request consists of the token alone, so only the token can be wrong.
    if response.status() == 400 {
        return Err(Fault::Upstream(UpstreamFault {
            status: 401,
            detail: "Google no longer accepts the access token; the user must connect the account again.".to_owned(),
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

/// A number or a boolean. `None` if the member is absent or has another type.
fn scalar<T: std::str::FromStr>(document: &Document, pointer: &str) -> Option<T> {
    document.pointer(pointer)?.text().parse().ok()
}
