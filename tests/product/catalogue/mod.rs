//! The catalogue of operations, `tests/catalogue.yaml`, and the product's connectors compared with it.
//!
//! The comparison uses the answers of a running gateway, so it covers what callers see. It does not cover two keys of
//! the catalogue: the calls to the upstream, which the tests of each connector cover, and the rate limits, which
//! [`rate_limits`](crate::rate_limits) covers.

mod comparison;
mod readme;
mod schema;

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use self::comparison::Comparison;

/// Differences that exist, and why they are accepted.
const ACCEPTED: [(&str, &str); 2] = [
    (
        "hr_platform/userinfo: summary is \"The connected HR user with employee and roles\", in the catalogue \
         \"The connected HR user with employee and roles, in the exact shape of the reference\"",
        "a caller does not know the reference",
    ),
    (
        "code_hosting/update_issue: field `milestone` has description absent, in the catalogue \"null removes it\"",
        "the connector does not document it yet",
    ),
];

/// The connectors of the catalogue.
pub(crate) fn connectors() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue.yaml");
    let catalogue: Value = serde_norway::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    catalogue["connectors"].as_array().unwrap().clone()
}

/// The operations of a connector of the catalogue.
pub(crate) fn operations(connector: &Value) -> Vec<&Value> {
    let lists = ["operations", "extra_operations"].into_iter().filter_map(|list| connector[list].as_array());
    lists.flatten().collect()
}

/// The example of an operation without the members of the envelope, which manifests do not contain.
pub(crate) fn example(operation: &Value) -> Value {
    let mut example = operation["example"].as_object().cloned().unwrap_or_default();
    example.retain(|name, _| !name.starts_with("response_"));
    Value::Object(example)
}

/// The fields of an operation, in the catalogue's order.
fn fields(operation: &Value) -> Map<String, Value> {
    operation["fields"].as_object().cloned().unwrap_or_default()
}

/// A member that is text.
fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}"))
}

#[test]
fn every_connector_of_the_catalogue_is_shipped() {
    let mut expected: Vec<String> = connectors().iter().map(|connector| text(connector, "id").to_owned()).collect();
    expected.sort_unstable();
    assert_eq!(support::module::shipped_names(), expected);
}

#[test]
fn every_shipped_connector_is_as_the_catalogue_says() {
    let connectors = connectors();
    let differences = Comparison::start(&connectors).differences();
    let accepted = ACCEPTED.map(|(difference, _)| difference);
    let unexpected: Vec<&String> = differences.iter().filter(|found| !accepted.contains(&found.as_str())).collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    for difference in accepted {
        assert!(differences.iter().any(|found| found == difference), "no longer different, remove it: {difference}");
    }
}
