//! The files of `host/deploy` and `host/docs/operations`, with which operators deploy and watch a
//! gateway.

mod rules;
mod runbooks;
pub(crate) mod shipping;
mod three_gateways;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use support::module;

/// The folder of the alert rules, the dashboard and the pages of the alerts.
fn folder() -> PathBuf {
    module::root().join("host/docs/operations").canonicalize().unwrap()
}

fn text(file: &str) -> String {
    fs::read_to_string(folder().join(file)).unwrap()
}

/// A file in YAML or JSON.
fn document(file: &str) -> Value {
    yaml_serde::from_str(&text(file)).unwrap()
}

/// The alert rules.
fn alerts() -> Vec<Value> {
    let rules = document("gateway.rules.yaml");
    let groups = rules["groups"].as_array().unwrap().iter();
    groups.flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

/// The names of the alerts.
fn names() -> BTreeSet<String> {
    alerts().iter().map(|alert| alert["alert"].as_str().unwrap().to_owned()).collect()
}
