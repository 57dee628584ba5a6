//! The parameter `charset` of a `Content-Type`.

use std::borrow::Cow;

/// Maximum number of pieces of a parameter.
const MAX_PIECES: usize = 100;

/// A piece of the parameter: its number, and whether the piece is percent-encoded.
struct Piece<'a> {
    number: usize,
    encoded: bool,
    value: Cow<'a, str>,
}

/// The value of the parameter: plain, or in the forms of RFC 2231, which encode it or split it into
/// pieces. A plain value takes precedence.
pub(super) fn charset(content_type: &str) -> Option<String> {
    let mut pieces = Vec::new();
    let (_, mut rest) = content_type.split_once(';')?;
    while !rest.is_empty() && pieces.len() < MAX_PIECES {
        let (parameter, value, after) = next(rest);
        rest = after;
        let parameter = parameter.to_ascii_lowercase();
        let Some(form) = parameter.strip_prefix("charset") else { continue };
        if form.is_empty() {
            return Some(value.into_owned());
        }
        let Some(form) = form.strip_prefix('*') else { continue };
        let encoded = form.is_empty() || form.ends_with('*');
        let number = form.trim_end_matches('*');
        let number = if number.is_empty() { Ok(0) } else { number.parse() };
        pieces.extend(number.ok().map(|number| Piece { number, encoded, value }));
    }
    pieces.sort_by_key(|piece| piece.number);
    let first = pieces.first()?;
    // The charset and the language of the value stand before it.
    let has_prefix = first.encoded && first.value.matches('\'').count() >= 2;
    let value: String = pieces
        .iter()
        .map(|piece| if piece.encoded { decoded(&piece.value) } else { piece.value.to_string() })
        .collect();
    Some(if has_prefix { value.splitn(3, '\'').nth(2).unwrap_or_default().to_owned() } else { value })
}

/// The name and the value of the next parameter, and the text after it.
fn next(text: &str) -> (&str, Cow<'_, str>, &str) {
    let end = text.find(['=', ';']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let name = name.split('(').next().unwrap_or_default().trim();
    let Some(value) = rest.strip_prefix('=') else {
        return (name, Cow::Borrowed(""), rest.strip_prefix(';').unwrap_or_default());
    };
    let value = without_comments(value);
    let (value, rest) = match value.strip_prefix('"') {
        Some(quoted) => unquoted(quoted),
        None => plain(value, name.ends_with('*')),
    };
    (name, value, rest.split_once(';').map_or("", |(_, rest)| rest))
}

/// A value without quotes. Some senders put it in single quotes, but in an encoded value these
/// separate its parts.
fn plain(text: &str, is_encoded: bool) -> (Cow<'_, str>, &str) {
    let (text, quoted) = match text.strip_prefix('\'').filter(|_| !is_encoded) {
        Some(text) => (text, true),
        None => (text, false),
    };
    let ends = |end: char| end.is_ascii_whitespace() || matches!(end, ';' | '(' | '"') || (quoted && end == '\'');
    let (value, rest) = text.split_at(text.find(ends).unwrap_or(text.len()));
    (Cow::Borrowed(value), rest)
}

/// The value of a quoted string, and the text after it.
fn unquoted(text: &str) -> (Cow<'_, str>, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return (Cow::Owned(value.trim().to_owned()), text.get(index + 1..).unwrap_or_default()),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => value.push(character),
        }
    }
    (Cow::Owned(value.trim().to_owned()), "")
}

/// The text after blanks and comments.
fn without_comments(text: &str) -> &str {
    let mut text = text.trim_start();
    while let Some((_, after)) = text.strip_prefix('(').and_then(|comment| comment.split_once(')')) {
        text = after.trim_start();
    }
    text
}

/// Percent-decodes the name of a charset, which is ASCII.
fn decoded(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        value.push_str(before);
        let byte = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(u8::is_ascii);
        match byte {
            Some(byte) => {
                value.push(char::from(byte));
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                value.push('%');
                rest = after;
            }
        }
    }
    value + rest
}

#[cfg(test)]
mod tests {
    use super::charset;

    #[test]
    fn the_parameter_is_read_in_every_form() {
        for (content_type, expected) in [
            ("text/plain; charset=utf-8", "utf-8"),
            ("text/plain;charset = \"utf-8\" ; format=flowed", "utf-8"),
            ("text/plain; Charset='utf-8'", "utf-8"),
            ("text/plain; charset=us-ascii (Plain text)", "us-ascii"),
            ("text/plain; charset=(a comment) us-ascii", "us-ascii"),
            ("text/plain; charset=\"iso-\\8859-1\"", "iso-8859-1"),
            ("text/plain; name=\"a; charset=koi8-r\"; charset=big5", "big5"),
            ("text/plain; name=\"a\\\"; charset=koi8-r\"; charset=big5", "big5"),
            ("text/plain; charset\r\n =\r\n\t\"big5\"", "big5"),
            ("text/plain; format; charset=big5", "big5"),
            ("text/plain; charset*=us-ascii'en'iso-8859-15", "iso-8859-15"),
            ("text/plain; charset*=''iso%2D8859%2d15", "iso-8859-15"),
            ("text/plain; charset*=\"us-ascii''koi8-r\"", "koi8-r"),
            ("text/plain; charset*=koi8-r", "koi8-r"),
            ("text/plain; charset*0=iso-; charset*1=\"8859-\"; charset*2=2", "iso-8859-2"),
            ("text/plain; charset*1=8859-2; charset*0*=us-ascii'en'iso%2D", "iso-8859-2"),
            ("text/plain; charset*=''koi8-r; charset=koi8-u", "koi8-u"),
            ("text/plain; charset=", ""),
            ("text/plain; charset", ""),
        ] {
            assert_eq!(charset(content_type).as_deref(), Some(expected), "{content_type}");
        }
        for content_type in ["text/plain", "charset=latin1", "text/plain; charsets=a", "text/plain; charset*x=a", ""] {
            assert_eq!(charset(content_type), None, "{content_type}");
        }
    }
}
