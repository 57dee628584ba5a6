//! JSON Schemas, made from the types of records.

use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use contract_rules::schema::NULLABLE;

/// The schema of a request body, to validate bodies with.
pub fn schema_of_body<T: JsonSchema>() -> Value {
    let mut settings = schema_settings(Contract::Deserialize);
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    for keyword in ["title", "description"] {
        schema.remove(keyword);
    }
    // The handlers check URLs and say more about them. A format would be a second violation.
    RecursiveTransform(|schema: &mut Schema| drop(schema.remove("format"))).transform(&mut schema);
    schema.to_value()
}

/// A generator of schemas for the API's description. Its references lead to the component
/// `schemas`.
pub fn schema_generator(contract: Contract) -> SchemaGenerator {
    schema_settings(contract).with_transform(RecursiveTransform(without_nullable)).into_generator()
}

fn schema_settings(contract: Contract) -> SchemaSettings {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(tidy));
    settings.with(|settings| {
        settings.contract = contract;
        settings.meta_schema = None;
        settings.definitions_path = "/components/schemas".into();
    })
}

/// Removes the mark of members whose null counts, which is no keyword of OpenAPI 3.1.
fn without_nullable(schema: &mut Schema) {
    schema.remove(NULLABLE);
}

/// Writes a schema in the way that tools for OpenAPI understand best.
fn tidy(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    // Some tools know no schemas that are booleans.
    if schema.as_bool() == Some(true) {
        *schema = Schema::default();
    }
    // Names of Rust's integers are no formats of JSON Schema. The bounds say the same.
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
        schema.remove("format");
    }
    // A member that is left out has no value, whatever its type says about null.
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
    // Some generators of clients give a free object no members, unless the schema says that it may
    // have any.
    if schema.get("type").and_then(Value::as_str) == Some("object")
        && ["properties", "additionalProperties", "$ref"].iter().all(|keyword| schema.get(*keyword).is_none())
    {
        schema.insert("additionalProperties".to_owned(), Value::Bool(true));
    }
}
