//! Tests of the reader.

use super::{compact, each_item, each_member, integer, items, members, push_quoted, scalar};

fn taken_apart(json: &str) -> Vec<(String, String)> {
    let members = members(json).expect("an object");
    members.into_iter().map(|member| (member.name.into_owned(), member.value.to_owned())).collect()
}

#[test]
fn members_keep_their_order_and_the_text_of_their_values() {
    let found = taken_apart(r#" { "a" : 1.0 , "b":{"c":[1,"}",{"d":"\""}]} ,"a":null,"":[] } "#);
    let expected = [("a", "1.0"), ("b", r#"{"c":[1,"}",{"d":"\""}]}"#), ("a", "null"), ("", "[]")];
    assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(taken_apart("{}"), []);
}

#[test]
fn items_are_slices() {
    assert_eq!(items(r#"[1, "a,b" ,[2,3],{"x":"]"}]"#).expect("a list"), ["1", "\"a,b\"", "[2,3]", r#"{"x":"]"}"#]);
    assert!(items("[ ]").expect("a list").is_empty());
}

#[test]
fn broken_text_is_an_error_and_not_a_panic() {
    for json in [
        "",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\\",
        "[1}",
        "{a:1}",
        "{\"a\":}}",
        "1",
        "\"",
        "{\"ü\\",
    ] {
        assert!(members(json).is_err(), "{json}");
    }
    assert!(items("[1").is_err());
    assert!(items("{}").is_err());
}

#[test]
fn strings_read_as_a_full_parser_reads_them() {
    for json in [r#""plain""#, r#""""#, r#""a\"b\\c\/d\b\f\n\r\t""#, r#""\u00fc\ud83d\ude00ü""#, r#""\u0000x""#] {
        let expected: String = serde_json::from_str(json).expect("JSON");
        assert_eq!(scalar(json).expect("a string"), expected);
        let mut quoted = String::new();
        push_quoted(&mut quoted, &expected);
        assert_eq!(serde_json::from_str::<String>(&quoted).expect("JSON"), expected);
    }
    assert_eq!(scalar(r#""\ud800x""#).expect("a string"), "\u{FFFD}x");
}

#[test]
fn compact_text_is_that_of_a_full_writer() {
    for json in [
        "{ \"a\" : [ 1.0 ,\n\t\"x  y\" ] , \"\\u00fc\":{}\r}",
        r#"{"a":"\u00fc\ud83d\ude00 \/ \u0022 \\ \n\t\r\b\f\u0001"}"#,
        "[true ,null, -1, \"\"]",
        "  12  ",
    ] {
        let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(compact(json), value.to_string());
    }
    assert_eq!(compact("{\"a\": \"b"), "{\"a\":");
}

#[test]
fn only_scalars_have_a_text() {
    assert_eq!(scalar("12.50").as_deref(), Some("12.50"));
    assert_eq!(scalar("true").as_deref(), Some("true"));
    for json in ["null", "[]", "{}", ""] {
        assert!(scalar(json).is_none(), "{json}");
    }
}

#[test]
fn integers_are_written_in_plain_digits() {
    for (text, expected) in
        [("7", "7"), ("-1.0", "-1"), ("1e2", "100"), ("12.50E+1", "125"), ("100.00", "100"), ("0.0", "0")]
    {
        assert_eq!(integer(text).as_deref(), Some(expected), "{text}");
    }
    for text in ["1.5", "1e-1", "1e30", "1e999999999999"] {
        assert!(integer(text).is_none(), "{text}");
    }
}

#[test]
fn parts_are_read_one_after_the_other_up_to_a_mistake() {
    let read = |json: &'static str| each_item(json).map(|item| item.ok()).collect::<Vec<_>>();
    assert_eq!(read(r#"[1, [2,3] ,"a"]"#), [Some("1"), Some("[2,3]"), Some("\"a\"")]);
    assert_eq!(read("[1,2"), [Some("1"), Some("2"), None]);
    assert_eq!(read("[1,]"), [Some("1"), None]);
    assert_eq!(read("{}"), [None]);
    assert!(read("[]").is_empty());
    let names = each_member(r#"{"a":1,"b":2,c}"#).map(|member| member.ok().map(|member| member.name.into_owned()));
    assert_eq!(names.collect::<Vec<_>>(), [Some("a".to_owned()), Some("b".to_owned()), None]);
}
