//! Strings of a document, compared by what they say and not by how they are written.

use std::borrow::Cow;

/// The decoded bytes of a string's text, given without its quotes. The text must have passed the scanner.
///
/// The halves of a surrogate pair become one character. A half that stands alone, which the grammar allows and UTF-8
/// does not, becomes the three bytes that it would have: they equal no Rust string, so such a text matches nothing.
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

/// Decodes the escape that `text` begins with; gives what follows it.
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

/// Decodes the UTF-16 unit whose four digits `text` begins with, together with its second half where one follows.
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
    fn text_without_escapes_is_itself() {
        assert_eq!(&*decoded("grüße".as_bytes()), "grüße".as_bytes());
    }

    #[test]
    fn every_escape_is_decoded() {
        assert_eq!(&*decoded(br#"\"\\\/\b\f\n\r\t\u0041z"#), b"\"\\/\x08\x0C\n\r\tAz");
    }

    #[test]
    fn units_become_the_character_they_stand_for() {
        assert_eq!(&*decoded(br"\u00fc\u20AC\ud83d\ude00"), "ü€😀".as_bytes());
    }

    #[test]
    fn half_a_pair_is_no_text_at_all() {
        for half in [r"\ud83d", r"\ude00", r"\ud83d\u0041", r"\ud83dx"] {
            assert!(str::from_utf8(&decoded(half.as_bytes())).is_err(), "{half}");
        }
    }
}
