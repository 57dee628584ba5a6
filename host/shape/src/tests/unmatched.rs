//! The fields that led nowhere.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::shape;

/// The fields that led nowhere: path, the part that matched, and the names that are there.
fn unmatched(fields: &[&str], filters: &Value, document: &str) -> Vec<(String, String, Vec<String>)> {
    let shaped = shape(fields, filters).apply_while(document.as_bytes(), || true).expect("the document is valid");
    let found = shaped.unmatched.into_iter();
    found.map(|field| (field.path.clone(), field.matched().to_owned(), field.members.to_vec())).collect()
}

#[track_caller]
fn check(fields: &[&str], document: &str, expected: &[(&str, &str, &[&str])]) {
    let found = unmatched(fields, &Value::Null, document);
    let found: Vec<(&str, &str, Vec<&str>)> = found
        .iter()
        .map(|(path, matched, members)| (&**path, &**matched, members.iter().map(|name| &**name).collect()))
        .collect();
    let expected: Vec<_> =
        expected.iter().map(|(path, matched, members)| (*path, *matched, members.to_vec())).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_field_that_keeps_something_anywhere_is_matched() {
    check(&["l.a", "l.b"], r#"{"l":[{"a":1},{"b":null},{}]}"#, &[]);
    check(&["a.b", "@odata.nextLink"], r#"{"a.b":1,"@odata.nextLink":"u"}"#, &[]);
    check(&["name"], r#"{"n\u0061me":1}"#, &[]);
    check(&[], r#"{"a":1}"#, &[]);
}

#[test]
fn a_field_that_keeps_nothing_is_named_with_the_members_that_are_there() {
    check(&["nmae"], r#"{"name":1,"id":2}"#, &[("nmae", "", &["id", "name"])]);
    check(
        &["items.nmae.first", "items.id"],
        r#"{"items":[{"name":{"first":1},"id":1},{"title":"x"}]}"#,
        &[("items.nmae.first", "items.", &["id", "name", "title"])],
    );
    check(&["a.b", "a.c"], r#"{"a":null}"#, &[("a.b", "a.", &[]), ("a.c", "a.", &[])]);
    check(&["a.b"], r#"{"a":[]}"#, &[("a.b", "a.", &[])]);
    check(&["a"], "7", &[("a", "", &[])]);
    check(&["a.b.c"], r#"{"a.b":{"d":1}}"#, &[("a.b.c", "a.b.", &["d"])]);
}

#[test]
fn a_field_inside_of_a_value_that_is_kept_whole_is_looked_for() {
    let document = r#"{"a":{"b":[{"c":1}]}}"#;
    check(&["a", "a.b.c"], document, &[]);
    check(&["a", "a.b", "a.b.d"], document, &[("a.b.d", "a.b.", &["c"])]);
}

#[test]
fn items_that_filters_remove_have_matched() {
    let filters = json!([{"field_name": "l.k", "type": "string_list", "values": ["x"]}]);
    assert_eq!(unmatched(&["l.a"], &filters, r#"{"l":[{"a":1,"k":"y"}]}"#), []);
    assert_eq!(unmatched(&[], &filters, r#"{"l":[]}"#), []);
}

#[test]
fn the_names_of_a_place_are_bounded() {
    let members: Vec<String> = (0..1000).map(|number| format!("\"n{number}\":1")).collect();
    let found = unmatched(&["x"], &Value::Null, &format!("{{{}}}", members.join(",")));
    assert_eq!(found[0].2.len(), 200);
}

/// An upstream may send long names, and a caller a thousand paths.
#[test]
fn the_names_of_a_place_are_kept_once_and_long_ones_are_left_out() {
    let (long, longest) = ("l".repeat(257), "l".repeat(256));
    let document = format!(r#"{{"{long}":1,"{longest}":2,"short":3}}"#);
    let found =
        shape(&["x", "y"], &Value::Null).apply_while(document.as_bytes(), || true).expect("the document is valid");
    let [first, second] = found.unmatched.as_slice() else { panic!("both paths lead nowhere") };
    assert_eq!(*first.members, [longest, "short".to_owned()]);
    assert!(std::sync::Arc::ptr_eq(&first.members, &second.members));
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), Just(json!(1)), Just(json!({})), Just(json!([]))];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::btree_map("[abc]|a\\.b", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Returns `true` if a path leads to a member.
fn leads(value: &Value, path: &str) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| leads(item, path)),
        Value::Object(members) => members.iter().any(|(name, value)| match path.strip_prefix(name.as_str()) {
            Some("") => true,
            Some(rest) => rest.strip_prefix('.').is_some_and(|rest| leads(value, rest)),
            None => false,
        }),
        _ => false,
    }
}

proptest! {
    #[test]
    fn the_fields_that_lead_nowhere_are_found(
        document in document(),
        fields in proptest::collection::vec("[abc](\\.[abc]){0,3}", 1..6),
    ) {
        let names: Vec<&str> = fields.iter().map(String::as_str).collect();
        let found: Vec<String> =
            unmatched(&names, &Value::Null, &document.to_string()).into_iter().map(|(path, ..)| path).collect();
        let expected: Vec<String> = fields.into_iter().filter(|field| !leads(&document, field)).collect();
        prop_assert_eq!(found, expected);
    }
}
