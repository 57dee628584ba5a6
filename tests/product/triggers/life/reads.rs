//! When the gateway reads, and what the state of a trigger says of it.

use std::time::SystemTime;

use super::*;

/// A time of a record.
#[track_caller]
fn time(record: &Value, member: &str) -> SystemTime {
    humantime::parse_rfc3339(record[member].as_str().unwrap()).unwrap()
}

#[test]
fn a_paused_trigger_is_not_read_and_continues_at_its_cursor() {
    let world = world();
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    world.patch(&id, &json!({"paused": true}));
    world.settle();
    let before = world.service.count();
    world.happens("one");
    world.make_due(", read_at = 0");
    world.settle();
    assert_eq!(world.service.count(), before, "reads wait");
    world.patch(&id, &json!({"paused": false}));
    wait_for("the event", || (world.ids(&id) == ["1"]).then_some(()));
}

#[test]
fn a_trigger_that_is_read_is_degraded_once_the_last_read_is_too_old_and_then_catches_up() {
    let world = world();
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    let read = || {
        world.settle();
        world.make_due(", read_at = 0");
        world.settle();
    };
    world.service.reply("/changes", Reply::cut_off("application/json", "{\"cursor\":"));
    world.happens("one");
    read();
    assert_eq!(world.record(&id)["status"], "active", "one read that fails is no evidence");
    // Twice the interval of five minutes.
    assert_eq!(world.gateway.home().sqlite("UPDATE subscriptions SET last_read_at = last_read_at - 601000"), 1);
    read();
    let degraded = world.record(&id);
    assert_eq!(degraded["status"], "degraded");
    assert!(degraded["reason"].is_string(), "{degraded}");
    wait_for("the message", || (world.kinds(&id) == ["trigger.degraded"]).then_some(()));

    world.serve_changes();
    read();
    let kinds = ["trigger.degraded", "notified.change", "trigger.recovered"];
    wait_for("the event", || (world.kinds(&id) == kinds).then_some(()));
    assert_eq!(world.record(&id)["status"], "active");
    world.happens("two");
    read();
    let page = world.events(&id, "");
    let sources = [1, 3].map(|index| page["events"][index]["event"]["source"].clone());
    assert_eq!(sources, ["catch-up", "read"]);
}

#[test]
fn a_trigger_is_read_as_often_as_its_caller_says_and_sooner_if_the_caller_changes_that() {
    let world = world();
    world.connect();
    let mut seldom = on_folder("plans");
    seldom["poll_s"] = json!(86_400);
    let id = world.trigger(&seldom);
    world.settle();
    let record = world.record(&id);
    let wait = time(&record, "next_read_at").duration_since(time(&record, "last_read_at")).unwrap().as_secs();
    // Less the part by which subscriptions differ.
    assert!((77_000..=86_400).contains(&wait), "{record}");
    assert_eq!(world.patch(&id, &json!({"poll_s": 60}))["poll_s"], 60);
    world.settle();
    let record = world.record(&id);
    assert!(time(&record, "next_read_at") <= SystemTime::now() + Duration::from_secs(60), "{record}");
}
