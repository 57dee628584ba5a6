//! From a notification to an event.

use std::sync::Arc;

use parking_lot::Mutex;
use support::accounts::{email, me};
use support::wire::connection;
use support::{Dialect, OAuthProvider, Reply, Upstream};

use super::*;
use crate::integrations::{connect, registered};

struct World {
    gateway: Gateway,
    /// The service, which makes subscriptions.
    service: Upstream,
    _provider: OAuthProvider,
}

fn world() -> World {
    world_of(setup())
}

fn world_of(setup: Setup) -> World {
    let (service, provider) = (Upstream::start(), OAuthProvider::start(Dialect::strict()));
    let setup = setup.provider("notified", &provider, &[("accounts", "")]);
    let setup = setup.config(&format!("upstreams.api = \"{}\"", service.url()));
    let gateway = registered(setup.start(), &provider);
    connect(&gateway.client(), "notified", "ada");
    World { gateway, service, _provider: provider }
}

impl World {
    /// Makes a trigger of a type for the account, and returns its record.
    fn trigger(&self, kind: &str) -> Value {
        let call = self.gateway.client().request("POST", "/triggers").header("x-user-identifier", &email("ada"));
        let made = call.json(&json!({"connector": "notified", "type": kind})).send();
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()
    }

    /// The data of the events of a trigger.
    fn data(&self, trigger: &Value) -> Vec<Value> {
        let id = trigger["id"].as_str().unwrap();
        let events = self.gateway.client().get(&format!("/triggers/{id}/events")).ok();
        events["events"].as_array().unwrap().iter().map(|event| event["data"].clone()).collect()
    }
}

/// A notification of a message for an account.
fn message_for(user: &str, id: &str) -> String {
    json!({"event_id": id, "event_time": at(0), "user": user, "event": {"type": "message", "text": id}}).to_string()
}

#[test]
fn a_notification_is_stored_once_when_it_is_answered() {
    let world = world();
    let (trigger, client) = (world.trigger("message"), world.gateway.anonymous());
    let inbox = Inbox::signed(&world.gateway);
    let user = me("ada")["id"].as_str().unwrap().to_owned();
    let answer = inbox.push(&client, &message_for(&user, "1"), 0).send();
    assert_eq!((answer.status, answer.text().as_str()), (200, ""));
    let expected = [json!({"type": "message", "text": "1"})];
    assert_eq!(world.data(&trigger), expected, "it is there with the answer");
    // The service sends it again, and someone who has seen it sends it again too.
    assert_eq!(inbox.push(&client, &message_for(&user, "1"), 0).send().status, 200);
    assert_eq!(inbox.push(&client, &message_for(&user, "1"), -100).send().status, 200);
    // It is for another account.
    assert_eq!(inbox.push(&client, &message_for("someone else", "2"), 0).send().status, 200);
    assert_eq!(world.data(&trigger), expected);
    let records = inbox.records(&world.gateway, 4);
    let names: Vec<&str> = outcomes(&records).into_iter().map(|(outcome, _)| outcome).collect();
    assert_eq!(names, ["stored", "duplicate", "duplicate", "unattributed"]);
    assert_eq!((&records[0]["events"], &records[0]["kind"]), (&json!(1), &json!("message")));
}

#[test]
fn an_event_that_not_every_parser_reads_reaches_all_triggers_and_keeps_nothing_back() {
    let world = world();
    let inbox = Inbox::signed(&world.gateway);
    let plain = world.trigger("message");
    let call = world.gateway.client().request("POST", "/triggers").header("x-user-identifier", &email("ada"));
    let filters = json!([{"pointer": "/type", "in": ["message"]}]);
    let made = call.json(&json!({"connector": "notified", "type": "message", "filters": filters})).send();
    assert_eq!(made.status, 201, "{}", made.text());
    let (filtered, client) = (made.json(), world.gateway.anonymous());
    let user = me("ada")["id"].as_str().unwrap().to_owned();
    // Half of a character, a number out of range, and an object that is none for our parser.
    let long = "12345678901234567890.25";
    let odd = [r#""cut \ud83d""#, "-1e999", r#"{"$serde_json::private::RawValue": 1}"#, r#""next""#, long];
    for (id, text) in odd.into_iter().enumerate() {
        let event = format!(r#"{{"type": "message", "text": {text}}}"#);
        let body = format!(r#"{{"event_id": "{id}", "event_time": {}, "user": "{user}", "event": {event}}}"#, at(0));
        let answer = inbox.push(&client, &body, 0).send();
        assert_eq!((answer.status, answer.text().as_str()), (200, ""), "{text}");
    }
    for trigger in [&plain, &filtered] {
        let path = format!("/triggers/{}", trigger["id"].as_str().unwrap());
        let answer = world.gateway.client().get(&format!("{path}/events"));
        assert!(answer.text().contains(long), "a number keeps its digits: {}", answer.text());
        let page = answer.json();
        let events = page["events"].as_array().unwrap();
        let texts: Vec<&Value> = events.iter().map(|event| &event["data"]["text"]).collect();
        let long: Value = serde_json::from_str(long).unwrap();
        assert_eq!(texts, [&json!("cut \u{fffd}"), &json!(-1e308), &Value::Null, &json!("next"), &long]);
        assert_eq!(events[2]["type"], "trigger.gap", "what no one can read is told");
        let ids: Vec<&Value> = events.iter().map(|event| &event["event"]["id"]).collect();
        for (id, event) in ids.iter().zip(events) {
            let shown = world.gateway.client().get(&format!("{path}/events/{}", id.as_str().unwrap())).ok();
            assert_eq!(shown["data"], event["data"]);
        }
        let replayed = world.gateway.client().post(&format!("{path}/replay"), json!({"event_ids": ids})).ok();
        assert_eq!(replayed, json!({"queued": 0}), "it has no URL");
    }
}

#[test]
fn a_query_value_is_repeated_while_the_subscription_is_made_and_never_after_it() {
    let world = world();
    let made = Arc::new(Mutex::new((String::new(), String::new())));
    let address = world.gateway.address();
    let shared = Arc::clone(&made);
    // The service proves the address before it answers.
    world.service.on("/subscriptions", move |seen| {
        let body: Value = serde_json::from_slice(&seen.body).unwrap();
        let url = body["notificationUrl"].as_str().unwrap();
        let path = url.strip_prefix(PUBLIC).unwrap().to_owned();
        let target = format!("{address}{path}?validationToken=prove%20it");
        // The other tasks of this thread move to another one, because this waits for the gateway.
        let proof = tokio::task::block_in_place(|| {
            let http = support::Client::new("");
            http.request("POST", &target).header("content-type", "text/plain").body("").send()
        });
        *shared.lock() = (path, body["clientState"].as_str().unwrap().to_owned());
        let is_proven =
            (proof.status, proof.text().as_str(), proof.header("content-type")) == (200, "prove it", "text/plain");
        Reply::json(json!({"id": "s1"})).status(if is_proven { 201 } else { 400 })
    });
    let trigger = world.trigger("item");
    wait_for("the trigger to be active", || {
        let record = world.gateway.client().get(&format!("/triggers/{}", trigger["id"].as_str().unwrap())).ok();
        (record["status"] == "active").then_some(())
    });
    let (path, secret) = made.lock().clone();
    let client = world.gateway.anonymous();
    let late = client.request("POST", &format!("{path}?validationToken=prove%20it")).body("").send();
    assert_eq!((late.status, late.text().as_str()), (401, "{}"));

    // A list is taken if one of its notifications has the secret.
    let item = |secret: &str, id: &str| json!({"clientState": secret, "id": id, "etag": "1", "changeType": "created"});
    let push = |items: Value| client.request("POST", &path).json(&json!({"value": items})).send().status;
    assert_eq!(push(json!([item("wrong", "1"), item(&secret, "2"), item("", "3")])), 200);
    assert_eq!(push(json!([item("wrong", "4"), {"id": "5"}])), 401);
    assert_eq!(push(json!([])), 401);
    let ids: Vec<Value> = world.data(&trigger).iter().map(|data| data["id"].clone()).collect();
    assert_eq!(ids, ["2"]);
    let records = records(&world.gateway, "connector=notified", 6);
    let names: Vec<&str> = outcomes(&records).into_iter().map(|(outcome, _)| outcome).collect();
    assert_eq!(names, ["handshake", "rejected", "stored", "rejected", "rejected", "rejected"]);
    assert!(!world.gateway.lines().concat().contains(&secret), "the log has the secret of a subscription");
}

#[test]
fn a_notification_that_was_refused_for_lack_of_room_is_told_as_a_gap() {
    let world = world_of(setup().general("max_connections = 30"));
    let (trigger, client) = (world.trigger("message"), world.gateway.anonymous());
    let inbox = Inbox::signed(&world.gateway);
    let user = me("ada")["id"].as_str().unwrap().to_owned();
    let head = format!("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", inbox.path);
    let slow = wait_for("all places to be taken", || {
        // The gateway waits five seconds for them, in which a busy machine may do nothing else.
        let slow: Vec<_> = (0..3).map(|_| connection(&world.gateway.address(), head.as_bytes())).collect();
        let answer = inbox.push(&client, &message_for(&user, "1"), 0).send();
        (answer.status == 503).then_some(slow)
    });
    drop(slow);
    let path = format!("/triggers/{}/events", trigger["id"].as_str().unwrap());
    let gap = wait_for("the gap", || {
        let page = world.gateway.client().get(&path).ok();
        page["events"].as_array().unwrap().iter().find(|event| event["type"] == "trigger.gap").cloned()
    });
    assert!(gap["data"]["from"].is_string() && gap["data"]["to"].is_string(), "{gap}");
}
