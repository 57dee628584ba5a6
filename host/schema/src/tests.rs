//! Tests of the schema of a request body.

use super::*;

fn schema() -> Schema {
    Schema::compile(
        r#"{
            "type": "object", "additionalProperties": false, "required": ["calendar_id"],
            "properties": {
                "calendar_id": {"type": "string", "minLength": 1},
                "count": {"type": ["integer", "null"], "minimum": 1, "maximum": 10},
                "body": {"type": ["object", "null"]},
                "milestone": {"type": ["integer", "null"], "nullable": true},
                "query": {"type": ["object", "null"], "additionalProperties": false,
                          "properties": {"maxResults": {}, "pageToken": {}}}
            }
        }"#,
        true,
    )
    .unwrap()
}

fn violations(body: &str) -> Vec<(String, String)> {
    match schema().parse(body.as_bytes()).map(|_| ()) {
        Err(InputError::Invalid(violations)) => violations.into_iter().map(|v| (v.pointer, v.detail)).collect(),
        other => panic!("expected violations, got {other:?}"),
    }
}

#[test]
fn a_plain_body_reaches_the_connector_as_it_was_written() {
    let body = br#"{"calendar_id": "a", "body": {"n": 1.0, "big": 123456789012345678901234567890}}"#;
    let schema = schema();
    let input = schema.parse(body).unwrap();
    assert!(matches!(input.text, Cow::Borrowed(_)));
    assert_eq!(input.text.as_bytes(), body);
}

#[test]
fn the_connector_does_not_get_the_envelope_and_nulls() {
    let schema = schema();
    let body = br#"{"calendar_id":"a","response_fields":["x"],"count":null,"query":null,"body":{"n":1.0}}"#;
    let input = schema.parse(body).unwrap();
    assert_eq!(input.text, r#"{"calendar_id":"a","body":{"n":1.0}}"#);
    assert!(!input.shape.is_identity());
}

#[test]
fn the_connector_gets_null_for_a_nullable_member() {
    let schema = schema();
    let input = schema.parse(br#"{"calendar_id":"a","milestone":null,"count":null}"#).unwrap();
    assert_eq!(input.text, r#"{"calendar_id":"a","milestone":null}"#);
}

#[test]
fn a_flat_field_and_an_encoded_object_are_told_where_and_how_they_belong() {
    let found = violations(r#"{"calendar_id": "a", "maxResults": 5, "body": "{\"n\": 1}", "count": "[1]"}"#);
    let detail = |pointer: &str| found.iter().find(|(at, _)| at == pointer).map(|(_, detail)| detail.as_str());
    assert_eq!(
        detail("/maxResults"),
        Some(r#"`maxResults` is not a field here; it belongs into `query`: {"query": {"maxResults": …}}."#)
    );
    assert!(detail("/body").is_some_and(|detail| detail.contains("not a string of JSON")), "{found:?}");
    assert!(detail("/count").is_some_and(|detail| !detail.contains("string of JSON")), "{found:?}");
}

#[test]
fn all_violations_are_named_at_once_with_their_pointers() {
    let found = violations(r#"{"count": 11, "query": {"maxResult": 1}, "calender_id": "x", "response_fields": 1}"#);
    let pointers: Vec<&str> = found.iter().map(|(pointer, _)| pointer.as_str()).collect();
    for pointer in ["/count", "/query/maxResult", "/calender_id", "/calendar_id", "/response_fields"] {
        assert!(pointers.contains(&pointer), "{pointer} in {pointers:?}");
    }
    let text = format!("{found:?}");
    assert!(text.contains("did you mean `maxResults`?"), "{text}");
    assert!(text.contains("did you mean `calendar_id`?"), "{text}");
    assert!(text.contains("Must be at most 10."), "{text}");
}

#[test]
fn a_body_with_very_many_parts_is_told_its_first_violation() {
    let schema = r#"{"type": "object", "properties": {"ids": {"items": {"type": "string"}}}}"#;
    let schema = Schema::compile(schema, true).unwrap();
    let found = |count: usize| match schema.parse(format!(r#"{{"ids": [1{}]}}"#, ",1".repeat(count - 1)).as_bytes()) {
        Err(InputError::Invalid(violations)) => violations,
        _ => panic!("the body is not valid"),
    };
    assert_eq!(found(MAX_VIOLATIONS).len(), MAX_VIOLATIONS);
    let over = found(9000);
    assert_eq!((over.len(), over[MAX_VIOLATIONS].detail.as_str()), (MAX_VIOLATIONS + 1, MORE_VIOLATIONS));
    let many = found(20_000);
    assert_eq!((many.len(), many[0].pointer.as_str(), many[1].detail.as_str()), (2, "/ids/0", MORE_VIOLATIONS));
}

#[test]
fn values_are_not_repeated_in_a_violation() {
    let found = violations(r#"{"calendar_id": ["hunter2"], "count": "hunter2"}"#);
    assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
}

#[test]
fn an_empty_body_counts_as_an_empty_object() {
    for body in ["", "  \n", "null", "{}"] {
        assert_eq!(violations(body), [("/calendar_id".to_owned(), "`calendar_id` is required.".to_owned())]);
    }
}

#[test]
fn a_body_that_is_not_an_object_is_a_violation_and_a_body_that_is_not_json_is_not_json() {
    assert_eq!(violations("[1]")[0].0, "");
    for body in ["{", "{\"a\":}", "nul", "\u{feff}{}"] {
        assert!(matches!(schema().parse(body.as_bytes()), Err(InputError::NotJson(_))), "{body}");
    }
    assert!(matches!(schema().parse(b"\xff\xfe"), Err(InputError::NotJson(_))));
}

#[test]
fn a_member_sent_twice_is_a_violation() {
    assert!(format!("{:?}", violations(r#"{"calendar_id":"a","calendar_id":"b"}"#)).contains("more than once"));
    for body in [r#"{"calendar_id":"a","query":null,"query":{}}"#, r#"{"calendar_id":"a","query":{},"query":null}"#] {
        assert_eq!(violations(body).len(), 1, "{body}");
    }
}

/// The connector gets the text of the body, and would see both members.
#[test]
fn a_name_that_occurs_twice_in_an_inner_object_is_a_violation_with_its_place() {
    let detail = |name: &str| format!("The body contains `{name}` more than once; send it once.");
    let body = r#"{"calendar_id":"a","body":{"mode":"any","mode":"safe","list":[{"a":1},{"b~":1,"b~":2}]},"query":{"maxResults":1,"maxResults":1}}"#;
    let expected = [("/body/mode", "mode"), ("/body/list/1/b~0", "b~"), ("/query/maxResults", "maxResults")]
        .map(|(at, name)| (at.to_owned(), detail(name)));
    assert_eq!(violations(body), expected);
    let many = (0..200).map(|name| format!(r#""{name}":0,"{name}":1"#)).collect::<Vec<_>>().join(",");
    let found = violations(&format!(r#"{{"calendar_id":"a","body":{{{many}}}}}"#));
    assert_eq!((found.len(), found[MAX_VIOLATIONS].1.as_str()), (MAX_VIOLATIONS + 1, MORE_VIOLATIONS));
}

#[test]
fn a_long_name_around_a_long_list_does_not_multiply() {
    let schema =
        r#"{"type": "object", "additionalProperties": {"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}"#;
    let schema = Schema::compile(schema, true).unwrap();
    let name = "K".repeat(1_000_000);
    for items in [2, 9000, 100_000] {
        let body = format!(r#"{{"{name}": [1{}]}}"#, ",1".repeat(items - 1));
        let Err(InputError::Invalid(found)) = schema.parse(body.as_bytes()) else { panic!("the body is valid") };
        let bytes: usize = found.iter().map(|violation| violation.pointer.capacity() + violation.detail.len()).sum();
        assert!(found.len() >= 2 && bytes < 10_000, "{bytes}");
    }
}

fn search() -> Schema {
    let schema = r#"{
        "type": "object", "additionalProperties": false,
        "properties": {
            "query": {"type": ["string", "null"]},
            "waiting": {"type": ["boolean", "null"]},
            "callback_urls": {"type": ["array", "null"], "items": {"type": "string"}}
        }
    }"#;
    let check: UrlCheck = |url| if url.starts_with("https://") { Ok(()) } else { Err("Must be https.".to_owned()) };
    Schema::compile(schema, true).unwrap().in_background(check)
}

#[test]
fn a_background_operation_waits_only_if_the_caller_says_so_and_names_no_callback() {
    let schema = search();
    let background = |body: &'static str| schema.parse(body.as_bytes()).unwrap().background;
    let without_callbacks = || Some(Background { callback_urls: vec![] });
    assert_eq!(background(r#"{"waiting": true}"#), None);
    assert_eq!(background(r#"{"waiting": true, "callback_urls": []}"#), None);
    assert_eq!(background(r#"{"waiting": true, "callback_urls": null}"#), None);
    for body in ["", "{}", r#"{"waiting": false}"#, r#"{"waiting": null}"#] {
        assert_eq!(background(body), without_callbacks(), "{body}");
    }
    let urls = r#"{"waiting": true, "callback_urls": ["https://a.example", "https://b.example"]}"#;
    let expected = vec!["https://a.example".to_owned(), "https://b.example".to_owned()];
    assert_eq!(background(urls), Some(Background { callback_urls: expected }));
}

#[test]
fn the_connector_does_not_get_the_members_of_the_background() {
    let schema = search();
    let body = br#"{"query":"a","waiting":true,"callback_urls":["https://a.example"]}"#;
    assert_eq!(schema.parse(body).unwrap().text, r#"{"query":"a"}"#);
    let ordinary = Schema { background: None, ..search() };
    let input = ordinary.parse(body).unwrap();
    assert_eq!((input.text.as_bytes(), input.background), (&body[..], None));
}

#[test]
fn wrong_members_of_the_background_are_violations() {
    let refused = |body: String| search().parse(body.as_bytes()).is_err();
    assert!(refused(r#"{"waiting": "yes"}"#.to_owned()));
    assert!(refused(r#"{"callback_urls": "https://a.example"}"#.to_owned()));
    assert!(refused(r#"{"callback_urls": [1]}"#.to_owned()));
    let urls = |count: usize| {
        let urls: Vec<String> = (0..count).map(|number| format!("https://a.example/{number}")).collect();
        serde_json::json!({ "callback_urls": urls }).to_string()
    };
    let body = br#"{"callback_urls": ["https://a.example/", "done", 1]}"#;
    let Err(InputError::Invalid(violations)) = search().parse(body) else { panic!("the body is not valid") };
    let mut pointers: Vec<&str> = violations.iter().map(|violation| violation.pointer.as_str()).collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/callback_urls/1", "/callback_urls/2"], "{violations:?}");
    assert!(!refused(urls(MAX_CALLBACK_URLS)));
    assert!(refused(urls(MAX_CALLBACK_URLS + 1)));
}

#[test]
fn a_text_that_is_not_a_schema_is_refused() {
    assert!(Schema::compile("{", true).is_err());
    assert!(Schema::compile("[]", true).is_err());
    assert!(Schema::compile(r#"{"type":"object","properties":7}"#, true).is_err());
    assert!(Schema::compile(r#"{"type":"object","properties":{"a":{"pattern":"("}}}"#, true).is_err());
}

#[test]
fn formats_are_validated() {
    let schema = r#"{"type": "object", "properties": {
        "at": {"format": "date-time"}, "on": {"format": "date"}, "to": {"format": "email"}, "link": {"format": "uri"},
        "pattern": {"format": "regex"}, "own": {"format": "of-the-service"}}}"#;
    let schema = Schema::compile(schema, true).unwrap();
    let good = r#"{"at": "2026-01-31T09:30:00+01:00", "on": "2026-01-31", "to": "ada@example.com", "link": "https://example.com/a",
        "pattern": "(", "own": "-"}"#;
    assert!(schema.parse(good.as_bytes()).is_ok());
    let bad = r#"{"at": "2026-01-31", "on": "31.1.2026", "to": "ada", "link": "/a", "own": "-"}"#;
    let Err(InputError::Invalid(found)) = schema.parse(bad.as_bytes()) else { panic!("the body is valid") };
    let mut details: Vec<(&str, &str)> =
        found.iter().map(|violation| (violation.pointer.as_str(), violation.detail.as_str())).collect();
    details.sort_unstable();
    assert_eq!(
        details,
        [
            ("/at", "Must be a date and time with its offset, such as 2026-01-31T09:30:00Z."),
            ("/link", "Must be a URI with its scheme, such as https://example.com/page."),
            ("/on", "Must be a date, such as 2026-01-31."),
            ("/to", "Must be an email address."),
        ]
    );
}
