use super::decode;

fn labelled(bytes: &[u8], label: &str) -> String {
    decode(bytes.to_vec(), Some(&format!("text/plain; charset=\"{label}\"")))
}

#[test]
fn bytes_are_read_in_the_charset_of_the_content_type() {
    for (bytes, content_type, expected) in [
        (&b"caf\xC3\xA9"[..], None, "café"),
        (b"caf\xC3\xA9", Some("text/plain"), "café"),
        (b"caf\xC3\xA9", Some("text/plain; charset=utf-8"), "café"),
        (b"caf\xE9", Some("text/plain; format=flowed; charset=\"ISO-8859-1\""), "café"),
        (b"caf\xE9 \x80", Some("text/plain;charset='windows-1252' "), "café €"),
        (b"caf\xE9", Some("text/html; CHARSET = latin1 (Latin)"), "café"),
        (b"caf\xE9", Some("text/html; charset*=us-ascii'en'latin%2D1"), "café"),
    ] {
        assert_eq!(decode(bytes.to_vec(), content_type), expected, "{content_type:?}");
    }
}

/// Gmail hands a text out as UTF-8, whatever the charset of the sender was.
#[test]
fn utf_8_is_utf_8_whatever_the_content_type_says() {
    for label in ["iso-8859-1", "windows-1252", "shift_jis", "gb2312", "koi8-r", "utf-16", "cp850", "mac-roman"] {
        for text in ["café – „Grüße“", "日本語", "Привет"] {
            assert_eq!(labelled(text.as_bytes(), label), text, "{label}");
        }
        assert_eq!(labelled(b"plain text", label), "plain text", "{label}");
    }
    assert_eq!(labelled(b"h\0i\0", "utf-16le"), "hi");
    assert_eq!(labelled(b"\0h\0i", "utf-16be"), "hi");
}

#[test]
fn the_labels_of_mail_programs_are_known() {
    for (bytes, expected, labels) in [
        (
            &b"caf\xE9"[..],
            "café",
            &[
                "latin-1",
                "Latin1",
                "latin 1",
                "l1",
                "ISO_8859-1",
                "iso8859-1",
                "ISO8859_1",
                "8859_1",
                "iso-8859-1:1987",
                "cp819",
                "IBM819",
                "cp1252",
                "cp-1252",
                "x-cp1252",
                "win-1252",
                "windows1252",
                "ansi",
                "csISOLatin1",
                "28591",
            ][..],
        ),
        (b"\xA4", "€", &["latin-9", "latin9", "iso8859-15", "ISO_8859-15", "l9"]),
        (b"\xB1", "ą", &["latin-2", "iso8859_2", "iso-8859-2:1987", "28592"]),
        (b"\xFD", "ı", &["latin-5", "iso8859-9"]),
        (b"\xFE", "ț", &["latin-10", "iso8859-16"]),
        (b"\xF0", "נ", &["iso-8859-8-i", "iso-8859-8-e", "ISO8859-8", "cp1255"]),
        (b"\xCF\xF0", "Пр", &["cp1251", "win-1251", "x-cp1251", "windows1251", "CP-1251"]),
        (b"\xF0\xD2", "Пр", &["koi8-r", "koi8r", "KOI8", "cp878", "20866"]),
        (b"\x8F\xE0", "Пр", &["cp866", "ibm866", "cp-866", "dos-866", "IBM00866"]),
        (
            b"caf\x82",
            "café",
            &["cp850", "ibm850", "IBM00850", "cp437", "dos-437", "cp858", "csPC850Multilingual", "850"],
        ),
        (b"\xA5", "ą", &["cp852", "ibm852"]),
        (b"caf\x8E", "café", &["macintosh", "mac-roman", "MacRoman", "x-mac-roman", "mac", "cp10000"]),
        (b"\x88", "ą", &["mac-centraleurope", "x-mac-ce", "macce", "mac-latin2"]),
        (b"\xE1", "α", &["cp1253", "greek8", "x-mac-greek"]),
        (b"\xA1", "ก", &["tis-620", "tis620", "cp874", "iso8859-11", "windows-874"]),
        (
            b"\x93\xFA\x96\x7B",
            "日本",
            &[
                "Shift_JIS",
                "shift-jis",
                "sjis",
                "x-sjis",
                "cp932",
                "ms932",
                "ms-kanji",
                "windows-31j",
                "ms_kanji",
                "CP943C",
            ],
        ),
        (b"\xC6\xFC\xCB\xDC", "日本", &["euc-jp", "eucjp", "x-euc-jp", "ujis", "cp51932"]),
        (
            b"\x1B$BF|K\\\x1B(B",
            "日本",
            &[
                "iso-2022-jp",
                "iso-2022-jp-1",
                "iso-2022-jp-2",
                "ISO-2022-JP-3",
                "iso2022jp",
                "cp50220",
                "iso-2022-jp-2004",
                "csISO2022JP",
            ],
        ),
        (b"\x1B$)C\x0E0!\x0F", "가", &["iso-2022-kr", "csISO2022KR", "cp50225"]),
        (b"\xB0\xA1", "가", &["ks_c_5601-1987", "euc-kr", "euckr", "cp949", "uhc", "ms949", "ksc5601"]),
        (
            b"\xC4\xE3\xBA\xC3",
            "你好",
            &["gb2312", "gb_2312-80", "gbk", "cp936", "gb18030", "gb18030-2000", "x-gbk", "euc-cn", "ms936", "GB-2312"],
        ),
        (b"~{Dc:C~}", "你好", &["hz", "hz-gb-2312", "HZ-GB2312"]),
        (b"\xA7\x41", "你", &["big5", "big-5", "big5-hkscs", "cp950", "x-x-big5", "big5hkscs"]),
        (b"Hi +AOk-", "Hi é", &["utf-7", "unicode-1-1-utf-7", "x-unicode-2-0-utf-7", "cp65000"]),
        (b"h\0\0\0i\0\0\0", "hi", &["utf-32", "utf-32le", "UCS-4LE"]),
        (b"\0\0\0h", "h", &["utf-32be"]),
        (b"h\0i\0", "hi", &["utf-16", "ucs-2", "unicode", "cp1200"]),
        (b"a\xFFb", "a\u{FFFD}b", &["utf8", "utf_8", "x-utf-8", "UTF8MB4", "cp65001"]),
    ] {
        for label in labels {
            assert_eq!(labelled(bytes, label), expected, "{label}");
        }
    }
}

#[test]
fn an_unknown_charset_is_utf_8() {
    for content_type in
        ["text/plain; charset=x-unknown", "text/plain; charset=", "text/plain; charset", "charset=latin1"]
    {
        assert_eq!(decode("é".into(), Some(content_type)), "é", "{content_type}");
        assert_eq!(decode(b"\xE9".to_vec(), Some(content_type)), "\u{FFFD}", "{content_type}");
    }
}

#[test]
fn bytes_that_are_no_character_are_replaced() {
    assert_eq!(decode(b"a\xFFb".to_vec(), None), "a\u{FFFD}b");
    assert_eq!(labelled(b"a\x81", "shift_jis"), "a\u{FFFD}");
}
