//! From a notification to an event.

use std::io::{Read, Write};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use support::accounts::{email, me};
use support::wire::connection;
use support::{Dialect, OAuthProvider, Reply, Upstream};

use super::*;
use crate::integrations::{connect, registered};

pub(super) struct World {
    pub(super) gateway: Gateway,
    /// The service, which makes subscriptions.
    service: Upstream,
    _provider: OAuthProvider,
}

pub(super) fn world() -> World {
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
    /// Makes a trigger of a type for the account `ada`, and returns its record.
    pub(super) fn trigger(&self, kind: &str) -> Value {
        trigger_of(&self.gateway.client(), "ada", kind)
    }

    /// Lets the service make subscriptions. Returns the path and the secret of each, in the order in
    /// which they are made.
    fn subscriptions(&self) -> Arc<Mutex<Vec<(String, String)>>> {
        let made = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&made);
        self.service.on("/subscriptions", move |seen| {
            let body: Value = serde_json::from_slice(&seen.body).unwrap();
            let text = |name: &str| body[name].as_str().unwrap().to_owned();
            let path = text("notificationUrl").strip_prefix(PUBLIC).unwrap().to_owned();
            shared.lock().push((path, text("clientState")));
            Reply::json(json!({"id": "s1"})).status(201)
        });
        made
    }

    /// Waits until a trigger is told that it may lack events.
    #[track_caller]
    pub(super) fn wait_for_gap(&self, trigger: &Value) {
        let path = format!("/triggers/{}/events", trigger["id"].as_str().unwrap());
        let gap = wait_for("the gap", || {
            let page = self.gateway.client().get(&path).ok();
            page["events"].as_array().unwrap().iter().find(|event| event["type"] == "trigger.gap").cloned()
        });
        assert!(gap["data"]["from"].is_string() && gap["data"]["to"].is_string(), "{gap}");
    }

    /// The data of the events of a trigger.
    fn data(&self, trigger: &Value) -> Vec<Value> {
        data_of(&self.gateway.client(), trigger)
    }
}

/// Makes a trigger of a type for the account of a user, and returns its record.
fn trigger_of(client: &Client, user: &str, kind: &str) -> Value {
    let call = client.request("POST", "/triggers").header("x-user-identifier", &email(user));
    let made = call.json(&json!({"connector": "notified", "type": kind})).send();
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()
}

/// The data of the events of a client's trigger.
fn data_of(client: &Client, trigger: &Value) -> Vec<Value> {
    let id = trigger["id"].as_str().unwrap();
    let events = client.get(&format!("/triggers/{id}/events")).ok();
    events["events"].as_array().unwrap().iter().map(|event| event["data"].clone()).collect()
}

/// A notification of a message for an account.
fn message_for(user: &str, id: &str) -> String {
    json!({"event_id": id, "event_time": at(0), "user": user, "event": {"type": "message", "text": id}}).to_string()
}

/// A notification of an item at a subscription with this secret.
fn created(secret: &str, id: &str) -> Value {
    json!({"value": [{"clientState": secret, "id": id, "etag": "1", "changeType": "created"}]})
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
fn a_notification_whose_body_comes_late_is_also_for_a_trigger_that_was_made_meanwhile() {
    let world = world();
    let made = world.subscriptions();
    let active = || {
        let trigger = world.trigger("item");
        let path = format!("/triggers/{}", trigger["id"].as_str().unwrap());
        wait_for("the trigger to be active", || {
            (world.gateway.client().get(&path).ok()["status"] == "active").then_some(())
        });
        trigger
    };
    let first = active();
    let (path, secret) = made.lock()[0].clone();
    let body = created(&secret, "late").to_string();
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    // The gateway waits five seconds for the body, in which a busy machine may make no trigger.
    let second = wait_for("a notification that is in time", || {
        let mut sent = connection(&world.gateway.address(), head.as_bytes());
        let begun = Instant::now();
        let second = active();
        // Triggers that the gateway has read with the head are too old then.
        sleep(Duration::from_secs(2).saturating_sub(begun.elapsed()));
        let mut answered = String::new();
        sent.write_all(body.as_bytes()).and_then(|()| sent.read_to_string(&mut answered)).ok()?;
        answered.starts_with("HTTP/1.1 200 ").then_some(second)
    });
    for trigger in [&first, &second] {
        let ids: Vec<Value> = world.data(trigger).iter().map(|data| data["id"].clone()).collect();
        assert_eq!(ids, ["late"]);
    }
}

#[test]
fn an_event_says_when_it_happened_and_which_number_it_has_among_those_of_its_trigger() {
    let world = world();
    let (one, client) = (world.trigger("message"), world.gateway.anonymous());
    let inbox = Inbox::signed(&world.gateway);
    let user = me("ada")["id"].clone();
    let push = |id: &str, time: Value| {
        let event = json!({"type": "message", "text": id});
        let body = json!({"event_id": id, "event_time": time, "user": user, "event": event});
        assert_eq!(inbox.push(&client, &body.to_string(), 0).send().status, 200);
    };
    push("1", json!(1_700_000_000));
    push("2", json!("2026-01-02T04:04:05+01:00"));
    let other = world.trigger("message");
    push("3", Value::Null);
    let events = |trigger: &Value| {
        let path = format!("/triggers/{}/events", trigger["id"].as_str().unwrap());
        world.gateway.client().get(&path).ok()["events"].as_array().unwrap().clone()
    };
    let numbers = |events: &[Value]| events.iter().map(|event| event["event"]["sequence"].clone()).collect::<Vec<_>>();
    let of_one = events(&one);
    assert_eq!((numbers(&of_one), numbers(&events(&other))), (vec![json!(1), json!(2), json!(3)], vec![json!(1)]));
    let times: Vec<&str> = of_one.iter().map(|event| event["timestamp"].as_str().unwrap()).collect();
    assert_eq!(times[..2], ["2023-11-14T22:13:20.000Z", "2026-01-02T03:04:05.000Z"]);
    let received = of_one[2]["event"]["received_at"].as_str().unwrap();
    assert_eq!(times[2], received, "the service has told no time");
    assert!(times[1] < of_one[1]["event"]["received_at"].as_str().unwrap());
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
    world.wait_for_gap(&trigger);
}

#[test]
fn the_secret_of_another_subscription_proves_nothing() {
    let world = world();
    let client = world.gateway.client();
    connect(&client, "notified", "bob");
    let made = Arc::new(Mutex::new(Vec::<(String, String)>::new()));
    let shared = Arc::clone(&made);
    world.service.on("/subscriptions", move |seen| {
        let body: Value = serde_json::from_slice(&seen.body).unwrap();
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        let mut made = shared.lock();
        made.push((text("notificationUrl"), text("clientState")));
        Reply::json(json!({"id": format!("s{}", made.len())})).status(201)
    });
    let triggers = ["ada", "bob"].map(|user| {
        let trigger = trigger_of(&client, user, "item");
        let path = format!("/triggers/{}", trigger["id"].as_str().unwrap());
        wait_for("the subscription", || (client.get(&path).ok()["status"] == "active").then_some(()));
        trigger
    });
    let [(of_ada, ada), (of_bob, bob)] = [0, 1].map(|index| made.lock()[index].clone());
    let (ada, bob) = (ada.as_str(), bob.as_str());
    let push = |url: &str, items: &[(&str, &str)]| {
        let item = |(secret, id): &(&str, &str)| json!({"clientState": secret, "id": id, "etag": "1", "changeType": "created"});
        let items: Vec<Value> = items.iter().map(item).collect();
        let call = world.gateway.anonymous().request("POST", url.strip_prefix(PUBLIC).unwrap());
        let answer = call.json(&json!({"value": items})).send();
        (answer.status, answer.text())
    };
    for (url, secret) in [(&of_ada, bob), (&of_bob, ada)] {
        assert_eq!(push(url, &[(secret, "1"), (secret, "2")]), (401, "{}".to_owned()));
    }
    for trigger in &triggers {
        assert_eq!(world.data(trigger), Vec::<Value>::new());
    }
    // In a list, it does not profit from an item with the right secret.
    assert_eq!(push(&of_ada, &[(ada, "3"), (bob, "4")]).0, 200);
    assert_eq!(push(&of_bob, &[(bob, "5")]).0, 200);
    let ids = |trigger: &Value| world.data(trigger).iter().map(|data| data["id"].clone()).collect::<Vec<Value>>();
    assert_eq!((ids(&triggers[0]), ids(&triggers[1])), (vec![json!("3")], vec![json!("5")]));
    let wrong = ("rejected", "wrong-token");
    let records = records(&world.gateway, "connector=notified", 5);
    assert_eq!(outcomes(&records), [wrong, wrong, ("stored", ""), wrong, ("stored", "")]);
}

#[test]
fn a_notification_at_the_inbox_of_a_tenant_is_for_the_accounts_of_this_tenant() {
    let world = world();
    let own = world.gateway.client();
    let of_own = trigger_of(&own, "ada", "message");
    let acme = crate::integrations::client(&world.gateway, "acme", None, "operate,integrate");
    connect(&acme, "notified", "ada");
    let of_acme = trigger_of(&acme, "ada", "message");
    let inboxes = ["default", "acme"].map(|tenant| Inbox::of_tenant(&world.gateway, tenant));
    let user = me("ada")["id"].as_str().unwrap().to_owned();
    let client = world.gateway.anonymous();
    for (inbox, id) in inboxes.iter().zip(["1", "2"]) {
        let answer = inbox.push(&client, &message_for(&user, id), 0).send();
        assert_eq!((answer.status, answer.text().as_str()), (200, ""));
    }
    let told = |id: &str| [json!({"type": "message", "text": id})];
    assert_eq!(data_of(&own, &of_own), told("1"));
    assert_eq!(data_of(&acme, &of_acme), told("2"));
    for inbox in &inboxes {
        assert_eq!(outcomes(&inbox.records(&world.gateway, 1)), [("stored", "")]);
    }
    // The account of the other tenant has no trigger any more.
    acme.delete(&format!("/triggers/{}", of_acme["id"].as_str().unwrap())).ok();
    assert_eq!(inboxes[1].push(&client, &message_for(&user, "3"), 0).send().status, 200);
    assert_eq!(data_of(&own, &of_own), told("1"));
    assert_eq!(outcomes(&inboxes[1].records(&world.gateway, 2))[1], ("unattributed", ""));
}
