//! The dialect of the schemas of tools: what every model and every client takes.
//!
//! Providers of models and editors refuse different parts of JSON Schema, and some refuse a whole
//! list of tools for one part of one schema. So a schema in the dialect has one `type` and no other
//! keyword than [`KEYWORDS`]. Rules that these keywords cannot express are in the description, in
//! words. The gateway validates arguments by the schema of the operation, not by this one.
//!
//! `tests/product/mcp/dialects.rs` has the rules of each client with their sources.
//!
//! - this file: a schema in the dialect
//! - [`mod@flat`]: a schema without `allOf`, `anyOf` and `oneOf`
//! - [`words`]: rules in words

mod flat;
mod words;

use serde_json::{Map, Value, json};

use self::flat::{flat, is_closed, types_of};
use contract_rules::schema::NULLABLE;

/// The keywords of a schema in the dialect.
pub const KEYWORDS: [&str; 7] =
    ["type", "description", "enum", "properties", "required", "additionalProperties", "items"];

/// The most values of an `enum`. OpenAI takes no more if they are long.
const MAX_VALUES: usize = 250;

/// A schema in the dialect. References must be resolved before.
pub fn simplified(schema: &Value) -> Value {
    simplified_at(schema, false)
}

/// The types that the schema of an object allows for each member, without `null`. A member that may
/// be anything has no types.
pub fn types_of_members(schema: &Value) -> Vec<(String, Vec<String>)> {
    let flat = flat(schema, None);
    let properties = flat.get("properties").and_then(Value::as_object).into_iter().flatten();
    let types = |property: &Value| {
        let mut types = types_of(&flat::flat(property, None)).unwrap_or_default();
        types.retain(|name| name != "null");
        types
    };
    properties.map(|(name, property)| (name.clone(), types(property))).collect()
}

/// As [`simplified`]. With `tells_null`, the description says that null is allowed. For an optional
/// member, null means that the member is absent, so nothing is said.
fn simplified_at(schema: &Value, tells_null: bool) -> Value {
    let flat = flat(schema, None);
    let mut allowed = types_of(&flat).unwrap_or_default();
    let has_null = allowed.iter().any(|name| name == "null");
    allowed.retain(|name| name != "null");
    let chosen = chosen_type(&flat, &allowed);
    let mut said = Vec::new();
    if let Some(others) = words::other_types(&chosen, &allowed, &flat) {
        said.push(others);
    }
    if has_null && (tells_null || flat.get(NULLABLE) == Some(&Value::Bool(true))) {
        said.push("or null".to_owned());
    }
    let mut plain = Map::from_iter([("type".to_owned(), Value::from(chosen.as_str()))]);
    match chosen.as_str() {
        "object" => object(&flat, &mut plain, &mut said),
        "array" => {
            let items = flat.get("items").cloned().or_else(|| Some(json!({"anyOf": flat.get("prefixItems")?})));
            plain.insert("items".to_owned(), simplified_at(&items.unwrap_or_default(), true));
        }
        "string" => {
            if let Some(values) = values(&flat) {
                plain.insert("enum".to_owned(), values);
            }
        }
        _ => {}
    }
    said.extend(words::rules(&chosen, &flat, plain.contains_key("enum")));
    let described = flat.get("description").and_then(Value::as_str).unwrap_or_default();
    let description = words::joined(described, &said);
    if !description.is_empty() {
        plain.insert("description".to_owned(), description.into());
    }
    Value::Object(plain)
}

/// The one type for a schema that allows several.
fn chosen_type(flat: &Map<String, Value>, allowed: &[String]) -> String {
    match allowed {
        [only] => only.clone(),
        // A list of one item says the same as the item alone.
        [one, other] if words::is_one_or_several(one, other, flat) => "array".to_owned(),
        [first, ..] => first.clone(),
        [] if flat.contains_key("properties") => "object".to_owned(),
        [] if flat.contains_key("items") || flat.contains_key("prefixItems") => "array".to_owned(),
        [] => {
            let values = flat.get("enum").and_then(Value::as_array);
            let first = values.and_then(|values| values.iter().find(|value| !value.is_null()));
            first.map_or("string", flat::type_of).to_owned()
        }
    }
}

/// The values of a string. `None` if a client refuses one of them, or their number.
fn values(flat: &Map<String, Value>) -> Option<Value> {
    let mut values = flat.get("enum")?.as_array()?.clone();
    values.retain(Value::is_string);
    let are_taken = (1..=MAX_VALUES).contains(&values.len()) && values.iter().all(|value| value != "");
    are_taken.then_some(Value::Array(values))
}

/// The keywords of an object.
fn object(flat: &Map<String, Value>, plain: &mut Map<String, Value>, said: &mut Vec<String>) {
    let mut properties = flat.get("properties").and_then(Value::as_object).cloned();
    properties.iter_mut().for_each(|properties| properties.retain(|_, property| !is_never_valid(property)));
    let is_known = |name: &str| properties.as_ref().is_some_and(|properties| properties.contains_key(name));
    let required = flat.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let (required, unknown): (Vec<&str>, Vec<&str>) = required.partition(|name| is_known(name));
    said.extend(unknown.iter().map(|name| format!("`{name}` is required")));
    if let Some(properties) = properties.as_ref().filter(|properties| !properties.is_empty()) {
        let members = properties.iter().map(|(name, property)| {
            let is_required = required.contains(&name.as_str());
            (name.clone(), simplified_at(property, is_required))
        });
        plain.insert("properties".to_owned(), Value::Object(members.collect()));
    }
    if !required.is_empty() {
        plain.insert("required".to_owned(), json!(required));
    }
    if is_closed(flat) {
        plain.insert("additionalProperties".to_owned(), false.into());
    }
}

/// Returns `true` for the schema of a member that an object never has.
fn is_never_valid(schema: &Value) -> bool {
    *schema == Value::Bool(false) || *schema == json!({"not": {}}) || *schema == json!({"not": true})
}

#[cfg(test)]
mod tests;
