//! From what came back to what the caller gets: JSON as it is or shaped, nothing as `{}`, anything else as a file.

use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::Error;
use super::body::{Body, full, streamed};
use crate::media_type::{essence, is_json};
use crate::metrics;
use crate::registry::Operation;
use egress::{EgressError, retry_after};
use sandbox::Limits;
use sandbox::http::ResponseBody;
use sandbox::invocation::{Content, File};
use shape::{Shape, ShapeError};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Of an upstream's error, this much is shown to the caller.
pub(super) const MAX_SHOWN_BYTES: u64 = 64 << 10;

/// The answer to a call that succeeded.
pub struct Answer {
    /// Media type and, for a file, its name and length.
    pub headers: HeaderMap,
    /// Its bytes.
    pub body: Body,
}

/// What the caller wants of an answer.
pub struct Form<'a> {
    /// What to keep of it.
    pub shape: &'a Shape,
    /// The header `Accept`.
    pub accept: Option<&'a str>,
    /// How much may be read into memory.
    pub limits: Limits,
    /// The operation that answers.
    pub operation: &'a Operation,
}

impl Answer {
    fn json(body: Body) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, JSON);
        Self { headers, body }
    }
}

/// Answers with an upstream's response, streamed where nothing is to be done to it.
pub(super) async fn of_response(
    mut response: egress::Response,
    form: &Form<'_>,
    permit: OwnedSemaphorePermit,
) -> Result<Answer, Error> {
    let status = response.status;
    if !status.is_success() {
        return Err(rejection(response).await);
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
    let started = Instant::now();
    let shaped = form.shape.apply(&document).map_err(not_understood)?;
    metrics::record(&form.operation.metrics.shape, started.elapsed());
    Ok(Answer::json(full(shaped)))
}

/// Answers with a file: its bytes where the caller's `Accept` names its media type, else as JSON.
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
            Error::ConnectorFault(format!("the connector's members for a file are no JSON object: {error}"))
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

/// What an upstream's refusal is to the caller.
async fn rejection(response: egress::Response) -> Error {
    let status = response.status;
    let retry_after = retry_after(&response.headers);
    // Too long or broken: then it is not shown.
    let body = response.body.collect(MAX_SHOWN_BYTES).await.ok().filter(|body| !body.is_empty());
    Error::Upstream {
        status: status.as_u16(),
        detail: format!("The upstream answered {status}."),
        body: body.map(|body| shown(&body)),
        retry_after,
    }
}

/// A body for a person to read: JSON where it is, else text.
pub(super) fn shown(body: &Bytes) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into())
}

fn not_understood(error: ShapeError) -> Error {
    Error::NotUnderstood(format!("The answer cannot be shaped, as it is not good JSON: {error}."))
}

/// The media type without parameters; empty where there is none.
fn media_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(essence).unwrap_or_default()
}

/// Whether an `Accept` header names a media type itself, not by a wildcard.
fn names(accept: &str, media_type: &str) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        parts.next().is_some_and(|named| named.eq_ignore_ascii_case(media_type))
            && !parts.any(|parameter| matches!(parameter, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

/// The name in `Content-Disposition` (RFC 6266), without any folder.
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
    fn only_a_media_type_that_is_named_is_taken_raw() {
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
