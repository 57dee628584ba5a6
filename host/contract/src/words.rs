//! Words in messages to people.

use std::borrow::Cow;
use std::cmp::Reverse;

use contract_rules::text::is_hidden;

/// Maximum length of a name in a message, in characters.
const LONGEST_NAME: usize = 64;

/// A fragment as a sentence: with a capital letter and a full stop.
pub fn sentence(fragment: &str) -> String {
    let mut characters = fragment.chars();
    let mut sentence: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    sentence.push_str(characters.as_str());
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

/// A text that others chose, safe for a terminal and a log. Control and format characters are
/// escaped, so that no character moves the cursor, changes colours or reorders the text. Line
/// breaks and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

/// As [`printable`], in one line: line breaks and tabs are escaped too.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// As [`printable`], in one paragraph: further lines are indented, so that none looks like another
/// message.
pub fn paragraph(text: &str) -> String {
    let mut paragraph = String::with_capacity(text.len());
    for (number, line) in printable(text).split('\n').enumerate() {
        match number {
            0 => {}
            _ if line.is_empty() || line.starts_with("  ") => paragraph.push('\n'),
            _ => paragraph.push_str("\n    "),
        }
        paragraph.push_str(line);
    }
    paragraph
}

/// A JSON document, safe for a terminal: control and format characters become escapes of JSON,
/// which mean the same. Line breaks and tabs stay.
pub fn json_printable(document: &str) -> Cow<'_, str> {
    let is_escaped = |character: char| is_hidden(character) && !matches!(character, '\n' | '\t');
    if !document.contains(is_escaped) {
        return Cow::Borrowed(document);
    }
    let mut escaped = String::with_capacity(document.len() + 16);
    for character in document.chars() {
        match is_escaped(character) {
            true => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    escaped.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |character: char| is_hidden(character) && !stays(character);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_escaped(character) {
            true => escaped.extend(character.escape_default()),
            false => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// The most similar candidate, however small the similarity.
pub fn most_alike<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    ranked(name, candidates).map(|(_, candidate)| candidate)
}

/// A name, shortened to fit a sentence. Callers may send names of any length.
pub fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => Cow::Owned(format!("{}…", name.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(name),
    }
}

/// The candidate that is most similar to a name. `None` if no candidate is similar enough. Long
/// names and candidates are not compared, because comparing two names takes time in the product of
/// their lengths.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if is_long(name) {
        return None;
    }
    /// Minimum similarity of a misspelt name, from 0 to 1.
    const LEAST_LIKENESS: f64 = 0.75;
    let candidates = candidates.into_iter().filter(|candidate| !is_long(candidate));
    ranked(name, candidates).filter(|(likeness, _)| *likeness > LEAST_LIKENESS).map(|(_, candidate)| candidate)
}

/// The identifier of the candidate that someone means by a name. Each candidate has an identifier
/// and a title. The candidate with the most words of the name is the best. If several have as many,
/// the distance of the identifiers decides. If none has any, it is the [`nearest`] identifier.
pub fn nearest_titled<'a>(name: &str, candidates: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<&'a str> {
    if is_long(name) {
        return None;
    }
    let candidates: Vec<_> = candidates.into_iter().collect();
    let wanted: Vec<String> = words(name).collect();
    let best = candidates.iter().map(|(identifier, title)| {
        let known: Vec<String> = words(identifier).chain(words(title)).collect();
        (wanted.iter().filter(|word| known.contains(word)).count(), *identifier)
    });
    let best = best.max_by_key(|(common, identifier)| (*common, Reverse(strsim::levenshtein(name, identifier))));
    match best {
        Some((1.., identifier)) => Some(identifier),
        _ => nearest(name, candidates.into_iter().map(|(identifier, _)| identifier)),
    }
}

fn is_long(name: &str) -> bool {
    name.chars().nth(LONGEST_NAME).is_some()
}

/// The words of a name or a title, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn ranked<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<(f64, &'a str)> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .max_by(|one, other| one.0.total_cmp(&other.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_becomes_a_sentence() {
        assert_eq!(sentence("the host is unknown"), "The host is unknown.");
        assert_eq!(sentence("Is it? It is!"), "Is it? It is!");
        assert_eq!(sentence(""), ".");
    }

    #[test]
    fn hidden_characters_are_escaped() {
        let text = "a\u{1b}[2K\r\u{202e}b\n\tö";
        assert_eq!(printable(text), "a\\u{1b}[2K\\r\\u{202e}b\n\tö");
        assert_eq!(one_line(text), "a\\u{1b}[2K\\r\\u{202e}b\\n\\tö");
        assert!(matches!(one_line("seen ½"), Cow::Borrowed("seen ½")));
        assert_eq!(paragraph("one\ntwo\n\n  three\r"), "one\n    two\n\n  three\\r");
        let document = "{\n\"a\": \"\u{202e}\u{7f}\u{e0041}é\"}";
        assert_eq!(json_printable(document), "{\n\"a\": \"\\u202e\\u007f\\udb40\\udc41é\"}");
    }

    #[test]
    fn a_long_name_is_shortened_and_is_like_no_other() {
        let (fits, long) = ("é".repeat(LONGEST_NAME), "é".repeat(LONGEST_NAME + 1));
        assert_eq!((shortened(&fits), nearest(&fits, [fits.as_str()])), (Cow::Borrowed(&*fits), Some(&*fits)));
        assert_eq!((&*shortened(&long), nearest(&long, [long.as_str()])), (&*format!("{fits}…"), None));
        assert_eq!(nearest(&fits, [long.as_str()]), None, "a long candidate takes time too");
    }

    #[test]
    fn the_nearest_name_is_like_the_given_one() {
        assert_eq!(nearest("maxResult", ["pageToken", "maxResults"]), Some("maxResults"));
        assert_eq!(nearest("zzz", ["pageToken", "maxResults"]), None);
        assert_eq!(most_alike("zToken", ["pageToken", "maxResults"]), Some("pageToken"));
        assert_eq!(most_alike("zzz", []), None);
    }

    #[test]
    fn a_title_says_more_than_a_similar_identifier() {
        let candidates = [
            ("north_calendar", "Polar Lookout calendar (Wire)"),
            ("north_mail", "Polar Lookout mail (Wire)"),
            ("south_calendar", "Delta Calendar"),
            ("south_users", "Delta Works directory"),
        ];
        let long = "delta ".repeat(LONGEST_NAME);
        for (name, meant) in [
            ("delta_calendar", Some("south_calendar")),
            ("Delta Calendar", Some("south_calendar")),
            ("lookout", Some("north_mail")),
            ("lookout-calendar", Some("north_calendar")),
            ("south_calender", Some("south_calendar")),
            ("northmail", Some("north_mail")),
            ("zzz", None),
            (long.as_str(), None),
        ] {
            assert_eq!(nearest_titled(name, candidates), meant, "{name}");
        }
        assert_eq!(nearest_titled("delta", []), None);
    }
}
