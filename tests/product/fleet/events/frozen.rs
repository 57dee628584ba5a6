//! A gateway that stands still while it reads, as on a machine that hangs, and continues after
//! another one has taken over.

use super::*;

#[test]
fn a_gateway_that_stands_still_while_it_reads_stores_nothing_after_another_one_has_read() {
    let (store, happened) = (Store::postgres(), Arc::<Mutex<Happened>>::default());
    let (service, provider) = (service(&happened), OAuthProvider::start(Dialect::strict()));
    let mut gateways = gateways_named(&NAMES[..2], &store, &service, &provider);
    let client = gateways[0].client();
    connect(&client, "notified", "ada");
    let path = format!("/triggers/{}", trigger(&client, "change", &json!({"folder": "plans"}), &[]));

    let gate = Gate::default();
    {
        let mut happened = happened.lock();
        happened.gate = Some(gate.clone());
        happened.changes = 2;
    }
    let before = service.seen().len();
    let read_now = || store.database().sql("UPDATE subscriptions SET due_at = 0, read_at = 0");
    let reader = wait_for_reader(&service, before, read_now);
    let mut frozen = gateways.remove(reader);
    let other = gateways.remove(0);
    frozen.stand_still();
    {
        let mut happened = happened.lock();
        happened.gate = None;
        happened.changes = 3;
    }
    // The answer with the first two waits in the connection of the gateway that stands still.
    gate.open();
    // Its lease ends, without the time that this takes.
    store.database().sql("UPDATE subscriptions SET leased_until = 0 WHERE leased_until IS NOT NULL");
    let ids = || {
        let page = other.client().get(&format!("{path}/events?limit=100")).ok();
        let events = page["events"].as_array().unwrap().iter();
        let mut ids: Vec<Value> = events.map(|event| event["data"]["id"].clone()).collect();
        ids.sort_unstable_by_key(Value::to_string);
        ids
    };
    wait_for("the other gateway", || {
        read_now();
        (ids() == ["read-1", "read-2", "read-3"]).then_some(())
    });

    frozen.go_on();
    wait_for("the gateway to continue", || (frozen.anonymous().get("/readyz").status == 200).then_some(()));
    happened.lock().changes = 4;
    wait_for("the last change", || {
        read_now();
        (ids().len() >= 4).then_some(())
    });
    // It ends the step that stood still first.
    assert!(frozen.stop().success());
    happened.lock().changes = 5;
    wait_for("a change after it", || {
        read_now();
        (ids().len() >= 5).then_some(())
    });
    assert_eq!(ids(), ["read-1", "read-2", "read-3", "read-4", "read-5"], "each once");
    // The cursor of the step that stood still was not stored.
    let cursors: Vec<String> = service.seen().iter().filter_map(|seen| seen.parameter("since")).collect();
    let first = cursors.iter().position(|cursor| cursor == "3").unwrap();
    assert!(cursors[first..].iter().all(|cursor| ["3", "4", "5"].contains(&cursor.as_str())), "{cursors:?}");
}
