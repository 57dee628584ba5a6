//! The limits of a key hold for jobs and tool sets, and for the gateway itself.

use serde_json::{Value, json};
use support::{Client, Gate, Gateway, Reply, Setup, Store, Upstream, module, wait_for};

use super::{make_key, operating};
use crate::integrations::on_each_store;

on_each_store!(
    a_limited_key_sees_and_cancels_only_jobs_of_operations_that_it_may_call,
    a_limited_key_makes_and_deletes_only_tool_sets_of_its_operations,
    a_limited_key_of_an_operator_changes_nothing,
    an_answer_with_a_secret_is_repeated_only_to_the_key_that_got_it,
);

fn gateway(store: &Store, service: &Upstream) -> Gateway {
    let described = json!({"identifier": "account", "auth": "none"});
    Setup::new()
        .on(store)
        .module("account", module::account(&described))
        .upstream("account", "api", &service.url())
        .start()
}

fn begin(client: &Client, operation: &str, body: Value) -> String {
    client.call(&format!("account/{operation}"), body).ok()["job_id"].as_str().unwrap().to_owned()
}

fn ids(page: &Value) -> Vec<&str> {
    page["jobs"].as_array().unwrap().iter().map(|job| job["job_id"].as_str().unwrap()).collect()
}

fn a_limited_key_sees_and_cancels_only_jobs_of_operations_that_it_may_call(store: &Store) {
    let (service, gate) = (Upstream::start(), Gate::default());
    service.reply("/held", Reply::json(json!({})).behind(&gate));
    let gateway = gateway(store, &service);
    let all = gateway.client();
    let limits = json!({"name": "fetching", "scopes": ["operate"], "allow": ["account/fetch"]});
    let (_, limited) = make_key(&gateway, limits);
    let own = begin(&limited, "fetch", json!({"path": "/held"}));
    let other = begin(&all, "collect", json!({"path": "/held"}));

    limited.get(&format!("/jobs/{other}")).problem(404, "unknown-job");
    limited.delete(&format!("/jobs/{other}")).problem(404, "unknown-job");
    assert_eq!(ids(&limited.get("/jobs").ok()), [&own]);
    // A page without a job for this key is left out.
    let page = limited.get("/jobs?limit=1").ok();
    assert_eq!((ids(&page), &page["next_cursor"]), (vec![&*own], &json!(null)));
    assert_eq!(ids(&all.get("/jobs").ok()), [&other, &own]);
    assert_eq!(all.get(&format!("/jobs/{other}")).ok()["connector"], "account");

    limited.get(&format!("/jobs/{own}")).ok();
    assert_eq!(limited.delete(&format!("/jobs/{own}")).ok(), json!({"cancelled": true}));
    assert_eq!(all.delete(&format!("/jobs/{other}")).ok(), json!({"cancelled": true}));
    gate.open();
}

fn a_limited_key_makes_and_deletes_only_tool_sets_of_its_operations(store: &Store) {
    let gateway = gateway(store, &Upstream::start());
    let limits = json!({
        "name": "reading", "scopes": ["operate", "integrate"], "allow": ["account/fetch"], "effects": ["read"],
    });
    let (_, limited) = make_key(&gateway, limits);
    let set = |name: &str, allow: &str, effects: Value| json!({"name": name, "allow": [allow], "effects": effects});
    for (allow, effects, named) in [
        ("account", json!(["read"]), "`account`"),
        ("account/change", json!(["read"]), "`account/change`"),
        ("account/fetch", json!(["read", "write"]), "`write`"),
    ] {
        let problem = limited.post("/mcp-sets", set("wider", allow, effects)).problem(403, "not-allowed");
        assert!(problem["detail"].as_str().unwrap().contains(named), "{problem}");
    }
    limited.post("/mcp-sets", json!({"name": "wider", "allow": ["account/fetch"]})).problem(403, "not-allowed");
    assert_eq!(limited.post("/mcp-sets", set("own", "account/fetch", json!(["read"]))).status, 201);
    let wide = json!({"name": "wide", "allow": ["account"], "confirm": true});
    assert_eq!(gateway.client().post("/mcp-sets", wide).status, 201);
    limited.delete("/mcp-sets/wide").problem(403, "not-allowed");
    gateway.client().get("/mcp-sets/wide").ok();
    limited.delete("/mcp-sets/none").problem(404, "unknown-tool-set");
    limited.delete("/mcp-sets/own").ok();
}

fn a_limited_key_of_an_operator_changes_nothing(store: &Store) {
    let gateway = gateway(store, &Upstream::start());
    for limits in [json!({"allow": ["account"]}), json!({"effects": ["read", "write", "destructive"]})] {
        let mut body = json!({"name": "limited", "scopes": ["admin"]});
        body.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
        let (record, limited) = make_key(&gateway, body);
        let problem = limited.post("/admin/keys", operating("wider")).problem(403, "not-allowed");
        assert!(problem["detail"].as_str().unwrap().contains("without limits"), "{problem}");
        let own = format!("/admin/keys/{}", record["id"].as_str().unwrap());
        for (method, path) in [
            ("DELETE", &*own),
            ("POST", "/admin/connectors"),
            ("DELETE", "/admin/connectors/account"),
            ("POST", "/admin/connectors/account/rollback"),
            ("POST", "/admin/connectors/account/grants"),
            ("POST", "/admin/integrations/import"),
            ("DELETE", "/%61dmin/connectors/account"),
        ] {
            limited.request(method, path).json(&json!({})).send().problem(403, "not-allowed");
        }
        limited.get("/admin/keys").ok();
    }
    assert!(gateway.connector("account").is_some());
}

fn an_answer_with_a_secret_is_repeated_only_to_the_key_that_got_it(store: &Store) {
    let gateway = gateway(store, &Upstream::start());
    let (record, first) = make_key(&gateway, json!({"name": "a", "scopes": ["admin", "integrate"]}));
    let (_, second) = make_key(&gateway, json!({"name": "b", "scopes": ["admin", "integrate"]}));
    for path in ["/admin/keys", "/webhooks/secrets"] {
        let make = |client: &Client| {
            let call = client.request("POST", path).header("idempotency-key", path);
            if path == "/admin/keys" { call.json(&operating("made")).send() } else { call.send() }
        };
        let (made, again) = (make(&first), make(&first));
        assert_eq!((made.status / 100, again.header("idempotent-replayed")), (2, "true"), "{}", made.text());
        assert_eq!(made.json(), again.json());
        make(&second).problem(422, "idempotency-key-reused");
    }
    gateway.client().delete(&format!("/admin/keys/{}", record["id"].as_str().unwrap())).ok();
    wait_for("the end of the key", || (first.get("/admin/keys").status == 401).then_some(()));
    let replay = second.request("POST", "/admin/keys").header("idempotency-key", "/admin/keys");
    replay.json(&operating("made")).send().problem(422, "idempotency-key-reused");
}
