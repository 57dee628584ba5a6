//! The rules for schemas and examples in a manifest, which are JSON text.

use serde_json::Value;

use crate::limit::SCHEMA_BYTES;
use crate::{Broken, ensure};

/// The size of an operation's schema.
///
/// # Errors
/// The limit.
pub fn size(schema: &str) -> Result<(), Broken> {
    ensure(schema.len() <= SCHEMA_BYTES, "the schema is larger than 256 KiB")
}

/// Parses the schema of an operation's input.
///
/// # Errors
/// That it is too large, is not JSON, is not the schema of an object, or does not refuse members
/// that it does not name.
pub fn input(schema: &str) -> Result<Value, Broken> {
    size(schema)?;
    let schema: Value =
        serde_json::from_str(schema).map_err(|error| Broken::from(format!("the schema is not JSON: {error}")))?;
    ensure(schema.get("type").is_some_and(|name| name == "object"), "the schema says `\"type\": \"object\"`")?;
    closed(&schema)?;
    Ok(schema)
}

/// Returns `true` if an object schema refuses members that it does not name, so that misspelt
/// members are refused.
///
/// # Errors
/// The rule.
pub fn closed(schema: &Value) -> Result<(), Broken> {
    let refuses = |keyword: &str| schema.get(keyword).is_some_and(|value| *value == Value::Bool(false));
    ensure(
        refuses("additionalProperties") || refuses("unevaluatedProperties"),
        "the schema says `\"additionalProperties\": false` (or `\"unevaluatedProperties\": false`), so that misspelt members \
         are refused",
    )
}

/// Keywords by which a schema can name members elsewhere than in `properties`.
const COMPOSING: [&str; 8] =
    ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "patternProperties"];

/// Returns `true` if a parsed schema names the member at a JSON Pointer. Where the schema composes
/// other schemas, or leaves the members of an object open, every member counts as named.
#[must_use]
pub fn names(schema: &Value, pointer: &str) -> bool {
    let mut schema = schema;
    for step in crate::pointer::steps(pointer) {
        let is_open = schema.get("properties").is_none() && closed(schema).is_err() && accepts_objects(schema);
        if is_open || COMPOSING.iter().any(|keyword| schema.get(keyword).is_some()) {
            return true;
        }
        match schema.get("properties").and_then(|properties| properties.get(step.as_ref())) {
            Some(member) => schema = member,
            None => return false,
        }
    }
    true
}

fn accepts_objects(schema: &Value) -> bool {
    match schema.get("type") {
        None => true,
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        Some(name) => name == "object",
    }
}

/// Returns `true` if an example, which is JSON text, has the members that a parsed schema names and
/// requires. The gateway checks the values.
///
/// # Errors
/// The first member that is wrong.
pub fn example(schema: &Value, example: &str) -> Result<(), Broken> {
    let example: Value =
        serde_json::from_str(example).map_err(|error| Broken::from(format!("the example is not JSON: {error}")))?;
    let Some(members) = example.as_object() else { return Err("the example is an object".into()) };
    if let Some(name) = members.keys().find(|name| !names(schema, &crate::pointer::of(name))) {
        return Err(format!("the example has `{name}`, which the schema does not name").into());
    }
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match required.iter().filter_map(Value::as_str).find(|name| !members.contains_key(*name)) {
        Some(name) => Err(format!("the example lacks `{name}`, which the schema requires").into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{example, input, names};

    #[test]
    fn an_input_schema_is_that_of_a_closed_object() {
        assert!(input(r#"{"type": "object", "additionalProperties": false}"#).is_ok());
        assert!(input(r#"{"type": "object", "unevaluatedProperties": false, "allOf": []}"#).is_ok());
        for (schema, rule) in [
            ("{", "is not JSON"),
            (r#"{"additionalProperties": false}"#, r#""type": "object""#),
            (r#"{"type": "object"}"#, "additionalProperties"),
            (r#"{"type": "object", "additionalProperties": true}"#, "additionalProperties"),
        ] {
            assert!(input(schema).is_err_and(|broken| broken.rule().contains(rule)), "{schema}");
        }
        assert!(input(&" ".repeat(256 * 1024 + 1)).is_err_and(|broken| broken.rule().contains("256 KiB")));
    }

    #[test]
    fn a_schema_names_members_and_members_of_members() {
        let schema = serde_json::json!({"properties": {
            "query": {"properties": {"a/b": {"type": "string"}}}, "any": {"$ref": "#/$defs/x"}, "body": {"type": ["object", "null"]},
        }});
        for pointer in ["", "/query", "/query/a~1b", "/any/thing", "/body/page"] {
            assert!(names(&schema, pointer), "{pointer}");
        }
        for pointer in ["/other", "/query/a", "/query/a~1b/c"] {
            assert!(!names(&schema, pointer), "{pointer}");
        }
    }

    #[test]
    fn an_example_has_the_named_and_the_required_members() {
        let schema = serde_json::json!({"properties": {"a": {}, "b": {}}, "required": ["a"]});
        assert!(example(&schema, r#"{"a": 1}"#).is_ok());
        assert!(example(&schema, r#"{"b": 1}"#).is_err_and(|broken| broken.rule().contains("lacks `a`")));
        assert!(example(&schema, r#"{"a": 1, "c": 1}"#).is_err_and(|broken| broken.rule().contains("has `c`")));
        assert!(example(&schema, "[]").is_err() && example(&schema, "{").is_err());
    }
}
