//! The answer to a call: its form, and JSON that is shaped if the caller requests it.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::time::Instant;

use super::accept::Accept;
use super::stages::Stages;
use super::unmatched::{UNMATCHED, unmatched_header};
use super::{Error, run_computation};
use body::{Body, complete};
use calls::Recording;
use contract::Answer as Kind;
use egress::EgressError;
use memory::{Exhausted, MemoryBudget};
use registry::{Operation, Permit};
use sandbox::Limits;
use shape::{Shape, ShapeError, Shaped};
use telemetry::Trace;

/// The key of [`Limits::response_bytes`].
pub(super) const RESPONSE_MB: &str = "limits.response_mb";

/// The key of [`Limits::download_bytes`].
pub(super) const DOWNLOAD_MB: &str = "limits.download_mb";

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The answer to a call that succeeded.
pub struct CallAnswer {
    /// 200, or 206 for a part of a file.
    pub status: StatusCode,
    /// The media type, and the name and length of a file.
    pub headers: HeaderMap,
    /// The content.
    pub body: Body,
}

/// The form of an answer that the caller and the operation request.
pub(crate) struct Form<'a> {
    /// The parts of the answer that the caller requests.
    pub shape: &'a Shape,
    /// The media types of files that the caller takes as bytes.
    pub accept: Accept<'a>,
    /// The header `Range`.
    pub range: Option<&'a str>,
    /// Limits what is read into memory.
    pub limits: Limits,
    /// The instant at which the call ends.
    pub deadline: Instant,
    /// The memory that answers take until they are sent.
    pub memory: &'a MemoryBudget,
    /// The operation. Its manifest declares the kind of answer.
    pub operation: &'a Operation,
    /// The span of the call.
    pub trace: &'a Trace,
    /// The notes for the record of the call.
    pub recording: &'a Recording,
}

impl CallAnswer {
    /// JSON with the status 200.
    pub(super) fn json(body: Body) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, JSON);
        Self { status: StatusCode::OK, headers, body }
    }
}

/// Answers with a document that the connector composed.
///
/// # Errors
/// `ConnectorFault` if the operation answers files, `NoMemory`, or as [`of_json`].
pub(super) async fn of_reply(document: Bytes, form: &Form<'_>, permit: Permit) -> Result<CallAnswer, Error> {
    if form.operation.manifest.answer == Kind::File {
        return Err(Error::ConnectorFault(
            "The operation is declared to answer a file, and it answered JSON.".to_owned(),
        ));
    }
    of_json(form.memory.hold_bytes(document)?, form, permit).await
}

/// Answers with a JSON document.
///
/// # Errors
/// `NotUnderstood` if the document is to be shaped and is not JSON. `OutOfTime` if it cannot be
/// shaped before the deadline.
pub(super) async fn of_json(document: Bytes, form: &Form<'_>, permit: Permit) -> Result<CallAnswer, Error> {
    if form.shape.is_identity() {
        return Ok(CallAnswer::json(complete(document, permit)));
    }
    let shaped = shape(&document, form).await?;
    let mut answer = CallAnswer::json(complete(form.memory.hold_bytes(shaped.document.into())?, permit));
    answer.headers.extend(unmatched_header(&shaped.unmatched).map(|value| (UNMATCHED, value)));
    Ok(answer)
}

/// Filters and projects a JSON document.
async fn shape(document: &[u8], form: &Form<'_>) -> Result<Shaped, Error> {
    let mut stages = Stages::begin(form.trace, form.recording, &form.operation.metrics.shape);
    let mut held = form.memory.part();
    let has_room = |bytes: usize| held.grow_to(bytes).is_ok();
    let apply = || form.shape.apply_within(document, || Instant::now() < form.deadline, has_room);
    let shaped = run_computation(document.len(), form.deadline, apply).await?.map_err(|error| match error {
        ShapeError::NoMemory => Error::NoMemory(Exhausted),
        ShapeError::OutOfTime => Error::OutOfTime,
        error => not_json(&error.to_string()),
    })?;
    stages.end(true);
    Ok(shaped)
}

/// Names the key that raises the limit of a response that is too large.
pub(super) fn naming(key: Option<&'static str>) -> impl FnOnce(EgressError) -> Error {
    move |error| match error {
        EgressError::TooLarge { limit } => Error::TooLarge { limit, key },
        error => error.into(),
    }
}

/// The error of a response that must be JSON and is not, for this reason.
pub(super) fn not_json(reason: &str) -> Error {
    Error::NotUnderstood(format!(
        "The operation answers JSON, and the upstream's response is not JSON: {reason}. Try again later; if this happens \
         again, the operator should check the upstream's URL."
    ))
}
