//! Jobs: operations that run in the background. This file has the helpers that the tests share,
//! each other file one subject.

mod crash;
mod gateways;
mod lifecycle;
mod limits;
mod outage;
mod repeated_crashes;
mod tenant_isolation;

use serde_json::{Value, json};
use support::{Client, Setup, Store, Upstream, module, wait_for};

/// The guest `account` without accounts, as a connector of this service. This opens the connector's
/// section.
fn setup(store: &Store, service: &Upstream) -> Setup {
    setup_with(store, service, &json!({}))
}

/// As [`setup`], with members of the guest's description of its service.
fn setup_with(store: &Store, service: &Upstream, members: &Value) -> Setup {
    let mut described = json!({"identifier": "account", "auth": "none"});
    for (name, value) in members.as_object().into_iter().flatten() {
        described[name] = value.clone();
    }
    Setup::new().on(store).module("account", module::account(&described)).upstream("account", "api", &service.url())
}

/// Begins a job and returns its id.
#[track_caller]
fn begin(client: &Client, operation: &str, body: Value) -> String {
    let begun = client.call(&format!("account/{operation}"), body).ok();
    let id = begun["job_id"].as_str().expect("a job").to_owned();
    assert_eq!(begun, json!({"job_id": id, "status": "pending", "href": format!("/jobs/{id}")}));
    id
}

/// The record of a job.
#[track_caller]
fn record(client: &Client, id: &str) -> Value {
    client.get(&format!("/jobs/{id}")).ok()
}

/// Returns `true` if a job has begun and waits again.
#[track_caller]
fn is_put_back(client: &Client, id: &str) -> bool {
    let record = record(client, id);
    record["status"] == "pending" && record["started_at"].is_string()
}

/// Waits for a job to get this state, and returns its record.
#[track_caller]
fn wait(client: &Client, id: &str, status: &str) -> Value {
    wait_for(&format!("the job to be {status}"), || {
        let record = record(client, id);
        let ended = ["succeeded", "failed"].iter().any(|end| record["status"] == *end);
        assert!(record["status"] == status || !ended, "{record}");
        (record["status"] == status).then_some(record)
    })
}

/// The kind of the problem of a job that failed.
#[track_caller]
fn kind(record: &Value) -> &str {
    let urn = record["error"]["type"].as_str().unwrap_or_else(|| panic!("no error in {record}"));
    urn.strip_prefix("urn:connector-gateway:problem:").expect("a problem of the gateway")
}
