//! Decodes the strings of a document, so that they are compared by their text and not by their
//! escapes.

use std::borrow::Cow;

/// Decodes the text of a string, given without its quotes. The scanner must have checked the text.
///
/// The two halves of a surrogate pair become one character. The grammar allows a half without the
/// other one, but UTF-8 does not. Such a half becomes three bytes that occur in no valid UTF-8, so
/// that the text equals no other text.
pub(super) fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(plain) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(plain);
        decoded.extend_from_slice(before);
        rest = decode_escape(escape, &mut decoded);
    }
    decoded.extend_from_slice(rest);
    Cow::Owned(decoded)
}

/// Decodes the escape with which `text` begins, and returns the rest of the text.
fn decode_escape<'a>(text: &'a [u8], decoded: &mut Vec<u8>) -> &'a [u8] {
    match text {
        [b'\\', b'u', rest @ ..] => decode_unit(rest, decoded),
        [b'\\', letter, rest @ ..] => {
            decoded.push(match letter {
                b'b' => 0x08,
                b'f' => 0x0C,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                same => *same,
            });
            rest
        }
        _ => &[],
    }
}

/// Decodes the UTF-16 unit with whose four digits `text` begins. If it is the first half of a
/// surrogate pair, decodes the second half as well.
fn decode_unit<'a>(text: &'a [u8], decoded: &mut Vec<u8>) -> &'a [u8] {
    let Some((unit, mut rest)) = hex(text) else { return &[] };
    let mut code = unit;
    if (0xD800..0xDC00).contains(&unit)
        && let Some((second, after)) = rest.strip_prefix(b"\\u").and_then(hex)
        && (0xDC00..0xE000).contains(&second)
    {
        code = 0x1_0000 + ((unit - 0xD800) << 10) + (second - 0xDC00);
        rest = after;
    }
    match char::from_u32(code) {
        Some(character) => decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        None => decoded.extend([0xED, 0x80 | (code >> 6 & 0x3F) as u8, 0x80 | (code & 0x3F) as u8]),
    }
    rest
}

fn hex(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let code = u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    Some((code, rest))
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn text_without_escapes_is_unchanged() {
        assert_eq!(&*decoded("grüße".as_bytes()), "grüße".as_bytes());
    }

    #[test]
    fn every_escape_is_decoded() {
        assert_eq!(&*decoded(br#"\"\\\/\b\f\n\r\t\u0041z"#), b"\"\\/\x08\x0C\n\r\tAz");
    }

    #[test]
    fn utf16_units_become_characters() {
        assert_eq!(&*decoded(br"\u00fc\u20AC\ud83d\ude00"), "ü€😀".as_bytes());
    }

    #[test]
    fn half_a_surrogate_pair_is_not_valid_utf8() {
        for half in [r"\ud83d", r"\ude00", r"\ud83d\u0041", r"\ud83dx"] {
            assert!(str::from_utf8(&decoded(half.as_bytes())).is_err(), "{half}");
        }
    }
}
