//! The results of an invocation.

use serde::Serialize;

use crate::bindings::gateway::connector::outcome as wit;
use crate::http::{self, Request, Response};
use crate::json::Document;
use crate::storage;

pub use wit::{Explanation, Fault, UpstreamFault, Violation};

/// The result of an invocation that succeeded.
#[derive(Debug)]
pub enum Outcome {
    /// The gateway sends the request and returns the response to the caller. It drops the
    /// connector's instance before it calls the upstream.
    Forward(Request),
    /// JSON text that the connector composed.
    Reply(String),
    /// A JSON document, or a part of one, that the gateway holds.
    ReplyDocument(Document),
    /// A file.
    File(File),
}

impl Outcome {
    /// An answer with a value as JSON.
    ///
    /// # Errors
    /// [`Fault::Failed`] if the value cannot be written as JSON, for example a map whose keys are
    /// not strings.
    pub fn json(value: &impl Serialize) -> Result<Self, Fault> {
        serde_json::to_string(value).map(Self::Reply).map_err(|error| Fault::Failed(error.to_string()))
    }
}

/// A file. Callers get its bytes if their `Accept` header names its media type, else
/// `{file_name, content_type, size, content_base64}`.
#[derive(Debug)]
pub struct File {
    /// The bytes, or the response whose body is the file.
    pub content: Content,
    /// Name that the caller may save it under.
    pub file_name: String,
    /// Media type without parameters.
    pub content_type: String,
    /// Further members for the JSON form, as the text of a JSON object. May be empty.
    pub members: String,
    /// `true` if the JSON form has `sha256`, the digest of the content in lower-case hexadecimal
    /// digits.
    pub digest: bool,
    /// Maximum size in bytes; a larger file is refused. 0 means the gateway's own limit.
    pub max_bytes: u64,
}

/// The content of a file.
#[derive(Debug)]
pub enum Content {
    /// Bytes that the connector made.
    Bytes(Vec<u8>),
    /// The body of a response. The gateway streams it to the caller.
    Response(Response),
}

impl Fault {
    /// The input is wrong in one way that the schema cannot express (422). `pointer` is a JSON
    /// Pointer into the input, for example `/items/0`; the empty pointer is the whole input.
    /// `detail` is a sentence that says what to do.
    pub fn invalid_input(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::InvalidInput(vec![Violation { pointer: pointer.into(), detail: detail.into() }])
    }

    /// The thing that the caller asked for does not exist (404). `detail` is a sentence that says
    /// what happened and what to do.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::NotFound(Explanation { detail: detail.into(), members: None })
    }

    /// The request conflicts with the state of the service, or it is ambiguous (409). `detail` is a
    /// sentence that says what happened and what to do.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::Conflict(Explanation { detail: detail.into(), members: None })
    }

    /// The upstream refused or failed. The caller gets `status` (400 to 599). `detail` is a
    /// sentence that says what happened and what to do.
    pub fn upstream(status: u16, detail: impl Into<String>) -> Self {
        Self::Upstream(UpstreamFault { status, detail: detail.into(), body: None, retry_after_seconds: None })
    }

    /// Adds members to the problem document of a [`Fault::NotFound`] or [`Fault::Conflict`], for
    /// example `{"candidates": […]}`. `members` is written as JSON and must be an object of at most
    /// 64 KiB. Other faults have no members and do not change.
    #[must_use]
    pub fn with_members(mut self, members: &impl Serialize) -> Self {
        if let Self::NotFound(explanation) | Self::Conflict(explanation) = &mut self {
            match serde_json::to_string(members) {
                Ok(text) => explanation.members = Some(text),
                Err(error) => {
                    return Self::Failed(format!("The members of a fault cannot be written as JSON: {error}"));
                }
            }
        }
        self
    }
}

impl From<rows::reader::Unexpected> for Fault {
    fn from(unexpected: rows::reader::Unexpected) -> Self {
        Self::invalid_input("", unexpected.to_string())
    }
}

impl From<rows::Refusal> for Fault {
    fn from(refusal: rows::Refusal) -> Self {
        match refusal {
            rows::Refusal::Input { pointer, detail } => Self::invalid_input(pointer, detail),
            rows::Refusal::Setting(why) => Self::Failed(why),
        }
    }
}

impl From<http::Error> for Fault {
    fn from(error: http::Error) -> Self {
        Self::Http(error)
    }
}

impl From<storage::Error> for Fault {
    fn from(error: storage::Error) -> Self {
        Self::Failed(match error {
            storage::Error::Invalid(reason) => format!("The storage refuses the key or the value: {reason}"),
            storage::Error::Full => "The storage has no room for another key.".to_owned(),
            storage::Error::Unavailable(reason) => format!("The storage does not answer: {reason}"),
        })
    }
}

/// The result of an operation in the form that the gateway takes. Natively it keeps the SDK's own
/// types, so that tests can read it.
#[cfg(target_family = "wasm")]
pub type Answer = Result<wit::Outcome, wit::Fault>;
/// The result of an operation in the form that the gateway takes. Natively it keeps the SDK's own
/// types, so that tests can read it.
#[cfg(not(target_family = "wasm"))]
pub type Answer = Result<Outcome, Fault>;

/// Turns the result of a function into the form that the gateway takes.
pub(crate) fn answer(result: Result<Outcome, Fault>) -> Answer {
    let outcome = result?;
    if let Outcome::Forward(request) = &outcome {
        request.check_target()?;
    }
    #[cfg(target_family = "wasm")]
    let outcome = match outcome {
        Outcome::Forward(request) => wit::Outcome::Forward(request.into()),
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
    };
    Ok(outcome)
}
