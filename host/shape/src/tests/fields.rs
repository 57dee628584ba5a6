//! The effects of `response_fields`.

use serde_json::Value;

use super::{apply, shape};

#[track_caller]
fn check(fields: &[&str], document: &str, expected: &str) {
    assert_eq!(apply(&shape(fields, &Value::Null), document), expected);
}

#[test]
fn a_path_that_equals_a_name_keeps_the_whole_value() {
    check(&["a"], r#"{"a":{"x":[1,2]},"b":2}"#, r#"{"a":{"x":[1,2]}}"#);
}

#[test]
fn a_path_that_begins_with_a_name_and_a_dot_continues_inside() {
    check(&["a.b.c"], r#"{"a":{"b":{"c":1,"d":2},"e":3},"c":4}"#, r#"{"a":{"b":{"c":1}}}"#);
}

#[test]
fn a_name_that_only_begins_like_the_path_does_not_match() {
    check(&["abc"], r#"{"ab":1,"abcd":2,"a":{"bc":3}}"#, "{}");
}

#[test]
fn names_are_compared_beyond_their_first_bytes() {
    check(&["responseStatus"], r#"{"responseStatut":1,"responseStatus":2,"response":3}"#, r#"{"responseStatus":2}"#);
    check(
        &["responseA", "responseB.c"],
        r#"{"responseA":1,"responseB":{"c":2}}"#,
        r#"{"responseA":1,"responseB":{"c":2}}"#,
    );
}

#[test]
fn a_name_that_contains_dots_is_found_as_written() {
    check(&["@odata.nextLink"], r#"{"@odata.nextLink":"u","@odata.count":1}"#, r#"{"@odata.nextLink":"u"}"#);
    check(&["v.@odata.type.x"], r#"{"v":[{"@odata.type":{"x":1,"y":2}}]}"#, r#"{"v":[{"@odata.type":{"x":1}}]}"#);
}

#[test]
fn a_dot_in_a_path_may_belong_to_a_name_or_separate_names() {
    check(&["a.b"], r#"{"a.b":1,"a":{"b":2,"c":3}}"#, r#"{"a.b":1,"a":{"b":2}}"#);
}

#[test]
fn a_path_that_keeps_a_whole_value_wins_over_one_that_continues_inside() {
    for fields in [["a", "a.b"], ["a.b", "a"]] {
        check(&fields, r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"b":1,"c":2}}"#);
    }
}

#[test]
fn every_item_of_a_list_is_treated_the_same_way() {
    check(&["l.a"], r#"{"l":[{"a":1,"b":2},{"b":3},{"a":4}]}"#, r#"{"l":[{"a":1},{},{"a":4}]}"#);
    check(&["a"], r#"[{"a":1,"b":2},{"a":3}]"#, r#"[{"a":1},{"a":3}]"#);
}

#[test]
fn lists_in_lists_keep_their_length() {
    check(&["l.a"], r#"{"l":[[{"a":1,"b":2}],[],[{"b":1},{}]]}"#, r#"{"l":[[{"a":1}],[],[{},{}]]}"#);
}

#[test]
fn scalars_of_a_list_are_dropped_if_the_path_continues() {
    check(&["l.a"], r#"{"l":[1,"x",{"a":1},null,true,{"a":2},2]}"#, r#"{"l":[{"a":1},{"a":2}]}"#);
    check(&["a"], "[1,2]", "[]");
}

#[test]
fn a_list_at_the_end_of_a_path_keeps_its_scalars() {
    check(&["l"], r#"{"l":[1,"x",null]}"#, r#"{"l":[1,"x",null]}"#);
}

#[test]
fn a_scalar_member_is_dropped_if_the_path_continues() {
    for scalar in ["1", "null", "\"x\"", "true"] {
        check(&["a.b", "c"], &format!(r#"{{"a":{scalar},"c":1}}"#), r#"{"c":1}"#);
    }
}

#[test]
fn an_object_with_no_kept_member_becomes_empty() {
    check(&["a.b"], r#"{"a":{"c":1},"d":2}"#, r#"{"a":{}}"#);
    check(&["x"], r#"{"a":1}"#, "{}");
}

#[test]
fn a_response_that_is_neither_object_nor_list_is_unchanged() {
    for scalar in ["1.0", "null", "\"x\"", "false"] {
        check(&["a.b"], scalar, scalar);
    }
}

#[test]
fn without_fields_there_is_no_projection() {
    for nothing in [None, Some(&Value::Null), Some(&Value::Array(Vec::new()))] {
        let shape = super::from_values(nothing, nothing).unwrap();
        assert!(shape.is_identity());
        assert_eq!(apply(&shape, r#" {"a": 1} "#), r#" {"a": 1} "#);
    }
    assert!(!shape(&["a"], &Value::Null).is_identity());
}

#[test]
fn members_stay_in_the_order_of_the_upstream() {
    check(&["a", "b", "c"], r#"{"c":1,"x":0,"a":2,"b":3}"#, r#"{"c":1,"a":2,"b":3}"#);
}

#[test]
fn numbers_keep_their_text() {
    let kept = r#"{"a":[1.0,-0,1E+2,123456789012345678901234567890,1e999]}"#;
    check(&["a"], kept, kept);
}

#[test]
fn strings_keep_their_escapes() {
    let kept = r#"{"a":"\u00fc\/\ud83d\ude00 \ud83d ü"}"#;
    check(&["a"], kept, kept);
}

#[test]
fn each_member_of_a_duplicate_name_is_projected() {
    check(&["a.b"], r#"{"a":{"b":1,"b":2,"c":0},"a":3,"a":{"b":4}}"#, r#"{"a":{"b":1,"b":2},"a":{"b":4}}"#);
}

#[test]
fn names_are_compared_by_their_decoded_text() {
    check(&["a.b/c"], r#"{"\u0061":{"b\/c":1,"x":2}}"#, r#"{"\u0061":{"b\/c":1}}"#);
    check(&["😀"], r#"{"\ud83d\ude00":1,"\ud83d":2}"#, r#"{"\ud83d\ude00":1}"#);
}

#[test]
fn an_empty_segment_matches_a_member_with_an_empty_name() {
    check(&["a."], r#"{"a":{"":1,"b":2}}"#, r#"{"a":{"":1}}"#);
    check(&[".a"], r#"{"":{"a":1,"b":2},"a":3}"#, r#"{"":{"a":1}}"#);
}

#[test]
fn many_fields_of_one_object_are_all_found() {
    let fields: Vec<String> = (0..100).map(|index| format!("field{index:02}")).collect();
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    check(&fields, r#"{"field00":1,"field":2,"field99":{"a":3},"field100":4}"#, r#"{"field00":1,"field99":{"a":3}}"#);
}

#[test]
fn whitespace_remains_only_inside_values_that_are_kept_whole() {
    check(
        &["a", "b.c"],
        " { \"a\" : [ 1 ,\n2 ] , \"b\" : { \"c\" : 1 } , \"d\" : 2 } ",
        "{\"a\" : [ 1 ,\n2 ],\"b\":{\"c\" : 1}}",
    );
}
