//! Characters of a manifest's texts. People read these texts in terminals, logs and pages, where a
//! character that is not seen can forge or reorder what is.

use crate::{Broken, ensure};

/// Returns `true` for a character that is not seen and that changes how others are shown: control
/// and format characters (Unicode categories Cc and Cf, among them those of bidirectional text),
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

#[cfg(test)]
mod tests {
    use super::*;

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
