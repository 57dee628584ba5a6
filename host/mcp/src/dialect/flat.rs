//! A schema without `allOf`, `anyOf` and `oneOf`: one object of keywords, which allows whatever the
//! schema allows.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// A keyword of this module: the values that some of the alternatives list, while others take any.
pub(super) const USUAL: &str = "x-usual";

/// A keyword of this module: the schema has rules that the keywords do not express.
pub(super) const FURTHER: &str = "x-further";

/// Keywords that are merged one by one.
const MERGED: [&str; 8] =
    ["type", "enum", "properties", "required", "additionalProperties", "items", "description", USUAL];

/// The keywords of a schema. Of alternatives, those count that have a type of `wanted`.
pub(super) fn flat(schema: &Value, wanted: Option<&[String]>) -> Map<String, Value> {
    let Some(object) = schema.as_object() else {
        // The schema `true` has no rules. Nothing is valid for `false`.
        let rules = (schema == &Value::Bool(false)).then(|| (FURTHER.to_owned(), Value::Bool(true)));
        return rules.into_iter().collect();
    };
    let mut merged: Map<String, Value> = object.clone();
    for key in ["allOf", "anyOf", "oneOf"] {
        merged.remove(key);
    }
    if let Some(Value::String(name)) = merged.get("type") {
        let names = json!([name]);
        merged.insert("type".to_owned(), names);
    }
    if let Some(value) = merged.remove("const") {
        merged = and(merged, Map::from_iter([("enum".to_owned(), json!([value]))]));
    }
    for part in parts(object, "allOf") {
        let wanted = types_of(&merged);
        merged = and(merged, flat(part, wanted.as_deref()));
    }
    for key in ["anyOf", "oneOf"] {
        if parts(object, key).next().is_some() {
            let own = types_of(&merged);
            let alternatives = or(parts(object, key), own.as_deref().or(wanted));
            merged = and(merged, alternatives);
        }
    }
    merged
}

fn parts<'a>(schema: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// The types that a flat schema names. `None` if it names none.
pub(super) fn types_of(flat: &Map<String, Value>) -> Option<Vec<String>> {
    let names = flat.get("type")?.as_array()?;
    Some(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// The type of a value.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A schema for values that are valid for both.
fn and(mut one: Map<String, Value>, other: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in other {
        let Some(known) = one.get_mut(&key) else {
            one.insert(key, value);
            continue;
        };
        match (key.as_str(), known, value) {
            ("type", Value::Array(known), Value::Array(value)) => {
                let common: Vec<Value> = known.iter().filter_map(|name| common_type(name, &value)).collect();
                // If no value is valid, any type is as good as another.
                if !common.is_empty() {
                    *known = common;
                }
            }
            ("enum", Value::Array(known), Value::Array(value)) if known.iter().any(|each| value.contains(each)) => {
                known.retain(|each| value.contains(each));
            }
            ("required", Value::Array(known), Value::Array(value)) => {
                for name in value {
                    if !known.contains(&name) {
                        known.push(name);
                    }
                }
            }
            ("properties", Value::Object(known), Value::Object(value)) => {
                for (name, property) in value {
                    let both = match known.get(&name) {
                        Some(known) if *known != property => json!({"allOf": [known, property]}),
                        _ => property,
                    };
                    known.insert(name, both);
                }
            }
            ("items", known, value) if *known != value => *known = json!({"allOf": [known, value]}),
            ("additionalProperties", known, Value::Bool(false)) => *known = Value::Bool(false),
            ("enum" | "items" | "additionalProperties" | "description", ..) => {}
            (_, known, value) if *known != value => {
                one.insert(FURTHER.to_owned(), Value::Bool(true));
            }
            _ => {}
        }
    }
    one
}

/// The type that a name and a list of names have in common.
fn common_type(name: &Value, names: &[Value]) -> Option<Value> {
    match name.as_str() {
        _ if names.contains(name) => Some(name.clone()),
        Some("number") if names.contains(&json!("integer")) => Some(json!("integer")),
        Some("integer") if names.contains(&json!("number")) => Some(name.clone()),
        _ => None,
    }
}

/// A schema for values that are valid for one of the alternatives. The type that comes first is the
/// one that is chosen: the first of `wanted` that an alternative has.
fn or<'a>(alternatives: impl Iterator<Item = &'a Value>, wanted: Option<&[String]>) -> Map<String, Value> {
    let all: Vec<Map<String, Value>> = alternatives.map(|each| flat(each, wanted)).collect();
    let mut types: Vec<String> = Vec::new();
    for name in all.iter().filter_map(types_of).flatten() {
        if !types.contains(&name) {
            types.push(name);
        }
    }
    let chosen = match wanted {
        Some(wanted) => wanted.iter().find(|name| types.contains(name)),
        None => types.iter().find(|name| *name != "null"),
    };
    let chosen = chosen.cloned();
    types.sort_by_key(|name| Some(name) != chosen.as_ref());
    let mut merged = Map::new();
    if all.iter().all(|each| each.contains_key("type")) {
        merged.insert("type".to_owned(), json!(types));
    }
    let may_be = |name: &str| -> Vec<&Map<String, Value>> {
        all.iter().filter(|each| types_of(each).is_none_or(|types| types.iter().any(|each| each == name))).collect()
    };
    let fitting = chosen.as_deref().map_or_else(|| all.iter().collect(), may_be);
    values(&fitting, &may_be("string"), &mut merged);
    members(&may_be("object"), &mut merged);
    let lists = may_be("array");
    if let Some(items) = either(&lists.iter().map(|each| each.get("items")).collect::<Vec<_>>()) {
        merged.insert("items".to_owned(), items);
    }
    if let Some(description) = fitting.iter().find_map(|each| each.get("description")) {
        merged.insert("description".to_owned(), description.clone());
    }
    match fitting.as_slice() {
        [only] => {
            for (key, value) in only.iter().filter(|(key, _)| !MERGED.contains(&key.as_str())) {
                merged.insert(key.clone(), value.clone());
            }
        }
        several => {
            let is_plain = |key: &String| ["type", "enum", "description"].contains(&key.as_str());
            if !several.iter().all(|each| each.keys().all(is_plain)) {
                merged.insert(FURTHER.to_owned(), Value::Bool(true));
            }
        }
    }
    merged
}

/// The values of the alternatives that have the chosen type. A string of the schema is one of the
/// values only if the alternatives that may be strings list values, too.
fn values(fitting: &[&Map<String, Value>], strings: &[&Map<String, Value>], merged: &mut Map<String, Value>) {
    let all = fitting.iter().chain(strings);
    let lists: Vec<Option<&Vec<Value>>> = all.map(|each| each.get("enum").and_then(Value::as_array)).collect();
    let mut values: Vec<Value> = Vec::new();
    for value in lists.iter().flatten().copied().flatten() {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    if !values.is_empty() {
        let key = if lists.iter().all(Option::is_some) { "enum" } else { USUAL };
        merged.insert(key.to_owned(), Value::Array(values));
    }
}

/// The members of all alternatives.
fn members(alternatives: &[&Map<String, Value>], merged: &mut Map<String, Value>) {
    let mut names: Vec<&String> = Vec::new();
    for name in alternatives.iter().filter_map(|each| each.get("properties")?.as_object()).flat_map(Map::keys) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let all: Map<String, Value> = names
        .into_iter()
        .filter_map(|name| {
            // An alternative that is closed does not have the members that it does not name.
            let having = alternatives
                .iter()
                .map(|each| (each, each.get("properties").and_then(|members| members.get(name))))
                .filter(|(each, property)| property.is_some() || !is_closed(each));
            let property = either(&having.map(|(_, property)| property).collect::<Vec<_>>())?;
            Some((name.clone(), property))
        })
        .collect();
    if !all.is_empty() {
        merged.insert("properties".to_owned(), Value::Object(all));
    }
    if !alternatives.is_empty() && alternatives.iter().all(|each| is_closed(each)) {
        merged.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    let mut required = alternatives
        .iter()
        .map(|each| -> BTreeSet<&str> { parts(each, "required").filter_map(Value::as_str).collect() });
    let first = required.next().unwrap_or_default();
    let common = required.fold(first, |common, next| common.intersection(&next).copied().collect());
    if !common.is_empty() {
        merged.insert("required".to_owned(), json!(common));
    }
}

/// Returns `true` if an object has no members but those that the schema names.
pub(super) fn is_closed(flat: &Map<String, Value>) -> bool {
    flat.get("additionalProperties") == Some(&Value::Bool(false)) && !flat.contains_key("patternProperties")
}

/// A schema of a part, which alternatives declare or leave open. `None` if none declares it.
fn either(declared: &[Option<&Value>]) -> Option<Value> {
    let mut schemas: Vec<&Value> = Vec::new();
    for schema in declared.iter().flatten() {
        if !schemas.contains(schema) {
            schemas.push(schema);
        }
    }
    let schema = match schemas.as_slice() {
        [] => return None,
        [only] => (*only).clone(),
        several => json!({"anyOf": several}),
    };
    Some(if declared.iter().any(|each| each.is_none()) { loosened(&schema) } else { schema })
}

/// A schema that names types and members, and has no rules about them.
fn loosened(schema: &Value) -> Value {
    let Some(object) = schema.as_object() else { return schema.clone() };
    let loosen_all = |value: &Value| match value {
        Value::Object(parts) => parts.iter().map(|(name, part)| (name.clone(), loosened(part))).collect(),
        Value::Array(parts) => parts.iter().map(loosened).collect(),
        other => other.clone(),
    };
    let mut loose = Map::new();
    for (key, value) in object {
        match key.as_str() {
            "type" | "description" => loose.insert(key.clone(), value.clone()),
            "enum" => loose.insert(USUAL.to_owned(), value.clone()),
            "const" => loose.insert(USUAL.to_owned(), json!([value])),
            "items" => loose.insert(key.clone(), loosened(value)),
            "properties" | "allOf" | "anyOf" | "oneOf" => loose.insert(key.clone(), loosen_all(value)),
            _ => None,
        };
    }
    Value::Object(loose)
}
