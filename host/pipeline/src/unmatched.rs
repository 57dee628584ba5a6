//! The header that names the paths of `response_fields` that led nowhere.

use std::fmt::Write;

use hyper::header::{HeaderName, HeaderValue};

use contract::words::{nearest, shortened};
use shape::Unmatched;

/// A list of strings (RFC 9651). The parameter `nearest` has the path with the nearest member.
pub(super) const UNMATCHED: HeaderName = HeaderName::from_static("x-response-fields-unmatched");

/// Maximum length of the header. Further paths are left out.
const MAX_BYTES: usize = 2048;

/// The value of the header. `None` if every path led to something.
pub(super) fn unmatched_header(unmatched: &[Unmatched]) -> Option<HeaderValue> {
    let mut value = String::new();
    for field in unmatched {
        let nearest = nearest(field.missing(), field.members.iter().map(String::as_str));
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
