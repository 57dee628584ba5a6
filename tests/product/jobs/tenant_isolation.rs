//! Jobs of one user are not there for others, and their content is not in the database in the
//! clear.

use std::fs;

use serde_json::json;
use support::{Gate, Reply, Store, Upstream};

use super::{begin, kind, record, setup, wait};
use crate::integrations::{client, on_each_store};

on_each_store!(
    nobody_else_sees_or_cancels_a_job,
    input_result_and_progress_are_sealed,
    jobs_are_read_and_run_after_the_master_key_was_exchanged,
);

fn nobody_else_sees_or_cancels_a_job(store: &Store) {
    let service = Upstream::start();
    let gate = Gate::default();
    service.reply("/", Reply::json(json!({})).behind(&gate));
    let gateway = setup(store, &service).start();
    let ann = client(&gateway, "acme", Some("ann"), "operate");
    let id = begin(&ann, "collect", json!({"path": "/"}));
    let others = [
        client(&gateway, "acme", Some("bob"), "operate"),
        client(&gateway, "acme", None, "operate"),
        client(&gateway, "other", Some("ann"), "operate"),
    ];
    for other in &others {
        other.get(&format!("/jobs/{id}")).problem(404, "unknown-job");
        other.delete(&format!("/jobs/{id}")).problem(404, "unknown-job");
        assert_eq!(other.get("/jobs").ok()["jobs"], json!([]));
        assert_eq!(other.get(&format!("/jobs?cursor={id}")).ok()["jobs"], json!([]));
    }
    let without_scope = client(&gateway, "acme", Some("ann"), "integrate");
    without_scope.get(&format!("/jobs/{id}")).problem(403, "missing-scope");
    gateway.anonymous().get("/jobs").problem(401, "unauthenticated");
    gate.open();
    wait(&ann, &id, "succeeded");
}

/// All that the store holds, as text.
fn content(store: &Store, gateway: &support::Gateway) -> String {
    let files = ["gateway.db", "gateway.db-wal"].map(|name| gateway.home().data().join(name));
    let files = files.iter().filter_map(|file| fs::read(file).ok()).flatten().collect::<Vec<u8>>();
    store.dump() + &String::from_utf8_lossy(&files)
}

fn input_result_and_progress_are_sealed(store: &Store) {
    let service = Upstream::start();
    let gate = Gate::default();
    service.reply("/", Reply::typed("text/plain", "the-secret-result"));
    service.reply("/held", Reply::json(json!({})).behind(&gate));
    service.reply("/gone", Reply::typed("text/plain", "the-secret-error").status(410));
    let gateway = setup(store, &service).start();
    let client = gateway.client();
    let done = begin(&client, "collect", json!({"path": "/", "value": "the-secret-input"}));
    let held = begin(&client, "collect", json!({"path": "/held", "value": "the-secret-input"}));
    let gone = begin(&client, "fetch", json!({"path": "/gone"}));
    assert_eq!(wait(&client, &done, "succeeded")["result"]["last"], "the-secret-result");
    assert_eq!(kind(&wait(&client, &gone, "failed")), "upstream-rejected");
    support::wait_for("the progress", || (record(&client, &held)["progress"]["message"] == "0 of 1").then_some(()));
    let content = content(store, &gateway);
    assert!(content.contains(&done), "the database was read");
    for secret in ["the-secret-result", "the-secret-error", "the-secret-input", "0 of 1"] {
        assert!(!content.contains(secret), "{secret} is in the database");
    }
    gate.open();
    wait(&client, &held, "succeeded");
}

fn jobs_are_read_and_run_after_the_master_key_was_exchanged(store: &Store) {
    let service = Upstream::start();
    service.reply("/", Reply::typed("text/plain", "the result"));
    let gateway = setup(store, &service).start();
    let done = begin(&gateway.client(), "collect", json!({"path": "/"}));
    wait(&gateway.client(), &done, "succeeded");
    let gateway = gateway.start_again_with("GATEWAY__JOBS__WORKERS", "0");
    let pending = begin(&gateway.client(), "collect", json!({"path": "/"}));
    gateway.home().run_ok(&["keys", "rotate-master"]);
    gateway.home().run_ok(&["keys", "rotate-master", "--finish"]);
    let gateway = gateway.start_again_with("GATEWAY__JOBS__WORKERS", "1");
    for id in [&done, &pending] {
        assert_eq!(wait(&gateway.client(), id, "succeeded")["result"]["last"], "the result");
    }
}
