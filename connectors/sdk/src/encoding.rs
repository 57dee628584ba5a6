//! Percent-encoding (RFC 3986).

/// Appends `text` with everything but unreserved characters percent-encoded, and the ASCII characters of `keep`.
pub(crate) fn push(out: &mut String, text: &str, keep: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut plain = 0;
    for (index, byte) in text.bytes().enumerate() {
        if UNRESERVED[usize::from(byte)] || keep.contains(&byte) {
            continue;
        }
        // Both ends lie beside ASCII characters or encoded bytes, so this is text.
        out.push_str(text.get(plain..index).unwrap_or_default());
        out.push('%');
        out.push(char::from(HEX[usize::from(byte >> 4)]));
        out.push(char::from(HEX[usize::from(byte & 15)]));
        plain = index + 1;
    }
    out.push_str(text.get(plain..).unwrap_or_default());
}

/// RFC 3986, section 2.3. A table, since this is looked at for every byte of every path.
static UNRESERVED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let character = byte as u8;
        table[byte] = character.is_ascii_alphanumeric() || matches!(character, b'-' | b'.' | b'_' | b'~');
        byte += 1;
    }
    table
};

/// Whether a path holds a segment `.` or `..` (RFC 3986, section 5.2.4) in the eyes of the most lenient server: the gateway's
/// rule for paths, found here so that the field can be named.
pub(crate) fn has_dot_segment(path: &str) -> bool {
    let mut text = path.to_owned();
    while let Some(decoded) = decode(&text) {
        text = decoded;
    }
    text.split(['/', '\\'])
        .map(|segment| segment.split_once(';').map_or(segment, |(name, _)| name))
        .any(|segment| matches!(segment, "." | ".."))
}

/// The text with those characters decoded that could make a dot segment; `None` when there are none.
fn decode(text: &str) -> Option<String> {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(index) = rest.find('%') {
        let (before, escape) = rest.split_at(index);
        decoded.push_str(before);
        let character = match escape.get(1..3).map(str::to_ascii_lowercase).as_deref() {
            Some("25") => '%',
            Some("2e") => '.',
            Some("2f") => '/',
            Some("3b") => ';',
            Some("5c") => '\\',
            _ => {
                decoded.push('%');
                rest = escape.get(1..).unwrap_or_default();
                continue;
            }
        };
        decoded.push(character);
        rest = escape.get(3..).unwrap_or_default();
    }
    decoded.push_str(rest);
    (decoded.len() < text.len()).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::{has_dot_segment, push};

    #[test]
    fn dot_segments_are_found_in_every_encoding() {
        for path in
            ["..", "a/../b", "/./", "%2e%2E", "a/%252e%252e/b", "..%2Fa", "..%5ca", "a/..;x=1", "%25252e", "..%3Bx"]
        {
            assert!(has_dot_segment(path), "{path}");
        }
    }

    #[test]
    fn dots_inside_of_names_are_none() {
        for path in ["", "a.b", "...", "a..b", "%41", "100%", "%2", "a;v=.", "%zz..", "\u{e9}%"] {
            assert!(!has_dot_segment(path), "{path}");
        }
    }

    fn encoded(text: &str) -> String {
        let mut out = String::new();
        push(&mut out, text, b"");
        out
    }

    #[test]
    fn unreserved_characters_stay() {
        assert_eq!(encoded("AZaz09-._~"), "AZaz09-._~");
    }

    #[test]
    fn everything_that_could_end_a_segment_is_encoded() {
        assert_eq!(encoded("a/b?c#d\\e%f;g"), "a%2Fb%3Fc%23d%5Ce%25f%3Bg");
    }

    #[test]
    fn characters_are_encoded_as_their_utf_8_bytes() {
        assert_eq!(encoded("Köln \u{1F600}"), "K%C3%B6ln%20%F0%9F%98%80");
    }

    #[test]
    fn kept_characters_stay() {
        let mut out = String::new();
        push(&mut out, "src/main.rs?", b"/");
        assert_eq!(out, "src/main.rs%3F");
    }
}
