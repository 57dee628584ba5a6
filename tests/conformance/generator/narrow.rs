//! One schema from two: the schema that the gateway gives to callers, and the provider's own. The
//! gateway passes many things on unseen, for example a whole resource in a body. There only the
//! provider's schema says what is valid.

use serde_json::{Map, Value, json};

/// Keywords of the gateway's schema that replace the same keywords of the provider's schema.
const BOUNDS: [&str; 8] = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "format"];

/// The schema of values that the gateway accepts, and that the provider accepts as far as the
/// gateway's schema says nothing about it. If the two contradict each other, the result is the
/// gateway's schema. Then a request will show the contradiction. References of the provider's
/// schema lead to `$defs` of `root`.
pub(crate) fn narrowed(gateway: &Value, provider: &Value, root: &Value) -> Value {
    let provider = resolved(provider, root);
    if gateway.is_null() {
        return provider.clone();
    }
    if !provider.is_object() {
        return gateway.clone();
    }
    if let Some(alternatives) = provider["anyOf"].as_array() {
        let alternatives = alternatives.iter().map(|one| resolved(one, root));
        let kept: Vec<Value> = alternatives
            .filter(|one| !common_types(gateway, one).is_empty())
            .map(|one| narrowed(gateway, one, root))
            .collect();
        return if kept.is_empty() { gateway.clone() } else { json!({"anyOf": kept}) };
    }
    let mut types = common_types(gateway, provider);
    if types.is_empty() {
        let is_one_item = provider["x-joined"] == true && types_of(gateway).contains(&"string");
        return if is_one_item { narrowed(gateway, &provider["items"], root) } else { gateway.clone() };
    }
    let accepts_null = types_of(gateway).contains(&"null");
    if accepts_null {
        types.push("null");
    }
    if gateway["properties"].is_object() {
        return object(gateway, provider, root);
    }
    let mut schema = provider.clone();
    for bound in BOUNDS.into_iter().filter(|bound| !gateway[bound].is_null()) {
        schema[bound] = gateway[bound].clone();
    }
    if !gateway["pattern"].is_null() {
        // The gateway's pattern is for the form of the text, which the provider's format would
        // replace.
        schema.as_object_mut().map(|members| members.shift_remove("format"));
    }
    schema["type"] = json!(types);
    if let Some(values) = values(gateway, provider, accepts_null) {
        schema["enum"] = values;
    }
    if types.contains(&"array") {
        schema["items"] = narrowed(&gateway["items"], &provider["items"], root);
    }
    schema
}

/// An object with the gateway's members, each narrowed.
fn object(gateway: &Value, provider: &Value, root: &Value) -> Value {
    let mut schema = gateway.clone();
    let members = gateway["properties"].as_object().into_iter().flatten();
    let members: Map<String, Value> =
        members.map(|(name, member)| (name.clone(), narrowed(member, &provider["properties"][name], root))).collect();
    schema["properties"] = Value::Object(members);
    schema
}

/// The values of both schemas' enumerations. `None` if neither has one.
fn values(gateway: &Value, provider: &Value, accepts_null: bool) -> Option<Value> {
    match (gateway["enum"].as_array(), provider["enum"].as_array()) {
        (Some(own), Some(theirs)) => {
            let common: Vec<Value> =
                own.iter().filter(|value| value.is_null() || theirs.contains(value)).cloned().collect();
            Some(if common.iter().all(Value::is_null) { json!(own) } else { json!(common) })
        }
        (Some(own), None) => Some(json!(own)),
        (None, Some(theirs)) if accepts_null => Some(theirs.iter().cloned().chain([Value::Null]).collect()),
        (None, theirs) => theirs.map(|theirs| json!(theirs)),
    }
}

/// The types that both schemas accept, without null.
fn common_types<'a>(gateway: &'a Value, provider: &'a Value) -> Vec<&'a str> {
    let theirs = types_of(provider);
    let mut common = Vec::new();
    for own in types_of(gateway).into_iter().filter(|own| *own != "null") {
        match own {
            own if theirs.contains(&own) => common.push(own),
            "number" if theirs.contains(&"integer") => common.push("integer"),
            "integer" if theirs.contains(&"number") => common.push("integer"),
            _ => {}
        }
    }
    common
}

/// The types that a schema accepts.
fn types_of(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        _ if schema["properties"].is_object() => vec!["object"],
        _ => vec!["string", "integer", "number", "boolean", "array", "object"],
    }
}

/// A schema, or the one that it refers to.
pub(crate) fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(name) => {
            let target = root.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("{name} leads nowhere"));
            resolved(target, root)
        }
        None => schema,
    }
}

#[test]
fn what_the_gateway_leaves_open_is_as_the_provider_says() {
    let entry =
        json!({"type": ["string", "number", "boolean", "array", "null"], "items": {"type": ["string", "number"]}});
    let provider = json!({"type": "integer", "minimum": 1});
    assert_eq!(narrowed(&entry, &provider, &json!({})), json!({"type": ["integer", "null"], "minimum": 1}));
    let root = json!({"$defs": {"Event": {"type": "object", "properties": {"id": {"type": "string"}}}}});
    let body = narrowed(&json!({"type": "object"}), &json!({"$ref": "#/$defs/Event"}), &root);
    assert_eq!(body["properties"], root["$defs"]["Event"]["properties"]);
}

#[test]
fn the_gateways_own_bounds_and_types_are_kept() {
    let provider = json!({"type": "integer", "minimum": 1, "maximum": 100});
    let gateway = json!({"type": "integer", "maximum": 1000});
    assert_eq!(narrowed(&gateway, &provider, &json!({}))["maximum"], 1000);
    let gateway = json!({"type": "boolean"});
    assert_eq!(narrowed(&gateway, &provider, &json!({})), gateway);
}
