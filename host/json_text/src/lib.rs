//! The parts of a JSON value, each as its text.
//!
//! The elements of a list and the members of an object are found without parsing them. They are
//! slices of the text, so numbers keep their digits, strings their escapes and members their order.
//!
//! - [`elements`] and [`members`] return all parts
//! - [`first_elements`] and [`first_members`] return a maximum of parts and count the others, so
//!   that a huge value takes no memory
//! - [`each_element`] and [`each_member`] call a function for each part, which can stop the reading
//! - [`at`] finds the value at a JSON Pointer
//! - [`object`] joins members to the text of an object
//! - [`readable()`] and [`repaired`] replace what most parsers refuse

mod name;
mod pointer;
mod readable;
mod visitors;

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt::Write;

use serde::de::Deserializer;
use serde_json::Value;
use serde_json::value::RawValue;

pub use self::pointer::at;
pub use self::readable::{readable, repaired};
use self::visitors::{Elements, Members};

/// RFC 8259 does not allow it before a document, but some services and editors write it.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text without the byte order mark that it may begin with.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// A member of an object: its name, decoded and borrowed from the text unless it has escapes, and
/// its value.
pub type Member<'a> = (Cow<'a, str>, &'a RawValue);

/// The first parts of a list or an object.
#[derive(Debug)]
pub struct Parts<T> {
    /// At most as many as were requested.
    pub first: Vec<T>,
    /// The number of all parts.
    pub count: usize,
}

/// Why [`each_element`] or [`each_member`] did not reach the end.
#[derive(Debug)]
pub enum Stopped<E> {
    /// The text is not a list or not an object, or the name of a member has half of a surrogate
    /// pair.
    Json(serde_json::Error),
    /// The function returned this error.
    Function(E),
}

/// The elements of the list in a text.
///
/// # Errors
/// If the text is not a list.
pub fn elements(text: &str) -> serde_json::Result<Vec<&RawValue>> {
    first_elements(text, usize::MAX).map(|parts| parts.first)
}

/// The members of the object in a text. If a name occurs twice, both members are returned.
///
/// # Errors
/// If the text is not an object, or the name of a member has half of a surrogate pair.
pub fn members(text: &str) -> serde_json::Result<Vec<Member<'_>>> {
    first_members(text, usize::MAX).map(|parts| parts.first)
}

/// The first `max` elements of the list in a text.
///
/// # Errors
/// If the text is not a list.
pub fn first_elements(text: &str, max: usize) -> serde_json::Result<Parts<&RawValue>> {
    let mut first = Vec::new();
    let count = read(text, |parser, stopped| {
        let take = |element| {
            first.push(element);
            Ok(())
        };
        parser.deserialize_seq(Elements { max, take, stopped })
    });
    Ok(Parts { count: count.map_err(json_error)?, first })
}

/// The first `max` members of the object in a text. If a name occurs twice, both members are
/// returned.
///
/// # Errors
/// If the text is not an object, or the name of one of the first `max` members has half of a
/// surrogate pair.
pub fn first_members(text: &str, max: usize) -> serde_json::Result<Parts<Member<'_>>> {
    let mut first = Vec::new();
    let count = read(text, |parser, stopped| {
        let take = |name, value| {
            first.push((name, value));
            Ok(())
        };
        parser.deserialize_map(Members { max, take, stopped })
    });
    Ok(Parts { count: count.map_err(json_error)?, first })
}

/// Calls a function for each element of the list in a text.
///
/// # Errors
/// If the text is not a list, or the function returns an error, which ends the reading.
pub fn each_element<'a, E>(text: &'a str, take: impl FnMut(&'a RawValue) -> Result<(), E>) -> Result<(), Stopped<E>> {
    read(text, |parser, stopped| parser.deserialize_seq(Elements { max: usize::MAX, take, stopped })).map(drop)
}

/// Calls a function for each member of the object in a text.
///
/// # Errors
/// If the text is not an object, the name of a member has half of a surrogate pair, or the function
/// returns an error, which ends the reading.
pub fn each_member<'a, E>(
    text: &'a str,
    take: impl FnMut(Cow<'a, str>, &'a RawValue) -> Result<(), E>,
) -> Result<(), Stopped<E>> {
    read(text, |parser, stopped| parser.deserialize_map(Members { max: usize::MAX, take, stopped })).map(drop)
}

/// Joins members to the text of an object.
pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, &'a RawValue)>) -> String {
    let mut text = String::from("{");
    for (index, (name, value)) in members.into_iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}{}:{}", Value::from(name), value.get());
    }
    text.push('}');
    text
}

type Parser<'a> = serde_json::Deserializer<serde_json::de::StrRead<'a>>;

/// Reads the whole text as one value.
fn read<'a, E>(
    text: &'a str,
    visit: impl FnOnce(&mut Parser<'a>, &mut Option<E>) -> serde_json::Result<usize>,
) -> Result<usize, Stopped<E>> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let mut stopped = None;
    let count = visit(&mut parser, &mut stopped).and_then(|count| parser.end().map(|()| count));
    match stopped {
        Some(error) => Err(Stopped::Function(error)),
        None => count.map_err(Stopped::Json),
    }
}

fn json_error(stopped: Stopped<Infallible>) -> serde_json::Error {
    match stopped {
        Stopped::Json(error) => error,
        Stopped::Function(never) => match never {},
    }
}

#[cfg(test)]
mod tests;
