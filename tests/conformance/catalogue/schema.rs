//! The JSON Schema that a field of the catalogue must have in the description of the API.

use serde_json::{Map, Value, json};

/// The schema of an entry of an object whose entries are optional parameters of the upstream.
/// `allowed` is the list of its values, or null if any scalar is accepted.
fn entry(allowed: &Value) -> Value {
    if allowed.is_array() {
        return json!({"enum": values(allowed, true)});
    }
    json!({
        "type": ["string", "number", "boolean", "array", "null"],
        "items": {"type": ["string", "number", "boolean"]},
    })
}

/// The pattern of a date format that the catalogue writes out; `None` if a pattern cannot express
/// the format.
fn date_pattern(format: &str) -> Option<&'static str> {
    match format {
        "YYYY-MM-DD" => Some("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
        "YYYY-MM-DDTHH:MM:SSZ" => Some("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"),
        _ => None,
    }
}

/// The expected schema of a field of a connector.
///
/// # Panics
/// When the field has a key that this function does not know, so that no key of the catalogue is
/// overlooked.
pub(super) fn expected(connector: &Value, field: &Value) -> Map<String, Value> {
    let optional = field["required"] != true;
    let mut schema = Map::new();
    for (key, value) in field.as_object().expect("a field is an object") {
        match key.as_str() {
            "type" => drop(schema.insert("type".to_owned(), types(value, optional))),
            "enum" => drop(schema.insert("enum".to_owned(), values(value, optional))),
            "enum_ref" => drop(schema.insert("enum".to_owned(), values(&connector[value.as_str().unwrap()], optional))),
            "items" => items(&mut schema)["type"] = value.clone(),
            "item_pattern" => items(&mut schema)["pattern"] = value.clone(),
            "format" => format(&mut schema, field, value.as_str().unwrap()),
            "names" => {
                let names = value.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                // A header is text.
                let text = (field["in"] == "header").then(|| json!({"type": ["string", "null"]}));
                let entry = |name| text.clone().unwrap_or_else(|| entry(&field["values"][name]));
                let entries = names.map(|name| (name.to_owned(), entry(name)));
                schema.insert("properties".to_owned(), Value::Object(entries.collect()));
                schema.insert("additionalProperties".to_owned(), json!(false));
            }
            "default" | "description" | "minimum" | "maximum" | "pattern" => {
                schema.insert(key.clone(), value.clone());
            }
            "min_length" | "max_length" | "min_items" | "max_items" => {
                let (bound, of) = key.split_once('_').unwrap();
                let of = if of == "length" { "Length" } else { "Items" };
                schema.insert(format!("{bound}{of}"), value.clone());
            }
            "secret" => drop(schema.insert("writeOnly".to_owned(), value.clone())),
            // A schema counts characters, and the connector counts bytes.
            "max_bytes" if field["type"] == "string" => drop(schema.insert("maxLength".to_owned(), value.clone())),
            // Only the connector can count the bytes of an object. Its tests cover that.
            "max_bytes" => {}
            "forbidden" => {
                let names = value.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                let refused = names.map(|name| (name.to_owned(), json!({"not": {}})));
                schema.insert("properties".to_owned(), Value::Object(refused.collect()));
                schema.insert("additionalProperties".to_owned(), json!(true));
            }
            // The entries of `names` have them.
            "values" => {}
            // These say how the value goes to the upstream. The tests of the connectors cover that.
            "required" | "in" | "upstream_name" | "upstream_alias" | "join" | "send_default" | "encoding"
            | "schema" => {}
            // The connector's tests cover it: the type of the field has null in any case.
            "nullable" => assert!(optional, "a nullable field is optional: {field}"),
            other => panic!("how does `{other}` of {field} appear in a JSON Schema? Say it here"),
        }
    }
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        say_free(items);
    }
    say_free(&mut schema);
    schema
}

/// A free object says so, because some generators of clients give it no members otherwise.
fn say_free(schema: &mut Map<String, Value>) {
    let is_object = match &schema.get("type") {
        Some(Value::Array(types)) => types.contains(&json!("object")),
        Some(one) => **one == json!("object"),
        None => false,
    };
    if is_object && !schema.contains_key("properties") {
        schema.entry("additionalProperties").or_insert(json!(true));
    }
}

/// One type or several, with null if the field is optional.
fn types(value: &Value, optional: bool) -> Value {
    let mut types = match value {
        Value::Array(types) => types.clone(),
        one => vec![one.clone()],
    };
    if optional {
        types.push(json!("null"));
    }
    if types.len() == 1 { types.remove(0) } else { types.into() }
}

/// The accepted values, with null if the field is optional.
fn values(value: &Value, optional: bool) -> Value {
    let mut values = value.as_array().expect("a list of values").clone();
    if optional {
        values.push(Value::Null);
    }
    values.into()
}

/// The schema of the field's items.
fn items(schema: &mut Map<String, Value>) -> &mut Value {
    schema.entry("items").or_insert_with(|| json!({}))
}

/// A format is one of JSON Schema's, of the items if the field is a list; or it is a date format. A
/// date format is a pattern, and its text is the description of a field that has no other.
fn format(schema: &mut Map<String, Value>, field: &Value, format: &str) {
    if matches!(format, "uri" | "date-time") {
        match &field["type"] {
            list if list == "array" => items(schema)["format"] = json!(format),
            _ => drop(schema.insert("format".to_owned(), json!(format))),
        }
        return;
    }
    if let Some(pattern) = date_pattern(format) {
        schema.insert("pattern".to_owned(), json!(pattern));
    }
    if field["description"].is_null() {
        schema.insert("description".to_owned(), json!(format));
    }
}

/// Returns `true` if a schema of strings accepts the empty string.
pub(super) fn accepts_empty(schema: &Map<String, Value>) -> bool {
    let is_string = schema.get("type").is_some_and(|types| *types == "string" || *types == json!(["string", "null"]));
    is_string && ["minLength", "pattern", "enum"].iter().all(|bound| !schema.contains_key(*bound))
}

/// Removes the descriptions of entries. The catalogue does not write them down.
pub(super) fn without_descriptions_of_entries(mut schema: Map<String, Value>) -> Map<String, Value> {
    let entries = schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten();
    for (_, entry) in entries {
        if let Value::Object(keywords) = entry {
            keywords.shift_remove("description");
        }
    }
    schema
}

/// Removes the requirement that a part of a path is not empty. The catalogue does not write it
/// down, because every part of a path has it.
pub(super) fn without_path_rules(field: &Value, mut schema: Map<String, Value>) -> Map<String, Value> {
    if field["in"] == "path" {
        schema.retain(|name, value| !(matches!(name.as_str(), "minLength" | "minItems") && *value == 1));
    }
    schema
}
