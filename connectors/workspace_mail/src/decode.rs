//! The operations that read a message, and how its bodies become text.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use connector_sdk::http::{self, Error};
use connector_sdk::{Fault, Outcome, Request};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{GetDraft, MessagesGet, charset};

/// Gmail's base64: URL-safe, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A draft: the member that is read.
#[derive(Deserialize)]
struct Draft<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

/// A message: the members that are decoded.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    raw: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

/// A part of a message.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(default)]
    mime_type: String,
    #[serde(default, borrow)]
    headers: Vec<Header<'a>>,
    #[serde(borrow)]
    body: Option<Body<'a>>,
    /// Not read before they are looked at, so that parts within parts need no stack.
    #[serde(default, borrow)]
    parts: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    value: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Body<'a> {
    /// Absent if the body is a file, which has a request of its own.
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

pub(crate) fn get_draft(input: GetDraft) -> Result<Outcome, Fault> {
    let request = Request::get("api", "/users/me/drafts").segment("draft_id", &input.draft_id)?;
    let request = with_format(request, input.format.as_deref());
    get(request, input.decode_body && has_bodies(input.format.as_deref()), |text| {
        serde_json::from_str::<Draft<'_>>(text).map(|draft| draft.message)
    })
}

pub(crate) fn messages_get(input: MessagesGet) -> Result<Outcome, Fault> {
    let request = Request::get("api", "/users/me/messages").segment("message_id", &input.message_id)?;
    let mut request = with_format(request, input.format.as_deref());
    for name in input.metadata_headers.into_iter().flatten() {
        request = request.query("metadataHeaders", name);
    }
    get(request, input.decode_body && has_bodies(input.format.as_deref()), |text| serde_json::from_str(text).map(Some))
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

/// Answers with the response, whose bodies are decoded if `decodes` is `true`. `message` reads the message in the response.
fn get(
    request: Request,
    decodes: bool,
    message: for<'a> fn(&'a str) -> serde_json::Result<Option<Message<'a>>>,
) -> Result<Outcome, Fault> {
    if !decodes {
        return Ok(Outcome::Forward(request));
    }
    let text = http::send(request)?.successful()?.document()?.text();
    let Some(message) = message(&text).map_err(|error| not_understood(&error))? else {
        return Ok(Outcome::Reply(text));
    };
    let mut decoded = message.raw.map(raw).transpose()?.into_iter().collect();
    bodies(message.payload, &mut decoded)?;
    Ok(Outcome::Reply(replaced(&text, decoded)))
}

/// A value of the response, and the JSON text that the answer has in its place.
type Replacement<'a> = (&'a str, String);

/// The whole message as text. Bytes that are not UTF-8 are read as Latin-1, whose characters have the same numbers.
fn raw(value: &RawValue) -> Result<Replacement<'_>, Fault> {
    let text = String::from_utf8(bytes(value)?);
    let text = text.unwrap_or_else(|error| error.into_bytes().into_iter().map(char::from).collect());
    Ok((value.get(), Value::from(text).to_string()))
}

/// Decodes the bodies that are text, of a part and of all parts in it.
fn bodies<'a>(payload: Option<&'a RawValue>, decoded: &mut Vec<Replacement<'a>>) -> Result<(), Fault> {
    let mut parts: Vec<&RawValue> = payload.into_iter().collect();
    while let Some(part) = parts.pop() {
        let part: Part<'a> = serde_json::from_str(part.get()).map_err(|error| not_understood(&error))?;
        let is_text = part.mime_type.get(..5).is_some_and(|kind| kind.eq_ignore_ascii_case("text/"));
        if let Some(data) = part.body.and_then(|body| body.data).filter(|_| is_text) {
            let content_type = part.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-type"));
            let text = charset::decode(&bytes(data)?, content_type.map(|header| &*header.value));
            decoded.push((data.get(), Value::from(text).to_string()));
        }
        parts.extend(part.parts);
    }
    Ok(())
}

/// `text` with other values in place of some. All other characters stay as they are.
fn replaced(text: &str, mut replacements: Vec<Replacement<'_>>) -> String {
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
    answer
}

fn bytes(value: &RawValue) -> Result<Vec<u8>, Fault> {
    let text: Cow<'_, str> = serde_json::from_str(value.get()).map_err(|error| not_understood(&error))?;
    BASE64.decode(text.as_bytes()).map_err(|error| not_understood(&error))
}

fn not_understood(error: &impl std::fmt::Display) -> Fault {
    Error::BadAnswer(format!("Gmail's response is not in the documented form: {error}")).into()
}
