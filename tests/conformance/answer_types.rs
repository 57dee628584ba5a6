//! The gateway's answers to the calls, against the schemas of answers in its own description.
//!
//! The services answer anything that their specifications allow. So an answer shows where a schema
//! promises more than the service or the connector keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use jsonschema::Validator;
use serde_json::Value;
use support::Answer;

use crate::check::violations;
use crate::lanes::{Lanes, Sent};
use crate::operations::{Connector, Operation};
use crate::table;

const HEAD: [&str; 5] = ["connector", "operations", "with an answer", "answers checked", "differences"];

/// The result for a connector.
#[derive(Default)]
struct Checked {
    answers: usize,
    /// Operations without an answer in JSON.
    unanswered: BTreeSet<String>,
    /// The first difference of each operation and place, as a sentence.
    differences: BTreeMap<(String, String), String>,
}

/// Checks all answers, prints the tables, and returns what is wrong, each as a sentence.
pub(crate) fn wrong(connectors: &[Connector], sent: &[Vec<Vec<Sent>>], lanes: &Lanes) -> Vec<String> {
    let checked: Vec<Checked> = thread::scope(|scope| {
        let started: Vec<_> = connectors
            .iter()
            .zip(sent)
            .map(|(connector, sent)| scope.spawn(move || check(connector, sent, &lanes.description(&connector.id))))
            .collect();
        started.into_iter().map(|thread| thread.join().expect("the schemas can be compiled")).collect()
    });
    let rows = connectors.iter().zip(&checked).map(|(connector, checked)| row(connector, checked));
    let rows: Vec<_> = [HEAD.map(str::to_owned).to_vec()].into_iter().chain(rows).collect();
    table::print("Answers of the gateway, against the schemas in its description", &rows);
    let unanswered = checked.iter().flat_map(|checked| &checked.unanswered).map(|name| vec![name.clone()]);
    table::print("Operations without an answer that could be checked", &unanswered.collect::<Vec<_>>());

    let differences: BTreeMap<_, _> = checked.into_iter().flat_map(|checked| checked.differences).collect();
    let sentence = |((operation, place), detail)| format!("{operation}: answer{place}: {detail}");
    differences.into_iter().map(sentence).collect()
}

/// A connector's row.
fn row(connector: &Connector, checked: &Checked) -> Vec<String> {
    let operations = connector.operations.len();
    let counts = [operations, operations - checked.unanswered.len(), checked.answers, checked.differences.len()];
    [connector.id.clone()].into_iter().chain(counts.map(|count| count.to_string())).collect()
}

/// Checks the answers of a connector's operations.
fn check(connector: &Connector, sent: &[Vec<Sent>], description: &Value) -> Checked {
    let mut checked = Checked::default();
    for (operation, calls) in connector.operations.iter().zip(sent) {
        let name = format!("{}/{}", connector.id, operation.path);
        let validator = validator(&name, operation, description);
        let answered: Vec<&Sent> = calls.iter().filter(|call| is_json(&call.answer)).collect();
        if answered.is_empty() {
            checked.unanswered.insert(name.clone());
        }
        checked.answers += answered.len();
        for call in answered {
            for (place, detail) in violations(&call.answer.json(), &validator) {
                let input = || call.input.to_string().chars().take(300).collect::<String>();
                let difference = checked.differences.entry((name.clone(), place));
                difference.or_insert_with(|| format!("{detail}\n    {}", input()));
            }
        }
    }
    checked
}

/// Returns `true` for the JSON of a success.
fn is_json(answer: &Answer) -> bool {
    answer.status == 200 && answer.header("content-type").starts_with("application/json")
}

/// The compiled schema of an operation's answers.
fn validator(name: &str, operation: &Operation, description: &Value) -> Validator {
    let success = &description["paths"][format!("/connectors/{name}")]["post"]["responses"]["200"];
    let described = &success["content"]["application/json"]["schema"];
    // An operation that runs in the background answers with its job, or with the answer. The calls
    // wait for the answer.
    let is_waiting = operation.inputs[0]["waiting"] == true;
    let schema = if is_waiting { &described["anyOf"][1] } else { described };
    assert!(schema.is_object(), "{name} has no schema of its answer: {success}");
    jsonschema::draft202012::new(schema).unwrap_or_else(|error| panic!("{name}: {error}"))
}
