//! What an invocation may answer, and what may go wrong.

use serde::Serialize;

use crate::bindings::gateway::connector::outcome as wit;
use crate::http::{self, Request, Response};
use crate::json::Document;
use crate::storage;

pub use wit::{Fault, UpstreamFault, Violation};

/// What an invocation may answer.
#[derive(Debug)]
pub enum Outcome {
    /// Send this, and answer with what comes back. The connector is gone before the upstream is called.
    Forward(Request),
    /// JSON text that the connector composed.
    Reply(String),
    /// A JSON document, or a part of one, as it stands with the gateway.
    ReplyDocument(Document),
    /// A file.
    File(File),
}

impl Outcome {
    /// Answers with a value as JSON.
    ///
    /// # Errors
    /// [`Fault::Failed`] when the value cannot be written as JSON, for example a map whose keys are no strings.
    pub fn json(value: &impl Serialize) -> Result<Self, Fault> {
        serde_json::to_string(value).map(Self::Reply).map_err(|error| Fault::Failed(error.to_string()))
    }
}

/// A file. Callers get its bytes when they accept its media type, else `{file_name, content_type, size, content_base64}`.
#[derive(Debug)]
pub struct File {
    /// The bytes, or where they come from.
    pub content: Content,
    /// Name that the caller may save it under.
    pub file_name: String,
    /// Media type without parameters.
    pub content_type: String,
    /// More members for the JSON form, as the text of a JSON object; may be empty.
    pub members: String,
    /// Whether the JSON form has `sha256`, the content's digest.
    pub digest: bool,
    /// Largest size in bytes; a larger file is refused. 0: the gateway's limit.
    pub max_bytes: u64,
}

/// The content of a file.
#[derive(Debug)]
pub enum Content {
    /// Bytes that the connector made.
    Bytes(Vec<u8>),
    /// The body of a response, streamed past the connector.
    Response(Response),
}

impl Fault {
    /// The input is wrong in one way that the schema does not express. `pointer` is a JSON Pointer into it, as in `/items/0`;
    /// empty means the whole input. `detail` is a sentence that says what to do.
    pub fn invalid_input(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::InvalidInput(vec![Violation { pointer: pointer.into(), detail: detail.into() }])
    }

    /// As if the upstream had answered with `status` (400 to 599). `detail` is a sentence that says what happened and what to do.
    pub fn upstream(status: u16, detail: impl Into<String>) -> Self {
        Self::Upstream(UpstreamFault { status, detail: detail.into(), body: None, retry_after_seconds: None })
    }
}

impl From<http::Error> for Fault {
    fn from(error: http::Error) -> Self {
        Self::Http(error)
    }
}

impl From<storage::Error> for Fault {
    fn from(error: storage::Error) -> Self {
        Self::Failed(format!("storage: {error:?}"))
    }
}

/// What an operation's code hands to the gateway. Natively it stays in the SDK's own types, so that tests can look into it.
#[cfg(target_family = "wasm")]
pub type Answer = Result<wit::Outcome, wit::Fault>;
/// What an operation's code hands to the gateway. Natively it stays in the SDK's own types, so that tests can look into it.
#[cfg(not(target_family = "wasm"))]
pub type Answer = Result<Outcome, Fault>;

/// Turns what a function answers into what the gateway takes.
#[cfg(target_family = "wasm")]
pub(crate) fn answer(result: Result<Outcome, Fault>) -> Answer {
    result.map(|outcome| match outcome {
        Outcome::Forward(request) => wit::Outcome::Forward(request),
        Outcome::Reply(text) => wit::Outcome::Reply(text),
        Outcome::ReplyDocument(document) => wit::Outcome::ReplyDocument(document.0),
        Outcome::File(file) => wit::Outcome::ReplyFile(wit::File {
            content: match file.content {
                Content::Bytes(bytes) => wit::Content::Bytes(bytes),
                Content::Response(response) => wit::Content::Response(response.0),
            },
            file_name: file.file_name,
            content_type: file.content_type,
            members: file.members,
            digest: file.digest,
            max_bytes: file.max_bytes,
        }),
    })
}

/// Turns what a function answers into what the gateway takes.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn answer(result: Result<Outcome, Fault>) -> Answer {
    result
}

/// The answer of an operation that only forwards: nothing of the other outcomes is linked.
pub(crate) fn forward(request: Result<Request, Fault>) -> Answer {
    #[cfg(target_family = "wasm")]
    return request.map(wit::Outcome::Forward);
    #[cfg(not(target_family = "wasm"))]
    return request.map(Outcome::Forward);
}
