//! The rules of shaping, one test for each.
//!
//! - `documents`: documents that are accepted and refused
//! - `envelope`: the members `response_fields` and `response_filters`
//! - `fields`: the effects of `response_fields`
//! - `filters`: the effects of `response_filters`
//! - `model`: a simple implementation of the same rules
//! - `properties`: random documents, compared with the model and with serde_json
//! - `unmatched`: fields that led nowhere

mod documents;
mod envelope;
mod fields;
mod filters;
mod model;
mod properties;
mod unmatched;

use serde_json::{Value, json};

use super::{Shape, ShapeError, Violation};

fn shape(fields: &[&str], filters: &Value) -> Shape {
    from_values(Some(&json!(fields)), Some(filters)).expect("the envelope is valid")
}

fn from_values(fields: Option<&Value>, filters: Option<&Value>) -> Result<Shape, Vec<Violation>> {
    let raw = |value: &Value| serde_json::value::to_raw_value(value).unwrap();
    let (fields, filters) = (fields.map(raw), filters.map(raw));
    Shape::from_members(fields.as_deref(), filters.as_deref())
}

fn apply(shape: &Shape, document: &str) -> String {
    String::from_utf8(shape.apply(document.as_bytes()).expect("the document is valid")).unwrap()
}

/// Applies a shape that projects, and one that changes nothing. Both must agree on the validity of
/// the document.
fn apply_to_bytes(document: &[u8]) -> Result<Vec<u8>, ShapeError> {
    let shapes = [shape(&["a.b"], &Value::Null), shape(&[], &Value::Null)];
    let [projected, unchanged] = shapes.map(|shape| shape.apply(document));
    assert_eq!(projected.as_ref().err(), unchanged.as_ref().err(), "validity does not depend on the shape");
    projected
}
