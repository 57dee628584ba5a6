//! Checks that a message has content.

use connector_sdk::http::Body;
use connector_sdk::{Document, Fault, Outcome, Request};

use crate::slack;

/// The fields that are a message's content.
const CONTENT: [&str; 4] = ["text", "blocks", "attachments", "markdown_text"];

/// Posts a message.
///
/// # Errors
/// [`Fault::InvalidInput`] if the message has no content.
pub(crate) fn post(request: Request) -> Result<Outcome, Fault> {
    let members = match &request.body {
        Some(Body::Json(text)) => Document::parse(text).map(|body| body.keys()).unwrap_or_default(),
        _ => Vec::new(),
    };
    if !members.iter().any(|name| CONTENT.contains(&name.as_str())) {
        return Err(Fault::invalid_input("", "Give one of `text`, `blocks`, `attachments` and `markdown_text`."));
    }
    slack::call(request)
}
