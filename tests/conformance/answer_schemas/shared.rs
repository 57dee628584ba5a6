//! The text of a file with schemas: parts that are the same are written once, and each schema has a
//! line.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// Shorter parts are written again, because a reference is hardly shorter.
const MIN_CHARACTERS: usize = 60;

/// The text for these schemas.
pub(super) fn text(schemas: &Map<String, Value>) -> String {
    let mut parts = Parts::default();
    for (operation, schema) in schemas {
        parts.find(operation, schema);
    }
    let mut names: HashMap<String, String> = HashMap::new();
    let mut taken: HashMap<&str, usize> = HashMap::new();
    for part in parts.in_order.iter().filter(|part| parts.counts[*part].1 > 1) {
        let name = parts.counts[part].0.as_str();
        let number = taken.entry(name).or_default();
        *number += 1;
        names.insert(part.clone(), if *number == 1 { name.to_owned() } else { format!("{name}{number}") });
    }
    let line = |name: &str, schema: &Value| format!("{}:{schema}", json!(name));
    let mut lines: Vec<String> =
        schemas.iter().map(|(operation, schema)| line(operation, &referring(schema, &names))).collect();
    let named = parts.in_order.iter().filter_map(|part| Some((part, names.get(part)?)));
    let definitions: Vec<String> = named
        .map(|(part, name)| {
            let schema = serde_json::from_str(part).unwrap();
            line(name, &with_parts(&schema, &names))
        })
        .collect();
    if !definitions.is_empty() {
        lines.push(format!("\"$defs\":{{\n{}\n}}", definitions.join(",\n")));
    }
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// The parts that may be shared, in the order in which they are found.
#[derive(Default)]
struct Parts {
    in_order: Vec<String>,
    /// The member where a part was found first, and how often it was found outside of other parts.
    counts: HashMap<String, (String, usize)>,
}

impl Parts {
    fn find(&mut self, name: &str, schema: &Value) {
        if let Some(key) = key(schema) {
            if let Some((_, count)) = self.counts.get_mut(&key) {
                *count += 1;
                return;
            }
            self.counts.insert(key.clone(), (name.to_owned(), 1));
            self.in_order.push(key);
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            self.find(name, member);
        }
        if let Some(items) = schema.get("items") {
            self.find(name, items);
        }
    }
}

/// The text of a part without what differs from place to place. `None` if the part is not shared.
fn key(schema: &Value) -> Option<String> {
    schema.get("properties")?;
    let mut bare = schema.as_object()?.clone();
    bare.shift_remove("description");
    bare.shift_remove("nullable");
    Some(Value::Object(bare).to_string()).filter(|text| text.len() >= MIN_CHARACTERS)
}

/// The schema, or a reference to it.
fn referring(schema: &Value, names: &HashMap<String, String>) -> Value {
    let Some(name) = key(schema).and_then(|key| names.get(&key).cloned()) else { return with_parts(schema, names) };
    let mut reference = json!({"$ref": format!("#/$defs/{name}")});
    for keyword in ["description", "nullable"] {
        if let Some(value) = schema.get(keyword) {
            reference[keyword] = value.clone();
        }
    }
    reference
}

/// The schema with references to the parts inside of it.
fn with_parts(schema: &Value, names: &HashMap<String, String>) -> Value {
    let mut schema = schema.clone();
    for member in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        *member = referring(member, names);
    }
    if let Some(items) = schema.get_mut("items") {
        *items = referring(items, names);
    }
    schema
}

#[test]
fn parts_that_are_the_same_are_written_once() {
    let user = |description: &str| {
        json!({"type": "object", "description": description, "properties": {
            "id": {"type": "integer"}, "name": {"type": "string", "nullable": true}, "mail": {"type": "string"},
        }})
    };
    let other = json!({"type": "object", "properties": {"user": {"type": "object", "properties": {
        "number": {"type": "integer"}, "address": {"type": "string"}, "city": {"type": "string"},
    }}}});
    let schemas = json!({
        "get": user("A user."),
        "list": {"type": "array", "items": user("One.")},
        "other": other, "another": {"type": "array", "items": other},
    });
    let text = text(schemas.as_object().unwrap());
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["get"], json!({"$ref": "#/$defs/get", "description": "A user."}));
    assert_eq!(file["list"], json!({"type": "array", "items": {"$ref": "#/$defs/get", "description": "One."}}));
    assert_eq!(file["another"]["items"], json!({"$ref": "#/$defs/other"}));
    assert_eq!(file["$defs"]["other"], other);
    assert_eq!(text.lines().count(), 10, "{text}");
}
