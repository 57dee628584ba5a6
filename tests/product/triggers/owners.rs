//! Whose triggers a caller sees, and what a limited key may do.

use super::*;
use crate::integrations::client;

#[test]
fn another_tenant_and_another_user_see_nothing_of_a_trigger() {
    let world = world();
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    let event = world.client().post(&format!("/triggers/{id}/test"), json!({})).ok()["event_id"].clone();
    let path = format!("/triggers/{id}");
    for (tenant, subject) in [("acme", None), ("default", Some("ann"))] {
        let other = client(&world.gateway, tenant, subject, "operate,integrate");
        assert_eq!(other.get("/triggers").ok()["triggers"], json!([]));
        other.get(&path).problem(404, "unknown-trigger");
        other.get(&format!("{path}/events")).problem(404, "unknown-trigger");
        other.get(&format!("{path}/events/{}", event.as_str().unwrap())).problem(404, "unknown-trigger");
        for (action, body) in [("test", json!({})), ("read", json!({})), ("replay", json!({"event_ids": [event]}))] {
            other.post(&format!("{path}/{action}"), body).problem(404, "unknown-trigger");
        }
        other.request("PATCH", &path).json(&json!({"paused": true})).send().problem(404, "unknown-trigger");
        other.delete(&path).problem(404, "unknown-trigger");
    }
    assert_eq!(world.record(&id)["status"], "active");
}

#[test]
fn an_inbox_of_a_tenant_lets_the_service_notify_the_gateway_for_this_tenant() {
    let world = world_with("[hooks]\npublic_url = \"https://hooks.example\"");
    let push = |client: &Client| {
        let page = client.get("/trigger-types?connector=notified").ok();
        let types = page["trigger_types"].as_array().unwrap();
        types.iter().find(|kind| kind["type"] == "message").unwrap()["push"].clone()
    };
    let (default, acme) = (world.client(), client(&world.gateway, "acme", None, "operate"));
    assert_eq!((push(&default), push(&acme)), (json!("needs-setup"), json!("needs-setup")));
    let make = |body: Value| {
        let made = world.client().post("/admin/inboxes", body);
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()["id"].as_str().unwrap().to_owned()
    };
    let inbox = make(json!({"connector": "notified", "inbox": "signed", "tenant": "acme"}));
    // One that serves all tenants and does not work yet.
    make(json!({"connector": "notified", "inbox": "signed"}));
    let added = world.client().post(&format!("/admin/inboxes/{inbox}/secrets"), json!({"secret": "hunter2"}));
    assert_eq!(added.status, 201, "{}", added.text());
    assert_eq!((push(&default), push(&acme)), (json!("needs-setup"), json!("available")));
}

#[test]
fn triggers_need_the_scope_integrate_and_their_types_the_scope_operate() {
    let world = world();
    let operate = client(&world.gateway, "default", None, "operate");
    assert!(!operate.get("/trigger-types").ok()["trigger_types"].as_array().unwrap().is_empty());
    assert_eq!(operate.get("/triggers").problem(403, "missing-scope")["scope"], "integrate");
    assert_eq!(operate.post("/triggers", on_folder("plans")).problem(403, "missing-scope")["scope"], "integrate");
    assert_eq!(operate.get("/admin/triggers").problem(403, "missing-scope")["scope"], "admin");
    let integrate = client(&world.gateway, "default", None, "integrate");
    assert_eq!(integrate.get("/trigger-types").problem(403, "missing-scope")["scope"], "operate");
    assert_eq!(integrate.get("/triggers").ok()["triggers"], json!([]));
}

#[test]
fn a_limited_key_uses_the_types_that_it_names() {
    let world = world();
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    let key = |allow: &str| {
        let arguments = ["keys", "create", "--name", "limited", "--tenant", "default", "--allow", allow];
        let key = world.gateway.home().run_ok(&arguments);
        world.gateway.anonymous().with_key(key.trim_end())
    };
    let make = |client: &Client| {
        client.request("POST", "/triggers").header("x-user-identifier", &email("ada")).json(&on_folder("plans")).send()
    };
    let other = key("notified/message");
    let types = |client: &Client| -> Vec<Value> {
        let page = client.get("/trigger-types").ok();
        page["trigger_types"].as_array().unwrap().iter().map(|kind| kind["type"].clone()).collect()
    };
    assert_eq!(types(&other), ["message"]);
    make(&other).problem(403, "not-allowed");
    other.get(&format!("/triggers/{id}")).problem(404, "unknown-trigger");
    assert_eq!(other.get("/triggers").ok()["triggers"], json!([]));
    let whole = key("notified");
    assert_eq!(types(&whole).len(), 7);
    assert_eq!(make(&whole).status, 201);
    assert_eq!(whole.get("/triggers").ok()["triggers"].as_array().unwrap().len(), 2);
}

#[test]
fn a_tenant_with_many_reads_that_are_due_does_not_keep_those_of_another_tenant_waiting() {
    let world = world_with("[triggers]\nreaders = 2");
    world.connect();
    world.trigger(&on_folder("plans"));
    let acme = client(&world.gateway, "acme", None, "operate,integrate");
    connect(&acme, "notified", "bob");
    for folder in ["a", "b", "c", "d", "e", "f"] {
        let call = acme.request("POST", "/triggers").header("x-user-identifier", &email("bob"));
        let made = call.json(&on_folder(folder)).send();
        assert_eq!(made.status, 201, "{}", made.text());
    }
    world.settle();
    let gate = support::Gate::default();
    let held = gate.clone();
    world.service.on("/changes", move |_| Reply::json(json!({"cursor": "0", "changes": []})).behind(&held));
    let before = world.service.seen().len();
    // Those of the tenant with many are due since longer.
    let due = "UPDATE subscriptions SET read_at = 0, due_at = CASE tenant WHEN 'acme' THEN 0 ELSE 1 END";
    assert_eq!(world.gateway.home().sqlite(due), 7);
    world.service.wait_for_requests(before + 2);
    let read = |count: usize| {
        let seen = world.service.seen().into_iter().skip(before).take(count);
        seen.filter_map(|seen| seen.parameter("folder")).collect::<Vec<String>>()
    };
    assert!(read(2).contains(&"plans".to_owned()), "{:?}", read(2));
    gate.open();
    world.service.wait_for_requests(before + 7);
    let mut all = read(7);
    all.sort_unstable();
    assert_eq!(all, ["a", "b", "c", "d", "e", "f", "plans"]);
}
