//! Percent-encoding (RFC 3986).

/// Appends `text`, percent-encoded except for RFC 3986's unreserved characters and the ASCII
/// characters of `keep`.
pub fn push(out: &mut String, text: &str, keep: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut plain = 0;
    for (index, byte) in text.bytes().enumerate() {
        if UNRESERVED[usize::from(byte)] || keep.contains(&byte) {
            continue;
        }
        // The slice begins and ends at an ASCII character or an encoded byte, so it is valid UTF-8.
        out.push_str(text.get(plain..index).unwrap_or_default());
        out.push('%');
        out.push(char::from(HEX[usize::from(byte >> 4)]));
        out.push(char::from(HEX[usize::from(byte & 15)]));
        plain = index + 1;
    }
    out.push_str(text.get(plain..).unwrap_or_default());
}

/// The characters of a parameter's name that are not encoded: OData names begin with them.
pub(crate) const KEPT_IN_NAMES: &[u8] = b"$@";

/// Appends the name of a query parameter, percent-encoded except for `$` and `@`, because OData
/// names begin with them.
pub fn push_name(out: &mut String, name: &str) {
    push(out, name, KEPT_IN_NAMES);
}

/// RFC 3986, section 2.3. A table, because every byte of every path is looked up.
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

#[cfg(test)]
mod tests {
    use super::{push, push_name};

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
    fn characters_that_end_a_segment_are_encoded() {
        assert_eq!(encoded("a/b?c#d\\e%f;g"), "a%2Fb%3Fc%23d%5Ce%25f%3Bg");
    }

    #[test]
    fn characters_are_encoded_as_their_utf_8_bytes() {
        assert_eq!(encoded("Köln \u{1F600}"), "K%C3%B6ln%20%F0%9F%98%80");
    }

    #[test]
    fn characters_of_keep_stay() {
        let mut out = String::new();
        push(&mut out, "src/main.rs?", b"/");
        assert_eq!(out, "src/main.rs%3F");
    }

    #[test]
    fn names_of_odata_stay() {
        let mut out = String::new();
        push_name(&mut out, "@microsoft.graph.conflictBehavior$a&b=c");
        assert_eq!(out, "@microsoft.graph.conflictBehavior$a%26b%3Dc");
    }
}
