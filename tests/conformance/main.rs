//! The conformance of the product's connectors, in two tables, and of tables from documents.
//!
//! The first one is about the requests to upstreams: every operation is called through a running
//! gateway, and every request that reaches the upstream is compared with the provider's own
//! specification. The upstream answers as the specification says, and every answer of the gateway
//! is compared with the schema that the gateway has of it. The specifications are not part of this
//! repository. `SPECS_DIR` names the folder that has them. Without it this test is skipped, and
//! says so.
//!
//! The second one is about what callers see: the description of the API is compared with the
//! catalogue.
//!
//! A third one is about connectors that are made of other people's documents: [`documents`].
//!
//! # Layout
//! - [`specifications`]: the providers' specifications
//! - [`operations`]: the operations of the catalogue with the methods that they may call
//! - [`inputs`]: their inputs, from the [`generator`] and within the [`rules`] of the connectors,
//!   and [`further`] ones
//! - [`lanes`]: the gateways and the calls
//! - [`upstream`]: the recording upstream
//! - [`check`]: the comparison, with [`arrival`] for the values of fields
//! - [`deviations`]: differences that are right
//! - [`report`]: the result
//! - [`answer_types`]: the gateway's answers
//! - [`answers`]: the examples of answers
//! - [`answer_schemas`]: the schemas of answers that the connectors have
//! - [`catalogue`]: the second table
//! - [`failures`]: every operation while its service fails
//! - [`triggers`]: the requests for every type of events
//! - [`table`]: tables on standard output
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod answer_schemas;
mod answer_types;
mod answers;
mod arrival;
mod catalogue;
mod check;
mod check_tests;
mod deviations;
mod documents;
mod failures;
mod further;
mod generator;
mod inputs;
mod lanes;
mod operations;
mod report;
mod rules;
mod specifications;
mod table;
mod triggers;
mod upstream;

use serde_json::{Value, json};
use support::catalogue::{CONFIGURED, connectors, text};
use support::description::inlined;
use support::{Setup, module};

use self::answer_schemas::Samples;
use self::lanes::Lanes;
use self::operations::Connector;
use self::report::report;
use self::rules::RULES;
use self::specifications::Specifications;

/// The description of the API, with the operations of every connector of the product.
fn description() -> Value {
    let home = Setup::new().every_shipped().config(CONFIGURED).prepare();
    inlined(serde_json::from_str(&home.run_ok(&["openapi"])).unwrap())
}

/// The connectors of the product with their operations. `None` without the specifications.
fn all_connectors() -> Option<Vec<Connector>> {
    let Some(folder) = specifications::folder() else {
        table::line(
            "SKIPPED: the specifications of the providers are not here. Set SPECS_DIR to the folder that has them.",
        );
        return None;
    };
    let specifications = Specifications::read(&folder);
    let description = description();
    let shipped = module::shipped_names();
    let connectors: Vec<Connector> = connectors()
        .iter()
        .filter(|connector| shipped.iter().any(|name| name == text(connector, "id")))
        .map(|connector| Connector::new(connector, &description, &specifications))
        .collect();
    Some(connectors)
}

#[test]
fn every_request_is_as_its_specification_says_and_every_answer_as_its_schema_says() {
    let (Some(connectors), Some(folder)) = (all_connectors(), specifications::folder()) else { return };
    let lanes = Lanes::start(&connectors, &Samples::read(&folder), 120);
    let sent = lanes.send_all(&connectors);

    let mut wrong = report(&connectors, &sent);
    wrong.extend(answer_types::wrong(&connectors, &sent, &lanes));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_rules(&lanes, &connectors);
}

#[test]
fn every_example_of_an_answer_is_as_its_specification_says() {
    let Some(connectors) = all_connectors() else { return };
    let wrong = answers::wrong(&connectors, &description());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_answer_schemas_of_every_connector_are_those_of_the_specifications_and_fit_all_samples() {
    let (Some(connectors), Some(folder)) = (all_connectors(), specifications::folder()) else { return };
    let wrong = answer_schemas::wrong(&connectors, &description(), &Samples::read(&folder));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_operation_ends_with_a_problem_while_its_service_fails() {
    let (Some(connectors), Some(folder)) = (all_connectors(), specifications::folder()) else { return };
    let lanes = Lanes::start(&connectors, &Samples::read(&folder), 5);
    let wrong = failures::wrong(&lanes, &connectors);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_request_for_a_type_of_events_is_as_its_specification_says() {
    let (Some(connectors), Some(folder)) = (all_connectors(), specifications::folder()) else { return };
    let wrong = triggers::wrong(&connectors, &Specifications::read(&folder));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that each rule about inputs is still there: an input that breaks it is refused.
fn assert_rules(lanes: &Lanes, connectors: &[Connector]) {
    for rule in RULES {
        let (id, path) = rule.operation.split_once('/').unwrap();
        let Some(connector) = connectors.iter().find(|connector| connector.id == id) else { continue };
        let operation = connector.operations.iter().find(|operation| operation.path == path).unwrap();
        let mut input = operation.inputs[0].clone();
        for (name, value) in (rule.broken)().as_object().unwrap() {
            input[name] = value.clone();
        }
        let answer = lanes.call(id, path, &input).answer;
        assert_eq!(answer.status, 422, "{} {input}: {}", rule.operation, answer.text());
        assert_eq!(answer.json()["type"], json!("urn:connector-gateway:problem:validation"), "{}", rule.operation);
    }
}
