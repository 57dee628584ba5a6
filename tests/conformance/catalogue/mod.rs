//! The catalogue of operations, `tests/catalogue.yaml`, and the product's connectors compared with it.
//!
//! The comparison uses the answers of a running gateway, so it covers what callers see. It does not cover two keys of
//! the catalogue: the calls to the upstream, which the check of the requests covers, and the rate limits, which have tests
//! of their own.

mod comparison;
mod schema;

use serde_json::Value;
use support::catalogue::{connectors, fields, operations, text};

use self::comparison::Comparison;
use crate::table;

const HEAD: [&str; 6] = ["connector", "in the catalogue", "described", "fields", "known differences", "differences"];

/// Differences that exist, and why they are accepted.
const ACCEPTED: [(&str, &str); 1] = [(
    "hr_platform/userinfo: summary is \"The connected HR user with employee and roles\", in the catalogue \
         \"The connected HR user with employee and roles, in the exact shape of the reference\"",
    "a caller does not know the reference",
)];

#[test]
fn every_connector_of_the_catalogue_is_shipped() {
    let mut expected: Vec<String> = connectors().iter().map(|connector| text(connector, "id").to_owned()).collect();
    expected.sort_unstable();
    assert_eq!(support::module::shipped_names(), expected);
}

#[test]
fn every_shipped_connector_is_as_the_catalogue_says() {
    let connectors = connectors();
    let comparison = Comparison::start(&connectors);
    let described: Vec<usize> =
        connectors.iter().map(|connector| comparison.described(text(connector, "id"))).collect();
    let differences = comparison.differences();
    let accepted = ACCEPTED.map(|(difference, _)| difference);
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    for (connector, described) in connectors.iter().zip(described) {
        rows.push(row(connector, described, &differences, &accepted));
    }
    table::print("The description of the API, against the catalogue", &rows);
    let unexpected: Vec<&String> = differences.iter().filter(|found| !accepted.contains(&found.as_str())).collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    for difference in accepted {
        assert!(differences.iter().any(|found| found == difference), "no longer different, remove it: {difference}");
    }
}

/// A connector's row.
fn row(connector: &Value, described: usize, differences: &[String], accepted: &[&str]) -> Vec<String> {
    let id = text(connector, "id");
    let operations = operations(connector);
    let compared: usize = operations.iter().map(|operation| fields(operation).len()).sum();
    let own = |one: &&String| one.strip_prefix(id).is_some_and(|rest| rest.starts_with([':', '/']));
    let found: Vec<&String> = differences.iter().filter(own).collect();
    let known = found.iter().filter(|one| accepted.contains(&one.as_str())).count();
    let counts = [operations.len(), described, compared, known, found.len() - known];
    [id.to_owned()].into_iter().chain(counts.map(|count| count.to_string())).collect()
}
