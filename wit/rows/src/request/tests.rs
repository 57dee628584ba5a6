//! Tests of values that a module's schema accepts and that the SDKs' schemas do not.

use super::*;
use crate::declaration::Declaration;
use crate::row::Encoding;

struct NoSettings;

impl Settings for NoSettings {
    fn get(&self, _: &str) -> Option<Cow<'_, str>> {
        None
    }
}

/// The row of a form with the field `count`.
fn row(location: Location) -> Row {
    Row::of(&Declaration {
        fields: vec![Field { integer: true, lists: Lists::AsTheyAre, ..Field::new("count", location) }],
        encoding: BodyEncoding::Form,
        ..Declaration::new(Method::Post, "api", "/x")
    })
}

#[test]
fn a_string_in_place_of_an_integer_adds_no_members_to_a_form() {
    let row = row(Location::Body(vec![Cow::Borrowed("count")].into()));
    let sent = |input: &str| row.request(input, &NoSettings).map(|request| request.body);
    let pair = |value: &str| Ok(Some(Body::Form(vec![("count".to_owned(), value.to_owned())])));
    assert_eq!(sent(r#"{"count":1e1}"#), pair("10"));
    assert_eq!(sent(r#"{"count":"1,\"admin\":\"true"}"#), pair(r#"1,"admin":"true"#));
}

#[test]
fn a_value_at_the_beginning_of_a_path_names_no_host() {
    let row = Row::of(&Declaration {
        fields: vec![Field::new("path", Location::Path(Encoding::Path))],
        ..Declaration::new(Method::Get, "api", "/{path}")
    });
    let path = |value: &str| row.request(&format!(r#"{{"path":"{value}"}}"#), &NoSettings).map(|request| request.path);
    for value in ["a//b", "/a//b"] {
        assert_eq!(path(value), Ok("/a//b".to_owned()), "{value}");
    }
    for value in ["//a", "///", r"\/\/a"] {
        assert_eq!(path(value), Err(Refusal::input("/path", DOUBLE_SLASH)), "{value}");
    }
    assert_eq!(path("/"), Err(Refusal::input("/path", EMPTY_SEGMENT)));
}

#[test]
fn a_control_character_in_a_header_is_a_mistake_of_the_caller() {
    let row = row(Location::Header("X-A".into()));
    let refusal = |value: &str| row.request(&format!(r#"{{"count":"{value}"}}"#), &NoSettings).err();
    for (value, detail) in [
        (r"a\nb", "Give a value without line breaks: it is sent as a header."),
        (r"a\u0001", "Give a value without control characters: it is sent as a header."),
        (r"a\u007f", "Give a value without control characters: it is sent as a header."),
    ] {
        assert_eq!(refusal(value), Some(Refusal::input("/count", detail)), "{value}");
    }
    assert_eq!(refusal("a"), None);
}

#[test]
fn a_name_that_no_header_has_is_a_mistake_of_the_caller() {
    let row = row(Location::HeaderEntries);
    let made = |input: &str| row.request(input, &NoSettings).map(|request| request.headers.len());
    for name in ["Host", "authorization", "X_Forwarded_For", "two words", "", r"a\nb"] {
        let refusal = made(&format!(r#"{{"count":{{"X-A":"1","{name}":"2"}}}}"#));
        assert_eq!(refusal, Err(Refusal::input("/count", HEADER_NAME)), "{name}");
        assert_eq!(made(&format!(r#"{{"count":{{"X-A":"1","{name}":null}}}}"#)), Ok(1), "{name}");
    }
    let entries = |count: usize| {
        let entries: Vec<String> = (0..count).map(|number| format!(r#""X-{number}":"1""#)).collect();
        made(&format!(r#"{{"count":{{{}}}}}"#, entries.join(",")))
    };
    assert_eq!(entries(HEADERS), Ok(HEADERS));
    let refusal = Refusal::input("/count", "Give fewer: a request has at most 64 headers.");
    assert_eq!(entries(HEADERS + 1), Err(refusal));
}
