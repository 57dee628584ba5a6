//! Stored events, and the trigger behind them.

use super::*;

on_each_store!(a_poll_returns_the_stored_events_from_its_cursor_on, a_trigger_ends_if_its_agent_does_not_ask_again,);

fn a_poll_returns_the_stored_events_from_its_cursor_on(store: &Store) {
    let world = world_on(store, "");
    world.connect();
    let agent = agent(&world);
    let first = agent.poll(&Value::Null);
    let expected = (&json!([]), &json!(false), &json!(false), &json!("complete"));
    assert_eq!((&first["events"], &first["truncated"], &first["hasMore"], &first["resultType"]), expected);
    assert!(first["nextPollMs"].as_u64().is_some_and(|wait| wait >= 5000), "{first}");
    let trigger = only_trigger(&world);
    assert_eq!(
        (&trigger["type"], &trigger["urls"], &trigger["agent"]["delivery"]),
        (&json!("change"), &json!([]), &json!("poll"))
    );
    let [one, two] = [tested(&world), tested(&world)];

    let page = result(&agent.send("events/poll", plans(json!({"cursor": first["cursor"], "maxEvents": 1}))));
    let event = &page["events"][0];
    assert_eq!((&event["eventId"], &event["name"]), (&json!(one), &json!(CHANGE)));
    assert_eq!((&event["data"], event.get("cursor")), (&json!({"id": "1", "name": "plan.txt"}), None));
    assert_eq!((&page["hasMore"], page["events"].as_array().unwrap().len()), (&json!(true), 1));
    let rest = agent.poll(&page["cursor"]);
    assert_eq!((&rest["events"][0]["eventId"], &rest["hasMore"]), (&json!(two), &json!(false)));
    assert_eq!(agent.poll(&rest["cursor"])["events"], json!([]));
    assert_eq!(agent.poll(&Value::Null)["cursor"], rest["cursor"], "without a cursor, events count from now on");
    // The ids belong to other callers.
    let id = trigger["id"].as_str().unwrap();
    let stored = world.events(id, "");
    let ids: Vec<&Value> = stored["events"].as_array().unwrap().iter().map(|event| &event["event"]["id"]).collect();
    assert_eq!(ids, [&json!(one), &json!(two)]);
    // The same words in another order are the same subscription, and other words are another one.
    assert_eq!(only_trigger(&world)["id"], trigger["id"]);
    let other = json!({"name": CHANGE, "arguments": {"folder": "other"}});
    result(&agent.send("events/poll", other));
    assert_eq!(triggers(&world).len(), 2);
}

fn a_trigger_ends_if_its_agent_does_not_ask_again(store: &Store) {
    let world = world_on(store, "");
    world.connect();
    let agent = agent(&world);
    let first = agent.poll(&Value::Null);
    let trigger = only_trigger(&world);
    tested(&world);
    let expire = "UPDATE agent_triggers SET expires_at = 0";
    match store {
        Store::Sqlite => assert_eq!(world.gateway.home().sqlite(expire), 1),
        Store::Postgres(_) => store.database().sql(expire),
    }
    wait_for("the end of the trigger", || triggers(&world).is_empty().then_some(()));
    let audit = world.client().get("/admin/audit?limit=50").ok();
    let deleted =
        audit["entries"].as_array().unwrap().iter().find(|entry| entry["action"] == "trigger.deleted").unwrap();
    assert_eq!((&deleted["target"], &deleted["actor"]), (&trigger["id"], &json!("gateway")));
    // The agent comes back, and is told that it has missed something.
    let again = agent.poll(&first["cursor"]);
    assert_eq!((&again["truncated"], &again["events"]), (&json!(true), &json!([])));
    assert_ne!(only_trigger(&world)["id"], trigger["id"]);
    let event = tested(&world);
    assert_eq!(agent.poll(&again["cursor"])["events"][0]["eventId"], event);
}

#[test]
fn a_poll_renews_the_trigger() {
    let world = world();
    world.connect();
    let agent = agent(&world);
    agent.poll(&Value::Null);
    let end = || only_trigger(&world)["agent"]["expires_at"].as_str().unwrap().to_owned();
    let first = end();
    assert_eq!(world.gateway.home().sqlite("UPDATE agent_triggers SET expires_at = expires_at - 3000000"), 1);
    assert!(end() < first);
    agent.poll(&Value::Null);
    assert!(end() >= first);
    let admin = world.client().get("/admin/triggers").ok();
    let record = &admin["triggers"][0];
    assert_eq!((&record["tenant"], &record["agent"]["expires_at"]), (&json!("default"), &json!(end())));
}

#[test]
fn what_happens_at_the_service_reaches_a_poll_and_a_gap_is_told() {
    let world = world();
    world.connect();
    world.happens("before");
    let agent = agent(&world);
    let first = agent.poll(&Value::Null);
    let id = only_trigger(&world)["id"].as_str().unwrap().to_owned();
    wait_for("the first read", || (world.record(&id)["status"] == "active").then_some(()));
    world.happens("plan.txt");
    world.has_forgotten();
    world.read(&id);
    let page = wait_for("the event", || {
        let page = agent.poll(&first["cursor"]);
        (page["events"] != json!([])).then_some(page)
    });
    assert_eq!((&page["events"][0]["data"]["name"], &page["truncated"]), (&json!("plan.txt"), &json!(true)));
    assert_eq!(page["events"].as_array().unwrap().len(), 1, "a gap is no event: {page}");
    let old = plans(json!({"cursor": first["cursor"], "maxAgeMs": 3_600_000}));
    assert_eq!(result(&agent.send("events/poll", old))["events"], page["events"]);
    assert_eq!(world.gateway.home().sqlite("UPDATE trigger_events SET received_at = received_at - 7200000"), 2);
    let old = result(&agent.send("events/poll", plans(json!({"cursor": first["cursor"], "maxAgeMs": 3_600_000}))));
    assert_eq!((&old["events"], &old["truncated"], &old["cursor"]), (&json!([]), &json!(true), &page["cursor"]));
}
