//! Events of the gateway itself: what becomes of accounts.

use support::webhooks::verified;

use super::*;
use crate::integrations::{client, path};

#[test]
fn an_account_that_expires_is_restored_and_is_deleted_makes_an_event_of_each_type() {
    let world = world();
    world.connect();
    let make = |kind: &str| id_of(&world.client().post("/triggers", json!({"connector": "gateway", "type": kind})));
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
fn another_tenant_and_another_user_learn_nothing_of_an_account() {
    let world = world();
    let make = |tenant: &str, subject: Option<&str>| {
        let caller = client(&world.gateway, tenant, subject, "operate,integrate");
        let made = caller.post("/triggers", json!({"connector": "gateway", "type": "integration_connected"}));
        (id_of(&made), caller)
    };
    let others = [make("acme", None), make("default", Some("ann"))];
    let own = make("default", None);
    world.connect();
    let count = |(id, caller): &(String, Client)| {
        caller.get(&format!("/triggers/{id}/events")).ok()["events"].as_array().unwrap().len()
    };
    wait_for("the event", || (count(&own) == 1).then_some(()));
    // The events of all triggers on a change are stored together.
    assert_eq!(others.each_ref().map(count), [0; 2]);
}

#[test]
fn a_trigger_on_accounts_whose_receivers_fail_for_days_says_soon_that_it_has_ended() {
    let world = world();
    let (receiver, secret) = world.receiver();
    receiver.reply("*", Reply::empty(500));
    let body = json!({"connector": "gateway", "type": "integration_deleted", "urls": [receiver.url()]});
    let id = id_of(&world.client().post("/triggers", body));
    world.tested(&id);
    let is_old = "UPDATE triggers SET failing_since = 1 WHERE failing_since IS NOT NULL";
    wait_for("the first failure", || (world.gateway.home().sqlite(is_old) == 1).then_some(()));
    world.tested(&id);
    let told = wait_for("the webhook about the end", || {
        let mut webhooks = receiver.seen().into_iter().map(|seen| verified(&seen, &secret));
        webhooks.find(|webhook| webhook["type"] == "trigger.disabled")
    });
    assert_eq!(told["data"]["reason"], "receiver-fails");
    assert_eq!(world.record(&id)["status"], "failed");
    let is_end = |event: &&Value| event["type"] == "trigger.disabled";
    assert_eq!(world.events(&id, "")["events"].as_array().unwrap().iter().filter(is_end).count(), 1);
}
