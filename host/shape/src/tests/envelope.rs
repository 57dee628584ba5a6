//! What `response_fields` and `response_filters` may look like, and what is said where they do not.

use serde_json::{Value, json};

use super::super::Shape;

#[track_caller]
fn violations(fields: &Value, filters: &Value) -> Vec<(String, String)> {
    let violations = Shape::from_members(Some(fields), Some(filters)).expect_err("something is wrong with it");
    violations.into_iter().map(|violation| (violation.pointer, violation.detail)).collect()
}

#[track_caller]
fn check(fields: &Value, filters: &Value, expected: &[&str]) {
    let pointers: Vec<String> = violations(fields, filters).into_iter().map(|(pointer, _)| pointer).collect();
    assert_eq!(pointers, expected);
}

#[test]
fn absent_null_and_empty_ask_for_nothing() {
    for value in [None, Some(&Value::Null), Some(&json!([]))] {
        assert!(Shape::from_members(value, value).is_ok_and(|shape| shape.is_identity()));
    }
}

#[test]
fn a_filter_makes_it_more_than_the_identity() {
    let filter = json!([{"field_name": "a", "type": "string_list", "values": []}]);
    assert!(Shape::from_members(None, Some(&filter)).is_ok_and(|shape| !shape.is_identity()));
}

#[test]
fn lists_must_be_lists() {
    check(&json!("a"), &json!({"type": "string_list"}), &["/response_fields", "/response_filters"]);
}

#[test]
fn fields_are_strings_that_are_not_empty() {
    check(
        &json!(["a", "", 1, null, ["b"]]),
        &Value::Null,
        &["/response_fields/1", "/response_fields/2", "/response_fields/3", "/response_fields/4"],
    );
}

#[test]
fn filters_are_objects() {
    check(&Value::Null, &json!(["a", null]), &["/response_filters/0", "/response_filters/1"]);
}

#[test]
fn a_filter_needs_all_its_members_but_root() {
    check(
        &Value::Null,
        &json!([{}]),
        &["/response_filters/0/field_name", "/response_filters/0/type", "/response_filters/0/values"],
    );
}

#[test]
fn members_of_the_wrong_kind_are_found_all_at_once() {
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
fn unknown_members_of_a_filter_are_named_by_an_escaped_pointer() {
    check(
        &Value::Null,
        &json!([{"field_name": "a", "type": "string_list", "values": [], "a/b~c": 1}]),
        &["/response_filters/0/a~1b~0c"],
    );
}

#[test]
fn a_detail_says_what_is_wrong_and_what_to_do() {
    let found = violations(&json!([7]), &json!([{"field_name": "a", "type": "regex", "vals": []}]));
    let details: Vec<&str> = found.iter().map(|(_, detail)| detail.as_str()).collect();
    assert_eq!(
        details,
        [
            "This is a number. Give a dotted path as a string.",
            "A filter has no member \"vals\", only field_name, type, values, root. Take it out.",
            "There is no filter of type \"regex\". The one type of filter is \"string_list\".",
            "The member is missing. Give an array of the strings to match.",
        ]
    );
}
