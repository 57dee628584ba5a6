//! Characters of a manifest's texts. People read these texts in terminals, logs and pages, where a
//! character that is not seen can forge or reorder what is.

use serde_json::Value;

use crate::{Broken, ensure};

/// Returns `true` for a character that is not seen and that changes how others are shown: control
/// and format characters (Unicode categories Cc and Cf, such as the characters of bidirectional text),
/// and the separators of lines and paragraphs.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// The summary of a documentation and the rest of it: the first paragraph in one line, without a full
/// stop, and the further paragraphs.
#[must_use]
pub fn summary(documentation: &str) -> (String, String) {
    let (first, rest) = documentation.split_once("\n\n").unwrap_or((documentation, ""));
    let first = first.replace('\n', " ");
    (first.strip_suffix('.').unwrap_or(&first).to_owned(), rest.trim().to_owned())
}

/// Checks a text of one line.
///
/// # Errors
/// If it has a line break or another hidden character.
pub fn line(text: &str) -> Result<(), Broken> {
    ensure(!text.contains(is_hidden), "the text has no line break and no other control or format character")
}

/// Checks a text of several lines, which may have line breaks and tabs.
///
/// # Errors
/// If it has another hidden character.
pub fn lines(text: &str) -> Result<(), Broken> {
    let hidden = |line: &str| line.strip_suffix('\r').unwrap_or(line).replace('\t', "").contains(is_hidden);
    ensure(
        !text.split('\n').any(hidden),
        "the text has no control or format characters except line breaks and tabs; in JSON, write them as `\\u…`",
    )
}

/// Checks the texts in a JSON Schema as they are after decoding: the names and the strings. Regular
/// expressions are left out, because they may name hidden characters in order to refuse them.
///
/// # Errors
/// If a text has a hidden character that is neither a line break nor a tab. What is not JSON breaks
/// other rules.
pub fn schema(schema: &str) -> Result<(), Broken> {
    lines(schema)?;
    let is_clean = serde_json::from_str(schema).map_or(true, |schema| !hides(&schema));
    ensure(
        is_clean,
        "no text of a schema has a control or format character except line breaks and tabs, and none has one as `\\u…`",
    )
}

fn hides(value: &Value) -> bool {
    match value {
        Value::String(text) => lines(text).is_err(),
        Value::Array(values) => values.iter().any(hides),
        Value::Object(members) => members.iter().any(|(name, value)| {
            let is_expression = name == "pattern" && value.is_string();
            lines(name).is_err() || !is_expression && hides(value)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_a_schema_are_checked_after_decoding() {
        for text in [
            r#"{"description": "a\u202eb"}"#,
            r#"{"properties": {"a\u200b": {}}}"#,
            r#"{"enum": [["\u0007"]]}"#,
            r#"{"title": "\udb40\udc41"}"#,
            r#"{"pattern": {"x": "\u202e"}}"#,
            "{\"title\": \"\u{202e}\"}",
        ] {
            assert!(schema(text).is_err(), "{text}");
        }
        for text in [r#"{"pattern": "^[^\u0000-\u001f]*$"}"#, r#"{"description": "a\n\tb \u00fc"}"#, "{", ""] {
            assert!(schema(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn hidden_characters_are_refused_and_seen_ones_are_not() {
        for text in
            ["\u{1b}[2K", "a\rb", "\u{7}", "\u{9b}31m", "\u{202e}cba", "\u{2066}", "\u{200b}", "\u{2028}", "\u{e0041}"]
        {
            assert!(line(text).is_err() && lines(text).is_err(), "{text:?}");
        }
        for text in ["", "Größe, 日本語, العربية, עברית", "emoji 🎉 and ½ × — …", "non\u{a0}breaking"]
        {
            assert!(line(text).is_ok() && lines(text).is_ok(), "{text:?}");
        }
        for text in ["one\ntwo", "one\r\ntwo", "\tindented"] {
            assert!(line(text).is_err() && lines(text).is_ok(), "{text:?}");
        }
    }
}
