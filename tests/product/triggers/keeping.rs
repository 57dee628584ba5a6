//! Events that are no longer kept, and occurrences that are no longer known. The gateway looks for
//! them when it starts, and once in a minute.

use std::time::Duration;

use support::accounts::me;
use support::wait_at_most;

use super::*;
use crate::hooks::{Inbox, PUBLIC};

/// The world after a restart of its gateway, so that no minute has to pass.
fn restarted(world: World) -> World {
    World { gateway: world.gateway.start_again(), ..world }
}

#[test]
fn a_cursor_before_an_event_that_is_no_longer_kept_is_told_so() {
    let world = world_with("[triggers]\nkeep_h = 0.5");
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    let cursor = world.events(&id, "")["next_cursor"].as_str().unwrap().to_owned();
    let first = world.tested(&id);
    let ends = "UPDATE trigger_events SET kept_until = 0
         WHERE kept_until BETWEEN received_at + 1790000 AND received_at + 1810000";
    assert_eq!(world.gateway.home().sqlite(ends), 1, "it is kept for half an hour");
    let world = restarted(world);
    // This is too short for the sweep that comes a minute after the start.
    let at_start = Duration::from_secs(50);
    wait_at_most(at_start, "the end of the event", || (world.events(&id, "")["events"] == json!([])).then_some(()));
    let truncated = world.events(&id, &format!("cursor={cursor}"));
    assert_eq!((&truncated["events"], &truncated["truncated"]), (&json!([]), &json!(true)));
    let next = truncated["next_cursor"].as_str().unwrap();
    assert_ne!(next, cursor);
    assert_eq!(world.events(&id, &format!("cursor={next}"))["truncated"], false, "it is told once");
    assert_eq!(world.events(&id, "")["truncated"], false, "without a cursor, nothing is missing");
    let path = format!("/triggers/{id}");
    world.client().get(&format!("{path}/events/{first}")).problem(404, "unknown-event");
    world.client().post(&format!("{path}/replay"), json!({"event_ids": [first]})).problem(410, "event-not-kept");

    let second = json!(world.tested(&id));
    let page = world.events(&id, &format!("cursor={cursor}"));
    assert_eq!((&page["events"][0]["event"]["id"], &page["truncated"]), (&second, &json!(true)));
    let page = world.events(&id, &format!("cursor={next}"));
    assert_eq!((&page["events"][0]["event"]["id"], &page["truncated"]), (&second, &json!(false)));
}

#[test]
fn an_occurrence_makes_an_event_again_once_the_gateway_has_forgotten_it() {
    let settings = "[triggers]\nkeep_h = 0.5\ndedupe_h = 1";
    let world = world_with(&format!("{settings}\n[hooks]\npublic_url = \"{PUBLIC}\""));
    world.connect();
    let inbox = Inbox::signed(&world.gateway);
    let id = id_of(&world.make(&json!({"connector": "notified", "type": "message"})));
    let body = json!({"event_id": "1", "user": me("ada")["id"], "event": {"type": "message", "text": "hello"}});
    let push = |world: &World| {
        let answer = inbox.push(&world.gateway.anonymous(), &body.to_string(), 0).send();
        assert_eq!((answer.status, answer.text().as_str()), (200, ""));
    };
    let events = |world: &World| world.events(&id, "")["events"].as_array().unwrap().clone();
    push(&world);
    let first = events(&world);
    assert_eq!(first.len(), 1);
    // Its body is no longer kept, but it is known.
    let are_known = "UPDATE trigger_events SET kept_until = 0";
    assert_eq!(world.gateway.home().sqlite(are_known), 1);
    let world = restarted(world);
    wait_for("the end of the event", || events(&world).is_empty().then_some(()));
    push(&world);
    assert!(events(&world).is_empty());
    let ends = "UPDATE trigger_events SET expires_at = 0
         WHERE expires_at BETWEEN received_at + 3590000 AND received_at + 3610000";
    assert_eq!(world.gateway.home().sqlite(ends), 1, "it is known for an hour");
    // The gateway forgets it without a restart.
    wait_for("the gateway to forget it", || (world.gateway.home().sqlite(are_known) == 0).then_some(()));
    push(&world);
    let again = events(&world);
    assert_eq!((again.len(), &again[0]["data"]), (1, &first[0]["data"]));
    assert_eq!((&again[0]["event"]["id"], &again[0]["event"]["sequence"]), (&first[0]["event"]["id"], &json!(2)));
}
