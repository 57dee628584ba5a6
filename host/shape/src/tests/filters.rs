//! The effects of `response_filters`.

use serde_json::{Value, json};

use super::{apply, shape};

/// A filter without `root`.
fn by(field: &str, values: &[&str]) -> Value {
    json!({"field_name": field, "type": "string_list", "values": values})
}

/// A filter with `root`.
fn at(root: &str, field: &str, values: &[&str]) -> Value {
    json!({"field_name": field, "type": "string_list", "values": values, "root": root})
}

#[track_caller]
fn check(filter: Value, document: &str, expected: &str) {
    check_all(&[filter], &[], document, expected);
}

#[track_caller]
fn check_all(filters: &[Value], fields: &[&str], document: &str, expected: &str) {
    assert_eq!(apply(&shape(fields, &json!(filters)), document), expected);
}

#[test]
fn the_first_list_of_objects_along_the_path_is_filtered() {
    check(by("d.l.s", &["x"]), r#"{"d":{"l":[{"s":"x"},{"s":"y"}]},"e":1}"#, r#"{"d":{"l":[{"s":"x"}]},"e":1}"#);
}

#[test]
fn a_response_that_is_a_list_of_objects_is_filtered_itself() {
    check(by("s", &["x"]), r#"[{"s":"y"},{"s":"x"}]"#, r#"[{"s":"x"}]"#);
}

#[test]
fn if_the_path_crosses_an_inner_list_only_inner_lists_are_filtered() {
    check(
        by("l.m.s", &["x"]),
        r#"{"l":[{"m":[{"s":"x"},{"s":"y"}]},{"m":[{"s":"y"}]},{"m":{"s":"y"}},{"n":1}]}"#,
        r#"{"l":[{"m":[{"s":"x"}]},{"m":[]},{"m":{"s":"y"}},{"n":1}]}"#,
    );
}

#[test]
fn the_same_rule_holds_at_every_depth() {
    check(
        by("a.b.c.s", &["x"]),
        r#"[{"a":[{"b":[{"c":{"s":"x"}},{"c":{"s":"y"}}]},{"b":[{"c":[{"s":"x"},{"s":"y"}]}]}]}]"#,
        r#"[{"a":[{"b":[{"c":{"s":"x"}}]},{"b":[{"c":[{"s":"x"}]}]}]}]"#,
    );
}

#[test]
fn a_list_at_the_end_of_the_path_is_not_crossed() {
    check(by("l.m", &["x"]), r#"{"l":[{"m":[{"s":"x"}]},{"m":"x"}]}"#, r#"{"l":[{"m":"x"}]}"#);
    check(by("l", &["x"]), r#"{"l":[{"s":"x"}]}"#, r#"{"l":[{"s":"x"}]}"#);
}

#[test]
fn lists_without_objects_are_passed_and_not_filtered() {
    check(by("l.s", &["x"]), r#"{"l":[[{"s":"x"},{"s":"y"}],[{"s":"y"}],[]]}"#, r#"{"l":[[{"s":"x"}],[],[]]}"#);
    check(
        by("l.m.s", &["x"]),
        r#"{"l":[{"m":[[{"s":"x"},{"s":"y"}]]},{"m":{"s":"y"}}]}"#,
        r#"{"l":[{"m":[[{"s":"x"}]]},{"m":{"s":"y"}}]}"#,
    );
    let nothing_to_remove = r#"{"l":[{"m":[[{"s":"x"}]]},{"m":{"s":"y"}}]}"#;
    check(by("l.m.s", &["x"]), nothing_to_remove, nothing_to_remove);
    check(by("l.s", &["x"]), r#"{"l":[1,"x",null]}"#, r#"{"l":[1,"x",null]}"#);
}

#[test]
fn the_list_at_the_root_is_filtered() {
    check(
        at("d.l", "o.s", &["x"]),
        r#"{"d":{"l":[{"o":{"s":"x"}},{"o":{"s":"y"}}]}}"#,
        r#"{"d":{"l":[{"o":{"s":"x"}}]}}"#,
    );
}

#[test]
fn the_path_to_the_root_passes_through_every_list() {
    check(
        at("a.l", "s", &["x"]),
        r#"[{"a":[{"l":[{"s":"x"},{"s":"y"}]},[{"l":[{"s":"y"}]}]]}]"#,
        r#"[{"a":[{"l":[{"s":"x"}]},[{"l":[]}]]}]"#,
    );
}

#[test]
fn a_root_that_is_not_the_last_list_filters_nothing() {
    let document = r#"{"l":[{"m":[{"s":"x"},{"s":"y"}]},{"m":{"s":"y"}},{"m":{"s":"x"}}]}"#;
    check(at("l", "m.s", &["x"]), document, document);
    check_all(&[at("l", "m.s", &["x"])], &["l.m.s"], document, document);
}

#[test]
fn a_list_of_scalars_along_the_field_does_not_prevent_filtering_at_the_root() {
    check(at("l", "m.s", &["x"]), r#"{"l":[{"m":[1]},{"m":{"s":"y"}},{"m":{"s":"x"}}]}"#, r#"{"l":[{"m":{"s":"x"}}]}"#);
}

#[test]
fn each_list_at_the_root_is_decided_separately() {
    check(
        at("a.l", "m.s", &["x"]),
        r#"{"a":[{"l":[{"m":[{"s":"y"}]}]},{"l":[{"m":{"s":"y"}}]}]}"#,
        r#"{"a":[{"l":[{"m":[{"s":"y"}]}]},{"l":[]}]}"#,
    );
}

#[test]
fn a_root_that_ends_at_no_list_of_objects_filters_nothing() {
    for document in
        [r#"{"l":{"s":"y"}}"#, r#"{"l":[1]}"#, r#"{"l":[[{"s":"y"}]]}"#, r#"{"l":null}"#, r#"{"k":[{"s":"y"}]}"#]
    {
        check(at("l", "s", &["x"]), document, document);
    }
}

#[test]
fn the_root_and_the_field_are_separate_paths() {
    let document = r#"{"l.s":[{"s":"y"}],"l":1}"#;
    check(at("l", "s", &["x"]), document, document);
}

#[test]
fn an_empty_or_null_root_counts_as_absent() {
    check(at("", "l.s", &["x"]), r#"{"l":[{"s":"x"},{"s":"y"}]}"#, r#"{"l":[{"s":"x"}]}"#);
    let filter = json!({"field_name": "s", "type": "string_list", "values": ["x"], "root": null});
    check(filter, r#"[{"s":"y"}]"#, "[]");
}

#[test]
fn a_string_must_equal_one_of_the_values() {
    check(by("s", &["x", "z"]), r#"[{"s":"x"},{"s":"xy"},{"s":"z"},{"s":""}]"#, r#"[{"s":"x"},{"s":"z"}]"#);
}

#[test]
fn the_case_of_letters_matters() {
    check(by("s", &["x"]), r#"[{"s":"X"},{"S":"x"}]"#, "[]");
}

#[test]
fn strings_are_compared_by_their_decoded_text() {
    check(by("s", &["ü\n"]), r#"[{"\u0073":"\u00fc\n"},{"s":"\\u00fc\\n"}]"#, r#"[{"\u0073":"\u00fc\n"}]"#);
}

#[test]
fn numbers_and_booleans_are_compared_by_their_text() {
    check(
        by("s", &["1", "true"]),
        r#"[{"s":1},{"s":1.0},{"s":true},{"s":false},{"s":"1"}]"#,
        r#"[{"s":1},{"s":true},{"s":"1"}]"#,
    );
    check(by("s", &["1.0"]), r#"[{"s":1},{"s":1.0}]"#, r#"[{"s":1.0}]"#);
}

#[test]
fn a_list_matches_if_one_of_its_elements_does() {
    check(
        by("s", &["x", "2"]),
        r#"[{"s":["y","x"]},{"s":[ 2 ]},{"s":["y"]},{"s":[]},{"s":[["x"]]},{"s":[{"s":"x"}]}]"#,
        r#"[{"s":["y","x"]},{"s":[ 2 ]}]"#,
    );
}

#[test]
fn null_and_objects_match_nothing() {
    check(by("s", &["null", "", "{}", "x"]), r#"[{"s":null},{"s":{}},{"s":[null]},{"s":"x"}]"#, r#"[{"s":"x"}]"#);
}

#[test]
fn an_element_without_the_field_is_removed() {
    check(by("s.t", &["x"]), r#"[{"s":{"t":"x"}},{"s":{}},{"s":"x"},{}]"#, r#"[{"s":{"t":"x"}}]"#);
}

#[test]
fn an_element_that_is_not_an_object_is_removed() {
    check(by("s", &["x"]), r#"[1,"x",{"s":"x"},null,[],["x"],2]"#, r#"[{"s":"x"}]"#);
}

#[test]
fn a_list_without_the_field_is_not_filtered() {
    let document = r#"[{"t":"y"},1,{}]"#;
    check(by("s", &["x"]), document, document);
}

#[test]
fn null_counts_as_having_the_field() {
    check(by("s", &["x"]), r#"[{"s":null},{"t":1}]"#, "[]");
}

#[test]
fn a_filter_without_values_removes_every_element() {
    check(by("s", &[]), r#"[{"s":"x"}]"#, "[]");
}

#[test]
fn the_next_step_is_the_longest_member_name() {
    check(
        by("a.b.s", &["x"]),
        r#"[{"a":{"b":{"s":"x"}},"a.b":{"s":"y"}},{"a.b":{"s":"x"}}]"#,
        r#"[{"a.b":{"s":"x"}}]"#,
    );
    check(by("a.b", &["x"]), r#"[{"a":{"b":"x"},"a.b":"y"},{"a":{"b":"x"}}]"#, r#"[{"a":{"b":"x"}}]"#);
}

#[test]
fn a_path_never_returns_from_the_longest_name_to_a_shorter_one() {
    let document = r#"{"a":{"b":[{"s":"y"}]},"a.b":1}"#;
    check(by("a.b.s", &["x"]), document, document);
}

#[test]
fn every_member_of_a_duplicate_name_is_tested() {
    check(
        by("s", &["x"]),
        r#"[{"s":"x","s":"y"},{"s":"y","s":"x"},{"s":"y","s":"z"}]"#,
        r#"[{"s":"x","s":"y"},{"s":"y","s":"x"}]"#,
    );
    check(by("l.s", &["x"]), r#"{"l":[{"s":"y"}],"l":[{"s":"x"},{"s":"y"}]}"#, r#"{"l":[],"l":[{"s":"x"}]}"#);
}

#[test]
fn filters_are_applied_one_after_the_other() {
    check_all(
        &[by("l.s", &["x"]), by("l.t", &["1"])],
        &[],
        r#"{"l":[{"s":"x","t":1},{"s":"x","t":2},{"s":"y","t":1}]}"#,
        r#"{"l":[{"s":"x","t":1}]}"#,
    );
}

#[test]
fn a_filter_does_not_see_elements_that_an_earlier_one_removed() {
    // The first filter empties the inner list of the first element. The outer list can then be
    // filtered.
    check_all(
        &[by("l.m.s", &["x"]), by("l.m.s", &["x"])],
        &[],
        r#"{"l":[{"m":[{"s":"y"}]},{"m":{"s":"y"}},{"m":{"s":"x"}}]}"#,
        r#"{"l":[{"m":{"s":"x"}}]}"#,
    );
    // The first filter removes the string that the second one would accept.
    check_all(
        &[at("l.m", "s", &["x"]), by("l.m", &["y"])],
        &[],
        r#"{"l":[{"m":["y",{"s":"x"}]},{"m":"y"}]}"#,
        r#"{"l":[{"m":"y"}]}"#,
    );
}

#[test]
fn fields_are_applied_after_the_filters() {
    check_all(
        &[by("l.s", &["x"])],
        &["l.t"],
        r#"{"l":[{"s":"x","t":1},{"s":"y","t":2},{"s":"x"}],"s":1}"#,
        r#"{"l":[{"t":1},{}]}"#,
    );
    check_all(&[by("l.s", &["x"])], &["k"], r#"{"l":[{"s":"y"}],"k":1}"#, r#"{"k":1}"#);
}

#[test]
fn a_value_that_is_kept_whole_is_filtered_inside() {
    check_all(
        &[by("a.l.s", &["x"])],
        &["a"],
        r#"{"a": {"z": 1, "l": [ {"s": "y"} , {"s": "x"} ], "y": [ 1 ]}, "b": 2}"#,
        r#"{"a":{"z": 1, "l": [{"s": "x"}], "y": [ 1 ]}}"#,
    );
}

#[test]
fn scalars_keep_their_positions_around_a_list_that_is_filtered_inside() {
    check(by("m.s", &["x"]), r#"[1,"a",{},2,[],3,{"m":[{"s":"y"}]},4,5]"#, r#"[1,"a",{},2,[],3,{"m":[]},4,5]"#);
}

#[test]
fn a_path_that_leads_nowhere_filters_nothing() {
    for document in
        [r#"{"a":1}"#, r#"{"l":{"s":"y"}}"#, r#"{"l":[]}"#, "[]", "[1]", "1", "\"l\"", r#"{"k":[{"s":"y"}]}"#]
    {
        check(by("l.s", &["x"]), document, document);
    }
}
