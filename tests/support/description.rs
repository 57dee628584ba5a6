//! The description of the API, `GET /openapi.json`.

use serde_json::Value;

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
