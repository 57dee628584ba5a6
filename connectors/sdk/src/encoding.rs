//! Percent-encoding (RFC 3986).

/// Appends `text` with everything but unreserved characters percent-encoded, and the ASCII characters of `keep`.
pub(crate) fn push(out: &mut String, text: &str, keep: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut rest = text;
    while let Some(stop) = rest.bytes().position(|byte| !is_unreserved(byte) && !keep.contains(&byte)) {
        out.push_str(&rest[..stop]);
        // A character is encoded as a whole, so that `rest` begins at a boundary again.
        let character = rest[stop..].chars().next().map_or(1, char::len_utf8);
        for byte in rest[stop..stop + character].bytes() {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
        rest = &rest[stop + character..];
    }
    out.push_str(rest);
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::push;

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
