//! Answers of every form, also of forms they should not have.

use serde_json::Value;

use crate::bindings::gateway::connector::http::Error;
use crate::bindings::gateway::connector::outcome::{Content, Fault, File, Outcome, UpstreamFault, Violation};
use crate::{Answer, text};

/// Text in the place of a JSON document.
pub(crate) fn bad_json_reply(_: &Value) -> Answer {
    Ok(Outcome::Reply("{\"half\": ".to_owned()))
}

/// The fault of the kind that the input names.
pub(crate) fn fault(input: &Value) -> Answer {
    let detail = text(input, "detail").to_owned();
    let status = input["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
    Err(match text(input, "kind") {
        "invalid-input" => Fault::InvalidInput(vec![Violation { pointer: "/detail".to_owned(), detail }]),
        "not-found" => Fault::NotFound(detail),
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

/// A file with the name, type and members that the input gives it.
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
