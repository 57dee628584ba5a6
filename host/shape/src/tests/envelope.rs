//! The form of `response_fields` and `response_filters`, and the messages about violations.

use serde_json::{Value, json};

use super::super::Shape;

#[track_caller]
fn violations(fields: &Value, filters: &Value) -> Vec<(String, String)> {
    let violations = Shape::from_members(Some(fields), Some(filters)).expect_err("the envelope has violations");
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
        assert!(Shape::from_members(value, value).is_ok_and(|shape| shape.is_identity()));
    }
}

#[test]
fn a_shape_with_a_filter_is_not_the_identity() {
    let filter = json!([{"field_name": "a", "type": "string_list", "values": []}]);
    assert!(Shape::from_members(None, Some(&filter)).is_ok_and(|shape| !shape.is_identity()));
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
fn a_message_says_what_is_wrong_and_what_to_do() {
    let found = violations(&json!([7]), &json!([{"field_name": "a", "type": "regex", "vals": []}]));
    let details: Vec<&str> = found.iter().map(|(_, detail)| detail.as_str()).collect();
    assert_eq!(
        details,
        [
            "This is a number. Give a dotted path as a string.",
            "A filter has no member \"vals\", only field_name, type, values, root. Remove it.",
            "There is no filter type \"regex\". The only filter type is \"string_list\".",
            "The member is missing. Give an array of the strings to match.",
        ]
    );
}
