//! Webhooks about the trigger itself. `shipped::polls` has the one about its end.

use std::time::Duration;

use support::webhooks::verified;

use super::*;

#[test]
fn the_receiver_of_events_is_told_of_a_gap_and_when_a_trigger_is_degraded_and_recovers() {
    let world = world();
    world.connect();
    let (receiver, secret) = world.receiver();
    let mut body = on_folder("plans");
    (body["urls"], body["labels"]) = (json!([receiver.url()]), json!({"team": "blue"}));
    // They are sent whatever the events have to be.
    body["filters"] = json!([{"pointer": "/name", "in": ["wanted"]}]);
    let id = world.trigger(&body);
    let webhook = |number: usize| {
        receiver.wait_for_requests(number);
        let seen = receiver.seen().remove(number - 1);
        let webhook = verified(&seen, &secret);
        assert_eq!(seen.header("webhook-id"), webhook["event"]["id"].as_str().unwrap());
        assert_eq!(
            (&webhook["event"]["trigger_id"], &webhook["event"]["labels"]["team"]),
            (&json!(id), &json!("blue"))
        );
        webhook
    };
    world.has_forgotten();
    world.read(&id);
    let gap = webhook(1);
    assert_eq!(gap["type"], "trigger.gap");
    assert!(gap["data"]["from"].as_str().unwrap() <= gap["data"]["to"].as_str().unwrap(), "{gap}");

    world.gateway.home().sqlite("UPDATE integrations SET status = 'expired', next_refresh_at = NULL");
    // A gateway keeps what it has read of an account for a moment.
    std::thread::sleep(Duration::from_secs(2));
    world.read(&id);
    let degraded = webhook(2);
    assert_eq!(degraded["type"], "trigger.degraded");
    assert!(degraded["data"]["reason"].as_str().unwrap().contains("again"), "{degraded}");
    world.connect();
    assert_eq!(webhook(3)["type"], "trigger.recovered");
    let pulled = world.events(&id, "");
    let kinds: Vec<&Value> = pulled["events"].as_array().unwrap().iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["trigger.gap", "trigger.degraded", "trigger.recovered"]);
    assert_eq!(receiver.seen().len(), 3);
}
