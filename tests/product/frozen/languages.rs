//! The components in JavaScript and Python.

use std::fs;

use support::module;

use super::has_everything;

/// A component that `make frozen` builds.
fn built(version: &str, name: &str) -> Vec<u8> {
    let path = module::root().join("target/frozen").join(version).join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; `make frozen` builds it", path.display()))
}

#[test]
#[ignore = "make test-languages"]
fn a_component_in_javascript_for_contract_1_0_runs() {
    has_everything(&built("1.0.0", "javascript.wasm"), "1.0.0");
}

#[test]
#[ignore = "make test-languages"]
fn a_component_in_python_for_contract_1_0_runs() {
    has_everything(&built("1.0.0", "python.wasm"), "1.0.0");
}

#[test]
#[ignore = "make test-languages"]
fn a_component_in_javascript_for_contract_1_1_runs() {
    has_everything(&built("1.1.0", "javascript.wasm"), "1.1.0");
}

#[test]
#[ignore = "make test-languages"]
fn a_component_in_python_for_contract_1_1_runs() {
    has_everything(&built("1.1.0", "python.wasm"), "1.1.0");
}
