//! Jobs survive the end of their gateway, at whatever moment it comes.

use serde_json::json;
use support::{Gate, Reply, Store, Upstream};

use super::{begin, is_put_back, kind, record, setup, wait};
use crate::integrations::on_each_store;

on_each_store!(
    after_a_kill_reads_run_again_and_changes_fail_with_an_unknown_outcome,
    jobs_that_wait_survive_a_kill,
    a_gateway_that_stops_lets_jobs_end,
    a_gateway_that_stops_puts_reads_back_and_fails_changes,
);

fn after_a_kill_reads_run_again_and_changes_fail_with_an_unknown_outcome(store: &Store) {
    let service = Upstream::start();
    service.reply("/read", Reply::json(json!({})).behind(&Gate::default()));
    service.reply("/change", Reply::json(json!({})).behind(&Gate::default()));
    let gateway = setup(store, &service).start();
    let read = begin(&gateway.client(), "collect", json!({"path": "/read"}));
    let change = begin(&gateway.client(), "change", json!({"path": "/change"}));
    service.wait_for_requests(2);
    gateway.kill();
    service.reply("/read", Reply::json(json!({"now": true}))).reply("/change", Reply::json(json!({})));
    let gateway = gateway.start_again();
    let client = gateway.client();
    let failed = wait(&client, &change, "failed");
    assert_eq!((kind(&failed), &failed["error"]["outcome"]), ("cut-off", &json!("unknown")));
    assert_eq!(failed["error"]["retryable"], false);
    assert_eq!(wait(&client, &read, "succeeded")["result"]["last"], json!({"now": true}).to_string());
    assert_eq!(service.seen().iter().filter(|seen| seen.path == "/change").count(), 1);
}

#[test]
fn on_sqlite_the_jobs_of_a_killed_gateway_are_free_when_the_next_one_starts() {
    let service = Upstream::start();
    service.reply("*", Reply::json(json!({})).behind(&Gate::default()));
    let gateway = setup(&Store::Sqlite, &service).start();
    let read = begin(&gateway.client(), "collect", json!({"path": "/read"}));
    let change = begin(&gateway.client(), "change", json!({"path": "/change"}));
    service.wait_for_requests(2);
    gateway.kill();
    // No lease ends by itself: this is in the year 2100.
    assert_eq!(gateway.home().sqlite("UPDATE jobs SET leased_until = 4102444800000 WHERE leased_until IS NOT NULL"), 2);
    service.reply("*", Reply::json(json!({"now": true})));
    let gateway = gateway.start_again();
    let client = gateway.client();
    assert_eq!(kind(&wait(&client, &change, "failed")), "cut-off");
    assert_eq!(wait(&client, &read, "succeeded")["result"]["last"], json!({"now": true}).to_string());
    assert_eq!(service.seen().iter().filter(|seen| seen.path == "/change").count(), 1);
}

fn jobs_that_wait_survive_a_kill(store: &Store) {
    let service = Upstream::start();
    service.reply("/", Reply::json(json!({})));
    let gateway = setup(store, &service).config("[jobs]\nworkers = 0").start();
    let ids: Vec<String> = (0..10).map(|_| begin(&gateway.client(), "change", json!({"path": "/"}))).collect();
    gateway.kill();
    let gateway = gateway.start_again_with("GATEWAY__JOBS__WORKERS", "2");
    for id in &ids {
        wait(&gateway.client(), id, "succeeded");
    }
    assert_eq!(service.seen().len(), 10);
}

fn a_gateway_that_stops_lets_jobs_end(store: &Store) {
    let service = Upstream::start();
    let gate = Gate::default();
    service.reply("/", Reply::json(json!({})).behind(&gate));
    let mut gateway = setup(store, &service).config("[jobs]\nworkers = 2").start();
    let change = begin(&gateway.client(), "change", json!({"path": "/"}));
    service.wait_for_requests(1);
    gateway.ask_to_end();
    gateway.wait_for_log("the end to begin", |line| {
        line["message"].as_str().is_some_and(|message| message.starts_with("stopping"))
    });
    gate.open();
    assert!(gateway.wait().success());
    let gateway = gateway.start_again();
    assert_eq!(record(&gateway.client(), &change)["status"], "succeeded");
}

fn a_gateway_that_stops_puts_reads_back_and_fails_changes(store: &Store) {
    let service = Upstream::start();
    service.reply("/", Reply::json(json!({})).behind(&Gate::default()));
    let mut gateway = setup(store, &service).general("drain_s = 0").start();
    let read = begin(&gateway.client(), "collect", json!({"path": "/"}));
    let change = begin(&gateway.client(), "change", json!({"path": "/"}));
    service.wait_for_requests(2);
    assert!(gateway.stop().success());
    service.reply("/", Reply::json(json!({})));
    let gateway = gateway.start_again();
    let failed = record(&gateway.client(), &change);
    assert_eq!((kind(&failed), &failed["error"]["outcome"]), ("cut-off", &json!("unknown")));
    assert_ne!(record(&gateway.client(), &read)["status"], "failed");
    wait(&gateway.client(), &read, "succeeded");
    assert_eq!(service.seen().len(), 3);
}

#[test]
fn a_job_waits_for_its_connector_and_fails_if_it_does_not_come_back() {
    let service = Upstream::start();
    service.reply("/", Reply::json(json!({})));
    let gateway = setup(&Store::Sqlite, &service).config("[jobs]\nworkers = 0").start();
    let client = gateway.client();
    let [first, second] = [(); 2].map(|()| begin(&client, "collect", json!({"path": "/"})));
    let module = std::fs::read(gateway.home().module("account")).unwrap();
    client.delete("/admin/connectors/account").ok();
    let gateway = gateway.start_again_with("GATEWAY__JOBS__WORKERS", "1");
    let client = gateway.client();
    support::wait_for("both jobs to be put back", || {
        (is_put_back(&client, &first) && is_put_back(&client, &second)).then_some(())
    });
    gateway.home().put("account", &module);
    wait(&client, &first, "succeeded");
    wait(&client, &second, "succeeded");

    gateway.home().put("account", &module);
    let gateway = gateway.start_again_with("GATEWAY__JOBS__WORKERS", "0");
    let third = begin(&gateway.client(), "collect", json!({"path": "/"}));
    gateway.client().delete("/admin/connectors/account").ok();
    let gateway = gateway.start_again_with("GATEWAY__JOBS__WORKERS", "1");
    let failed = wait(&gateway.client(), &third, "failed");
    assert_eq!((kind(&failed), &failed["error"]["status"]), ("unknown-operation", &json!(404)));
}

#[test]
fn a_job_that_was_added_long_ago_waits_for_its_connector_too() {
    let service = Upstream::start();
    service.reply("/", Reply::json(json!({})));
    let gateway = setup(&Store::Sqlite, &service).config("[jobs]\nworkers = 0").start();
    let client = gateway.client();
    let id = begin(&client, "collect", json!({"path": "/"}));
    assert_eq!(gateway.home().sqlite("UPDATE jobs SET created_at = created_at - 600000"), 1);
    let module = std::fs::read(gateway.home().module("account")).unwrap();
    client.delete("/admin/connectors/account").ok();
    let gateway = gateway.start_again_with("GATEWAY__JOBS__WORKERS", "1");
    let client = gateway.client();
    support::wait_for("an attempt without the connector", || {
        let record = record(&client, &id);
        assert_ne!(record["status"], "failed", "{record}");
        (record["status"] == "pending" && record["started_at"].is_string()).then_some(())
    });
    gateway.home().put("account", &module);
    wait(&client, &id, "succeeded");
}
