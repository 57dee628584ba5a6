//! Requests to Slack's Web API. If a method fails, Slack answers with status 200 and
//! `{"ok": false, "error": code}`.

use connector_sdk::http::{self, Body, Error};
use connector_sdk::{Document, Fault, Outcome, Request};

use crate::problem;

/// Sends the request of a row and returns Slack's response as the answer.
pub(crate) fn call(request: Request) -> Result<Outcome, Fault> {
    answer(request).map(Outcome::ReplyDocument)
}

/// Sends a request and returns Slack's response.
///
/// # Errors
/// The fault of [`problem::of`] if the method failed, and [`Error::BadAnswer`] if the response has
/// no `ok`.
pub(crate) fn answer(request: Request) -> Result<Document, Fault> {
    let request = match request.body {
        // Without a charset Slack answers with the warning `missing_charset`.
        Some(Body::Json(_)) => request.header("Content-Type", "application/json; charset=utf-8"),
        _ => request,
    };
    let response = http::send(request)?.successful()?;
    let answer = response.document()?;
    match answer.pointer("/ok").map(|ok| ok.text()).as_deref() {
        Some("true") => Ok(answer),
        Some("false") => {
            let retry_after = response.header("retry-after").and_then(|seconds| seconds.trim().parse().ok());
            Err(problem::of(&answer, retry_after))
        }
        _ => Err(Error::BadAnswer("Slack's response has no `ok`".to_owned()).into()),
    }
}
