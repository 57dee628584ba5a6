//! A service that does not answer, and a database that is away while a step waits for the service
//! or while the service notifies the gateway.

use std::collections::BTreeSet;
use std::io::Write;
use std::thread::sleep;

use support::wire::{answer, connection};
use support::{Gate, Proxy};

use super::*;

/// A world whose database is behind a proxy.
struct Outage {
    world: World,
    proxy: Proxy,
    store: Store,
}

impl Outage {
    fn start() -> Self {
        let store = Store::postgres();
        let (proxy, behind) = store.database().behind_proxy();
        let world = world_of(Setup::new().general(&behind), &config());
        world.connect();
        Self { world, proxy, store }
    }

    /// Waits until a step could not store what it has found, and brings the database back. The lease of
    /// the step ends then, without the time that this takes.
    fn end(&self) {
        self.world.gateway.wait_for_log("a step that fails", |line| {
            line["message"].as_str().is_some_and(|message| message.starts_with("a step of a subscription "))
        });
        self.restore();
        self.store.database().sql("UPDATE subscriptions SET leased_until = 0 WHERE leased_until IS NOT NULL");
    }

    /// Brings the database back.
    fn restore(&self) {
        self.proxy.restore();
        wait_for("the database", || {
            let is_whole = self.world.gateway.anonymous().get("/readyz").json()["degraded"].is_null();
            (is_whole && self.world.client().get("/triggers").status == 200).then_some(())
        });
    }

    /// Lets work on subscriptions be due.
    fn make_due(&self, change: &str) {
        self.store.database().sql(&format!("UPDATE subscriptions SET due_at = 0{change}"));
    }

    /// Waits until a trigger has the events with these ids in their data, and no others.
    fn wait_for_ids(&self, id: &str, ids: &[&str]) {
        wait_for("the events", || {
            self.make_due(", read_at = 0");
            (self.world.ids(id) == ids).then_some(())
        });
    }
}

/// Lets the service of a world answer a request for a subscription once the gate is open.
fn make_behind(gate: &Gate, world: &World, subscriptions: &Arc<Mutex<Subscriptions>>) {
    let (held, shared) = (gate.clone(), Arc::clone(subscriptions));
    world.service.on("/subscriptions", move |seen| {
        let made = shared.lock().make(&serde_json::from_slice(&seen.body).unwrap());
        Reply::json(json!({"id": made})).status(201).behind(&held)
    });
}

#[test]
fn a_service_that_does_not_answer_within_the_deadline_of_the_caller_is_waited_for_later() {
    let (world, subscriptions) = notified();
    world.connect();
    let gate = Gate::default();
    make_behind(&gate, &world, &subscriptions);
    let made = world.making("ada", &item()).header("request-timeout", "5").send();
    assert_eq!((made.status, &made.json()["status"]), (201, &json!("pending")), "{}", made.text());
    wait_for("the service to be asked", || (world.asked("POST") > 0).then_some(()));
    let id = id_of(&made);
    gate.open();
    wait_for("the subscription", || {
        let now =
            "UPDATE subscriptions SET due_at = 0, renew_at = 0 WHERE failed_renewals > 0 AND leased_until IS NULL";
        world.gateway.home().sqlite(now);
        (world.record(&id)["status"] == "active").then_some(())
    });
    assert_eq!(world.notify(&subscriptions, "1"), 200);
    assert_eq!(world.ids(&id), ["1"]);
}

#[test]
fn a_notification_that_the_database_does_not_get_is_refused_and_stored_once_when_the_service_repeats_it() {
    let outage = Outage::start();
    let world = &outage.world;
    let subscriptions = serve_subscriptions(world);
    let (receiver, secret) = world.receiver();
    let mut body = item();
    body["urls"] = json!([receiver.url()]);
    let id = world.trigger(&body);
    let hook = subscriptions.lock().made[0].clone();
    let path = hook.0.strip_prefix(PUBLIC).unwrap();
    let stored = || outage.store.database().query("SELECT count(*) FROM trigger_events");
    let refusals = || {
        let log = world.gateway.log();
        let messages = log.iter().filter_map(|line| line["message"].as_str());
        messages.filter(|message| message.starts_with("a notification could not be taken")).count()
    };
    // The connections break, or nothing answers any more.
    let ways: [fn(&Proxy); 2] = [Proxy::cut, Proxy::hold];
    let mut expected = Vec::new();
    for (event, end) in ["1", "2"].into_iter().zip(ways) {
        let (before, refused) = (stored(), refusals());
        let items = json!({"value": [{"clientState": hook.1, "id": event, "etag": "1", "changeType": "created"}]});
        let items = items.to_string();
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", items.len());
        let mut sent = connection(&world.gateway.address(), head.as_bytes());
        // The address is found, and the gateway waits for the body.
        sleep(Duration::from_millis(300));
        end(&outage.proxy);
        sent.write_all(items.as_bytes()).unwrap();
        let answered = answer(&mut sent);
        assert!(answered.starts_with("HTTP/1.1 503 ") && answered.contains("\r\nretry-after: "), "{answered}");
        assert_eq!(stored(), before);
        wait_for("the line in the log", || (refusals() > refused).then_some(()));

        outage.restore();
        wait_for("the notification to be stored", || (world.notify_at(&hook, event) == 200).then_some(()));
        expected.push(event);
        assert_eq!(world.ids(&id), expected);
    }
    let page = world.events(&id, "");
    let ids = page["events"].as_array().unwrap().iter().map(|event| event["event"]["id"].as_str().unwrap().to_owned());
    let ids: BTreeSet<String> = ids.collect();
    wait_for("a webhook about each", || {
        let webhooks = receiver.seen().into_iter().map(|seen| verified(&seen, &secret));
        let told: BTreeSet<String> = webhooks.map(|told| told["event"]["id"].as_str().unwrap().to_owned()).collect();
        (told == ids).then_some(())
    });
}

#[test]
fn a_read_that_the_database_does_not_get_is_repeated_and_told_once() {
    let outage = Outage::start();
    let world = &outage.world;
    let id = world.trigger(&on_folder("plans"));
    world.happens("one");
    let gate = Gate::default();
    let (held, found) = (gate.clone(), json!({"cursor": "1", "changes": [{"id": "1", "name": "one"}]}));
    world.service.on("/changes", move |_| Reply::json(found.clone()).behind(&held));
    let before = world.service.seen().len();
    wait_for("a read", || {
        // A read that ends sets the time of the next one, also after it was set here.
        outage.make_due(", read_at = 0");
        (world.service.seen().len() > before).then_some(())
    });
    outage.proxy.cut();
    world.serve_changes();
    gate.open();
    outage.end();
    outage.wait_for_ids(&id, &["1"]);
    world.happens("two");
    outage.wait_for_ids(&id, &["1", "2"]);
    assert_eq!(world.kinds(&id), ["notified.change", "notified.change"]);
}

#[test]
fn a_subscription_of_which_the_database_does_not_learn_is_made_again_and_tells_each_event_once() {
    let outage = Outage::start();
    let world = &outage.world;
    let subscriptions = serve_subscriptions(world);
    let gate = Gate::default();
    make_behind(&gate, world, &subscriptions);
    let making = world.making("ada", &item()).begin();
    wait_for("the service to be asked", || (world.asked("POST") == 1).then_some(()));
    outage.proxy.cut();
    gate.open();
    let answer = making.wait();
    assert!(answer.status == 201 || answer.status >= 500, "{}", answer.text());
    outage.end();

    let listed = world.client().get("/triggers").ok()["triggers"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let id = listed[0]["id"].as_str().unwrap();
    outage.make_due(", renew_at = 0");
    world.wait_for_status(id, "active");
    // The service may have two subscriptions now, and notify for both.
    let made = subscriptions.lock().made.clone();
    assert!(made.iter().all(|one| *one == made[0]), "the service can find the first one by its address: {made:?}");
    let statuses: Vec<u16> = made.iter().map(|made| world.notify_at(made, "1")).collect();
    assert_eq!(statuses.last(), Some(&200));
    assert_eq!(world.ids(id), ["1"]);
}

#[test]
fn a_trigger_that_is_deleted_while_the_database_is_away_leaves_nothing_at_the_service() {
    let outage = Outage::start();
    let world = &outage.world;
    let subscriptions = serve_subscriptions(world);
    let id = world.trigger(&item());
    let gate = Gate::default();
    world.service.reply("*", Reply::empty(204).behind(&gate));
    let deleting = world.client().request("DELETE", &format!("/triggers/{id}")).begin();
    wait_for("the end at the service", || (world.asked("DELETE") == 1).then_some(()));
    outage.proxy.cut();
    gate.open();
    let answer = deleting.wait();
    assert!(answer.status == 200 || answer.status >= 500, "{}", answer.text());
    outage.end();

    wait_for("the end of the subscription", || {
        outage.make_due("");
        (outage.store.database().query("SELECT count(*) FROM subscriptions") == "0").then_some(())
    });
    world.client().get(&format!("/triggers/{id}")).problem(404, "unknown-trigger");
    assert_eq!(world.asked("POST"), 1, "no other subscription was made");
    assert_eq!(world.notify(&subscriptions, "1"), 404);
}
