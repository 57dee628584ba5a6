//! The paths of requests to upstreams without the values in them.
//!
//! The host sees the path that a connector has made, and not the pattern that it was made from. It
//! replaces each value of the call's body by the name of its member, and everything else that does
//! not look like a word of an API by `{…}`. Only the body tells a value that is a mere word from a
//! word of the API, so no word is shown if the values of the body are not known, or if one of them
//! is a part of the word, as `ada` is of `ada.json`.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::shortened;

/// The longest path that is shown, in characters. A caller may compose a path of 16 KiB, and a
/// record has many requests.
const MAX_SHOWN: usize = 500;

/// The values of larger bodies are not looked for. Every part of a path is then shown as unknown.
const MAX_BODY_BYTES: usize = 64 << 10;

/// A longer word is probably a value.
const MAX_WORD_BYTES: usize = 40;

/// A word with more parts is probably made of values.
const MAX_PARTS: usize = 8;

const UNKNOWN: &str = "{…}";

/// The values of a body, and the names of their members. `None` if the values are not known: each
/// part of a path may then be one.
pub(super) struct Values(Option<HashMap<String, String>>);

impl Values {
    /// The values of a body. `None` stands for a request that its caller has composed, path and all.
    pub(super) fn of_body(body: Option<&[u8]>) -> Self {
        let body = match body {
            // An empty body counts as `{}`.
            Some([]) => Some(Value::Null),
            Some(body) if body.len() <= MAX_BODY_BYTES => serde_json::from_slice(body).ok(),
            _ => None,
        };
        Self(body.map(|body| {
            let mut values = HashMap::new();
            collect("", &body, &mut values);
            values
        }))
    }

    /// The path of a request, or its beginning if it is long. `base` is the beginning that every
    /// request to the upstream has.
    pub(super) fn mask(&self, base: &str, rest: &str) -> String {
        let segments: Vec<_> = rest.split('/').map(|segment| self.mask_segment(segment)).collect();
        shortened(&format!("{base}{}", segments.join("/")), MAX_SHOWN)
    }

    fn mask_segment(&self, segment: &str) -> String {
        if segment.is_empty() {
            return String::new();
        }
        if self.0.is_none() {
            return UNKNOWN.to_owned();
        }
        if let Some(name) = self.name_of(segment) {
            return format!("{{{name}}}");
        }
        // A verb after a value, as in `/documents/ID:batchUpdate`.
        if let Some((value, verb)) = segment.rsplit_once(':')
            && self.is_shown(verb)
        {
            return format!("{}:{verb}", self.mask_segment(value));
        }
        // Arguments of a function, as in `/range(address='A1')`.
        if let Some((function, _)) = segment.split_once('(')
            && self.is_shown(function)
        {
            return format!("{function}({UNKNOWN})");
        }
        if self.is_shown(segment) { segment.to_owned() } else { UNKNOWN.to_owned() }
    }

    /// Returns `true` for a word without a value of the body in it.
    fn is_shown(&self, text: &str) -> bool {
        is_word(text) && !self.has_value(text)
    }

    /// Returns `true` if parts of a word that follow each other are a value of the body.
    fn has_value(&self, word: &str) -> bool {
        let Some(values) = &self.0 else { return true };
        let mut places = Vec::new();
        let mut start = 0;
        for part in word.split(|letter: char| !letter.is_ascii_alphanumeric()) {
            places.push((start, start + part.len()));
            start += part.len() + 1;
        }
        // The numbers of a version, as in `v1.0`, are not values.
        let is_value = |text: &str| text.contains(|letter: char| letter.is_alphabetic()) && values.contains_key(text);
        let begins_value = |(index, (start, _)): (usize, &(usize, usize))| {
            places.iter().skip(index).any(|(_, end)| word.get(*start..*end).is_some_and(is_value))
        };
        places.len() > MAX_PARTS || places.iter().enumerate().any(begins_value)
    }

    fn name_of(&self, segment: &str) -> Option<&str> {
        let text = percent_decode_str(segment).decode_utf8().ok()?;
        self.0.as_ref()?.get(text.trim_start_matches('/')).map(String::as_str)
    }
}

/// Collects the texts and numbers of a value that is a member with this name.
fn collect(name: &str, value: &Value, values: &mut HashMap<String, String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| collect(name, value, values)),
        Value::Array(items) => items.iter().for_each(|item| collect(name, item, values)),
        Value::String(text) => {
            // A value may have several segments, as `ada/notes` has in `/repos/ada/notes`.
            for part in text.split('/').chain([text.as_str()]).filter(|part| !part.is_empty()) {
                values.entry(part.to_owned()).or_insert_with(|| name.to_owned());
            }
        }
        Value::Number(number) => {
            values.entry(number.to_string()).or_insert_with(|| name.to_owned());
        }
        Value::Bool(_) | Value::Null => {}
    }
}

/// Returns `true` for words such as `messages`, `chat.postMessage`, `$batch`, `by-name` and `v1.0`.
fn is_word(text: &str) -> bool {
    let is_version = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_short = (1..=MAX_WORD_BYTES).contains(&text.len());
    let is_letters = text.bytes().all(|byte| byte.is_ascii_alphabetic() || b"._-$".contains(&byte));
    is_short && (is_letters || text.strip_prefix('v').is_some_and(|digits| digits.len() <= 4 && is_version(digits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(body: &str, path: &str) -> String {
        Values::of_body(Some(body.as_bytes())).mask("/base/1", path)
    }

    #[test]
    fn a_value_of_the_body_is_replaced_by_the_name_of_its_member() {
        let body =
            r#"{"owner": "ada", "repository": "notes", "number": 7, "page": {"id": "x y"}, "ranges": ["A1:B2"]}"#;
        for (path, expected) in [
            ("/repos/ada/notes/issues/7", "/base/1/repos/{owner}/{repository}/issues/{number}"),
            ("/pages/x%20y", "/base/1/pages/{id}"),
            ("/values/A1%3AB2:append", "/base/1/values/{ranges}:append"),
            ("/values/A1:B2", "/base/1/values/{ranges}"),
            ("", "/base/1"),
            ("/", "/base/1/"),
        ] {
            assert_eq!(masked(body, path), expected, "{path}");
        }
        let path_as_value = r#"{"path": "/a/b.txt"}"#;
        assert_eq!(masked(path_as_value, "/root/a/b.txt/raw"), "/base/1/root/{path}/{path}/raw");
    }

    #[test]
    fn a_word_with_a_value_of_the_body_in_it_is_not_shown() {
        let body = r#"{"base": "main", "head": "jean-luc", "skip": 0}"#;
        for (path, expected) in [
            ("/compare/main...jean-luc", "/base/1/compare/{…}"),
            ("/jean-luc.json", "/base/1/{…}"),
            ("/trees.jean-luc.zip", "/base/1/{…}"),
            ("/main(a)", "/base/1/{…}"),
            ("/12:main-line", "/base/1/{…}"),
            ("/v1.0/domains", "/base/1/v1.0/domains"),
            ("/a.b.c.d.e.f.g.h.i", "/base/1/{…}"),
        ] {
            assert_eq!(masked(body, path), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_word_of_an_api_is_not_shown() {
        for (path, expected) in [
            ("/v1.0/me/messages/AAMkAGI2T", "/base/1/v1.0/me/messages/{…}"),
            ("/users/ada@example.org", "/base/1/users/{…}"),
            ("/chat.postMessage", "/base/1/chat.postMessage"),
            ("/workbook/range(address='A1:B2')/$value", "/base/1/workbook/range({…})/$value"),
            ("/documents/1aZ9:batchUpdate", "/base/1/documents/{…}:batchUpdate"),
            ("/12345", "/base/1/{…}"),
            ("/abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", "/base/1/{…}"),
            ("/%C3%BC", "/base/1/{…}"),
        ] {
            assert_eq!(masked("{}", path), expected, "{path}");
        }
    }

    #[test]
    fn a_long_path_is_cut() {
        let path = "/x".repeat(8000);
        for values in [Values::of_body(None), Values::of_body(Some(b"{}"))] {
            assert_eq!(values.mask("/base/1", &path).chars().count(), MAX_SHOWN);
        }
    }

    #[test]
    fn no_word_is_shown_if_it_may_be_a_value_of_a_body_that_is_not_known() {
        let large = format!("{{\"user\": \"alice\", \"text\": \"{}\"}}", "x".repeat(MAX_BODY_BYTES));
        for body in [Some(large.as_bytes()), Some(&b"not JSON"[..]), None] {
            let values = Values::of_body(body);
            assert_eq!(values.mask("/base/1", "/users/alice/"), "/base/1/{…}/{…}/");
        }
        assert_eq!(masked("", "/users"), "/base/1/users");
        assert_eq!(masked(r#"{"user": "alice"}"#, "/users/alice"), "/base/1/users/{user}");
    }
}
