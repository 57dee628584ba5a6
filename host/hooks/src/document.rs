//! The JSON of a body.

use std::ops::Range;
use std::sync::Arc;

use base64::Engine;
use contract::Inbox;
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::secret::BASE64;

/// The deepest nesting of lists and objects. Parsers that read the data of an event later allow
/// little more.
const MAX_DEPTH: usize = 100;

/// The most notifications in one body.
const MAX_ITEMS: usize = 10_000;

/// The longest text that is read at a pointer for an id, a kind, an account or a condition.
const MAX_TEXT: usize = 64 << 10;

/// Why a notification is not understood. The messages are for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say what each one is")]
pub enum NotUnderstood {
    #[error("the body is not JSON in UTF-8")]
    NoJson,
    #[error("the body is nested too deeply")]
    TooDeep,
    #[error("the body has no JSON in base64 where the inbox declares it")]
    NoCode,
    #[error("the body has no list of notifications where the inbox declares it")]
    NoItems,
    #[error("the body has more than {MAX_ITEMS} notifications")]
    TooManyItems,
    #[error("the notification has none of the parts of its id")]
    NoId,
}

impl NotUnderstood {
    /// A short name for records, which does not change.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoJson => "no-json",
            Self::TooDeep => "too-deep",
            Self::NoCode => "no-code",
            Self::NoItems => "no-items",
            Self::TooManyItems => "too-many-items",
            Self::NoId => "no-id",
        }
    }
}

/// The JSON of a body, with what was in base64 in its place.
pub(crate) struct Document {
    text: Arc<str>,
}

impl Document {
    /// Reads a body. An empty one is `null`, because everything may be in headers.
    pub(crate) fn read(inbox: &Inbox, body: &[u8]) -> Result<Self, NotUnderstood> {
        let text = std::str::from_utf8(json_text::without_mark(body)).map_err(|_| NotUnderstood::NoJson)?;
        if text.trim().is_empty() {
            return Ok(Self { text: "null".into() });
        }
        let text = checked(text)?;
        let Some(pointer) = &inbox.decode else { return Ok(Self { text: text.into() }) };
        let encoded = json_text::at(text, pointer).ok_or(NotUnderstood::NoCode)?;
        let code: String = serde_json::from_str(encoded.get()).map_err(|_| NotUnderstood::NoCode)?;
        let decoded = from_base64(&code).ok_or(NotUnderstood::NoCode)?;
        let decoded = std::str::from_utf8(&decoded).map_err(|_| NotUnderstood::NoCode)?;
        let place = range_of(text, encoded.get());
        let (before, after) = (text.get(..place.start), text.get(place.end..));
        let whole = [before.unwrap_or_default(), checked(decoded)?, after.unwrap_or_default()].concat();
        checked(&whole).map(|text| Self { text: text.into() })
    }

    /// The places of the notifications.
    pub(crate) fn items(&self, inbox: &Inbox) -> Result<Vec<Range<usize>>, NotUnderstood> {
        let Some(pointer) = &inbox.items else { return Ok(std::iter::once(0..self.text.len()).collect()) };
        let list = json_text::at(&self.text, pointer).ok_or(NotUnderstood::NoItems)?;
        let items = json_text::first_elements(list.get(), MAX_ITEMS).map_err(|_| NotUnderstood::NoItems)?;
        if items.count > MAX_ITEMS {
            return Err(NotUnderstood::TooManyItems);
        }
        Ok(items.first.into_iter().map(|item| range_of(&self.text, item.get())).collect())
    }

    /// The place of the value at a pointer into the value at another place.
    pub(crate) fn at(&self, within: &Range<usize>, pointer: &str) -> Option<Range<usize>> {
        json_text::at(self.part(within), pointer).map(|value| range_of(&self.text, value.get()))
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text at a place.
    pub(crate) fn part(&self, place: &Range<usize>) -> &str {
        self.text.get(place.clone()).unwrap_or_default()
    }
}

/// The text, number or boolean at a pointer into a JSON value, as text. `None` for any other value,
/// and for an empty text.
pub(crate) fn text_at(text: &str, pointer: &str) -> Option<String> {
    json_text::at(text, pointer).and_then(scalar)
}

/// A text, a number or a boolean, as text.
pub(crate) fn scalar(value: &RawValue) -> Option<String> {
    if value.get().len() > MAX_TEXT || value.get().starts_with(['{', '[']) {
        return None;
    }
    match serde_json::from_str(value.get()).ok()? {
        Value::String(text) if !text.is_empty() => Some(text),
        // The digits as they were sent.
        Value::Number(_) => Some(value.get().to_owned()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The text without white space around it, if it is JSON that is not nested too deeply.
fn checked(text: &str) -> Result<&str, NotUnderstood> {
    if depth(text) > MAX_DEPTH {
        return Err(NotUnderstood::TooDeep);
    }
    serde_json::from_str::<&RawValue>(text).map(RawValue::get).map_err(|_| NotUnderstood::NoJson)
}

/// The nesting of lists and objects. Brackets in texts do not count.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' | b'[' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The place of a slice in the text that it is a slice of.
fn range_of(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    start..start + part.len()
}

/// Decodes base64 or base64url, with or without padding.
fn from_base64(code: &str) -> Option<Vec<u8>> {
    BASE64.decode(code.replace('-', "+").replace('_', "/")).ok()
}
