//! One call of Slack's Web API, which answers `{"ok": false, "error": code}` with status 200 when a method fails.

use connector_sdk::http::{self, Error};
use connector_sdk::{Document, Fault, Outcome, Request};

use crate::problem;

/// Sends the request of a row, and answers with what the method answers.
pub(crate) fn call(request: Request) -> Result<Outcome, Fault> {
    answer(request).map(Outcome::ReplyDocument)
}

/// The answer of a method that succeeded.
pub(crate) fn answer(request: Request) -> Result<Document, Fault> {
    let response = http::send(request)?.successful()?;
    let answer = response.document()?;
    match answer.pointer("/ok").map(|ok| ok.text()).as_deref() {
        Some("true") => Ok(answer),
        Some("false") => {
            let retry_after = response.header("retry-after").and_then(|seconds| seconds.trim().parse().ok());
            Err(problem::of(&answer, retry_after))
        }
        _ => Err(Error::BadAnswer("Slack's answer has no `ok`".to_owned()).into()),
    }
}
