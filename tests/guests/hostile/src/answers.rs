//! Answers and faults of every kind, also of kinds that the manifest does not declare.

use serde_json::Value;

use crate::bindings::gateway::connector::http::Error;
use crate::bindings::gateway::connector::outcome::{
    Content, Explanation, Fault, File, Outcome, UpstreamFault, Violation,
};
use crate::{Answer, text};

/// Replies with incomplete JSON.
pub(crate) fn bad_json_reply(_: &Value) -> Answer {
    Ok(Outcome::Reply("{\"half\": ".to_owned()))
}

/// Replies with the JSON text in `json`.
pub(crate) fn json(input: &Value) -> Answer {
    Ok(Outcome::Reply(text(input, "json").to_owned()))
}

/// Fails with the fault of `kind`: `invalid-input`, `not-found`, `conflict`, `upstream`,
/// `timed-out`, or any other text for `failed`. `detail` is its text. A `not-found` and a
/// `conflict` have the members in `members`, a text that can be any JSON or no JSON. An `upstream`
/// has `status`.
pub(crate) fn fault(input: &Value) -> Answer {
    let detail = text(input, "detail").to_owned();
    let explanation = || Explanation { detail: detail.clone(), members: input["members"].as_str().map(str::to_owned) };
    let status = input["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
    Err(match text(input, "kind") {
        "invalid-input" => Fault::InvalidInput(vec![Violation { pointer: "/detail".to_owned(), detail }]),
        "not-found" => Fault::NotFound(explanation()),
        "conflict" => Fault::Conflict(explanation()),
        "upstream" => Fault::Upstream(UpstreamFault {
            status,
            detail,
            body: Some(r#"{"code": 7}"#.to_owned()),
            retry_after_seconds: Some(9),
        }),
        "timed-out" => Fault::Http(Error::TimedOut),
        _ => Fault::Failed(detail),
    })
}

/// Replies with a file of `bytes`, with `file_name`, `content_type`, `members` and `max_bytes`.
pub(crate) fn file(input: &Value) -> Answer {
    Ok(Outcome::ReplyFile(File {
        content: Content::Bytes(text(input, "bytes").as_bytes().to_vec()),
        file_name: text(input, "file_name").to_owned(),
        content_type: text(input, "content_type").to_owned(),
        members: text(input, "members").to_owned(),
        digest: true,
        max_bytes: input["max_bytes"].as_u64().unwrap_or_default(),
    }))
}
