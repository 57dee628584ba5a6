//! Events for which a tenant has no room.

use std::time::Duration;

use support::Gate;
use support::accounts::me;
use support::jwt::at;
use support::webhooks::verified;

use super::*;
use crate::hooks::{Inbox, PUBLIC, outcomes};

/// A world that the service can notify, with a part of the configuration.
fn notified(config: &str) -> (World, Inbox) {
    let world = world_with(&format!("{config}\n[hooks]\npublic_url = \"{PUBLIC}\""));
    world.connect();
    let inbox = Inbox::signed(&world.gateway);
    (world, inbox)
}

/// Sends a notification of a message for the account `ada`.
fn push(world: &World, inbox: &Inbox, id: &str, text: &str) {
    let body = json!({"event_id": id, "event_time": at(0), "user": me("ada")["id"], "event": {"type": "message", "text": text}});
    let answer = inbox.push(&world.gateway.anonymous(), &body.to_string(), 0).send();
    assert_eq!((answer.status, answer.text().as_str()), (200, ""));
}

fn texts(events: &Value) -> Vec<&str> {
    events["events"].as_array().unwrap().iter().map(|event| event["data"]["text"].as_str().unwrap_or("-")).collect()
}

#[test]
fn webhooks_wait_while_too_many_are_not_delivered_and_all_are_sent_in_the_end() {
    let (world, inbox) = notified("[triggers]\nmax_pending_per_tenant = 2");
    let (receiver, secret) = world.receiver();
    let gate = Gate::default();
    receiver.reply("*", Reply::empty(204).behind(&gate));
    let urls = json!([format!("{}/events", receiver.url())]);
    let carried = id_of(&world.make(&json!({"connector": "notified", "type": "message", "urls": urls})));
    let mut body = on_folder("plans");
    body["urls"] = urls;
    let read = world.trigger(&body);

    let sent = ["a", "b", "c", "d", "e"];
    sent.iter().for_each(|id| push(&world, &inbox, id, id));
    assert_eq!(texts(&world.events(&carried, "")), sent, "they can be pulled at once");
    assert_eq!(world.record(&carried)["pending_deliveries"], 2);
    // A change that the service does not tell is read later.
    world.happens("f");
    world.read(&read);
    world.read(&read);
    assert_eq!(world.events(&read, "")["events"], json!([]));

    gate.open();
    receiver.wait_for_requests(5);
    wait_for("the read event", || {
        world.read(&read);
        (world.events(&read, "")["events"][0]["data"]["name"] == "f").then_some(())
    });
    receiver.wait_for_requests(6);
    let webhooks: Vec<Value> = receiver.seen().iter().map(|seen| verified(seen, &secret)).collect();
    let mut delivered: Vec<&str> = webhooks.iter().filter_map(|webhook| webhook["data"]["text"].as_str()).collect();
    delivered.sort_unstable();
    assert_eq!(delivered, sent, "each once");
}

#[test]
fn a_trigger_that_continues_after_a_pause_sends_what_was_kept_when_there_is_room() {
    let (world, inbox) = notified("[triggers]\nmax_pending_per_tenant = 2");
    let (receiver, secret) = world.receiver();
    let gate = Gate::default();
    receiver.reply("*", Reply::empty(204).behind(&gate));
    let id = id_of(&world.make(&json!({"connector": "notified", "type": "message", "urls": [receiver.url()]})));
    world.patch(&id, &json!({"paused": true}));
    let sent = ["a", "b", "c", "d", "e"];
    sent.iter().for_each(|id| push(&world, &inbox, id, id));
    assert_eq!(world.record(&id)["pending_deliveries"], 0);
    world.patch(&id, &json!({"paused": false}));
    wait_for("the first webhooks", || (world.record(&id)["pending_deliveries"] == 2).then_some(()));
    receiver.wait_for_requests(1);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(world.record(&id)["pending_deliveries"], 2);
    gate.open();
    receiver.wait_for_requests(5);
    let webhooks: Vec<Value> = receiver.seen().iter().map(|seen| verified(seen, &secret)).collect();
    let mut delivered: Vec<&str> = webhooks.iter().filter_map(|webhook| webhook["data"]["text"].as_str()).collect();
    delivered.sort_unstable();
    assert_eq!(delivered, sent, "each once");
}

#[test]
fn a_tenant_that_stores_too_much_learns_once_that_events_are_missing_and_reads_them_later() {
    let (world, inbox) = notified("[tenants]\nmax_stored_mb = 1");
    let carried = id_of(&world.make(&json!({"connector": "notified", "type": "message"})));
    let read = world.trigger(&on_folder("plans"));
    let long = "x".repeat(60 << 10);
    for number in 0..20 {
        push(&world, &inbox, &number.to_string(), &long);
    }
    world.happens("later");
    world.read(&read);
    world.read(&read);
    let kept = world.events(&carried, "limit=100")["events"].as_array().unwrap().clone();
    let kinds: Vec<&str> = kept.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "trigger.gap").count(), 1, "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"trigger.gap"));
    assert!((16..20).contains(&kinds.len()), "{kinds:?}");
    let gap = &kept.last().unwrap()["data"];
    assert!(gap["from"].as_str().unwrap() < gap["to"].as_str().unwrap(), "{gap}");
    let records = inbox.records(&world.gateway, 20);
    assert_eq!(outcomes(&records).last(), Some(&("ignored", "tenant-full")));
    assert!(world.gateway.metric(r#"gateway_trigger_events_total{connector="notified",outcome="dropped"}"#) > 1.0);
    assert_eq!(world.events(&read, "")["events"], json!([]));

    assert_eq!(world.client().request("DELETE", &format!("/triggers/{carried}")).send().status, 200);
    wait_for("the read event", || {
        world.read(&read);
        (world.events(&read, "")["events"][0]["data"]["name"] == "later").then_some(())
    });
}

#[test]
fn a_trigger_that_cannot_be_read_keeps_no_other_one_from_its_events() {
    let (world, inbox) = notified("");
    let (receiver, secret) = world.receiver();
    let body = json!({"connector": "notified", "type": "message", "urls": [receiver.url()]});
    let ids = [id_of(&world.make(&body)), id_of(&world.make(&body))];
    for id in &ids {
        world.patch(id, &json!({"paused": true}));
    }
    push(&world, &inbox, "a", "while both are paused");
    let [damaged, other] = &ids;
    let sqlite = |statement: &str| world.gateway.home().sqlite(statement);
    assert_eq!(sqlite(&format!("UPDATE triggers SET definition = X'00' WHERE id = '{damaged}'")), 1);
    assert_eq!(sqlite("UPDATE triggers SET state = 'live', has_backlog = 1"), 2);
    push(&world, &inbox, "b", "after it");
    receiver.wait_for_requests(2);
    let webhooks: Vec<Value> = receiver.seen().iter().map(|seen| verified(seen, &secret)).collect();
    let mut delivered: Vec<&str> = webhooks.iter().filter_map(|webhook| webhook["data"]["text"].as_str()).collect();
    delivered.sort_unstable();
    assert_eq!(delivered, ["after it", "while both are paused"]);
    assert!(webhooks.iter().all(|webhook| webhook["event"]["trigger_id"] == json!(other)), "{webhooks:?}");
}
