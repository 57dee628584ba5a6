//! JSON documents that stay in the gateway. A connector can read parts of them and return them,
//! without parsing them in the sandbox.
//!
//! [`members`], [`items`] and [`string`] read JSON text that is in the sandbox, without copying it.
//! [`with_member`] changes one member.

use std::borrow::Cow;

use rows::reader;

use crate::host;

pub use crate::bindings::gateway::connector::json::Kind;

/// A JSON value that the gateway holds.
#[derive(Debug)]
pub struct Document(pub(crate) host::json::Document);

impl Document {
    /// Parses JSON text (RFC 8259).
    ///
    /// # Errors
    /// A message that says where the text is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        host::json::Document::parse(text).map(Self)
    }

    /// The value at a JSON Pointer (RFC 6901); the empty pointer is the document itself.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<Self> {
        self.0.pointer(pointer).map(Self)
    }

    /// The string at a JSON Pointer. `None` if there is no value, or a value of another type.
    #[must_use]
    pub fn string(&self, pointer: &str) -> Option<String> {
        self.pointer(pointer).and_then(|document| document.as_string())
    }

    /// The type of the value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind()
    }

    /// Number of items of an array or of members of an object. 0 for any other value.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.0.length()
    }

    /// Names of an object's members in their order. Empty for any other value.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.0.keys()
    }

    /// An item of an array, or a member of an object by its position.
    #[must_use]
    pub fn item(&self, index: u32) -> Option<Self> {
        self.0.item(index).map(Self)
    }

    /// Items of an array, or members of an object in their order.
    pub fn items(&self) -> impl Iterator<Item = Self> {
        (0..self.length()).filter_map(|index| self.item(index))
    }

    /// The JSON text of the value. Numbers keep their original text.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// The value of a string, without quotes. `None` for any other value.
    #[must_use]
    pub fn as_string(&self) -> Option<String> {
        self.0.as_string()
    }
}

/// The members of an object in their order: names, and values as JSON text. `None` if `text` is not
/// an object.
///
/// `text` is the text of a [`Document`] or of an input, so it is valid JSON. The function does not
/// check it again.
#[must_use]
pub fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    let members = reader::members(text).ok()?;
    Some(members.into_iter().map(|member| (member.name, member.value)).collect())
}

/// The items of an array, each as JSON text. `None` if `text` is not an array. `text` is valid
/// JSON, as for [`members`].
#[must_use]
pub fn items(text: &str) -> Option<Vec<&str>> {
    reader::items(text).ok()
}

/// The text of a string, without quotes and escapes. `None` if `text` is not a string. `text` is
/// valid JSON, as for [`members`].
#[must_use]
pub fn string(text: &str) -> Option<Cow<'_, str>> {
    reader::scalar(text).filter(|_| text.starts_with('"'))
}

/// An object with a member set to `value`, which is JSON text. An existing member of this name
/// keeps its position, a new member is the last. The other members do not change. `None` if `text`
/// is not an object. `text` is valid JSON, as for [`members`].
#[must_use]
pub fn with_member(text: &str, name: &str, value: &str) -> Option<String> {
    let mut members = members(text)?;
    match members.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => *known = value,
        None => members.push((Cow::Borrowed(name), value)),
    }
    let mut json = String::with_capacity(text.len() + name.len() + value.len() + 8);
    for (name, value) in &members {
        json.push(if json.is_empty() { '{' } else { ',' });
        reader::push_quoted(&mut json, name);
        json.push(':');
        json.push_str(value);
    }
    json.push('}');
    Some(json)
}

/// Appends text as the content of a JSON string, with escapes and without quotes. Long text can be
/// written in pieces.
pub fn push_escaped(json: &mut String, text: &str) {
    reader::push_escaped(json, text);
}

/// Text as a JSON string, with quotes and escapes.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 8);
    reader::push_quoted(&mut json, text);
    json
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{items, members, push_escaped, quoted, string, with_member};

    #[test]
    fn a_member_is_set_and_the_others_stay() {
        let object = r#"{"a": 1.0, "b\"c":[ 1 ],"d":null}"#;
        assert_eq!(with_member(object, "a", "[]").as_deref(), Some(r#"{"a":[],"b\"c":[ 1 ],"d":null}"#));
        assert_eq!(with_member(object, "d", "2").as_deref(), Some(r#"{"a":1.0,"b\"c":[ 1 ],"d":2}"#));
        assert_eq!(with_member("{}", "a\"b", "true").as_deref(), Some(r#"{"a\"b":true}"#));
        assert_eq!(with_member("[]", "a", "1"), None);
    }

    #[test]
    fn only_a_string_has_a_text() {
        assert!(matches!(string(r#""plain""#), Some(Cow::Borrowed("plain"))));
        assert_eq!(string(r#""a\"\u00e9""#).as_deref(), Some("a\"é"));
        for other in ["1", "true", "null", "[]", "{}"] {
            assert_eq!(string(other), None, "{other}");
        }
    }

    #[test]
    fn text_is_quoted() {
        assert_eq!(quoted("a \"b\"\n"), r#""a \"b\"\n""#);
        let mut json = "\"".to_owned();
        push_escaped(&mut json, "é\\\r\t\u{8}");
        push_escaped(&mut json, "\u{c}\0\u{1f}\u{7f}😀");
        assert_eq!(json, "\"é\\\\\\r\\t\\b\\f\\u0000\\u001f\u{7f}😀");
    }

    #[test]
    fn members_and_items_are_slices_of_the_text() {
        let found = members(r#"{"a": 1.0, "b\"c":[{"d":null}]}"#).expect("an object");
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_ref(), *value)).collect();
        assert_eq!(found, [("a", "1.0"), ("b\"c", r#"[{"d":null}]"#)]);
        assert_eq!(items(r#"[1, {"a":2}]"#).as_deref(), Some(&["1", r#"{"a":2}"#][..]));
        assert!(members("[]").is_none() && items("{}").is_none() && members("1").is_none());
    }
}
