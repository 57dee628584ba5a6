//! Events that are read, pulled, delivered and sent once more.

use std::time::{Duration, Instant};

use support::webhooks::verified;

use super::*;
use crate::integrations::client;

#[test]
fn events_count_from_now_on_and_are_pulled_with_a_cursor_that_is_never_null() {
    let world = world();
    world.connect();
    world.happens("before");
    let id = world.trigger(&on_folder("plans"));
    let none = world.events(&id, "");
    assert_eq!((&none["events"], &none["truncated"]), (&json!([]), &json!(false)));
    let cursor = none["next_cursor"].as_str().expect("a cursor").to_owned();
    // A second read within ten seconds.
    let again = world.client().post(&format!("/triggers/{id}/read"), json!({}));
    again.problem(429, "rate-limited");
    let wait: u64 = again.header("retry-after").parse().unwrap();
    assert!((1..=10).contains(&wait), "{wait}");

    world.happens("plan.txt");
    let waiting = world.client().request("GET", &format!("/triggers/{id}/events?wait_s=25&cursor={cursor}")).begin();
    world.read(&id);
    let page = waiting.wait().ok();
    let event = &page["events"][0];
    assert_eq!((&event["type"], &event["data"]), (&json!("notified.change"), &json!({"id": "2", "name": "plan.txt"})));
    let about = &event["event"];
    assert_eq!((&about["trigger_id"], &about["source"], &about["replay"]), (&json!(id), &json!("read"), &json!(false)));
    assert_eq!((&about["connector"], &about["user_identifier"]), (&json!("notified"), &json!(email("ada"))));
    let next = page["next_cursor"].as_str().expect("a cursor");
    assert_ne!(next, cursor);
    let end = world.events(&id, &format!("cursor={next}"));
    assert_eq!((&end["events"], &end["next_cursor"]), (&json!([]), &json!(next)));
    assert_eq!(world.events(&id, "")["events"], page["events"], "without a cursor, the oldest event is first");
    let newest = world.events(&id, "order=newest&limit=1");
    assert_eq!(newest["events"].as_array().unwrap().first(), page["events"].as_array().unwrap().last());
    assert_eq!(newest["next_cursor"].as_str(), Some(next), "what comes later follows the newest event");

    let whole = world.client().get(&format!("/triggers/{id}/events/{}", about["id"].as_str().unwrap())).ok();
    assert_eq!((&whole["data"], &whole["deliveries"]), (&event["data"], &json!([])));
    world.client().get(&format!("/triggers/{id}/events/evt_none")).problem(404, "unknown-event");
    world.client().get("/triggers/trg_none/events/evt_none").problem(404, "unknown-trigger");
    for (query, pointer) in [
        ("cursor=x", "/cursor"),
        ("wait_s=26", "/wait_s"),
        ("limit=0", "/limit"),
        ("since=1", "/since"),
        ("order=last", "/order"),
    ] {
        let violations = world.client().get(&format!("/triggers/{id}/events?{query}")).violations();
        assert_eq!(violations[0].0, pointer, "{query}");
    }
}

#[test]
fn a_trigger_that_joins_a_paused_one_gets_nothing_of_what_happened_before() {
    let world = world();
    world.connect();
    let paused = world.trigger(&on_folder("plans"));
    world.patch(&paused, &json!({"paused": true}));
    world.happens("long ago");
    let joined = world.trigger(&on_folder("plans"));
    assert_eq!(world.events(&joined, "")["events"], json!([]));
    world.happens("new");
    world.read(&joined);
    let names = |id: &str| -> Vec<Value> {
        world.events(id, "")["events"].as_array().unwrap().iter().map(|event| event["data"]["name"].clone()).collect()
    };
    wait_for("the new event", || (!names(&joined).is_empty()).then_some(()));
    assert_eq!(names(&joined), ["new"]);
    assert_eq!(names(&paused), ["long ago", "new"], "the paused one keeps its events");
}

#[test]
fn a_trigger_that_joins_a_live_one_gets_nothing_of_what_happened_before() {
    let world = world();
    world.connect();
    let mut seldom = on_folder("plans");
    seldom["poll_s"] = json!(86_400);
    let live = world.trigger(&seldom);
    world.happens("before");
    let joined = world.trigger(&seldom);
    let names = |id: &str| -> Vec<Value> {
        world.events(id, "")["events"].as_array().unwrap().iter().map(|event| event["data"]["name"].clone()).collect()
    };
    // It was active only once the subscription was read, which the live one has its events of.
    assert_eq!((names(&live), names(&joined)), (vec![json!("before")], vec![]));
    world.happens("new");
    world.read(&joined);
    wait_for("the new event", || (!names(&joined).is_empty()).then_some(()));
    assert_eq!(names(&joined), ["new"]);
    assert_eq!(names(&live), ["before", "new"]);
}

#[test]
fn a_read_goes_on_behind_an_event_that_not_every_parser_reads() {
    let world = world();
    world.connect();
    let mut body = on_folder("plans");
    body["filters"] = json!([{"pointer": "/kind", "in": ["file", null]}]);
    let id = world.trigger(&body);
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    world.service.on("/changes", move |seen| {
        let changes = match seen.parameter("since").as_deref() {
            Some("0") => format!(
                r#"{{"id": "1", "name": "cut \ud83d"}}, {{"id": "2", "name": {deep}}}, {{"id": "3", "name": "next"}}"#
            ),
            _ => String::new(),
        };
        Reply::typed("application/json", format!(r#"{{"cursor": "3", "changes": [{changes}]}}"#))
    });
    world.read(&id);
    let events = wait_for("the events", || {
        world.events(&id, "")["events"].as_array().filter(|events| events.len() == 3).cloned()
    });
    let names: Vec<&Value> = events.iter().map(|event| &event["data"]["name"]).collect();
    assert_eq!(names, [&json!("cut \u{fffd}"), &Value::Null, &json!("next")]);
    assert_eq!(events[1]["type"], "trigger.gap", "what no one can read is told");
    assert_eq!(world.record(&id)["status"], "active");
}

#[test]
fn a_call_that_waits_for_an_event_ends_when_its_time_is_over() {
    let world = world();
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    let began = Instant::now();
    assert_eq!(world.events(&id, "wait_s=1")["events"], json!([]));
    assert!(began.elapsed().as_millis() >= 1000);
}

#[test]
fn an_event_that_is_tested_and_sent_once_more_has_one_webhook_id() {
    let world = world();
    world.connect();
    let (receiver, secret) = world.receiver();
    let mut body = on_folder("plans");
    body["urls"] = json!([format!("{}/events", receiver.url())]);
    body["response_fields"] = json!(["name"]);
    body["labels"] = json!({"team": "blue"});
    let id = world.trigger(&body);
    let path = format!("/triggers/{id}");
    let event_id = world.tested(&id);
    receiver.wait_for_requests(1);
    let first = receiver.seen().remove(0);
    let webhook = verified(&first, &secret);
    assert_eq!((first.header("webhook-id"), &webhook["event"]["id"]), (event_id.as_str(), &json!(event_id)));
    assert_eq!((&webhook["event"]["source"], &webhook["data"]), (&json!("test"), &json!({"name": "plan.txt"})));
    assert_eq!(webhook["event"]["labels"], json!({"team": "blue"}));
    let shown = || world.client().get(&format!("{path}/events/{event_id}")).ok();
    let deliveries = wait_for("the attempt", || {
        let deliveries = shown()["deliveries"].clone();
        (deliveries[0]["status"] == "delivered").then_some(deliveries)
    });
    assert_eq!((&deliveries[0]["event_id"], &deliveries[0]["attempts"][0]["status"]), (&json!(event_id), &json!(204)));

    let replay = |body: Value| world.client().post(&format!("{path}/replay"), body);
    assert_eq!(replay(json!({"event_ids": [event_id]})).ok(), json!({"queued": 1}));
    receiver.wait_for_requests(2);
    let second = receiver.seen().remove(1);
    let again = verified(&second, &secret);
    assert_eq!(second.header("webhook-id"), event_id);
    assert_eq!((&again["data"], &again["event"]["replay"]), (&webhook["data"], &json!(true)));
    let since = webhook["event"]["received_at"].as_str().unwrap();
    assert_eq!(replay(json!({"since": since})).ok(), json!({"queued": 1}));
    replay(json!({"event_ids": ["evt_none"]})).problem(410, "event-not-kept");
    replay(json!({"since": "2026-01-01T00:00:00Z"})).problem(410, "event-not-kept");
    assert_eq!(replay(json!({})).violations()[0].0, "");
    assert_eq!(replay(json!({"since": "yesterday"})).violations()[0].0, "/since");
}

#[test]
fn an_event_that_all_filters_admit_reaches_each_url_with_one_id() {
    let world = world();
    world.connect();
    let (receiver, secret) = world.receiver();
    let mut body = on_folder("plans");
    body["urls"] = json!(["first", "second", "third"].map(|path| format!("{}/{path}", receiver.url())));
    body["filters"] = json!([{"pointer": "/name", "in": ["wanted"]}, {"pointer": "/id", "in": ["2", "3"]}]);
    let id = world.trigger(&body);
    ["wanted", "wanted", "other"].into_iter().for_each(|name| world.happens(name));
    world.read(&id);
    receiver.wait_for_requests(3);
    let page = world.events(&id, "");
    let events = page["events"].as_array().unwrap();
    assert_eq!((events.len(), &events[0]["data"]["id"]), (1, &json!("2")));
    let mut paths = Vec::new();
    for seen in receiver.seen() {
        assert_eq!(verified(&seen, &secret), events[0]);
        assert_eq!(seen.header("webhook-id"), events[0]["event"]["id"].as_str().unwrap());
        paths.push(seen.path);
    }
    paths.sort_unstable();
    assert_eq!(paths, ["/first", "/second", "/third"]);
}

#[test]
fn events_that_are_sent_once_more_wait_while_the_trigger_is_paused_and_need_a_url() {
    let world = world();
    world.connect();
    let (receiver, secret) = world.receiver();
    let mut body = on_folder("plans");
    let replay = |id: &str, event: &str| {
        world.client().post(&format!("/triggers/{id}/replay"), json!({"event_ids": [event]})).ok()
    };
    let pulled = world.trigger(&body);
    assert_eq!(replay(&pulled, &world.tested(&pulled)), json!({"queued": 0}), "it has no URL");

    body["urls"] = json!([format!("{}/events", receiver.url())]);
    let id = world.trigger(&body);
    let event = world.tested(&id);
    receiver.wait_for_requests(1);
    world.patch(&id, &json!({"paused": true}));
    assert_eq!(replay(&id, &event), json!({"queued": 1}));
    assert_eq!(world.record(&id)["pending_deliveries"], 0, "it waits");
    assert_eq!(receiver.seen().len(), 1);
    world.patch(&id, &json!({"paused": false}));
    receiver.wait_for_requests(2);
    let again = verified(&receiver.seen()[1], &secret);
    assert_eq!((&again["event"]["id"], &again["event"]["replay"]), (&json!(event), &json!(true)), "{again}");
}

#[test]
fn the_service_sends_what_cannot_be_read() {
    let world = world();
    world.connect();
    let id = id_of(&world.make(&json!({"connector": "notified", "type": "message"})));
    world.client().post(&format!("/triggers/{id}/read"), json!({})).problem(409, "nothing-to-read");
}

#[test]
fn a_deleted_trigger_is_gone_with_its_events() {
    let world = world();
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    world.tested(&id);
    let deleted = world.client().delete(&format!("/triggers/{id}")).ok();
    assert_eq!(deleted, json!({"deleted": true, "unsubscribed": null}), "nothing stood at the service");
    for path in ["", "/events", "/events/evt_1"] {
        world.client().get(&format!("/triggers/{id}{path}")).problem(404, "unknown-trigger");
    }
    for path in ["test", "read"] {
        world.client().post(&format!("/triggers/{id}/{path}"), json!({})).problem(404, "unknown-trigger");
    }
    world.client().delete(&format!("/triggers/{id}")).problem(404, "unknown-trigger");
}

#[test]
fn reads_give_way_to_callers_in_the_queue_of_a_paced_service() {
    let world = world_with("[connectors.notified.pacing]\ninterval_ms = 1\nconcurrency = 1\nmax_wait_ms = 60000");
    world.connect();
    let folders = ["a", "b", "c", "d", "e"];
    for folder in folders {
        world.trigger(&on_folder(folder));
    }
    let gate = support::Gate::default();
    let held = gate.clone();
    world.service.on("/changes", move |_| Reply::json(json!({"cursor": "0", "changes": []})).behind(&held));
    world.service.reply("/called", Reply::json(json!({})));
    let before = world.service.seen().len();
    let sqlite = |statement: &str| world.gateway.home().sqlite(statement);
    sqlite("UPDATE subscriptions SET due_at = 0, read_at = 0");
    world.service.wait_for_requests(before + 1);
    wait_for("all reads to begin", || {
        let leased = sqlite("UPDATE subscriptions SET rung = rung WHERE leased_until IS NOT NULL");
        (leased == folders.len()).then_some(())
    });
    // They are in the queue a moment later. If not, the callers are before them in any case.
    std::thread::sleep(Duration::from_millis(300));
    let key = client(&world.gateway, "default", None, "proxy");
    let call = |_| {
        let call = key.request("GET", "/proxy/notified/api/called");
        call.header("x-user-identifier", &email("ada")).begin()
    };
    let calls: Vec<_> = (0..3).map(call).collect();
    wait_for("the calls", || (world.gateway.metric("gateway_in_flight") >= 3.0).then_some(()));
    // They too are in the queue a moment later.
    std::thread::sleep(Duration::from_millis(500));
    gate.open();
    let calls: Vec<u16> = calls.into_iter().map(|call| call.wait().status).collect();
    assert_eq!(calls, [200; 3]);
    let paths: Vec<String> = world.service.seen().into_iter().skip(before).map(|seen| seen.path).collect();
    let last = paths.iter().rposition(|path| path == "/called").unwrap();
    let reads = paths[..last].iter().filter(|path| *path == "/changes").count();
    assert!(reads <= calls.len(), "{paths:?}");
}

#[test]
fn reads_leave_half_of_a_contended_rate_limit_to_callers() {
    let world = world();
    world.connect();
    // The connector may send six requests in three seconds.
    for folder in ["a", "b", "c", "d", "e", "f"] {
        world.trigger(&json!({"connector": "notified", "type": "limited", "parameters": {"folder": folder}}));
    }
    world.service.reply("/folders", Reply::json(json!({})));
    let caller = client(&world.gateway, "default", None, "operate");
    let before = world.service.seen().len();
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        let calls: Vec<_> = (0..6).map(|_| caller.begin("/connectors/notified/folders", json!({}))).collect();
        let refused = calls.into_iter().map(|call| call.wait()).filter(|answer| answer.status == 429);
        let wait = refused.map(|answer| answer.header("retry-after").parse().unwrap()).max().unwrap_or(0);
        // The caller comes when it was told to. Reads come whenever they can.
        let again = Instant::now() + Duration::from_secs(wait);
        while Instant::now() < again {
            world.gateway.home().sqlite("UPDATE subscriptions SET due_at = 0, read_at = 0");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    let seen: Vec<String> = world.service.seen().into_iter().skip(before).map(|seen| seen.path).collect();
    let [calls, reads] = ["/folders", "/changes"].map(|path| seen.iter().filter(|seen| *seen == path).count());
    assert!(calls > 0 && reads > 0, "{calls} calls, {reads} reads");
    assert!(2 * calls >= reads, "{calls} calls, {reads} reads");
}
