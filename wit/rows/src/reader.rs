//! A reader of JSON text that copies nothing: members and items are slices of the text, and strings
//! without escapes are borrowed.
//!
//! The text comes from the gateway, which has parsed and validated it. The reader therefore checks
//! only what it needs to find the end of a value. An operation that only forwards parses only its
//! input, so a full parser would be most of its code.

mod parts;

use std::borrow::Cow;
use std::fmt;

pub use parts::{Items, Members, each_item, each_member};

/// A member of an object: its name, and its value as JSON text.
pub struct Member<'a> {
    /// The name, without escapes.
    pub name: Cow<'a, str>,
    /// The value, without blanks around it.
    pub value: &'a str,
}

/// A text is not what the reader expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unexpected {
    what: &'static str,
    at: usize,
}

impl fmt::Display for Unexpected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, at } = self;
        write!(formatter, "Expected {what}, and found something else at byte {at}. Give {what}.")
    }
}

impl std::error::Error for Unexpected {}

/// The members of an object in their order.
///
/// # Errors
/// If the text is not an object.
pub fn members(json: &str) -> Result<Vec<Member<'_>>, Unexpected> {
    let mut members = Vec::with_capacity(8);
    for member in each_member(json) {
        members.push(member?);
    }
    Ok(members)
}

/// The items of an array, each as JSON text.
///
/// # Errors
/// If the text is not an array.
pub fn items(json: &str) -> Result<Vec<&str>, Unexpected> {
    let mut items = Vec::with_capacity(8);
    for item in each_item(json) {
        items.push(item?);
    }
    Ok(items)
}

/// The text of a string without quotes and escapes, or the text of a number or boolean. `None` for
/// any other value.
#[must_use]
pub fn scalar(json: &str) -> Option<Cow<'_, str>> {
    match json.as_bytes().first() {
        Some(b'"') => unquoted(json),
        Some(b'[' | b'{' | b'n') | None => None,
        Some(_) => Some(Cow::Borrowed(json)),
    }
}

/// An integer in plain digits. JSON may write it as `1.0` or `1e2`. `None` if it has a fraction or
/// more than 18 digits.
#[must_use]
pub fn integer(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['.', 'e', 'E']) {
        return Some(Cow::Borrowed(text));
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.trim_start_matches('+').parse().ok()?;
    let fraction = fraction.trim_end_matches('0');
    let zeros = usize::try_from(exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?).ok()?;
    if whole.len() + fraction.len() + zeros > 19 {
        return None;
    }
    let mut digits = String::with_capacity(20);
    digits.push_str(whole);
    digits.push_str(fraction);
    digits.extend(std::iter::repeat_n('0', zeros));
    let number: i64 = digits.parse().ok()?;
    Some(Cow::Owned(number.to_string()))
}

/// Returns `true` if the text is one JSON value without blanks around it. Unlike the reader, it
/// checks the whole text.
#[must_use]
pub fn is_value(json: &str) -> bool {
    json.trim() == json && serde_json::from_str::<serde_json::Value>(json).is_ok()
}

/// Appends `text` as a JSON string.
pub fn push_quoted(json: &mut String, text: &str) {
    json.push('"');
    push_escaped(json, text);
    json.push('"');
}

/// Appends `text` as the content of a JSON string.
pub fn push_escaped(json: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | ..b' ')) {
        let (plain, special) = rest.split_at(at);
        json.push_str(plain);
        match special.as_bytes().first().copied().unwrap_or_default() {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            b'\n' => json.push_str("\\n"),
            b'\r' => json.push_str("\\r"),
            b'\t' => json.push_str("\\t"),
            0x08 => json.push_str("\\b"),
            0x0C => json.push_str("\\f"),
            control => {
                json.push_str("\\u00");
                json.extend(char::from_digit(u32::from(control) >> 4, 16));
                json.extend(char::from_digit(u32::from(control) & 15, 16));
            }
        }
        rest = special.get(1..).unwrap_or_default();
    }
    json.push_str(rest);
}

/// The text without blanks between its tokens, and with strings as [`push_quoted`] writes them: the
/// shortest form in UTF-8.
#[must_use]
pub fn compact(json: &str) -> String {
    let mut reader = Reader { json, at: 0 };
    let mut out = String::with_capacity(json.len());
    while let Some(byte) = reader.peek() {
        let start = reader.at;
        match byte {
            b'"' => match reader.value().and_then(unquoted) {
                Some(text) => push_quoted(&mut out, &text),
                None => break,
            },
            b' ' | b'\t' | b'\n' | b'\r' => reader.at += 1,
            _ => {
                let rest = json.as_bytes().get(start..).unwrap_or_default();
                let is_end = |byte: &u8| matches!(byte, b'"' | b' ' | b'\t' | b'\n' | b'\r');
                reader.at += rest.iter().position(is_end).unwrap_or(rest.len());
                out.push_str(json.get(start..reader.at).unwrap_or_default());
            }
        }
    }
    out
}

struct Reader<'a> {
    json: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.json.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) -> Option<u8> {
        loop {
            match self.peek()? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                other => return Some(other),
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        let found = self.skip_blanks()? == byte;
        self.at += 1;
        found.then_some(())
    }

    /// The text of the value that begins at this position.
    fn value(&mut self) -> Option<&'a str> {
        let start = self.at;
        match self.peek()? {
            b'"' => self.skip_string()?,
            b'{' | b'[' => self.skip_nested()?,
            _ => {
                while self.peek().is_some_and(|byte| !matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'))
                {
                    self.at += 1;
                }
            }
        }
        self.json.get(start..self.at).filter(|text| !text.is_empty())
    }

    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let rest = self.json.as_bytes().get(self.at..)?;
            let stop = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
            if rest.get(stop) == Some(&b'"') {
                self.at += stop + 1;
                return Some(());
            }
            self.at += stop + 2;
        }
    }

    fn skip_nested(&mut self) -> Option<()> {
        let mut depth = 0_u32;
        loop {
            match self.peek()? {
                b'"' => {
                    self.skip_string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn unexpected(&self, what: &'static str) -> Unexpected {
        Unexpected { what, at: self.at }
    }
}

/// The text of a JSON string.
fn unquoted(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    let Some(first) = inner.bytes().position(|byte| byte == b'\\') else { return Some(Cow::Borrowed(inner)) };
    let mut text = String::with_capacity(inner.len());
    let (plain, mut rest) = inner.split_at(first);
    text.push_str(plain);
    while let Some(escaped) = rest.strip_prefix('\\') {
        let mut characters = escaped.chars();
        match characters.next()? {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'u' => {
                let (character, tail) = unicode(characters.as_str())?;
                text.push(character);
                characters = tail.chars();
            }
            other => text.push(other),
        }
        rest = characters.as_str();
        let stop = rest.find('\\').unwrap_or(rest.len());
        let (plain, tail) = rest.split_at(stop);
        text.push_str(plain);
        rest = tail;
    }
    Some(Cow::Owned(text))
}

/// The character of `XXXX`, or of a surrogate pair `XXXX\uXXXX`. Half of a pair is U+FFFD.
fn unicode(text: &str) -> Option<(char, &str)> {
    let unit = |text: &str| u16::from_str_radix(text.get(..4)?, 16).ok();
    let first = unit(text)?;
    let rest = text.get(4..)?;
    let second = rest.strip_prefix("\\u").and_then(unit);
    if let Some(Ok(character)) = char::decode_utf16([first]).next() {
        return Some((character, rest));
    }
    match second.and_then(|second| char::decode_utf16([first, second]).next()) {
        Some(Ok(character)) => Some((character, rest.get(6..)?)),
        _ => Some((char::REPLACEMENT_CHARACTER, rest)),
    }
}

#[cfg(test)]
mod tests;
