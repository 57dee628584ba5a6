//! The answer to a copy. Graph responds immediately, copies in the background, and returns a URL to
//! poll for the progress.

use connector_sdk::http::{self, Error};
use connector_sdk::{Fault, Outcome, Request};
use serde::Serialize;

/// A copy that Graph has started.
#[derive(Serialize)]
struct Accepted {
    status: &'static str,
    /// Contains its own credential, so the caller can poll it without a token.
    monitor_url: Option<String>,
}

/// Starts a copy.
///
/// # Errors
/// Graph's own refusal, or [`Error::BadAnswer`] if the response is neither 202 nor the copied item.
pub(crate) fn begin(request: Request) -> Result<Outcome, Fault> {
    let response = http::send(request)?.successful()?;
    if response.status() == 202 {
        return Outcome::json(&Accepted { status: "accepted", monitor_url: response.header("location") });
    }
    let item = response.document()?;
    if item.string("/id").is_none() {
        let status = response.status();
        return Err(
            Error::BadAnswer(format!("Microsoft answered a copy with status {status} and without an item")).into()
        );
    }
    Ok(Outcome::Reply(format!(r#"{{"status":"completed","item":{}}}"#, item.text())))
}
