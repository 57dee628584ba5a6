//! Small documents and their tables.

mod answer;
mod document;
mod operation;
mod schema;

use serde_json::{Value, json};

use super::*;

/// A document with these paths.
fn document(paths: &Value) -> String {
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Pet\nShop", "description": "Pets.\n\nMore."},
        "servers": [{"url": "https://pets.example/v2/"}],
        "paths": paths,
        "components": {
            "schemas": {
                "Tree": {"type": "object", "properties": {"leaf": {"type": "string"}, "left": {"$ref": "#/components/schemas/Tree"}}},
                "Named": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
            },
        },
    })
    .to_string()
}

#[track_caller]
fn converted(text: &str) -> Converted {
    convert(text, "pets", &[], None, |_| true).unwrap()
}

/// The rows of a document with one operation, `POST /x`, with this content.
#[track_caller]
fn row(operation: Value) -> (String, Vec<String>) {
    let converted = converted(&document(&json!({"/x": {"post": operation}})));
    let (_, row) = converted.table.split_once("post_x: ").unwrap();
    (row.to_owned(), converted.left_out)
}

/// The field of a body with one member, `m`, and what was left out.
#[track_caller]
fn member(schema: Value) -> (String, Vec<String>) {
    let schema = json!({"type": "object", "properties": {"m": schema, "other": {"type": "boolean"}}});
    let (row, left_out) = row(json!({"requestBody": {"content": {"application/json": {"schema": schema}}}}));
    let (_, inside) = row.split_once("{\n").unwrap();
    let (field, _) = inside.split_once("    other?: boolean,\n").unwrap();
    (field.trim().trim_end_matches(',').to_owned(), left_out)
}

/// The field of a schema that is taken whole.
#[track_caller]
fn assert_member(schema: Value, expected: &str) {
    let (field, left_out) = member(schema.clone());
    assert_eq!((field.as_str(), left_out.as_slice()), (expected, [].as_slice()), "{schema}");
}

/// The field of a schema with a part that is left out. The reason contains a word.
#[track_caller]
fn assert_partly(schema: Value, expected: &str, reason: &str) {
    let (field, left_out) = member(schema.clone());
    assert_eq!(field, expected, "{schema}");
    assert!(left_out.len() == 1 && left_out[0].contains(reason), "{reason} in {left_out:?}");
}
