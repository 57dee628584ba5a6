//! Events of the gateway itself: what becomes of accounts.

use support::webhooks::verified;

use super::*;
use crate::integrations::path;

#[test]
fn an_account_that_expires_is_restored_and_is_deleted_makes_an_event_of_each_type() {
    let world = world();
    world.connect();
    let make = |kind: &str| {
        let made = world.client().post("/triggers", json!({"connector": "gateway", "type": kind}));
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()["id"].as_str().unwrap().to_owned()
    };
    let ids = ["integration_expired", "integration_restored", "integration_deleted"].map(make);
    let [expired, restored, deleted] = &ids;
    let event = |id: &str| wait_for("the event", || world.events(id, "")["events"].get(0).cloned());
    let about = |event: &Value| {
        let data = &event["data"];
        assert_eq!((&data["connector"], &data["user_identifier"]), (&json!("notified"), &json!(email("ada"))));
        assert_eq!((&data["tenant"], &data["subject"]), (&json!("default"), &Value::Null));
        assert_eq!(event["event"]["user_identifier"], Value::Null, "the trigger needs no account");
        (event["type"].clone(), data["status"].clone())
    };
    world.gateway.home().sqlite("UPDATE integrations SET status = 'expired', next_refresh_at = NULL");
    assert_eq!(about(&event(expired)), (json!("gateway.integration_expired"), json!("expired")));
    world.connect();
    assert_eq!(about(&event(restored)), (json!("gateway.integration_restored"), json!("active")));
    world.client().delete(&path("notified", "ada")).ok();
    assert_eq!(about(&event(deleted)), (json!("gateway.integration_deleted"), json!("deleted")));
    let counts = ids.each_ref().map(|id| world.events(id, "")["events"].as_array().unwrap().len());
    assert_eq!(counts, [1; 3], "each gets its own events only");
}

#[test]
fn a_trigger_on_accounts_whose_receivers_fail_for_days_says_soon_that_it_has_ended() {
    let world = world();
    let (receiver, secret) = world.receiver();
    receiver.reply("*", Reply::empty(500));
    let body = json!({"connector": "gateway", "type": "integration_deleted", "urls": [receiver.url()]});
    let made = world.client().post("/triggers", body);
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let test = || world.client().post(&format!("/triggers/{id}/test"), json!({})).ok();
    test();
    let is_old = "UPDATE triggers SET failing_since = 1 WHERE failing_since IS NOT NULL";
    wait_for("the first failure", || (world.gateway.home().sqlite(is_old) == 1).then_some(()));
    test();
    let told = wait_for("the webhook about the end", || {
        let mut webhooks = receiver.seen().into_iter().map(|seen| verified(&seen, &secret));
        webhooks.find(|webhook| webhook["type"] == "trigger.disabled")
    });
    assert_eq!(told["data"]["reason"], "receiver-fails");
    assert_eq!(world.record(&id)["status"], "failed");
    let is_end = |event: &&Value| event["type"] == "trigger.disabled";
    assert_eq!(world.events(&id, "")["events"].as_array().unwrap().iter().filter(is_end).count(), 1);
}
