//! Subscriptions that the service renews.

use std::fs;
use std::time::SystemTime;

use support::home::path;
use tempfile::TempDir;

use super::*;

/// The hours after which a subscription at the service ends.
const LIFE_H: u64 = 24;

/// A trigger whose subscription the service renews.
fn renewed() -> Value {
    json!({"connector": "notified", "type": "renewed"})
}

/// A world whose service renews its only subscription, unless the value says that renewals fail.
fn renewing() -> (World, Arc<Mutex<bool>>) {
    let (world, _) = notified();
    let fails: Arc<Mutex<bool>> = Arc::default();
    let stands = || {
        let end = SystemTime::now() + Duration::from_secs(LIFE_H * 3600);
        Reply::json(json!({"id": "s1", "expires_at": humantime::format_rfc3339_seconds(end).to_string()}))
    };
    world.service.on("/subscriptions", move |_| stands().status(201));
    let shared = Arc::clone(&fails);
    world.service.on("/subscriptions/s1", move |_| if *shared.lock() { Reply::empty(503) } else { stands() });
    (world, fails)
}

impl World {
    /// Lets so many hours pass for subscriptions, and waits until the work is done that is due then.
    #[track_caller]
    fn pass(&self, hours: u64) {
        self.settle();
        let times = ["due_at", "renew_at", "renewed_at", "expires_at"];
        let earlier = times.map(|time| format!("{time} = {time} - {}", hours * 3_600_000)).join(", ");
        assert_eq!(self.gateway.home().sqlite(&format!("UPDATE subscriptions SET {earlier}")), 1);
        self.settle();
    }

    /// Lets the service be asked to renew the subscription, and waits until so many renewals in a row
    /// have failed. The next one is then an hour away.
    #[track_caller]
    fn fails_to_renew(&self, failures: u32) {
        self.settle();
        self.make_due(", renew_at = 0");
        let later = format!(
            "UPDATE subscriptions SET due_at = due_at + 3600000, renew_at = renew_at + 3600000
             WHERE failed_renewals = {failures} AND leased_until IS NULL"
        );
        wait_for("a renewal that fails", || (self.gateway.home().sqlite(&later) == 1).then_some(()));
    }
}

#[test]
fn a_subscription_is_renewed_at_two_thirds_of_its_life_and_not_before() {
    let (world, _) = renewing();
    world.connect();
    let id = world.trigger(&renewed());
    let end = || world.record(&id)["subscription"]["expires_at"].as_str().unwrap().to_owned();
    for renewals in 0..2 {
        // More than half of its life, and less than two thirds with the part by which subscriptions
        // differ.
        world.pass(13);
        assert_eq!(world.asked("PATCH"), renewals);
        let ended = end();
        world.pass(4);
        assert_eq!(world.asked("PATCH"), renewals + 1);
        assert!(end() > ended, "the service has named another end");
        assert_eq!(world.record(&id)["status"], "active");
    }
    assert_eq!(world.asked("POST"), 1);
    assert_eq!(world.kinds(&id), Vec::<Value>::new());
}

#[test]
fn the_second_renewal_in_a_row_that_fails_degrades_a_trigger_until_one_succeeds() {
    let (world, fails) = renewing();
    world.connect();
    let id = world.trigger(&renewed());
    let renew = || {
        world.settle();
        world.make_due(", renew_at = 0");
        world.settle();
    };
    for _ in 0..2 {
        *fails.lock() = true;
        world.fails_to_renew(1);
        assert_eq!(world.record(&id)["status"], "active", "one renewal that fails is no evidence");
        *fails.lock() = false;
        renew();
    }
    *fails.lock() = true;
    world.fails_to_renew(1);
    assert_eq!(world.kinds(&id), Vec::<Value>::new());
    world.fails_to_renew(2);
    let degraded = world.wait_for_status(&id, "degraded");
    assert!(degraded["reason"].is_string(), "{degraded}");
    wait_for("the message", || (world.kinds(&id) == ["trigger.degraded"]).then_some(()));
    world.fails_to_renew(3);
    *fails.lock() = false;
    renew();
    world.wait_for_status(&id, "active");
    wait_for("the message", || (world.kinds(&id) == ["trigger.degraded", "trigger.recovered"]).then_some(()));
    assert_eq!(world.asked("POST"), 1);
}

#[test]
fn after_a_restore_the_service_is_asked_for_each_subscription() {
    let (world, subscriptions) = notified();
    let folder = TempDir::new().unwrap();
    let archive = folder.path().join("backup.tar.gz");
    let [known, forgotten] = ["ada", "bob"].map(|user| {
        connect(&world.client(), "notified", user);
        let id = id_of(&world.making(user, &renewed()).send());
        world.wait_for_status(&id, "active");
        id
    });
    world.settle();
    world.gateway.home().run_ok(&["backup", path(&archive)]);
    world.gateway.kill();
    world.service.reply("/subscriptions/s1", Reply::json(json!({"id": "s1"})));
    world.service.reply("/subscriptions/s2", Reply::empty(404));

    let World { gateway, service, changes, provider } = world;
    drop(gateway);
    // The module is in the archive.
    let home = configured(Setup::new(), &service, &provider, &config()).prepare();
    home.run_ok(&["restore", path(&archive)]);
    let world = World { gateway: home.start(), service, changes, provider };
    wait_for("another subscription", || (world.asked("POST") == 3).then_some(()));
    let asked_for = |path: &str| world.service.seen().iter().any(|seen| seen.method == "PATCH" && seen.path == path);
    wait_for("the renewal of the first one", || asked_for("/subscriptions/s1").then_some(()));
    assert!(asked_for("/subscriptions/s2"));
    world.settle();

    let made = subscriptions.lock().made.clone();
    assert_eq!((world.notify_at(&made[0], "1"), world.notify_at(&made[2], "2")), (200, 200));
    assert_eq!(world.kinds(&known), ["notified.renewed"]);
    assert_eq!(world.kinds(&forgotten), ["trigger.gap", "notified.renewed"], "events before it may be lost");
    for id in [&known, &forgotten] {
        assert_eq!(world.record(id)["status"], "active");
    }
}

#[test]
fn a_subscription_is_renewed_although_its_connector_was_missing_for_a_while() {
    let (world, _) = renewing();
    world.connect();
    let id = world.trigger(&renewed());
    let home = world.gateway.home();
    let bytes = fs::read(home.module("notified")).unwrap();
    fs::remove_file(home.module("notified")).unwrap();
    wait_for("the end of the connector", || world.gateway.connector("notified").is_none().then_some(()));
    world.settle();
    world.make_due("");
    world.settle();
    home.put("notified", &bytes);
    wait_for("the connector", || world.gateway.connector("notified").map(drop));
    assert_eq!(world.asked("PATCH"), 0);
    world.pass(17);
    wait_for("the renewal", || (world.asked("PATCH") == 1).then_some(()));
    wait_for("the trigger", || (world.record(&id)["status"] == "active").then_some(()));
}

#[test]
fn a_replacement_without_an_answer_is_asked_for_once_more_at_the_same_address() {
    let (world, subscriptions) = notified();
    world.connect();
    let id = world.trigger(&item());
    let shared = Arc::clone(&subscriptions);
    world.service.on("/subscriptions", move |seen| {
        let made = shared.lock().make(&serde_json::from_slice(&seen.body).unwrap());
        // The answer about the second one is lost.
        if made == "s2" { Reply::empty(502) } else { Reply::json(json!({"id": made})).status(201) }
    });
    world.make_due(", renew_at = 0");
    wait_for("a replacement without an answer", || (world.asked("POST") >= 2).then_some(()));
    world.settle();
    assert_eq!(world.notify_at(&subscriptions.lock().made[0].clone(), "1"), 200, "the present one stays");
    world.make_due(", renew_at = 0");
    wait_for("the next attempt", || (world.asked("POST") >= 3).then_some(()));
    world.settle();
    let made = subscriptions.lock().made.clone();
    assert_ne!(made[0].0, made[1].0);
    assert_eq!(made[1], made[2]);
    assert_eq!(world.notify_at(&made[2], "2"), 200);
    assert_eq!(world.ids(&id), ["1", "2"]);
    assert_eq!(world.client().delete(&format!("/triggers/{id}")).ok(), json!({"deleted": true, "unsubscribed": true}));
}
