use proptest::prelude::*;
use schema::ValueSchema;

use super::*;

/// Breaks the form of the dialect: the place and the part.
fn foreign(at: &str, schema: &Value) -> Option<String> {
    let wrong = || Some(format!("{at}: {schema}"));
    let Some(object) = schema.as_object() else { return wrong() };
    let kind = schema["type"].as_str().unwrap_or_default();
    let types = ["string", "integer", "number", "boolean", "array", "object"];
    let may_have = |key: &str| match key {
        "enum" => kind == "string",
        "items" => kind == "array",
        "properties" | "required" | "additionalProperties" => kind == "object",
        key => KEYWORDS.contains(&key),
    };
    if !types.contains(&kind)
        || !object.keys().all(|key| may_have(key))
        || (kind == "array") != object.contains_key("items")
    {
        return wrong();
    }
    let values = object.get("enum").map(|values| values.as_array().expect("a list"));
    if values.is_some_and(|values| values.is_empty() || values.iter().any(|value| !value.is_string() || value == "")) {
        return wrong();
    }
    let required = object.get("required").and_then(Value::as_array).into_iter().flatten();
    if required.filter_map(Value::as_str).any(|name| schema["properties"].get(name).is_none()) {
        return wrong();
    }
    let properties = object.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut parts =
        properties.map(|(name, part)| (name.as_str(), part)).chain(object.get("items").map(|part| ("items", part)));
    parts.find_map(|(name, part)| foreign(&format!("{at}/{name}"), part))
}

/// Returns `true` if a value and its parts have the types that a schema of the dialect names.
fn fits(schema: &Value, value: &Value) -> bool {
    match (schema["type"].as_str().unwrap_or_default(), value) {
        ("object", Value::Object(members)) => {
            members.iter().all(|(name, member)| schema["properties"].get(name).is_none_or(|part| fits(part, member)))
        }
        ("array", Value::Array(items)) => items.iter().all(|item| fits(&schema["items"], item)),
        ("number", Value::Number(_)) => true,
        ("integer", Value::Number(number)) => number.as_f64().is_some_and(|number| number.fract() == 0.0),
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) => true,
        _ => false,
    }
}

fn is_valid(schema: &Value, value: &Value) -> bool {
    ValueSchema::compile(&schema.to_string()).expect("a schema").violations(value).is_empty()
}

#[test]
fn rules_that_the_dialect_does_not_have_are_told_in_words() {
    for (schema, expected) in [
        (
            json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 30, "description": "items a page"}),
            json!({"type": "integer", "description": "items a page; 1 to 100; default 30"}),
        ),
        (
            json!({"type": "string", "minLength": 1, "maxLength": 5}),
            json!({"type": "string", "description": "at most 5 characters"}),
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "string", "description": "a time with its offset, such as 2026-01-31T09:30:00Z"}),
        ),
        (
            json!({"type": ["string", "array"], "items": {"type": "string"}, "maxItems": 3}),
            json!({"type": "array", "items": {"type": "string"}, "description": "or one string alone; at most 3 items"}),
        ),
        (
            json!({"type": ["string", "number", "boolean", "array", "null"], "items": {"type": ["string", "number"]}}),
            json!({"type": "string", "description": "or a number, a boolean or a list"}),
        ),
        (
            json!({"type": ["string", "null"], "enum": ["up", "down", null], "description": "The order."}),
            json!({"type": "string", "enum": ["up", "down"], "description": "The order."}),
        ),
        (json!({"type": ["string", "null"], "nullable": true}), json!({"type": "string", "description": "or null"})),
        (json!({"enum": [1, 2]}), json!({"type": "integer", "description": "one of 1, 2"})),
        (
            json!({"type": "array"}),
            json!({"type": "array", "items": {"type": "string", "description": "any JSON value"}}),
        ),
        (json!(true), json!({"type": "string", "description": "any JSON value"})),
        (json!({"type": "object", "properties": {"never": false, "nor": {"not": {}}}}), json!({"type": "object"})),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            json!({"type": "object", "description": "each member is an integer"}),
        ),
        (
            json!({"type": "object", "properties": {"a": true}, "required": ["a", "b"], "not": {"required": ["c"]}}),
            json!({"type": "object", "properties": {"a": {"type": "string", "description": "any JSON value"}}, "required": ["a"],
             "description": "`b` is required; further rules hold"}),
        ),
    ] {
        assert_eq!(simplified(&schema), expected, "{schema}");
    }
}

#[test]
fn alternatives_become_one_schema_that_takes_each_of_them() {
    for (schema, expected) in [
        (
            json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}),
            json!({"type": "integer", "description": "at least 1"}),
        ),
        (json!({"oneOf": [{"const": "a"}, {"const": "b"}]}), json!({"type": "string", "enum": ["a", "b"]})),
        (
            json!({"type": "object", "anyOf": [
            {"properties": {"kind": {"enum": ["x"]}, "x": {"type": "integer"}}, "required": ["kind", "x"], "additionalProperties": false},
            {"properties": {"kind": {"enum": ["y"]}}, "required": ["kind"], "additionalProperties": false}]}),
            json!({"type": "object", "properties": {"kind": {"type": "string", "enum": ["x", "y"]}, "x": {"type": "integer"}},
             "required": ["kind"], "additionalProperties": false, "description": "further rules hold"}),
        ),
        (
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"required": ["a"]}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        ),
    ] {
        assert_eq!(simplified(&schema), expected, "{schema}");
    }
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(1.5),
        json!(""),
        json!("x"),
        json!("y"),
    ])
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map(name(), inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Any mixture of keywords.
fn any_schema() -> impl Strategy<Value = Value> {
    let types = vec!["string", "integer", "number", "boolean", "null", "array", "object"];
    let kinds = prop_oneof![
        prop::sample::select(types.clone()).prop_map(|name| json!(name)),
        prop::sample::subsequence(types, 1..4).prop_map(|names| json!(names)),
    ];
    let leaf = (prop::option::of(kinds), prop::option::of(prop::collection::vec(scalar(), 1..4)), any::<[bool; 4]>());
    let leaf = leaf.prop_map(|(kinds, values, [is_bounded, is_long, has_pattern, has_default])| {
        let mut schema = Map::new();
        schema.extend(kinds.map(|kinds| ("type".to_owned(), kinds)));
        schema.extend(values.map(|mut values| {
            values.dedup();
            ("enum".to_owned(), Value::Array(values))
        }));
        for (key, value, has) in [
            ("minimum", json!(1), is_bounded),
            ("minLength", json!(1), is_long),
            ("pattern", json!("^x"), has_pattern),
            ("default", json!("x"), has_default),
        ] {
            schema.extend(has.then(|| (key.to_owned(), value)));
        }
        Value::Object(schema)
    });
    let leaf = prop_oneof![8 => leaf, 1 => any::<bool>().prop_map(Value::Bool)];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let properties = prop::collection::btree_map(name(), inner.clone(), 0..3);
        let further =
            prop_oneof![Just(None), any::<bool>().prop_map(|open| Some(json!(open))), inner.clone().prop_map(Some)];
        let object = (properties, prop::collection::btree_set(name(), 0..2), further, any::<bool>());
        let object = object.prop_map(|(properties, required, further, is_named)| {
            let mut schema = json!({"properties": properties, "required": required});
            if is_named {
                schema["type"] = "object".into();
            }
            if let Some(further) = further {
                schema["additionalProperties"] = further;
            }
            schema
        });
        let parts = prop::collection::vec(inner.clone(), 1..4);
        let combined = (prop::sample::select(vec!["allOf", "anyOf", "oneOf"]), parts, inner.clone());
        let combined = combined.prop_map(|(key, parts, base)| {
            let mut schema = if base.is_object() { base } else { json!({}) };
            schema[key] = parts.into();
            schema
        });
        prop_oneof![inner.clone().prop_map(|items| json!({"type": "array", "items": items})), object, combined]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// The dialect may take more than the schema, because the gateway validates by the schema. It
    /// never refuses a value of the types that it names.
    #[test]
    fn a_schema_of_the_dialect_takes_what_the_schema_takes_as_far_as_it_has_the_named_types(
        schema in any_schema(), values in prop::collection::vec(value(), 8)
    ) {
        let plain = simplified(&schema);
        prop_assert_eq!(foreign("", &plain), None);
        prop_assert_eq!(&simplified(&plain), &plain, "a schema of the dialect stays as it is");
        for value in values.iter().filter(|value| fits(&plain, value) && is_valid(&schema, value)) {
            prop_assert!(is_valid(&plain, value), "{value} is valid for {schema}, and not for {plain}");
        }
    }
}
