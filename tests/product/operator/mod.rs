//! The operator's routes and commands. This file has the helpers that the tests share, each other
//! file one subject.

mod audit;
mod calls;
mod diagnosing;
mod import;
mod integrations;
mod jobs;
mod keys;
mod labels;
mod limited_keys;
mod queries;
mod settings;
mod tenants;
mod usage;
mod webhooks;

use serde_json::{Value, json};
use support::process::{self, Finished};
use support::setup::KEY;
use support::{Client, Gateway};

/// Runs a command at the running gateway.
pub(crate) fn run(gateway: &Gateway, arguments: &[&str]) -> Finished {
    process::run(gateway.home().command(arguments).args(["--key", KEY, "--url", &gateway.address()]))
}

/// The JSON that a command at the running gateway prints.
#[track_caller]
pub(crate) fn printed(gateway: &Gateway, arguments: &[&str]) -> Value {
    let finished = run(gateway, &[arguments, &["--json"]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    serde_json::from_str(&finished.stdout).unwrap()
}

/// Makes a key over HTTP, and returns its record and a client that has it.
#[track_caller]
fn make_key(gateway: &Gateway, body: Value) -> (Value, Client) {
    let answer = gateway.client().post("/admin/keys", body);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let record = answer.json();
    let client = gateway.anonymous().with_key(record["key"].as_str().unwrap());
    (record, client)
}

/// All pages of a list, each with two entries.
#[track_caller]
pub(crate) fn pages(client: &Client, path: &str, member: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let page = client.get(&format!("{path}{query}")).ok();
        let entries = page[member].as_array().unwrap();
        assert!(entries.len() <= 2, "{page}");
        found.extend(entries.iter().cloned());
        let Some(cursor) = page["next_cursor"].as_str() else { return found };
        assert_eq!(entries.len(), 2, "{page}");
        query = format!("?limit=2&cursor={cursor}");
    }
}

/// A body of POST /admin/keys for calls of operations.
fn operating(name: &str) -> Value {
    json!({"name": name, "scopes": ["operate"]})
}
