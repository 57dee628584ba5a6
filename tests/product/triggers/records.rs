//! Triggers as callers see and change them.

use support::accounts::me;
use support::jwt::at;
use support::webhooks::verified;

use super::*;
use crate::hooks::{Inbox, PUBLIC};
use crate::integrations::client;
use crate::operator::pages;

#[test]
fn the_list_of_triggers_is_filtered_and_has_pages_with_the_newest_first() {
    let world = world();
    world.connect();
    connect(&world.client(), "notified", "bob");
    let make = |user: &str, folder: &str| id_of(&world.making(user, &on_folder(folder)).send());
    let made = [
        make("ada", "plans"),
        make("bob", "plans"),
        id_of(&world.client().post("/triggers", json!({"connector": "gateway", "type": "integration_deleted"}))),
        make("ada", "other"),
        make("bob", "other"),
    ];
    // However fast they were made.
    for (number, id) in (1..).zip(&made) {
        let is_made = format!("UPDATE triggers SET created_at = {number} WHERE id = '{id}'");
        assert_eq!(world.gateway.home().sqlite(&is_made), 1);
    }
    let [first, second, of_gateway, fourth, last] = &made;
    let found = |query: &str| -> Vec<String> {
        let page = world.client().get(&format!("/triggers?{query}")).ok();
        assert_eq!(page["next_cursor"], Value::Null, "{query}");
        page["triggers"].as_array().unwrap().iter().map(|found| found["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(found("").iter().collect::<Vec<_>>(), [last, fourth, of_gateway, second, first]);
    assert_eq!(found("connector=gateway").iter().collect::<Vec<_>>(), [of_gateway]);
    assert_eq!(found("connector=notified").iter().collect::<Vec<_>>(), [last, fourth, second, first]);
    assert_eq!(found("user_identifier=bob%40example.com").iter().collect::<Vec<_>>(), [last, second]);
    assert_eq!(
        found("connector=notified&user_identifier=ada%40example.com").iter().collect::<Vec<_>>(),
        [fourth, first]
    );
    assert!(found("connector=gateway&user_identifier=ada%40example.com").is_empty());
    let listed = pages(&world.client(), "/triggers", "triggers");
    assert_eq!(listed.iter().map(|found| &found["id"]).collect::<Vec<_>>(), [last, fourth, of_gateway, second, first]);
    assert_eq!(world.client().get("/triggers?cursor=x").violations()[0].0, "/cursor");
}

#[test]
fn a_record_says_when_the_gateway_reads_and_when_something_came() {
    let world = world_with(&format!("[hooks]\npublic_url = \"{PUBLIC}\""));
    world.connect();
    let inbox = Inbox::signed(&world.gateway);
    let read = world.trigger(&on_folder("plans"));
    let record = world.record(&read);
    assert!(record["last_read_at"].is_string(), "{record}");
    assert!(record["next_read_at"].as_str() > record["last_read_at"].as_str(), "{record}");
    assert_eq!((&record["subscription"], &record["last_event_at"]), (&Value::Null, &Value::Null));
    world.tested(&read);
    assert!(world.record(&read)["last_event_at"].is_string());

    let carried = id_of(&world.make(&json!({"connector": "notified", "type": "message"})));
    let record = wait_for("the subscription", || {
        Some(world.record(&carried)).filter(|record| record["subscription"].is_object())
    });
    let times = |record: &Value| {
        let subscription = &record["subscription"];
        [&subscription["last_push_at"], &record["last_event_at"], &record["next_read_at"]].map(Value::is_string)
    };
    assert_eq!(times(&record), [false; 3], "{record}");
    let body = json!({"event_id": "1", "event_time": at(0), "user": me("ada")["id"], "event": {"type": "message"}});
    assert_eq!(inbox.push(&world.gateway.anonymous(), &body.to_string(), 0).send().status, 200);
    let record = world.record(&carried);
    assert_eq!(times(&record), [true, true, false], "the gateway never reads it: {record}");
}

#[test]
fn what_is_changed_holds_for_the_next_events_and_the_cursor_stays() {
    let world = world();
    world.connect();
    let (receiver, secret) = world.receiver();
    let id = world.trigger(&on_folder("plans"));
    let data = || -> Vec<Value> {
        let page = world.events(&id, "");
        page["events"].as_array().unwrap().iter().map(|event| event["data"].clone()).collect()
    };
    let (plain, shaped) = (json!({"id": "1", "name": "plain"}), json!({"name": "wanted"}));
    world.happens("plain");
    world.read(&id);
    wait_for("the first event", || (!data().is_empty()).then_some(()));
    // No read that was begun with the definition of before may end after a change.
    world.settle();
    let before = world.service.seen().len();
    // They happen before the change, and are read after it.
    world.happens("other");
    world.happens("wanted");
    let changes = json!({
        "urls": [receiver.url()], "response_fields": ["name"], "filters": [{"pointer": "/name", "in": ["wanted"]}],
    });
    let changed = world.patch(&id, &changes);
    assert_eq!(changed["response_fields"], json!(["name"]));
    world.read(&id);
    receiver.wait_for_requests(1);
    assert_eq!(verified(&receiver.seen()[0], &secret)["data"], shaped);
    assert_eq!(data(), [plain.clone(), shaped.clone()]);
    world.settle();

    world.patch(&id, &json!({"urls": [], "response_fields": null, "filters": null}));
    world.happens("last");
    world.read(&id);
    wait_for("the last event", || (data().len() == 3).then_some(()));
    assert_eq!(data(), [plain, shaped, json!({"id": "4", "name": "last"})]);
    assert_eq!((receiver.seen().len(), &world.record(&id)["pending_deliveries"]), (1, &json!(0)));
    let seen = world.service.seen();
    assert!(seen.iter().skip(before).all(|seen| seen.parameter("since").is_some()), "no read began anew");
}

#[test]
fn a_tenant_has_a_limited_number_of_triggers() {
    let world = world_with("[triggers]\nmax_per_tenant = 1");
    world.connect();
    let first = world.trigger(&on_folder("plans"));
    let problem = world.make(&on_folder("other")).problem(429, "too-many-triggers");
    assert!(problem["detail"].as_str().unwrap().contains("triggers.max_per_tenant"), "{problem}");
    let other = client(&world.gateway, "acme", None, "integrate");
    let made = other.post("/triggers", json!({"connector": "gateway", "type": "integration_deleted"}));
    assert_eq!(made.status, 201, "another tenant has its own: {}", made.text());
    world.client().delete(&format!("/triggers/{first}")).ok();
    world.trigger(&on_folder("other"));
}
