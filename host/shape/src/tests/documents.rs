//! Documents that are accepted and documents that are refused.

use serde::de::IgnoredAny;

use super::super::{MAX_DEPTH, Shape, ShapeError};
use super::apply_to_bytes;

#[test]
fn every_token_of_the_grammar_is_accepted() {
    for document in [
        "0",
        "-0",
        "-1.50e-10",
        "1E+5",
        "[1,2.5]",
        "true",
        "false",
        "null",
        "\"\"",
        "{}",
        "[]",
        " [ ] ",
        "\t\r\n{ } ",
        r#""\"\\\/\b\f\n\r\t\u12aF""#,
        "\"\u{7f}\"",
        r#"{"":{"":[[],{}]}}"#,
        "\"long enough to be read in words, not bytes\"",
    ] {
        assert!(apply_to_bytes(document.as_bytes()).is_ok(), "{document}");
        assert!(serde_json::from_str::<IgnoredAny>(document).is_ok(), "{document}");
    }
}

#[test]
fn each_byte_of_a_long_string_is_checked() {
    // Long strings are read in blocks. Each significant byte is placed at every offset of a block
    // and across a block boundary.
    for before in 0..150 {
        for text in
            ["", "\\n", "\\\\", "\\\"", "\\u00e9", "\\\\\\\\\\\"", "ü", "\n", "\\x", "\\u00g0", "\0", "\"", "\\"]
        {
            for after in [0, 1, 3, 70] {
                let document = format!("\"{}{text}{}\"", "x".repeat(before), "y".repeat(after));
                let is_json = serde_json::from_str::<IgnoredAny>(&document).is_ok();
                assert_eq!(apply_to_bytes(document.as_bytes()).is_ok(), is_json, "{document}");
            }
        }
    }
}

#[test]
fn invalid_json_is_refused_in_every_position() {
    for broken in [
        "",
        " ",
        "+1",
        "01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "-",
        "--1",
        "0x1",
        "NaN",
        "tru",
        "True",
        "nul",
        "falsee",
        "'a'",
        "\"",
        "\"a",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u12",
        "\"a\nb\"",
        "\"long enough for a whole word\u{1f}\"",
        "\0",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "{",
        "}",
        "{]",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "{1:1}",
        "{,}",
        "1 1",
        "[] []",
        "// a",
        "[1]/**/",
        "\u{a0}1",
    ] {
        let embedded = [
            broken.to_owned(),
            format!(r#"{{"a":{broken}}}"#),
            format!(r#"{{"a":{{"b":{broken}}}}}"#),
            format!("[0,{broken}]"),
        ];
        for document in embedded {
            if serde_json::from_str::<IgnoredAny>(&document).is_err() {
                let error = apply_to_bytes(document.as_bytes()).expect_err(&document);
                assert!(matches!(error, ShapeError::NotJson { .. }), "{document}: {error}");
            }
        }
        assert!(serde_json::from_str::<IgnoredAny>(broken).is_err(), "{broken}");
    }
}

#[test]
fn an_error_says_where_and_what_is_expected() {
    let error = apply_to_bytes(br#"{"a": {"b": 1 "c": 2}}"#).unwrap_err();
    assert_eq!(error.to_string(), "not JSON at byte 14: expected a comma or a closing brace");
}

#[test]
fn a_document_that_is_not_utf8_is_refused() {
    for text in [&b"\"\xff\""[..], b"\"a\xc3\"", b"\"\xed\xa0\x80\"", b"\"\xc0\x80\""] {
        assert!(matches!(apply_to_bytes(text), Err(ShapeError::NotUtf8 { .. })), "{text:?}");
    }
}

#[test]
fn half_a_surrogate_pair_in_an_escape_is_accepted() {
    assert!(apply_to_bytes(br#"["\ud83d","\ude00"]"#).is_ok());
}

#[test]
fn a_byte_order_mark_is_not_copied() {
    assert_eq!(apply_to_bytes(b"\xEF\xBB\xBF{\"a\":{\"b\":1}}").unwrap(), b"{\"a\":{\"b\":1}}");
    let identity = super::shape(&[], &serde_json::Value::Null);
    assert_eq!(identity.apply(b"\xEF\xBB\xBF[1]").unwrap(), b"[1]");
    assert!(apply_to_bytes(b"\xEF\xBB\xBF\xEF\xBB\xBF[]").is_err());
}

#[test]
fn nesting_is_limited_in_kept_and_skipped_values() {
    let limit = MAX_DEPTH as usize;
    let lists = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let objects =
        |depth: usize, name: &str| format!("{}1{}", format!(r#"{{"{name}":"#).repeat(depth), "}".repeat(depth));
    let path = vec!["a"; limit + 1].join(".");
    for (fits, too_deep) in [
        (lists(limit), lists(limit + 1)),
        (objects(limit, "a"), objects(limit + 1, "a")),
        (objects(limit, "x"), objects(limit + 1, "x")),
    ] {
        // The envelope refuses so long a path.
        let deep = Shape::new(vec![path.clone()], Vec::new());
        for shape in
            [&deep, &super::shape(&["q"], &serde_json::Value::Null), &super::shape(&[], &serde_json::Value::Null)]
        {
            assert!(shape.apply(fits.as_bytes()).is_ok());
            assert!(matches!(shape.apply(too_deep.as_bytes()), Err(ShapeError::TooDeep { .. })));
        }
    }
}

#[test]
fn a_million_brackets_do_not_exhaust_the_stack() {
    for bracket in ["[", "{\"a\":", "[{\"a\":"] {
        assert!(matches!(apply_to_bytes(bracket.repeat(1_000_000).as_bytes()), Err(ShapeError::TooDeep { .. })));
    }
}

#[test]
fn the_deepest_walk_fits_a_small_stack() {
    let levels = MAX_DEPTH as usize / 2;
    let document = format!(r#"{}{{"s":"y"}}{}"#, r#"[{"a":"#.repeat(levels - 1), "}]".repeat(levels - 1));
    let path = format!("{}.s", vec!["a"; levels - 1].join("."));
    let filters = serde_json::json!([
        {"field_name": path, "type": "string_list", "values": ["x"]},
        {"field_name": "s", "type": "string_list", "values": ["x"], "root": path},
    ]);
    let shaped = std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || super::apply(&super::shape(&[&path], &filters), &document))
        .unwrap()
        .join()
        .unwrap();
    assert!(shaped.contains(r#"[]"#), "{shaped}");
}
