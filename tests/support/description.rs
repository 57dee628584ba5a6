//! The description of the API, `GET /openapi.json`.

use serde_json::Value;

/// Members that the gateway adds to operations.
const OF_GATEWAY: [&str; 4] = ["response_fields", "response_filters", "waiting", "callback_urls"];

/// The document with the schemas of its component in place of the references to them, which is how
/// tests read it.
///
/// # Panics
/// When a reference leads nowhere.
pub fn inlined(mut document: Value) -> Value {
    let components = document["components"].clone();
    for part in ["paths", "webhooks"] {
        resolve(&mut document[part], &components);
    }
    document
}

fn resolve(value: &mut Value, components: &Value) {
    let reference = value.get("$ref").and_then(Value::as_str);
    if let Some(pointer) = reference.and_then(|reference| reference.strip_prefix("#/components")) {
        if pointer.starts_with("/schemas/") {
            *value = components.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is not there")).clone();
            resolve(value, components);
        }
        return;
    }
    match value {
        Value::Object(members) => members.values_mut().for_each(|member| resolve(member, components)),
        Value::Array(items) => items.iter_mut().for_each(|item| resolve(item, components)),
        _ => {}
    }
}

/// The operations of connectors, each by its connector and path, with the schema of its body.
pub fn operations(document: &Value) -> impl Iterator<Item = (&str, &Value)> {
    document["paths"].as_object().into_iter().flatten().filter_map(|(path, item)| {
        let name = path.strip_prefix("/connectors/")?;
        let operation = &item["post"];
        let is_of_connector = operation["tags"][0] == *name.split('/').next()?;
        is_of_connector.then(|| (name, &operation["requestBody"]["content"]["application/json"]["schema"]))
    })
}

/// The places of the members of operations without a description.
pub fn undescribed(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    operations(document).for_each(|(name, schema)| find_undescribed(document, name, schema, &mut found));
    found
}

/// The schema that a schema of a document refers to, or the schema itself.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let referred = schema["$ref"].as_str().and_then(|name| document.pointer(name.strip_prefix('#')?));
    referred.unwrap_or(schema)
}

fn find_undescribed(document: &Value, at: &str, schema: &Value, found: &mut Vec<String>) {
    let schema = resolved(document, schema);
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{at}/{name}");
        if OF_GATEWAY.contains(&name.as_str()) {
            continue;
        }
        let referred = resolved(document, member);
        let has_description = |schema: &Value| schema["description"].as_str().is_some_and(|text| !text.is_empty());
        if !has_description(member) && !has_description(referred) {
            found.push(place.clone());
        }
        find_undescribed(document, &place, referred, found);
    }
    if schema["items"].is_object() {
        find_undescribed(document, &format!("{at}/items"), &schema["items"], found);
    }
}
