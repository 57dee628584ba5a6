//! The header that names the paths of `response_fields` that led nowhere.

use std::fmt::Write;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use contract::words::{nearest, shortened};
use shape::Unmatched;

/// A list of strings (RFC 9651). The parameter `nearest` has the path with the nearest member.
pub(super) const UNMATCHED: HeaderName = HeaderName::from_static("x-response-fields-unmatched");

/// Maximum length of the header. Further paths are left out.
const MAX_BYTES: usize = 2048;

/// The nearest member is looked up for so many paths. Hundreds of short paths have room in the
/// header, and each would be compared with the 200 names of its place, on a thread that serves.
const MAX_LOOKUPS: usize = 16;

/// The value of the header. `None` if every path led to something.
pub(super) fn unmatched_header(unmatched: &[Unmatched]) -> Option<HeaderValue> {
    let mut value = String::new();
    for (index, field) in unmatched.iter().enumerate() {
        let members = if index < MAX_LOOKUPS { &*field.members } else { &[] };
        let nearest = nearest(field.missing(), members.iter().map(String::as_str));
        let nearest = nearest.map(|member| format!("{}{member}", field.matched()));
        let mut item = item(&field.path, nearest.as_deref());
        if value.is_empty() && item.len() > MAX_BYTES {
            item = self::item(&shortened(&field.path), None);
        }
        let separator = if value.is_empty() { "" } else { ", " };
        if value.len() + separator.len() + item.len() > MAX_BYTES {
            break;
        }
        value.push_str(separator);
        value.push_str(&item);
    }
    if value.is_empty() { None } else { HeaderValue::try_from(value).ok() }
}

fn item(path: &str, nearest: Option<&str>) -> String {
    let mut item = String::new();
    push_string(&mut item, path);
    if let Some(nearest) = nearest {
        item.push_str(";nearest=");
        push_string(&mut item, nearest);
    }
    item
}

/// Appends a string of RFC 9651: in quotes if it is printable ASCII, else as a display string.
fn push_string(value: &mut String, text: &str) {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        value.push('"');
        value.push_str(&text.replace('\\', "\\\\").replace('"', "\\\""));
    } else {
        value.push_str("%\"");
        for byte in text.bytes() {
            match byte {
                b'%' | b'"' | ..b' ' | 0x7F.. => drop(write!(value, "%{byte:02x}")),
                plain => value.push(char::from(plain)),
            }
        }
    }
    value.push('"');
}

/// A path that led nowhere, and the path with the nearest member, as the header has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmatchedField {
    /// The path.
    pub path: String,
    /// The path with the nearest member; null if none is similar.
    pub nearest: Option<String>,
}

/// Reads the header of an answer. Empty if it has none.
pub fn unmatched_fields(headers: &HeaderMap) -> Vec<UnmatchedField> {
    let Some(value) = headers.get(UNMATCHED).and_then(|value| value.to_str().ok()) else { return Vec::new() };
    let mut fields = Vec::new();
    let mut rest = value;
    while let Some((path, after)) = read_string(rest) {
        let (nearest, after) = match after.strip_prefix(";nearest=").and_then(read_string) {
            Some((nearest, after)) => (Some(nearest), after),
            None => (None, after),
        };
        fields.push(UnmatchedField { path, nearest });
        let Some(after) = after.strip_prefix(", ") else { break };
        rest = after;
    }
    fields
}

/// Reads a string that [`push_string`] has written, and returns the text after it.
fn read_string(text: &str) -> Option<(String, &str)> {
    let (is_display, text) = match text.strip_prefix("%\"") {
        Some(text) => (true, text),
        None => (false, text.strip_prefix('"')?),
    };
    let mut bytes = Vec::new();
    let mut rest = text.bytes().enumerate();
    while let Some((at, byte)) = rest.next() {
        match byte {
            b'"' => return Some((String::from_utf8(bytes).ok()?, text.get(at + 1..)?)),
            b'\\' if !is_display => bytes.push(rest.next()?.1),
            b'%' if is_display => {
                bytes.push(u8::from_str_radix(text.get(at + 1..at + 3)?, 16).ok()?);
                rest.nth(1)?;
            }
            byte => bytes.push(byte),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;
    use shape::Shape;

    use super::*;

    fn header(fields: &[&str], document: &str) -> Option<String> {
        let fields = to_raw_value(fields).expect("JSON");
        let shape = Shape::from_members(Some(&fields), None).expect("a shape");
        let shaped = shape.apply_while(document.as_bytes(), || true).expect("a document");
        unmatched_header(&shaped.unmatched).map(|value| value.to_str().expect("ASCII").to_owned())
    }

    #[test]
    fn a_path_is_named_with_the_nearest_member() {
        let document = r#"{"items":[{"name":"x","größe":1}],"a\"b":1}"#;
        for (fields, expected) in [
            (&["items.name"][..], None),
            (&["items.nmae", "zzz"], Some(r#""items.nmae";nearest="items.name", "zzz""#)),
            (&["itmes.name"], Some(r#""itmes.name";nearest="items""#)),
            (&["items.grösse"], Some(r#"%"items.gr%c3%b6sse";nearest=%"items.gr%c3%b6%c3%9fe""#)),
            (&["a\"bc\\"], Some(r#""a\"bc\\";nearest="a\"b""#)),
            (&["a\nb%\"\u{7f}"], Some(r#"%"a%0ab%25%22%7f""#)),
        ] {
            assert_eq!(header(fields, document).as_deref(), expected, "{fields:?}");
        }
    }

    #[test]
    fn the_header_is_read_as_it_was_written() {
        let document = r#"{"items":[{"name":"x","größe":1}],"a\"b":1,"100%":2}"#;
        for paths in
            [&["items.nmae", "zzz"][..], &["items.grösse"], &["a\"bc\\", "a\nb%\"\u{7f}"], &["100%%", "é, \"x\""]]
        {
            let value = header(paths, document).expect("a header");
            let headers = HeaderMap::from_iter([(UNMATCHED, HeaderValue::try_from(value).expect("a value"))]);
            let read = unmatched_fields(&headers);
            assert_eq!(read.iter().map(|field| field.path.as_str()).collect::<Vec<_>>(), paths);
        }
        let headers = HeaderMap::from_iter([(UNMATCHED, HeaderValue::from_static(r#""a.b";nearest="a.c", "d""#))]);
        let field = |path: &str, nearest: Option<&str>| UnmatchedField {
            path: path.to_owned(),
            nearest: nearest.map(str::to_owned),
        };
        assert_eq!(unmatched_fields(&headers), [field("a.b", Some("a.c")), field("d", None)]);
        assert_eq!(unmatched_fields(&HeaderMap::new()), []);
    }

    #[test]
    fn the_nearest_member_is_looked_up_for_the_first_paths() {
        let fields: Vec<String> = (0..MAX_LOOKUPS + 4).map(|number| format!("name{number}")).collect();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let value = header(&fields, r#"{"name":1}"#).expect("a header");
        assert_eq!(value.split(", ").count(), fields.len());
        assert_eq!(value.matches(";nearest=\"name\"").count(), MAX_LOOKUPS);
    }

    #[test]
    fn the_header_is_bounded() {
        for (length, paths) in [(10, 30), (300, 1), (500, 1)] {
            let fields: Vec<String> = (100..1000).map(|number| format!("{number}{}", "é".repeat(length))).collect();
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            let value = header(&fields, "{}").expect("a header");
            assert_eq!(value.split(", ").count(), paths);
            assert!(value.len() <= MAX_BYTES, "{}", value.len());
        }
    }
}
