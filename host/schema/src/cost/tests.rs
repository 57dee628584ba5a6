use serde_json::json;

use super::*;

fn refusal(schema: &Value) -> String {
    Cost::measure(schema).err().unwrap_or_default()
}

/// A schema in which each of the levels refers to the next one twice.
fn doubling(levels: usize) -> Value {
    let mut definitions = serde_json::Map::from_iter([(levels.to_string(), json!({"type": "string"}))]);
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
        definitions.insert(level.to_string(), json!({"allOf": [next, next]}));
    }
    json!({"$ref": "#/$defs/0", "$defs": definitions})
}

#[test]
fn a_schema_whose_references_expand_without_end_is_refused() {
    assert_eq!(refusal(&doubling(10)), "");
    assert!(refusal(&doubling(40)).contains("more than 100000 subschemas"));
    assert!(refusal(&json!({"properties": {"a": {"$ref": "#"}}})).contains("refers to itself"));
    let chain: serde_json::Map<_, _> =
        (0..500).map(|link| (link.to_string(), json!({"$ref": format!("#/$defs/{}", link + 1)}))).collect();
    assert!(refusal(&json!({"$ref": "#/$defs/0", "$defs": chain})).contains("deeper than"));
}

#[test]
fn a_reference_leads_to_a_place_in_the_same_schema() {
    let defined = |reference: &str| json!({"$ref": reference, "$defs": {"a": {"type": "string"}}});
    assert_eq!(refusal(&defined("#/$defs/a")), "");
    for reference in ["#/$defs/b", "http://a.example/", "other.json", "#a", "#/$defs/%61"] {
        assert!(refusal(&defined(reference)).contains("JSON Pointer"), "{reference}");
    }
    assert_eq!(refusal(&json!({"$id": "https://a.example/schema"})), "");
    for keyword in REFUSED {
        let below = json!({"$defs": {"a": {keyword: "#x"}}});
        assert!(refusal(&below).contains(keyword), "{keyword}");
    }
    assert_eq!(refusal(&json!({"properties": {"$id": {"type": "string"}}})), "", "a property may have any name");
}

#[test]
fn the_length_number_and_size_of_patterns_are_limited() {
    let patterns = |pattern: &str, count: usize| {
        let all: Vec<_> = (0..count).map(|_| json!({"pattern": pattern})).collect();
        json!({"allOf": all})
    };
    assert_eq!(refusal(&patterns(r"^[0-9]{4}-\d{2}$", 1000)), "");
    assert!(refusal(&patterns("a", 1001)).contains("1000 patterns"));
    assert!(refusal(&patterns(&"a".repeat(1025), 1)).contains("1024 bytes"));
    assert!(refusal(&patterns("((a{100}){100}){100}", 1)).contains("10000 states"));
    assert!(refusal(&json!({"patternProperties": {r"\w{500}": {}}})).contains("10000 states"));
}

#[test]
fn the_schemas_of_a_module_are_counted_together() {
    let check = |schema: &Value, count: usize| {
        let text = schema.to_string();
        check_module(std::iter::repeat_n(text.as_str(), count))
    };
    assert_eq!(check(&doubling(10), 10), Ok(()));
    assert!(check(&doubling(10), 100).is_err_and(|reason| reason.contains("subschemas together")));
    assert!(check(&json!({"pattern": "a"}), 1001).is_err_and(|reason| reason.contains("patterns together")));
    let large = json!({"description": "x".repeat(200 << 10)});
    assert!(check(&large, 21).is_err_and(|reason| reason.contains("4 MiB")));
}

fn admits(schema: &Value, value: &Value) -> bool {
    Cost::measure(schema).unwrap().admit(schema, value, value.to_string().len()).is_ok()
}

#[test]
fn a_validation_of_too_many_steps_is_refused() {
    let branches: Vec<_> = (0..1000).map(|number| json!({"const": number})).collect();
    let schema = json!({"items": {"anyOf": branches}});
    assert!(admits(&schema, &json!(vec![1; 1000])));
    assert!(!admits(&schema, &json!(vec![1; 100_000])));
    let slow = json!({"pattern": "(a?){500}(b?){500}$"});
    assert!(admits(&slow, &json!("a".repeat(10_000))));
    assert!(!admits(&slow, &json!("a".repeat(1_000_000))));
}

#[test]
fn a_large_value_that_takes_few_steps_is_admitted() {
    let members: serde_json::Map<_, _> =
        (0..500).map(|number| (format!("m{number}"), json!({"type": "string"}))).collect();
    let schema = json!({"properties": {"body": {"type": "object"}, "m": {"items": {"properties": members}}}});
    let rows = vec![json!({"a": [1, 2, {"b": "x".repeat(100)}]}); 20_000];
    assert!(admits(&schema, &json!({"body": {"rows": rows}})));
}

#[test]
fn each_round_of_unevaluated_members_doubles_the_steps() {
    let mut schema = json!({"type": "object"});
    for _ in 0..30 {
        schema = json!({"allOf": [schema], "unevaluatedProperties": false});
    }
    assert!(!admits(&schema, &json!({"a": 1})));
}
