//! The inputs of an operation: the example of its row, and generated ones that its schema accepts.

use serde_json::{Map, Value, json};

use super::project::{Project, Row};
use super::world::World;
use crate::generator::{Direction, Generator};

/// Number of generated inputs of an operation. Each optional field is in one of them at least.
const GENERATED: usize = 5;

/// Members of every request body that are for the gateway alone.
const ENVELOPE: [&str; 2] = ["response_fields", "response_filters"];

pub(super) fn inputs(project: &Project, row: &Row, world: &World) -> Vec<Value> {
    let mut schema = prepared(world.schema(project, &row.name));
    for name in ENVELOPE {
        schema["properties"].as_object_mut().map(|members| members.shift_remove(name));
    }
    for name in &row.headers {
        let header = &mut schema["properties"][name];
        // Characters outside of ASCII do not arrive everywhere.
        if header["type"] == "string" && ["pattern", "enum", "format"].iter().all(|key| header[key].is_null()) {
            header["pattern"] = json!("^[A-Za-z0-9=./;-]{1,20}$");
        }
    }
    let mut generator = Generator::new(&format!("{}/{}", project.identifier, row.name), Direction::Request);
    (0..GENERATED).map(|number| generator.value(&demanding(&schema, number), &schema)).collect()
}

/// The schema with a fixed file in place of the schema of files, and without null: a field that is
/// null is sent as if it were absent, or as the document says.
fn prepared(schema: &Value) -> Value {
    match schema {
        Value::Object(members)
            if members.get("properties").is_some_and(|inner| inner["content_base64"].is_object()) =>
        {
            json!({"enum": [{"file_name": "a.txt", "content_type": "text/plain", "content_base64": "Y29udGVudA=="}]})
        }
        Value::Object(members) => {
            let mut members: Map<String, Value> =
                members.iter().map(|(name, value)| (name.clone(), prepared(value))).collect();
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|one| one != "null");
            }
            if let Some(Value::Array(values)) = members.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            Value::Object(members)
        }
        Value::Array(items) => items.iter().map(prepared).collect(),
        other => other.clone(),
    }
}

/// The schema of the input with this number, which requires a part of the optional fields.
fn demanding(schema: &Value, number: usize) -> Value {
    let mut schema = schema.clone();
    let names = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone());
    let due: Vec<Value> =
        names.enumerate().filter(|(position, _)| position % GENERATED == number).map(|(_, name)| json!(name)).collect();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    schema["required"] = required.into_iter().chain(due).collect();
    schema
}
