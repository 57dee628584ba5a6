//! A file as the answer: its bytes, or its JSON form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};

use super::answer::{CallAnswer, DOWNLOAD_MB, Form, naming, of_json};
use super::disposition::{attachment, cleaned};
use super::{Error, run_computation};
use body::{complete, streamed};
use contract::Answer as Kind;
use registry::Permit;
use sandbox::http::ResponseBody;
use sandbox::invocation::{Content, File};
use store::digest::sha256_hex;

/// Memory for a byte of the members of a file: its text, the values that are made of it, and the
/// text of these. Small numbers in a list are the worst case.
const MEMBER_SIZE: usize = 20;

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

/// Answers with the bytes of a file if the caller's `Accept` names its media type, else with the
/// file as JSON.
///
/// # Errors
/// If the file is over its limit, cannot be read, or has a media type or members that the connector
/// got wrong.
pub(super) async fn of_file(mut file: File, form: &Form<'_>, permit: Permit) -> Result<CallAnswer, Error> {
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
