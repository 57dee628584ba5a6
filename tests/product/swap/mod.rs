//! A connector is swapped while it serves, without an effect on callers.

mod entries;
mod files;
mod shipped;

use serde_json::{Value, json};
use support::description::inlined;
use support::{Answer, Client, Gate, Gateway, Load, Reply, Setup, Upstream, module};

/// A gateway with the first version of a connector, and the connector's service.
fn gateway() -> (Gateway, Upstream) {
    let service = Upstream::start();
    service.reply("/forward", Reply::json(json!({"from": "the service"}))).reply("/wait", Reply::json(json!({})));
    let gateway =
        Setup::new().module("liar", module::liar("version=1.0.0")).upstream("liar", "api", &service.url()).start();
    (gateway, service)
}

/// Calls of this operation in the background. One of the versions or the service must answer each
/// of them.
fn load(client: &Client, operation: &'static str) -> Load {
    let client = client.clone();
    let call = move || client.request("POST", &format!("/connectors/liar/{operation}")).json(&json!({}));
    Load::start(call, |answer: &Answer| {
        let document: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let known = ["version=1.0.0", "version=2.0.0"].iter().any(|version| document["version"] == *version);
        if answer.status == 200 && (known || document["from"] == "the service") {
            Ok(())
        } else {
            Err(format!("{}: {}", answer.status, answer.text()))
        }
    })
}

#[test]
fn a_hundred_swaps_under_load_fail_no_request() {
    let (gateway, _service) = gateway();
    let loads = ["version", "forward", "wait"].map(|operation| load(&gateway.client(), operation));
    for number in 1..=100 {
        let version = if number % 2 == 1 { "2.0.0" } else { "1.0.0" };
        gateway.home().put("liar", &module::liar(&format!("version={version}")));
        gateway.wait_for_version("liar", version);
    }
    for load in loads {
        load.wait_for_more(1);
        assert_eq!(load.stop().failures, Vec::<String>::new());
    }
    let swapped = "gateway_swaps_total{connector=\"liar\",outcome=\"swapped\"}";
    support::wait_for("the count of the swaps", || (gateway.metric(swapped) == 100.0).then_some(()));
}

#[test]
fn a_request_ends_on_the_version_it_began_with() {
    let ((gateway, service), gate) = (gateway(), Gate::default());
    service.reply("/wait", Reply::json(json!({})).behind(&gate));
    let begun = gateway.client().begin("/connectors/liar/wait", json!({}));
    service.wait_for_requests(1);
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=2.0.0");
    assert!(!begun.is_done());
    gate.open();
    assert_eq!(begun.wait().ok()["version"], "version=1.0.0");
    assert_eq!(gateway.call("liar/wait", json!({})).ok()["version"], "version=2.0.0");
}

#[test]
fn a_stream_continues_over_a_swap_and_a_removal() {
    let ((gateway, service), gate) = (gateway(), Gate::default());
    service.reply("/forward", Reply::json(json!({"from": "the service"})).behind(&gate));
    let begun = gateway.client().begin("/connectors/liar/forward", json!({}));
    service.wait_for_requests(1);
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
    gateway.client().delete("/admin/connectors/liar").ok();
    gateway.call("liar/version", json!({})).problem(404, "unknown-connector");
    gate.open();
    assert_eq!(begun.wait().ok()["from"], "the service");
}

#[test]
fn a_bad_file_is_refused_in_log_and_list_while_the_good_version_serves() {
    let (gateway, _service) = gateway();
    let good = gateway.connector("liar").unwrap()["sha256"].clone();
    let load = load(&gateway.client(), "version");
    gateway.home().put("liar", &module::liar("reserved path"));
    let reason = gateway.wait_for_refusal("liar.wasm");
    assert!(reason.contains("`integrations`"), "{reason}");
    let refused = gateway.refusal("liar.wasm").unwrap();
    assert_eq!(refused["serving"], good);
    assert_ne!(refused["sha256"], good);
    assert!(refused["refused_at"].as_str().is_some_and(|time| time.ends_with('Z')), "{refused}");
    let line = gateway.wait_for_log("the reason", |line| line["message"] == "module refused");
    assert_eq!((&line["reason"], &line["file"], &line["level"]), (&json!(reason), &json!("liar.wasm"), &json!("WARN")));
    assert_eq!(gateway.metric("gateway_swaps_total{connector=\"liar\",outcome=\"refused\"}"), 1.0);
    load.wait_for_more(10);
    assert_eq!(load.stop().failures, Vec::<String>::new());
}

#[test]
fn the_last_good_version_serves_after_a_restart_with_a_bad_file() {
    let (gateway, _service) = gateway();
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    let good = gateway.wait_for_version("liar", "2.0.0")["sha256"].clone();
    gateway.home().put("liar", &module::liar("reserved path"));
    gateway.wait_for_refusal("liar.wasm");
    let gateway = gateway.start_again();
    assert_eq!(gateway.connector("liar").unwrap()["sha256"], good);
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=2.0.0");
    let refused = gateway.refusal("liar.wasm").unwrap();
    assert!(refused["reason"].as_str().unwrap().contains("`integrations`"), "{refused}");
    assert_eq!(refused["serving"], good);
    gateway.home().put("liar", &module::liar("version=3.0.0"));
    gateway.wait_for_version("liar", "3.0.0");
    assert_eq!(gateway.refusal("liar.wasm"), None);
}

#[test]
fn a_new_version_brings_its_own_schema_and_description() {
    let (gateway, _service) = gateway();
    gateway.call("liar/version", json!({"word": "b"})).ok();
    gateway.home().put("liar", &module::liar("schema with slow pattern"));
    support::wait_for("the stricter schema", || {
        (gateway.call("liar/version", json!({"word": "b"})).status == 422).then_some(())
    });
    let described = inlined(gateway.anonymous().get("/openapi.json").ok());
    let body = &described["paths"]["/connectors/liar/version"]["post"]["requestBody"]["content"]["application/json"];
    assert_eq!(body["schema"]["properties"]["word"]["pattern"], "^(a+)+$");
}
