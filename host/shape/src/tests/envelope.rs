//! The form of `response_fields` and `response_filters`, and the messages about violations.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::{MAX_FIELDS, MAX_FILTERS, MAX_PATH_CHARACTERS, MAX_VALUES, MAX_VIOLATIONS, Shape};
use super::{apply, from_values, shape};

#[track_caller]
fn violations(fields: &Value, filters: &Value) -> Vec<(String, String)> {
    let violations = from_values(Some(fields), Some(filters)).expect_err("the envelope has violations");
    violations.into_iter().map(|violation| (violation.pointer, violation.detail)).collect()
}

#[track_caller]
fn check(fields: &Value, filters: &Value, expected: &[&str]) {
    let pointers: Vec<String> = violations(fields, filters).into_iter().map(|(pointer, _)| pointer).collect();
    assert_eq!(pointers, expected);
}

#[test]
fn absent_null_and_empty_members_shape_nothing() {
    for value in [None, Some(&Value::Null), Some(&json!([]))] {
        assert!(from_values(value, value).is_ok_and(|shape| shape.is_identity()));
    }
}

#[test]
fn a_shape_with_a_filter_is_not_the_identity() {
    let filter = json!([{"field_name": "a", "type": "string_list", "values": []}]);
    assert!(from_values(None, Some(&filter)).is_ok_and(|shape| !shape.is_identity()));
}

#[test]
fn fields_and_filters_must_be_arrays() {
    check(&json!("a"), &json!({"type": "string_list"}), &["/response_fields", "/response_filters"]);
}

#[test]
fn fields_must_be_strings_that_are_not_empty() {
    check(
        &json!(["a", "", 1, null, ["b"]]),
        &Value::Null,
        &["/response_fields/1", "/response_fields/2", "/response_fields/3", "/response_fields/4"],
    );
}

#[test]
fn filters_must_be_objects() {
    check(&Value::Null, &json!(["a", null]), &["/response_filters/0", "/response_filters/1"]);
}

#[test]
fn a_filter_needs_every_member_except_root() {
    check(
        &Value::Null,
        &json!([{}]),
        &["/response_filters/0/field_name", "/response_filters/0/type", "/response_filters/0/values"],
    );
}

#[test]
fn all_members_of_the_wrong_type_are_reported_at_once() {
    check(
        &json!([2]),
        &json!([
            {"field_name": "a", "type": "string_list", "values": ["x"], "root": "r"},
            {"field_name": "", "type": "regex", "values": ["x", 1, null], "root": 5},
            {"field_name": 1, "type": null, "values": "x", "root": null},
        ]),
        &[
            "/response_fields/0",
            "/response_filters/1/field_name",
            "/response_filters/1/type",
            "/response_filters/1/values/1",
            "/response_filters/1/values/2",
            "/response_filters/1/root",
            "/response_filters/2/field_name",
            "/response_filters/2/type",
            "/response_filters/2/values",
        ],
    );
}

#[test]
fn an_unknown_member_of_a_filter_is_reported_with_an_escaped_pointer() {
    check(
        &Value::Null,
        &json!([{"field_name": "a", "type": "string_list", "values": [], "a/b~c": 1}]),
        &["/response_filters/0/a~1b~0c"],
    );
}

#[test]
fn a_member_of_a_filter_that_is_there_twice_is_reported_once() {
    let text = r#"[{"field_name":"a","type":"string_list","values":["x"],"values":["y"],"v\u0061lues":[]}]"#;
    let filters: Box<RawValue> = serde_json::from_str(text).expect("JSON");
    let found = Shape::from_members(None, Some(&*filters)).expect_err("the envelope has a violation");
    let [violation] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(violation.pointer, "/response_filters/0/values");
    assert_eq!(violation.detail, "The filter contains `values` more than once; send it once.");
}

#[test]
fn a_message_says_what_is_wrong_and_what_to_do() {
    let found = violations(&json!([7]), &json!([{"field_name": "a", "type": "regex", "vals": []}]));
    let details: Vec<&str> = found.iter().map(|(_, detail)| detail.as_str()).collect();
    assert_eq!(
        details,
        [
            "This is a number. Give a dotted path as a string.",
            "A filter has only the members field_name, type, values, root. Remove this one.",
            "There is no such filter type. The only filter type is \"string_list\".",
            "The member is missing. Give an array of the strings to match.",
        ]
    );
}

/// A filter with this number of values.
fn filter_of(values: usize) -> Value {
    let values: Vec<String> = (0..values).map(|number| number.to_string()).collect();
    json!({"field_name": "a", "type": "string_list", "values": values})
}

#[test]
fn an_envelope_at_its_limits_is_accepted() {
    let path = "é".repeat(MAX_PATH_CHARACTERS);
    let filters = vec![filter_of(MAX_VALUES); MAX_FILTERS];
    assert!(from_values(Some(&json!(vec![path; MAX_FIELDS])), Some(&json!(filters))).is_ok());
}

#[test]
fn the_memory_of_a_shape_is_known() {
    let bytes = |fields: &Value, filters: &Value| from_values(Some(fields), Some(filters)).expect("a shape").bytes();
    assert_eq!(bytes(&json!([]), &Value::Null), 0);
    assert!(bytes(&json!(["id", "items.name"]), &Value::Null) < 1000);
    let rest = ".a".repeat(254);
    let paths: Vec<String> = (0..MAX_FIELDS).map(|number| format!("{number}{rest}")).collect();
    let text = json!(paths).to_string().len();
    assert!(bytes(&json!(paths), &Value::Null) > 30 * text);
    let alike: Vec<&str> = vec![paths[0].as_str(); MAX_FIELDS];
    assert!(bytes(&json!(alike), &Value::Null) < 2 * text, "paths that begin alike share their positions");
    let values = filter_of(MAX_VALUES);
    assert!(bytes(&Value::Null, &json!([values])) > MAX_VALUES * 48);
}

#[test]
fn a_list_over_its_limit_is_one_violation_and_its_entries_are_not_read() {
    check(
        &json!(vec![1; MAX_FIELDS + 1]),
        &json!(vec![1; MAX_FILTERS + 1]),
        &["/response_fields", "/response_filters"],
    );
    check(&Value::Null, &json!([filter_of(MAX_VALUES + 1)]), &["/response_filters/0/values"]);
    let found = violations(&Value::Null, &json!(vec![1; 140_000]));
    assert_eq!(found[0].1, "The list has 140000 entries. Give at most 100.");
}

#[test]
fn a_long_path_is_refused_and_not_repeated() {
    let path = "a".repeat(MAX_PATH_CHARACTERS + 1);
    let filter = json!({"field_name": path, "type": "string_list", "values": [], "root": path});
    let found = violations(&json!([path]), &json!([filter]));
    let pointers: Vec<&str> = found.iter().map(|(pointer, _)| pointer.as_str()).collect();
    assert_eq!(pointers, ["/response_fields/0", "/response_filters/0/field_name", "/response_filters/0/root"]);
    assert!(found.iter().all(|(_, detail)| detail.len() < 100), "{found:?}");
}

#[test]
fn reading_stops_when_there_are_more_violations_than_an_answer_lists() {
    let unknown: serde_json::Map<_, _> = (0..10_000).map(|number| (format!("m{number}"), Value::Null)).collect();
    let wrong = json!({"field_name": "a", "type": "string_list", "values": vec![1; MAX_VALUES]});
    for (fields, filters) in [
        (json!(vec![1; MAX_FIELDS]), Value::Null),
        (Value::Null, json!([unknown])),
        (Value::Null, json!(vec![wrong; MAX_FILTERS])),
    ] {
        assert_eq!(violations(&fields, &filters).len(), MAX_VIOLATIONS + 1);
    }
}

#[test]
fn shaping_ends_when_there_is_no_time_for_the_next_filter() {
    let shape = shape(&[], &json!([filter_of(1), filter_of(1), filter_of(1)]));
    let asked = std::cell::Cell::new(0);
    let ended = shape.apply_while(b"[]", || {
        asked.set(asked.get() + 1);
        asked.get() < 2
    });
    assert_eq!((ended, asked.get()), (Err(super::ShapeError::OutOfTime), 2));
    assert_eq!(apply(&shape, "[]"), "[]");
}

#[test]
fn shaping_ends_when_there_is_no_room_for_the_values_that_paths_lead_to() {
    let shape = shape(&["a"], &Value::Null);
    let document = format!("[{}{{}}]", r#"{"a":1},"#.repeat(100_000));
    let shaped = |most: usize| shape.apply_within(document.as_bytes(), || true, |bytes| bytes <= most);
    assert_eq!(shaped(document.len()), Err(super::ShapeError::NoMemory));
    assert!(shaped(20 * document.len()).is_ok_and(|shaped| shaped.document == document.as_bytes()));
    let asked = std::cell::Cell::new(0);
    let kept = shape.apply_within(
        format!(r#"{{"b":"{}","a":1}}"#, "x".repeat(10_000)).as_bytes(),
        || true,
        |_| {
            asked.set(asked.get() + 1);
            true
        },
    );
    assert!(kept.is_ok() && asked.get() == 0, "few values of a document need no more than is reserved");
}
