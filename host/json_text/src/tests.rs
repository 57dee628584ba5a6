use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::*;

fn texts<'a>(list: &[&'a RawValue]) -> Vec<&'a str> {
    list.iter().map(|value| value.get()).collect()
}

fn pairs<'a>(members: &'a [Member<'a>]) -> Vec<(&'a str, &'a str)> {
    members.iter().map(|(name, value)| (name.as_ref(), value.get())).collect()
}

#[test]
fn parts_are_as_they_are_written() {
    assert_eq!(texts(&elements(r#" [1.0, "\u0061" ,{"b" : []}] "#).unwrap()), ["1.0", r#""\u0061""#, r#"{"b" : []}"#]);
    let text = r#"{"z": 123456789012345678901234567890, "a":null}"#;
    assert_eq!(pairs(&members(text).unwrap()), [("z", "123456789012345678901234567890"), ("a", "null")]);
    assert!(elements("[]").unwrap().is_empty() && members("{}").unwrap().is_empty());
}

#[test]
fn names_are_decoded_and_repeated_names_stay() {
    let members = members(r#"{"\u0061": 1, "a": 2}"#).unwrap();
    assert_eq!(pairs(&members), [("a", "1"), ("a", "2")]);
    assert!(matches!(members[..], [(Cow::Owned(_), _), (Cow::Borrowed(_), _)]));
}

#[test]
fn parts_over_the_maximum_are_counted() {
    let parts = first_elements("[1,2,3,4]", 2).unwrap();
    assert_eq!((texts(&parts.first), parts.count), (vec!["1", "2"], 4));
    let parts = first_members(r#"{"a":1,"b":2,"c":3}"#, 1).unwrap();
    assert_eq!((pairs(&parts.first), parts.count), (vec![("a", "1")], 3));
    assert_eq!(first_elements("[1,2]", 2).unwrap().count, 2);
}

#[test]
fn other_values_and_broken_texts_are_errors() {
    for text in ["", "1", "null", "{}", "[", "[1,]", "[1] 2"] {
        assert!(elements(text).is_err(), "{text}");
    }
    for text in ["", "[]", "\"a\"", "{", r#"{"a"}"#, r#"{"a":1} 2"#, r#"{"\ud800": 2}"#] {
        assert!(members(text).is_err(), "{text}");
    }
    assert!(first_elements("[1,2,]", 1).is_err(), "counted parts are checked too");
}

#[test]
fn a_function_stops_the_reading() {
    let mut taken = Vec::new();
    let stopped = each_element("[1,2,broken", |element| {
        taken.push(element.get());
        if taken.len() < 2 { Ok(()) } else { Err("enough") }
    });
    assert!(matches!(stopped, Err(Stopped::Function("enough"))), "{stopped:?}");
    assert_eq!(taken, ["1", "2"]);
    let stopped = each_member(r#"{"a":1,"b":2}"#, |name, _| if name == "a" { Ok(()) } else { Err(name.into_owned()) });
    assert!(matches!(stopped, Err(Stopped::Function(name)) if name == "b"));
    let stopped = each_member("[]", |_, _| Ok::<_, Infallible>(()));
    assert!(matches!(stopped, Err(Stopped::Json(_))), "{stopped:?}");
}

/// Any JSON value of a few levels.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_parts_are_those_of_the_parsed_value(value in value(), is_indented: bool, max in 0..8_usize) {
        let text = if is_indented { format!("{value:#}") } else { value.to_string() };
        let parsed = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap();
        match &value {
            Value::Array(list) => {
                let found: Vec<Value> = elements(&text).unwrap().into_iter().map(parsed).collect();
                prop_assert_eq!(&found, list);
                let parts = first_elements(&text, max).unwrap();
                prop_assert_eq!((parts.first.len(), parts.count), (list.len().min(max), list.len()));
            }
            Value::Object(object) => {
                let found = members(&text).unwrap();
                let values: Map<String, Value> =
                    found.iter().map(|(name, value)| (name.to_string(), parsed(value))).collect();
                prop_assert_eq!(&values, object);
                let joined = super::object(found.iter().map(|(name, value)| (name.as_ref(), *value)));
                prop_assert_eq!(serde_json::from_str::<Value>(&joined).unwrap(), value);
                let parts = first_members(&text, max).unwrap();
                prop_assert_eq!((parts.first.len(), parts.count), (found.len().min(max), found.len()));
            }
            _ => prop_assert!(elements(&text).is_err() && members(&text).is_err()),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text: String) {
        let is = |kind: fn(&Value) -> bool| serde_json::from_str::<Value>(&text).is_ok_and(|value| kind(&value));
        prop_assert!(elements(&text).is_ok() || !is(Value::is_array));
        prop_assert!(members(&text).is_ok() || !is(Value::is_object));
    }
}

#[test]
fn an_object_of_no_members_is_empty() {
    assert_eq!(object([]), "{}");
    assert_eq!(json!({}), serde_json::from_str::<Value>(&object([])).unwrap());
}
