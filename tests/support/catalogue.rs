//! The catalogue of operations, `tests/catalogue.yaml`.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

/// The only connector whose URLs are all set by the operator, and URLs for it.
pub const CONFIGURED: &str = "[connectors.hr_platform]\nupstreams.api = \"https://hr.example/api\"\n\
    oauth.authorization_url = \"https://hr.example/authorize\"\noauth.token_url = \"https://hr.example/token\"";

/// The connectors of the catalogue.
///
/// # Panics
/// When the catalogue cannot be read.
pub fn connectors() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue.yaml");
    let catalogue: Value = yaml_serde::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    catalogue["connectors"].as_array().unwrap().clone()
}

/// The operations of a connector of the catalogue.
pub fn operations(connector: &Value) -> Vec<&Value> {
    let lists = ["operations", "extra_operations"].into_iter().filter_map(|list| connector[list].as_array());
    lists.flatten().collect()
}

/// The example of an operation without the members of the envelope, which manifests do not contain.
pub fn example(operation: &Value) -> Value {
    let mut example = operation["example"].as_object().cloned().unwrap_or_default();
    example.retain(|name, _| !name.starts_with("response_"));
    Value::Object(example)
}

/// The fields of an operation, in the catalogue's order.
pub fn fields(operation: &Value) -> Map<String, Value> {
    operation["fields"].as_object().cloned().unwrap_or_default()
}

/// A member that is text.
///
/// # Panics
/// When there is no such member, or it is not text.
pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}"))
}
