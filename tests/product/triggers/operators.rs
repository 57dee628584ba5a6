//! Inboxes, triggers of all tenants, and the commands.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use support::process::{self, Finished};
use support::setup::KEY;
use support::webhooks::verified;

use super::*;
use crate::integrations::client;

#[test]
fn an_operator_sees_the_triggers_of_all_tenants_and_deletes_them() {
    let world = world();
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    let operator = world.client();
    let listed =
        operator.get("/admin/triggers?tenant=default&subject=&connector=notified&type=change&status=active").ok();
    assert_eq!((&listed["triggers"][0]["id"], &listed["triggers"][0]["tenant"]), (&json!(id), &json!("default")));
    assert_eq!(listed["triggers"][0]["subject"], "");
    assert_eq!(operator.get("/admin/triggers?tenant=acme").ok()["triggers"], json!([]));
    let again = operator.post(&format!("/admin/triggers/{id}/resubscribe"), json!({}));
    assert_eq!((again.status, &again.json()["id"]), (202, &json!(id)));
    let actions: Vec<Value> = operator.get(&format!("/admin/audit?target={id}")).ok()["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["action"].clone())
        .collect();
    assert_eq!(actions, ["trigger.resubscribed", "trigger.created"]);
    assert_eq!(operator.delete(&format!("/admin/triggers/{id}")).ok()["deleted"], true);
    operator.get(&format!("/admin/triggers/{id}")).problem(404, "unknown-trigger");
    operator.post("/admin/triggers/trg_none/resubscribe", json!({})).problem(404, "unknown-trigger");
}

#[test]
fn the_service_is_asked_for_another_subscription_if_an_operator_wants_one() {
    let world = world_with("[hooks]\npublic_url = \"https://hooks.example\"");
    world.service.reply("*", Reply::empty(204));
    world.service.reply("/subscriptions", Reply::json(json!({"id": "s"})).status(201));
    world.connect();
    let asked = || {
        let seen = world.service.seen();
        seen.iter().filter(|seen| seen.method == "POST" && seen.path == "/subscriptions").count()
    };
    let id = world.trigger(&json!({"connector": "notified", "type": "item"}));
    assert_eq!(asked(), 1);
    let again = world.client().post(&format!("/admin/triggers/{id}/resubscribe"), json!({}));
    assert_eq!(again.status, 202, "{}", again.text());
    wait_for("another subscription", || (asked() == 2 && world.record(&id)["status"] == "active").then_some(()));
}

#[test]
fn what_a_caller_does_to_a_trigger_is_in_the_audit_log() {
    let world = world();
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    world.patch(&id, &json!({"labels": {"team": "blue"}}));
    world.patch(&id, &json!({"paused": true}));
    let event = world.tested(&id);
    world.client().post(&format!("/triggers/{id}/replay"), json!({"event_ids": [event]})).ok();
    world.client().delete(&format!("/triggers/{id}")).ok();
    let entries = world.client().get(&format!("/admin/audit?target={id}")).ok()["entries"].as_array().unwrap().clone();
    let actions: Vec<&Value> = entries.iter().rev().map(|entry| &entry["action"]).collect();
    assert_eq!(
        actions,
        [
            "trigger.created",
            "trigger.changed",
            "trigger.paused",
            "trigger.changed",
            "trigger.replayed",
            "trigger.deleted"
        ]
    );
    let by_the_caller = |entry: &Value| {
        entry["tenant"] == "default" && entry["actor"] == entries[0]["actor"] && entry["actor"] != "gateway"
    };
    assert!(entries.iter().all(by_the_caller), "{entries:?}");
}

#[test]
fn an_inbox_has_two_secrets_at_most_and_shows_none() {
    let world = world();
    let operator = world.client();
    let make = |body: Value| operator.post("/admin/inboxes", body);
    assert_eq!(make(json!({"connector": "notifed", "inbox": "signed"})).violations()[0].0, "/connector");
    let (pointer, detail) = make(json!({"connector": "notified", "inbox": "sined"})).violations().remove(0);
    assert!(pointer == "/inbox" && detail.contains("`signed`"), "{pointer}: {detail}");
    assert_eq!(make(json!({"connector": "notified", "inbox": "listed"})).violations()[0].0, "/inbox");
    let made = make(json!({"connector": "notified", "inbox": "signed"}));
    assert_eq!(made.status, 201, "{}", made.text());
    let inbox = made.json();
    assert_eq!(
        (&inbox["state"], &inbox["secrets"], &inbox["tenant"]),
        (&json!("needs-secret"), &json!([]), &Value::Null)
    );
    assert_eq!(inbox["url"], Value::Null, "no service can notify a gateway without https");
    make(json!({"connector": "notified", "inbox": "signed"})).problem(409, "inbox-exists");
    assert_eq!(make(json!({"connector": "notified", "inbox": "signed", "tenant": "acme"})).status, 201);

    let path = format!("/admin/inboxes/{}", inbox["id"].as_str().unwrap());
    let add = |secret: &str| operator.post(&format!("{path}/secrets"), json!({"secret": secret}));
    let first = add("hunter2-one");
    assert_eq!(first.status, 201, "{}", first.text());
    assert_eq!(add("hunter2-two").status, 201);
    add("hunter2-three").problem(409, "too-many-secrets");
    assert_eq!(add("").violations()[0].0, "/secret");
    let shown = operator.get(&path);
    assert!(!shown.text().contains("hunter2") && !first.text().contains("hunter2"));
    assert_eq!(
        (shown.ok()["state"].clone(), shown.ok()["secrets"].as_array().unwrap().len()),
        (json!("unverified"), 2)
    );
    let secret = format!("{path}/secrets/{}", first.json()["id"].as_str().unwrap());
    assert_eq!(operator.delete(&secret).ok(), json!({"deleted": true}));
    operator.delete(&secret).problem(404, "unknown-inbox-secret");
    assert_eq!(operator.delete(&path).ok(), json!({"deleted": true}));
    operator.get(&path).problem(404, "unknown-inbox");
    operator.delete(&format!("{path}/secrets/ibs_1")).problem(404, "unknown-inbox");
    assert_eq!(operator.get("/admin/inboxes").ok()["inboxes"].as_array().unwrap().len(), 1);
    let actions = operator.get("/admin/audit?limit=5").text();
    for action in ["inbox.created", "inbox.secret_added", "inbox.secret_removed", "inbox.deleted"] {
        assert!(actions.contains(action), "{action} in {actions}");
    }
    assert!(!actions.contains("hunter2"));
}

#[test]
fn a_key_with_limits_changes_no_inbox() {
    let world = world();
    let arguments = ["keys", "create", "--name", "limited", "--scope", "admin", "--allow", "notified"];
    let key = world.gateway.home().run_ok(&arguments);
    let limited = world.gateway.anonymous().with_key(key.trim_end());
    limited.post("/admin/inboxes", json!({"connector": "notified", "inbox": "signed"})).problem(403, "not-allowed");
    assert_eq!(limited.get("/admin/inboxes").ok()["inboxes"], json!([]));
    let tenant = client(&world.gateway, "default", None, "operate,integrate");
    tenant.get("/admin/hook-requests").problem(403, "missing-scope");
    assert_eq!(world.client().get("/admin/hook-requests?outcome=rejected").ok()["hook_requests"], json!([]));
}

fn run(world: &World, arguments: &[&str], input: &str) -> Finished {
    let mut command = world.gateway.home().command(arguments);
    command.args(["--key", KEY, "--url", &world.gateway.address()]);
    process::run_with_input(&mut command, input)
}

#[track_caller]
fn printed(world: &World, arguments: &[&str], input: &str) -> Value {
    let finished = run(world, &[arguments, &["--json"]].concat(), input);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    serde_json::from_str(&finished.stdout).unwrap()
}

#[test]
fn the_commands_do_what_the_routes_do_and_take_a_secret_only_from_their_input() {
    let world = world();
    world.connect();
    let trigger = world.trigger(&on_folder("plans"));
    let listed = printed(&world, &["triggers", "list", "--connector", "notified", "--status", "active"], "");
    assert_eq!(listed["triggers"][0]["id"], trigger.as_str());
    let table = run(&world, &["triggers", "list"], "").stdout;
    assert!(table.starts_with("ID ") && table.contains("notified") && table.contains("poll"), "{table}");
    assert_eq!(printed(&world, &["triggers", "show", &trigger], "")["type"], "change");
    let event = printed(&world, &["triggers", "test", &trigger], "");
    assert!(event["event_id"].as_str().unwrap().starts_with("evt_"));
    assert_eq!(run(&world, &["triggers", "resubscribe", &trigger], "").code, Some(0));
    let refused = run(&world, &["triggers", "read", "trg_none"], "");
    assert!(refused.code == Some(1) && refused.stderr.contains("There is no such trigger"), "{}", refused.stderr);

    let inbox = printed(&world, &["inboxes", "create", "notified", "signed"], "");
    let id = inbox["id"].as_str().unwrap();
    let added = printed(&world, &["inboxes", "secret", id], "hunter2\n");
    assert!(added["id"].as_str().unwrap().starts_with("ibs_"));
    let empty = run(&world, &["inboxes", "secret", id], "\n");
    assert!(empty.code == Some(1) && empty.stderr.contains("there is no secret"), "{}", empty.stderr);
    assert_eq!(run(&world, &["inboxes", "secret", id, "hunter2"], "").code, Some(2), "no argument has a secret");
    assert_eq!(printed(&world, &["inboxes", "show", id], "")["state"], "unverified");
    let table = run(&world, &["inboxes", "list"], "").stdout;
    assert!(table.contains(added["id"].as_str().unwrap()) && !table.contains("hunter2"), "{table}");
    let removed = printed(&world, &["inboxes", "secret", id, "--remove", added["id"].as_str().unwrap()], "");
    assert_eq!(removed, json!({"deleted": true}));
    assert_eq!(printed(&world, &["inboxes", "requests", "--inbox", id], "")["hook_requests"], json!([]));
    assert_eq!(printed(&world, &["inboxes", "remove", id], ""), json!({"deleted": true}));
    assert_eq!(printed(&world, &["triggers", "remove", &trigger], "")["deleted"], true);
}

#[test]
fn events_are_forwarded_to_a_program_on_this_machine_signed_with_the_secret_that_is_printed() {
    let world = world();
    world.connect();
    let trigger = world.trigger(&on_folder("plans"));
    world.tested(&trigger);
    let receiver = Upstream::start();
    receiver.reply("*", Reply::empty(204));
    let target = format!("{}/events", receiver.url());
    let mut command = world.gateway.home().command(&["triggers", "listen", &trigger, "--forward", &target]);
    command.args(["--key", KEY, "--url", &world.gateway.address()]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let secret = lines.next().unwrap().unwrap();
    assert!(secret.starts_with("whsec_"), "{secret}");
    let event = world.tested(&trigger);
    receiver.wait_for_requests(1);
    let seen = receiver.seen();
    let body = verified(&seen[0], &secret);
    assert_eq!((seen.len(), seen[0].header("webhook-id")), (1, event.as_str()), "events from now on");
    assert_eq!((&body["data"]["name"], &body["event"]["source"]), (&json!("plan.txt"), &json!("test")));
    let line = lines.next().unwrap().unwrap();
    assert!(line.contains(&event) && line.ends_with("204"), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
}
