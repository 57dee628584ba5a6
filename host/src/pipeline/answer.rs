//! From an outcome to the caller's answer: JSON unchanged or shaped, an empty body as `{}`, everything else as a file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::Error;
use super::body::{Body, full, streamed};
use crate::media_type::{essence, is_json};
use crate::metrics::Stages;
use crate::registry::Operation;
use egress::{EgressError, retry_after};
use sandbox::Limits;
use sandbox::http::ResponseBody;
use sandbox::invocation::{Content, File};
use shape::{Shape, ShapeError};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The largest body of an upstream's error that is shown to the caller.
pub(super) const MAX_SHOWN_BYTES: u64 = 64 << 10;

/// The answer to a call that succeeded, with status 200.
pub struct Answer {
    /// Media type; for a file, also name and length.
    pub headers: HeaderMap,
    pub body: Body,
}

/// The form that the caller wants the answer in.
pub struct Form<'a> {
    /// The parts of a JSON answer that the caller wants.
    pub shape: &'a Shape,
    /// The header `Accept`.
    pub accept: Option<&'a str>,
    /// The most bytes that may be read into memory.
    pub limits: Limits,
    pub operation: &'a Operation,
}

impl Answer {
    fn json(body: Body) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, JSON);
        Self { headers, body }
    }
}

/// Answers with an upstream's response. JSON that need not be shaped is streamed.
pub(super) async fn of_response(
    mut response: egress::Response,
    form: &Form<'_>,
    permit: OwnedSemaphorePermit,
) -> Result<Answer, Error> {
    let status = response.status;
    if !status.is_success() {
        return Err(upstream_error(response).await);
    }
    let is_empty = status.as_u16() == 204 || status.as_u16() == 205 || response.body.peek(1).await?.is_empty();
    if is_empty {
        return of_json(Bytes::from_static(b"{}"), form);
    }
    let media_type = media_type(&response.headers);
    if is_json(media_type) {
        if form.shape.is_identity() {
            return Ok(Answer::json(streamed(response.body, permit)));
        }
        let document = response.body.collect(form.limits.response_bytes).await?;
        return of_json(document, form);
    }
    let file = File {
        file_name: file_name(&response.headers).unwrap_or_else(|| form.operation.manifest.path.clone()),
        content_type: if media_type.is_empty() {
            "application/octet-stream".to_owned()
        } else {
            media_type.to_ascii_lowercase()
        },
        content: Content::Response(Box::new(response.into())),
        members: String::new(),
        digest: false,
        max_bytes: 0,
    };
    Box::pin(of_file(file, form, permit)).await
}

/// Answers with a JSON document.
pub(super) fn of_json(document: Bytes, form: &Form<'_>) -> Result<Answer, Error> {
    if form.shape.is_identity() {
        return Ok(Answer::json(full(document)));
    }
    let mut stages = Stages::begin();
    let shaped = form.shape.apply(&document).map_err(not_understood)?;
    stages.end(&form.operation.metrics.shape);
    Ok(Answer::json(full(shaped)))
}

/// Answers with a file: the bytes if the header `Accept` names its media type, or else a JSON document.
pub(super) async fn of_file(file: File, form: &Form<'_>, permit: OwnedSemaphorePermit) -> Result<Answer, Error> {
    let limit = match file.max_bytes {
        0 => form.limits.download_bytes,
        asked => asked.min(form.limits.download_bytes),
    };
    let declared = match &file.content {
        Content::Bytes(bytes) => Some(bytes.len() as u64),
        Content::Response(response) => response.content_length(),
    };
    if declared.is_some_and(|length| length > limit) {
        return Err(EgressError::TooLarge { limit }.into());
    }
    if form.accept.is_some_and(|accept| names(accept, &file.content_type)) {
        return raw(file, declared, limit, permit);
    }
    let content = match file.content {
        Content::Bytes(bytes) => bytes,
        Content::Response(response) => match response.into_body() {
            ResponseBody::Read(bytes) => bytes,
            ResponseBody::Unread(body) => body.collect(limit).await?,
            ResponseBody::Failed(error) => return Err(error.into()),
        },
    };
    let mut document = json!({
        "file_name": file.file_name,
        "content_type": file.content_type,
        "size": content.len(),
    });
    if !file.members.is_empty() {
        let members: Map<String, Value> = serde_json::from_str(&file.members).map_err(|error| {
            Error::ConnectorFault(format!("the connector's members for a file are not a JSON object: {error}"))
        })?;
        if let Value::Object(document) = &mut document {
            document.extend(members);
        }
    }
    if file.digest {
        document["sha256"] = crate::registry::digest(&content).into();
    }
    document["content_base64"] = STANDARD.encode(&content).into();
    drop(content);
    of_json(document.to_string().into(), form)
}

fn raw(file: File, length: Option<u64>, limit: u64, permit: OwnedSemaphorePermit) -> Result<Answer, Error> {
    let mut headers = HeaderMap::new();
    let wrong = |_| Error::ConnectorFault("the file's media type or name cannot stand in a header".to_owned());
    headers.insert(CONTENT_TYPE, HeaderValue::from_str(&file.content_type).map_err(wrong)?);
    let name = file.file_name.replace(|character: char| character.is_control() || "\"\\".contains(character), "_");
    let disposition = format!("attachment; filename=\"{name}\"");
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_bytes(disposition.as_bytes()).map_err(wrong)?);
    if let Some(length) = length {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    let body = match file.content {
        Content::Bytes(bytes) => full(bytes),
        Content::Response(response) => match response.into_body() {
            ResponseBody::Read(bytes) => full(bytes),
            ResponseBody::Unread(body) => streamed(body.at_most(limit), permit),
            ResponseBody::Failed(error) => return Err(error.into()),
        },
    };
    Ok(Answer { headers, body })
}

/// The error of a response with a status of 3xx, 4xx or 5xx.
async fn upstream_error(response: egress::Response) -> Error {
    let status = response.status;
    let retry_after = retry_after(&response.headers);
    // A body that is too long or incomplete is not shown.
    let body = response.body.collect(MAX_SHOWN_BYTES).await.ok().filter(|body| !body.is_empty());
    Error::Upstream {
        status: status.as_u16(),
        detail: format!("The upstream answered {status}."),
        body: body.map(|body| shown(&body)),
        retry_after,
    }
}

/// A body for a person to read, as JSON or as text.
pub(super) fn shown(body: &Bytes) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into())
}

fn not_understood(error: ShapeError) -> Error {
    Error::NotUnderstood(format!("The answer cannot be shaped, because it is not valid JSON: {error}."))
}

/// The media type without parameters; empty if the header is missing.
fn media_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(essence).unwrap_or_default()
}

/// Returns `true` if an `Accept` header names a media type. A wildcard does not count.
fn names(accept: &str, media_type: &str) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        parts.next().is_some_and(|named| named.eq_ignore_ascii_case(media_type))
            && !parts.any(|parameter| matches!(parameter, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

/// The file name in `Content-Disposition` (RFC 6266), without folders.
fn file_name(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_DISPOSITION)?.to_str().ok()?;
    let name = value.split(';').find_map(|parameter| parameter.trim().strip_prefix("filename="))?;
    let name = name.trim_matches('"').rsplit(['/', '\\']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_named_media_type_is_answered_as_bytes() {
        assert!(names("application/pdf", "application/pdf"));
        assert!(names("application/json;q=0.5, Application/PDF; q=1", "application/pdf"));
        assert!(!names("*/*", "application/pdf"));
        assert!(!names("application/*", "application/pdf"));
        assert!(!names("application/pdf;q=0, */*", "application/pdf"));
    }

    #[test]
    fn a_file_name_has_no_folder() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"../etc/passwd\""));
        assert_eq!(file_name(&headers).as_deref(), Some("passwd"));
    }
}
