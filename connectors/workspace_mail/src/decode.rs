//! The operations that read a message, and how its bodies become text.

use std::borrow::Cow;

use connector_sdk::{Fault, Outcome, Request, http, json};

use crate::base64url::Encoded;
use crate::gmail::{Object, not_understood};
use crate::{GetDraft, GetThread, MessagesGet, charset};

/// A value of the response that is text in base64url.
struct Body<'a> {
    value: &'a str,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// A whole message.
    Raw,
    /// A part of a message, with its `Content-Type`.
    Part(Option<Cow<'a, str>>),
}

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
///
/// A message may be as large as a response, so its bodies are decoded into the answer and not
/// copied before.
fn decoded(text: &str, messages: &[&str]) -> Result<String, Fault> {
    let mut bodies = Vec::new();
    for message in messages {
        let message = object(message)?;
        bodies.extend(message.get("raw").map(|value| Body { value, kind: Kind::Raw }));
        if let Some(payload) = message.get("payload") {
            add_parts(payload, &mut bodies)?;
        }
    }
    let start = |value: &str| value.as_ptr().addr() - text.as_ptr().addr();
    bodies.sort_by_key(|body| start(body.value));
    // Text has at most fifteen sixteenths of the length of its base64, unless a fourth of its
    // characters have escapes. The largest mail fits in the memory of a connector only with less
    // than the length of the response.
    let encoded: usize = bodies.iter().map(|body| body.value.len()).sum();
    let mut answer = String::with_capacity(text.len() - encoded / 16);
    let mut at = 0;
    for body in bodies {
        answer.push_str(text.get(at..start(body.value)).unwrap_or_default());
        answer.push('"');
        body.write(&mut answer)?;
        answer.push('"');
        at = start(body.value) + body.value.len();
    }
    answer.push_str(text.get(at..).unwrap_or_default());
    Ok(answer)
}

impl Body<'_> {
    /// Writes the text as the content of a JSON string.
    fn write(&self, answer: &mut String) -> Result<(), Fault> {
        let encoded = Encoded::read(string(self.value)?);
        let start = answer.len();
        let reads_as_utf_8 = match &self.kind {
            Kind::Raw => true,
            Kind::Part(content_type) => charset::keeps_ascii(content_type.as_deref()),
        };
        if reads_as_utf_8 && encoded.utf_8(|text| json::push_escaped(answer, text))? {
            return Ok(());
        }
        answer.truncate(start);
        match &self.kind {
            // The characters of Latin-1 have the same numbers.
            Kind::Raw => encoded.pieces(|bytes| {
                let text: String = bytes.iter().copied().map(char::from).collect();
                json::push_escaped(answer, &text);
            }),
            Kind::Part(content_type) => {
                json::push_escaped(answer, &charset::decode(encoded.into_bytes()?, content_type.as_deref()));
                Ok(())
            }
        }
    }
}

/// Adds the bodies that are text, of a part and of all parts in it. Parts within parts need no
/// stack.
fn add_parts<'a>(payload: &'a str, bodies: &mut Vec<Body<'a>>) -> Result<(), Fault> {
    let mut parts = vec![payload];
    while let Some(part) = parts.pop() {
        let part = object(part)?;
        if part.get("mimeType").map(string).transpose()?.is_some_and(|kind| is_text(&kind))
            // A body without data is a file, which needs a separate request.
            && let Some(value) = part.get("body").map(object).transpose()?.and_then(|body| body.get("data"))
        {
            let content_type = content_type(part.get("headers").unwrap_or("[]"))?;
            bodies.push(Body { value, kind: Kind::Part(content_type) });
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
