//! The bytes that a tenant may store in all tables together.

use serde_json::json;
use support::{Answer, Client, Reply, Setup, Store, Upstream, module, wait_for};

use crate::integrations::{client, on_each_store};

on_each_store!(a_tenant_that_has_stored_as_much_as_it_may_is_refused_more);

/// A call whose answer of 600 KiB is kept.
fn kept(client: &Client, key: &str) -> Answer {
    let call = client.request("POST", "/connectors/account/change").header("idempotency-key", key);
    call.json(&json!({"path": "/", "waiting": true})).send()
}

fn a_tenant_that_has_stored_as_much_as_it_may_is_refused_more(store: &Store) {
    let service = Upstream::start();
    service.reply("/", Reply::json(json!({"text": "x".repeat(600 << 10)})));
    let gateway = Setup::new()
        .on(store)
        .module("account", module::account(&json!({"identifier": "account", "auth": "none"})))
        .upstream("account", "api", &service.url())
        .config("[tenants]\nmax_stored_mb = 1")
        .start();
    let [acme, other] = ["acme", "other"].map(|tenant| client(&gateway, tenant, None, "operate,integrate"));
    for key in ["one", "two"] {
        kept(&acme, key).ok();
    }
    let sent = service.seen().len();
    let problem = kept(&acme, "three").problem(507, "tenant-full");
    assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("operator"), &json!(true)));
    assert!(problem["detail"].as_str().unwrap().contains("`tenants.max_stored_mb`"), "{problem}");
    acme.call("account/change", json!({"path": "/"})).problem(507, "tenant-full");
    acme.post("/mcp-sets", json!({"name": "reports", "allow": ["account"]})).problem(507, "tenant-full");
    acme.post("/agent-sessions", json!({})).problem(507, "tenant-full");
    acme.post("/triggers", json!({"connector": "gateway", "type": "integration_deleted"})).problem(507, "tenant-full");
    acme.request("POST", "/webhooks/secrets").send().problem(507, "tenant-full");
    assert_eq!(service.seen().len(), sent, "nothing of it ran");
    // Everything that is stored is still there, and a call that stores nothing runs.
    assert_eq!(kept(&acme, "one").header("idempotent-replayed"), "true");
    acme.call("account/change", json!({"path": "/", "waiting": true})).ok();
    kept(&other, "one").ok();
    wait_for("the metric", || {
        let largest = gateway.metric("gateway_stored_bytes_of_largest_tenant");
        (largest > f64::from(1 << 20) && gateway.metric("gateway_stored_bytes") > largest).then_some(())
    });
}
