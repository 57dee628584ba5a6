//! The operations that read a message, and how its bodies become text.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use connector_sdk::{Fault, Outcome, Request, http, json};

use crate::gmail::{Object, not_understood};
use crate::{GetDraft, GetThread, MessagesGet, charset};

/// Gmail's base64: URL-safe, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A value of the response, and the JSON text that the answer has in its place.
type Replacement<'a> = (&'a str, String);

pub(crate) fn get_draft(input: GetDraft) -> Result<Outcome, Fault> {
    let request = Request::get("api", "/users/me/drafts").segment("draft_id", &input.draft_id)?;
    let request = with_format(request, input.format.as_deref());
    if !input.decode_body || !has_bodies(input.format.as_deref()) {
        return Ok(Outcome::Forward(request));
    }
    let text = response(request)?;
    match object(&text)?.get("message") {
        Some(message) => decoded(&text, &[message]).map(Outcome::Reply),
        None => Ok(Outcome::Reply(text)),
    }
}

pub(crate) fn messages_get(input: MessagesGet) -> Result<Outcome, Fault> {
    let request = Request::get("api", "/users/me/messages").segment("message_id", &input.message_id)?;
    let request = with_headers(with_format(request, input.format.as_deref()), input.metadata_headers);
    if !input.decode_body || !has_bodies(input.format.as_deref()) {
        return Ok(Outcome::Forward(request));
    }
    let text = response(request)?;
    decoded(&text, &[&text]).map(Outcome::Reply)
}

pub(crate) fn get_thread(input: GetThread) -> Result<Outcome, Fault> {
    let request = Request::get("api", "/users/me/threads").segment("thread_id", &input.thread_id)?;
    let request = with_headers(with_format(request, input.format.as_deref()), input.metadata_headers);
    if !input.decode_body || !has_bodies(input.format.as_deref()) {
        return Ok(Outcome::Forward(request));
    }
    let text = response(request)?;
    let messages = list(object(&text)?.get("messages").unwrap_or("[]"))?;
    decoded(&text, &messages).map(Outcome::Reply)
}

fn with_headers(request: Request, names: Option<Vec<String>>) -> Request {
    names.into_iter().flatten().fold(request, |request, name| request.query("metadataHeaders", name))
}

fn with_format(request: Request, format: Option<&str>) -> Request {
    match format {
        Some(format) => request.query("format", format),
        None => request,
    }
}

/// Gmail's default is `full`. The formats `metadata` and `minimal` have no bodies.
fn has_bodies(format: Option<&str>) -> bool {
    !matches!(format, Some("metadata" | "minimal"))
}

/// The JSON text of the response.
pub(crate) fn response(request: Request) -> Result<String, Fault> {
    Ok(http::send(request)?.successful()?.document()?.text())
}

/// The response `text` with the bodies of its messages decoded. Each of `messages` is a part of
/// `text`. All other characters do not change.
fn decoded(text: &str, messages: &[&str]) -> Result<String, Fault> {
    let mut replacements = Vec::new();
    for message in messages {
        let message = object(message)?;
        if let Some(value) = message.get("raw") {
            replacements.push((value, json::quoted(&raw(bytes(value)?))));
        }
        if let Some(payload) = message.get("payload") {
            bodies(payload, &mut replacements)?;
        }
    }
    let start = |value: &str| value.as_ptr().addr() - text.as_ptr().addr();
    replacements.sort_by_key(|(value, _)| start(value));
    let mut answer = String::with_capacity(text.len());
    let mut at = 0;
    for (value, replacement) in replacements {
        answer.push_str(text.get(at..start(value)).unwrap_or_default());
        answer.push_str(&replacement);
        at = start(value) + value.len();
    }
    answer.push_str(text.get(at..).unwrap_or_default());
    Ok(answer)
}

/// A whole message as text. Bytes that are not UTF-8 are read as Latin-1, whose characters have the
/// same numbers.
fn raw(message: Vec<u8>) -> String {
    String::from_utf8(message).unwrap_or_else(|error| error.into_bytes().into_iter().map(char::from).collect())
}

/// Decodes the bodies that are text, of a part and of all parts in it. Parts within parts need no
/// stack.
fn bodies<'a>(payload: &'a str, replacements: &mut Vec<Replacement<'a>>) -> Result<(), Fault> {
    let mut parts = vec![payload];
    while let Some(part) = parts.pop() {
        let part = object(part)?;
        if part.get("mimeType").map(string).transpose()?.is_some_and(|kind| is_text(&kind))
            // A body without data is a file, which needs a separate request.
            && let Some(data) = part.get("body").map(object).transpose()?.and_then(|body| body.get("data"))
        {
            let content_type = content_type(part.get("headers").unwrap_or("[]"))?;
            let text = charset::decode(bytes(data)?, content_type.as_deref());
            replacements.push((data, json::quoted(&text)));
        }
        parts.extend(list(part.get("parts").unwrap_or("[]"))?);
    }
    Ok(())
}

fn is_text(media_type: &str) -> bool {
    media_type.get(..5).is_some_and(|kind| kind.eq_ignore_ascii_case("text/"))
}

/// The `Content-Type` among the headers of a part.
fn content_type(headers: &str) -> Result<Option<Cow<'_, str>>, Fault> {
    for header in list(headers)? {
        let header = object(header)?;
        let name = header.get("name").map(string).transpose()?;
        if name.is_some_and(|name| name.eq_ignore_ascii_case("content-type")) {
            return header.get("value").map(string).transpose();
        }
    }
    Ok(None)
}

pub(crate) fn object(text: &str) -> Result<Object<'_>, Fault> {
    Object::read(text).ok_or_else(|| not_understood("there is another value in place of an object"))
}

pub(crate) fn list(text: &str) -> Result<Vec<&str>, Fault> {
    json::items(text).ok_or_else(|| not_understood("there is another value in place of a list"))
}

pub(crate) fn string(text: &str) -> Result<Cow<'_, str>, Fault> {
    json::string(text).ok_or_else(|| not_understood("there is another value in place of text"))
}

/// Decodes base64url. Blanks and line breaks in it are ignored.
pub(crate) fn bytes(value: &str) -> Result<Vec<u8>, Fault> {
    let mut text = string(value)?;
    if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        text.to_mut().retain(|character| !character.is_ascii_whitespace());
    }
    BASE64.decode(text.as_bytes()).map_err(|error| not_understood(&error.to_string()))
}
