//! From the outcome of an operation to the answer: JSON, shaped if the caller requests it, or a
//! file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::body::Body as _;
use hyper::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderMap,
    HeaderValue,
};
use percent_encoding::percent_decode_str;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use url::Url;

use super::disposition::{attachment, cleaned, file_name};
use super::refusal::upstream_error;
use super::stages::Stages;
use super::unmatched::{UNMATCHED, unmatched_header};
use super::{Accept, Error, run_computation};
use body::media_type::{essence, is_json};
use body::{Body, complete, streamed};
use calls::Recording;
use contract::Answer as Kind;
use egress::EgressError;
use memory::MemoryBudget;
use registry::{Operation, Permit};
use sandbox::Limits;
use sandbox::http::ResponseBody;
use sandbox::invocation::{Content, File};
use shape::{Shape, ShapeError, Shaped};
use store::digest::sha256_hex;
use telemetry::Trace;

/// The key of [`Limits::response_bytes`].
pub(super) const RESPONSE_MB: &str = "limits.response_mb";

/// The key of [`Limits::download_bytes`].
const DOWNLOAD_MB: &str = "limits.download_mb";

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Maximum number of white-space characters before a JSON document.
const MAX_BLANK_BYTES: usize = 64 << 10;

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
    fn json(body: Body) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, JSON);
        Self { status: StatusCode::OK, headers, body }
    }
}

/// Answers with the response of an upstream, as the kind of answer that the operation declares.
///
/// # Errors
/// `Upstream` for a status that is not a success, `NotUnderstood` for a response that is not JSON
/// though the operation answers JSON, and errors of reading the body.
pub(super) async fn of_response(
    mut response: Box<egress::Response>,
    form: &Form<'_>,
    permit: Permit,
) -> Result<CallAnswer, Error> {
    if !response.status.is_success() {
        return Err(upstream_error(*response).await);
    }
    response.body.settle().await?;
    let is_json = match form.operation.manifest.answer {
        Kind::Json => true,
        Kind::File => false,
        Kind::Any => {
            is_json(media_type(&response.headers))
                || has_no_content(&response)
                || response.body.peek(1).await?.is_empty()
        }
    };
    if is_json {
        // A part of a document is no JSON, although it may begin like it.
        let has_asked = form.range.is_some() && form.accept.may_be_a_file();
        let is_part = has_asked && response.status == StatusCode::PARTIAL_CONTENT;
        if is_part && form.operation.manifest.answer == Kind::Any {
            return Err(Error::NotRaw { content_type: media_type(&response.headers).to_ascii_lowercase() });
        }
        of_json_response(response, form, permit).await
    } else {
        Box::pin(of_download(response, form, permit)).await
    }
}

/// Returns `true` if a `Content-Encoding` names a coding of RFC 9110, section 18.6, or its
/// registry. Some services write something else there, such as `utf-8`, and encode nothing.
fn names_coding(header: &HeaderValue) -> bool {
    const CODINGS: [&[u8]; 7] = [b"gzip", b"x-gzip", b"deflate", b"compress", b"x-compress", b"br", b"zstd"];
    let mut names = header.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    names.any(|name| CODINGS.iter().any(|coding| name.eq_ignore_ascii_case(coding)))
}

/// Answers with a file that an upstream sends, or with the part of it that the caller requests.
async fn of_download(
    mut response: Box<egress::Response>,
    form: &Form<'_>,
    permit: Permit,
) -> Result<CallAnswer, Error> {
    // No request asks for a coding that is left here, and no one would know how the file is encoded.
    let coding = response.headers.get(CONTENT_ENCODING).filter(|coding| names_coding(coding));
    if let Some(coding) = coding
        && !response.body.peek(1).await?.is_empty()
    {
        return Err(Error::NotUnderstood(format!(
            "The upstream's response is encoded as {coding:?}, though only gzip was asked for."
        )));
    }
    let part = response.headers.get(CONTENT_RANGE).filter(|_| response.status == StatusCode::PARTIAL_CONTENT).cloned();
    let accepts_ranges = response.headers.get(ACCEPT_RANGES).cloned();
    let file = downloaded(response, form);
    let is_raw = form.accept.is_raw(&file.content_type);
    if form.range.is_some() && part.is_some() && !is_raw {
        return Err(Error::NotRaw { content_type: file.content_type });
    }
    let mut answer = of_file(file, form, permit).await?;
    if is_raw {
        answer.headers.extend(accepts_ranges.map(|accepted| (ACCEPT_RANGES, accepted)));
        if let Some(part) = part {
            answer.status = StatusCode::PARTIAL_CONTENT;
            answer.headers.insert(CONTENT_RANGE, part);
        }
    }
    Ok(answer)
}

/// Answers with a response that must be JSON. It is streamed if nothing is to be done with it. An
/// empty body becomes `{}`.
async fn of_json_response(
    mut response: Box<egress::Response>,
    form: &Form<'_>,
    permit: Permit,
) -> Result<CallAnswer, Error> {
    response.body.skip_mark().await?;
    let first = if has_no_content(&response) { None } else { first_byte(&mut response.body).await? };
    let Some(first) = first else { return of_json(Bytes::from_static(b"{}"), form, permit).await };
    let media_type = media_type(&response.headers);
    let is_declared = is_json(media_type);
    if !is_declared && !media_type.is_empty() && !media_type.eq_ignore_ascii_case("text/plain") {
        return Err(not_json(&format!("it has the media type `{}`", shorten(media_type))));
    }
    match first {
        b'{' | b'[' => {}
        b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' if is_declared => {}
        // Plain text may begin like a number or a word of JSON.
        b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
            let document =
                response.body.collect(form.limits.response_bytes).await.map_err(naming(Some(RESPONSE_MB)))?;
            let check = || serde_json::from_slice::<IgnoredAny>(&document);
            run_computation(document.len(), form.deadline, check)
                .await?
                .map_err(|error| not_json(&error.to_string()))?;
            return of_json(document, form, permit).await;
        }
        _ => return Err(not_json("it does not begin like JSON")),
    }
    if form.shape.is_identity() {
        let limit = form.limits.download_bytes;
        if response.body.size_hint().lower() > limit {
            return Err(Error::TooLarge { limit, key: Some(DOWNLOAD_MB) });
        }
        return Ok(CallAnswer::json(streamed(response.body.at_most(limit), permit)));
    }
    let document = response.body.collect(form.limits.response_bytes).await.map_err(naming(Some(RESPONSE_MB)))?;
    of_json(document, form, permit).await
}

/// The response as a file.
fn downloaded(response: Box<egress::Response>, form: &Form<'_>) -> File {
    let media_type = media_type(&response.headers);
    let name = response.headers.get(CONTENT_DISPOSITION).and_then(file_name);
    File {
        file_name: name
            .or_else(|| last_segment(&response.url()))
            .unwrap_or_else(|| form.operation.manifest.path.clone()),
        content_type: match media_type {
            "" => "application/octet-stream".to_owned(),
            media_type => media_type.to_ascii_lowercase(),
        },
        content: Content::Response(Box::new((*response).into())),
        members: String::new(),
        digest: false,
        max_bytes: 0,
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

/// Answers with a file of the connector.
///
/// # Errors
/// `ConnectorFault` if the operation answers JSON, or as [`of_file`].
pub(super) async fn of_reply_file(file: File, form: &Form<'_>, permit: Permit) -> Result<CallAnswer, Error> {
    if form.operation.manifest.answer == Kind::Json {
        return Err(Error::ConnectorFault(
            "The operation is declared to answer JSON, and it answered a file.".to_owned(),
        ));
    }
    of_file(file, form, permit).await
}

/// Answers with a JSON document.
///
/// # Errors
/// `NotUnderstood` if the document is to be shaped and is not JSON. `OutOfTime` if it cannot be
/// shaped before the deadline.
async fn of_json(document: Bytes, form: &Form<'_>, permit: Permit) -> Result<CallAnswer, Error> {
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
    let apply = || form.shape.apply_while(document, || Instant::now() < form.deadline);
    let shaped = run_computation(document.len(), form.deadline, apply).await?.map_err(|error| match error {
        ShapeError::OutOfTime => Error::OutOfTime,
        error => not_json(&error.to_string()),
    })?;
    stages.end(true);
    Ok(shaped)
}

/// Answers with the bytes of a file if the caller's `Accept` names its media type, else with the
/// file as JSON.
///
/// # Errors
/// If the file is over its limit, cannot be read, or has a media type or members that the connector
/// got wrong.
async fn of_file(mut file: File, form: &Form<'_>, permit: Permit) -> Result<CallAnswer, Error> {
    // Anyone may have chosen the name, as the sender of an attachment.
    file.file_name = cleaned(&file.file_name).unwrap_or_else(|| form.operation.manifest.path.clone());
    let (limit, key) = match file.max_bytes {
        own if own > 0 && own < form.limits.download_bytes => (own, None),
        _ => (form.limits.download_bytes, Some(DOWNLOAD_MB)),
    };
    let declared = match &file.content {
        Content::Bytes(bytes) => Some(bytes.len() as u64),
        Content::Response(response) => response.content_length(),
    };
    if declared.is_some_and(|length| length > limit) {
        return Err(Error::TooLarge { limit, key });
    }
    if form.accept.is_raw(&file.content_type) {
        return raw(file, declared, limit, permit).await;
    }
    let content = match file.content {
        Content::Bytes(bytes) => bytes,
        Content::Response(response) => match response.into_body() {
            ResponseBody::Read(bytes) => bytes,
            ResponseBody::Unread(body) => body.collect(limit).await.map_err(naming(key))?,
            ResponseBody::Failed(error) => return Err(error.into()),
        },
    };
    let bytes = content.len() + file.members.len();
    let mut held = form.memory.part();
    held.grow_to(content.len().div_ceil(3) * 4 + MEMBER_SIZE * file.members.len())?;
    let document = run_computation(bytes, form.deadline, || {
        file_as_json(&content, file.file_name, file.content_type, &file.members, file.digest)
    });
    let document = document.await??;
    drop(content);
    of_json(held.tie_to(document.into()), form, permit).await
}

/// Memory for a byte of the members of a file: its text, the values that are made of it, and the
/// text of these. Small numbers in a list are the worst case.
const MEMBER_SIZE: usize = 20;

/// The JSON form of a file.
///
/// # Errors
/// `ConnectorFault` if the connector's members are not a JSON object.
fn file_as_json(
    content: &[u8],
    file_name: String,
    content_type: String,
    members: &str,
    digest: bool,
) -> Result<String, Error> {
    let mut document = json!({"file_name": file_name, "content_type": content_type, "size": content.len()});
    if !members.is_empty() {
        let members: Map<String, Value> = serde_json::from_str(members).map_err(|error| {
            Error::ConnectorFault(format!("the connector's members for a file are not a JSON object: {error}"))
        })?;
        if let Value::Object(document) = &mut document {
            document.extend(members);
        }
    }
    if digest {
        document["sha256"] = sha256_hex(content).into();
    }
    if let Value::Object(document) = &mut document {
        document.remove("content_base64");
    }
    let mut text = document.to_string();
    // The content is the last member, so that it is in memory once.
    text.pop();
    text.push_str(",\"content_base64\":\"");
    STANDARD.encode_string(content, &mut text);
    text.push_str("\"}");
    Ok(text)
}

async fn raw(file: File, length: Option<u64>, limit: u64, permit: Permit) -> Result<CallAnswer, Error> {
    let mut headers = HeaderMap::new();
    let wrong =
        || Error::ConnectorFault("the file's media type or name has a character that headers cannot have".to_owned());
    headers.insert(CONTENT_TYPE, HeaderValue::from_str(&file.content_type).map_err(|_| wrong())?);
    headers.insert(CONTENT_DISPOSITION, attachment(&file.file_name).ok_or_else(wrong)?);
    if let Some(length) = length {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    let body = match file.content {
        Content::Bytes(bytes) => complete(bytes, permit),
        Content::Response(response) => match response.into_body() {
            ResponseBody::Read(bytes) => complete(bytes, permit),
            ResponseBody::Unread(mut body) => {
                body.settle().await?;
                streamed(body.at_most(limit), permit)
            }
            ResponseBody::Failed(error) => return Err(error.into()),
        },
    };
    Ok(CallAnswer { status: StatusCode::OK, headers, body })
}

/// The last segment of a URL's path, decoded. `None` if it is empty.
fn last_segment(url: &Url) -> Option<String> {
    let segment = url.path_segments()?.next_back()?;
    let name = percent_decode_str(segment).decode_utf8_lossy().replace(['/', '\\'], "_");
    (!name.is_empty()).then_some(name)
}

/// Names the key that raises the limit of a response that is too large.
fn naming(key: Option<&'static str>) -> impl FnOnce(EgressError) -> Error {
    move |error| match error {
        EgressError::TooLarge { limit } => Error::TooLarge { limit, key },
        error => error.into(),
    }
}

fn not_json(reason: &str) -> Error {
    Error::NotUnderstood(format!(
        "The operation answers JSON, and the upstream's response is not JSON: {reason}. Try again later; if this happens \
         again, the operator should check the upstream's URL."
    ))
}

/// Returns `true` if the status says that there is no content (RFC 9110, sections 15.3.5 and
/// 15.3.6).
fn has_no_content(response: &egress::Response) -> bool {
    matches!(response.status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT)
}

/// The first byte of a body that is not white space of JSON. `None` if there is no such byte. It
/// stays in the body.
async fn first_byte(body: &mut egress::ResponseBody) -> Result<Option<u8>, EgressError> {
    let mut length = 1;
    loop {
        let ahead = body.peek(length).await?;
        let first = ahead.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        if first.is_some() || ahead.len() < length || length > MAX_BLANK_BYTES {
            return Ok(first.or_else(|| ahead.get(MAX_BLANK_BYTES)).copied());
        }
        length *= 16;
    }
}

/// The media type without parameters; empty if there is none.
fn media_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(essence).unwrap_or_default()
}

/// A text of the upstream at a length that fits a sentence.
fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Returns `true` if an `Accept` header names a media type itself, not by a wildcard.
pub(super) fn names(accept: &str, media_type: &str) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        parts.next().is_some_and(|named| named.eq_ignore_ascii_case(media_type))
            && !parts.any(|parameter| matches!(parameter, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

/// Returns `true` if an `Accept` header names the media type of a file, so that the caller may get
/// bytes.
pub(super) fn names_a_file(accept: &str) -> bool {
    accept.split(',').map(essence).any(|named| !named.is_empty() && !named.contains('*') && !is_json(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_media_type_that_accept_names_is_answered_as_bytes() {
        assert!(names("application/pdf", "application/pdf"));
        assert!(names("application/json;q=0.5, Application/PDF; q=1", "application/pdf"));
        assert!(!names("*/*", "application/pdf"));
        assert!(!names("application/*", "application/pdf"));
        assert!(!names("application/pdf;q=0, */*", "application/pdf"));
        assert!(names_a_file("application/json, image/png;q=0.5"));
        assert!(!names_a_file("*/*") && !names_a_file("application/json, image/*") && !names_a_file(""));
    }
}
