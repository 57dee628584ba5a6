//! The text of a body, whose bytes are in a charset.

use charset::Charset;

/// Decodes a body with the charset that a `Content-Type` names. Without a known charset it is
/// UTF-8. Bytes that are not a character become U+FFFD.
pub(crate) fn decode(bytes: &[u8], content_type: Option<&str>) -> String {
    let named = content_type.and_then(name).and_then(|name| Charset::for_label_no_replacement(name.as_bytes()));
    match named {
        Some(charset) => charset.decode(bytes).0.into_owned(),
        None => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The parameter `charset`. Some senders put it in single quotes, or a comment after it.
fn name(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_start_matches(['"', '\'']);
        let end = value.find(|end: char| matches!(end, '"' | '\'' | '(') || end.is_ascii_whitespace());
        name.trim().eq_ignore_ascii_case("charset").then(|| value.get(..end.unwrap_or(value.len())).unwrap_or(value))
    })
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn bytes_are_read_in_the_charset_of_the_content_type() {
        for (bytes, content_type, expected) in [
            (&b"caf\xC3\xA9"[..], None, "café"),
            (b"caf\xC3\xA9", Some("text/plain"), "café"),
            (b"caf\xC3\xA9", Some("text/plain; charset=utf-8"), "café"),
            (b"caf\xE9", Some("text/plain; format=flowed; charset=\"ISO-8859-1\""), "café"),
            (b"caf\xE9 \x80", Some("text/plain;charset='windows-1252' "), "café €"),
            (b"caf\xE9", Some("text/html; CHARSET = latin1 (Latin)"), "café"),
            (b"\x93\xFA\x96\x7B", Some("text/plain; charset=Shift_JIS"), "日本"),
            (b"\x1B$BF|K\\\x1B(B", Some("text/plain; charset=iso-2022-jp"), "日本"),
            (b"\xC4\xE3\xBA\xC3", Some("text/plain; charset=gb2312"), "你好"),
            (b"\xB0\xA1", Some("text/plain; charset=ks_c_5601-1987"), "가"),
            (b"\xF0\xD2\xC9", Some("text/plain; charset=koi8-r"), "При"),
            (b"Hi +AOk-", Some("text/plain; charset=utf-7"), "Hi é"),
        ] {
            assert_eq!(decode(bytes, content_type), expected, "{content_type:?}");
        }
    }

    #[test]
    fn an_unknown_charset_is_utf_8() {
        for content_type in
            ["text/plain; charset=x-unknown", "text/plain; charset=", "text/plain; charset", "charset=latin1"]
        {
            assert_eq!(decode("é".as_bytes(), Some(content_type)), "é", "{content_type}");
        }
    }

    #[test]
    fn bytes_that_are_no_character_are_replaced() {
        assert_eq!(decode(b"a\xFFb", None), "a\u{FFFD}b");
        assert_eq!(decode(b"a\x81", Some("text/plain; charset=shift_jis")), "a\u{FFFD}");
    }
}
