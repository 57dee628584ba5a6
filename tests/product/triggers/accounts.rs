//! Events of the gateway itself: what becomes of accounts.

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
