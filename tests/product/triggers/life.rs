//! The life of a trigger: what it gets, what its subscription goes through, and how it ends.
//!
//! - [`renewals`]: subscriptions that the service renews
//! - [`outages`]: a service that does not answer, and a database that is away meanwhile
//! - [`reads`]: when the gateway reads, and what the state says of it

mod outages;
mod reads;
mod renewals;

use std::time::Duration;

use support::webhooks::verified;

use super::*;

/// The public URL of the gateway for services. It is at no real host.
const PUBLIC: &str = "https://hooks.example";

/// The subscriptions at the service: the requests that have made them.
#[derive(Default)]
struct Subscriptions {
    /// URL and secret of each, in the order in which they were made.
    made: Vec<(String, String)>,
    /// The status with which the service refuses further ones.
    refuses: Option<u16>,
}

/// The part of the configuration with which services can notify the gateway.
fn config() -> String {
    format!("[hooks]\npublic_url = \"{PUBLIC}\"")
}

/// A world whose service makes subscriptions.
fn notified() -> (World, Arc<Mutex<Subscriptions>>) {
    let world = world_with(&config());
    let subscriptions = serve_subscriptions(&world);
    (world, subscriptions)
}

/// Lets the service of a world make subscriptions.
fn serve_subscriptions(world: &World) -> Arc<Mutex<Subscriptions>> {
    let subscriptions: Arc<Mutex<Subscriptions>> = Arc::default();
    let shared = Arc::clone(&subscriptions);
    world.service.on("/subscriptions", move |seen| {
        let body: Value = serde_json::from_slice(&seen.body).unwrap();
        let mut subscriptions = shared.lock();
        if let Some(status) = subscriptions.refuses {
            return Reply::empty(status);
        }
        Reply::json(json!({"id": subscriptions.make(&body)})).status(201)
    });
    world.service.reply("*", Reply::empty(204));
    subscriptions
}

impl Subscriptions {
    /// Makes the subscription of a request, and returns its id.
    fn make(&mut self, body: &Value) -> String {
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        self.made.push((text("notificationUrl"), text("clientState")));
        format!("s{}", self.made.len())
    }
}

fn item() -> Value {
    json!({"connector": "notified", "type": "item"})
}

impl World {
    /// Notifies the gateway of an item at the last subscription.
    fn notify(&self, subscriptions: &Mutex<Subscriptions>, id: &str) -> u16 {
        let last = subscriptions.lock().made.last().unwrap().clone();
        self.notify_at(&last, id)
    }

    /// Notifies the gateway of an item at the subscription with this URL and secret.
    fn notify_at(&self, (url, secret): &(String, String), id: &str) -> u16 {
        let path = url.strip_prefix(PUBLIC).unwrap().to_owned();
        let items = json!({"value": [{"clientState": secret, "id": id, "etag": "1", "changeType": "created"}]});
        self.gateway.anonymous().request("POST", &path).json(&items).send().status
    }

    /// The requests of a method to the subscriptions of the service.
    fn asked(&self, method: &str) -> usize {
        self.service
            .seen()
            .iter()
            .filter(|seen| seen.method == method && seen.path.starts_with("/subscriptions"))
            .count()
    }

    #[track_caller]
    fn wait_for_status(&self, id: &str, status: &str) -> Value {
        wait_for(status, || Some(self.record(id)).filter(|record| record["status"] == status))
    }

    /// The types of all events.
    fn kinds(&self, id: &str) -> Vec<Value> {
        self.events(id, "")["events"].as_array().unwrap().iter().map(|event| event["type"].clone()).collect()
    }

    /// The ids in the data of all events.
    fn ids(&self, id: &str) -> Vec<Value> {
        self.events(id, "")["events"].as_array().unwrap().iter().map(|event| event["data"]["id"].clone()).collect()
    }

    /// Lets the service be asked to renew the first subscription of a trigger, and waits for the
    /// second one, which replaces it.
    #[track_caller]
    fn replace_subscription(&self, id: &str) {
        let renewed_at = || self.record(id)["subscription"]["renewed_at"].clone();
        let first = renewed_at();
        self.make_due(", renew_at = 0");
        wait_for("another subscription", || (self.asked("POST") == 2 && renewed_at() != first).then_some(()));
    }

    /// Lets work on all subscriptions be due.
    fn make_due(&self, change: &str) {
        assert!(self.gateway.home().sqlite(&format!("UPDATE subscriptions SET due_at = 0{change}")) > 0);
    }
}

#[test]
fn triggers_of_one_account_share_a_subscription_and_the_last_one_ends_it() {
    let (world, _) = notified();
    world.connect();
    let [one, other] = [world.trigger(&item()), world.trigger(&item())];
    assert_eq!(world.asked("POST"), 1);
    let path = |id: &str| format!("/triggers/{id}");
    let first = world.client().delete(&path(&one)).ok();
    assert_eq!(first, json!({"deleted": true, "unsubscribed": null}), "the other one still needs it");
    let last = world.client().delete(&path(&other)).ok();
    assert_eq!(last, json!({"deleted": true, "unsubscribed": true}));
    assert_eq!(world.asked("DELETE"), 1);
}

#[test]
fn a_caller_that_does_not_wait_for_the_end_of_a_subscription_learns_that_it_has_not_ended() {
    let (world, _) = notified();
    world.connect();
    let id = world.trigger(&item());
    let gate = support::Gate::default();
    world.service.reply("*", Reply::empty(204).behind(&gate));
    let call = world.client().request("DELETE", &format!("/triggers/{id}")).header("request-timeout", "3");
    assert_eq!(call.send().ok(), json!({"deleted": true, "unsubscribed": false}));
    gate.open();
    wait_for("the end at the service", || (world.asked("DELETE") > 0).then_some(()));
}

#[test]
fn a_trigger_that_is_made_while_the_last_one_is_deleted_gets_another_subscription() {
    let (world, subscriptions) = notified();
    world.connect();
    let id = world.trigger(&item());
    let gate = support::Gate::default();
    world.service.reply("*", Reply::empty(204).behind(&gate));
    let deleting = world.client().request("DELETE", &format!("/triggers/{id}")).begin();
    wait_for("the end at the service", || (world.asked("DELETE") == 1).then_some(()));
    let making = world.making("ada", &item()).begin();
    let listed = || world.client().get("/triggers").ok()["triggers"].as_array().unwrap().len();
    wait_for("the new trigger", || (listed() == 1).then_some(()));
    gate.open();
    assert_eq!(deleting.wait().ok(), json!({"deleted": true, "unsubscribed": true}));
    let new = id_of(&making.wait());
    world.wait_for_status(&new, "active");
    assert_eq!(world.asked("POST"), 2);
    assert_eq!(world.notify(&subscriptions, "1"), 200);
    assert_eq!(world.ids(&new), ["1"]);
}

#[test]
fn a_service_that_is_away_is_asked_again_and_the_reason_is_shown() {
    let (world, subscriptions) = notified();
    world.connect();
    subscriptions.lock().refuses = Some(503);
    let made = world.make(&item());
    assert_eq!((made.status, &made.json()["status"]), (201, &json!("pending")), "{}", made.text());
    assert!(made.json()["reason"].is_string());
    let id = id_of(&made);
    subscriptions.lock().refuses = None;
    world.make_due(", renew_at = 0");
    world.wait_for_status(&id, "active");
}

#[test]
fn a_service_that_refuses_for_good_ends_the_trigger_until_the_caller_lets_it_continue() {
    let (world, subscriptions) = notified();
    world.connect();
    subscriptions.lock().refuses = Some(403);
    let made = world.make(&item());
    assert_eq!((made.status, &made.json()["status"]), (201, &json!("failed")), "{}", made.text());
    assert!(made.json()["reason"].is_string(), "{}", made.text());
    let id = id_of(&made);
    subscriptions.lock().refuses = None;
    world.patch(&id, &json!({"paused": false}));
    world.wait_for_status(&id, "active");
    assert_eq!(world.notify(&subscriptions, "1"), 200);
    assert_eq!(world.ids(&id), ["1"]);
}

#[test]
fn a_subscription_that_cannot_be_renewed_is_replaced_and_the_former_one_ends_after_the_new_one_has_notified() {
    let (world, subscriptions) = notified();
    world.connect();
    let id = world.trigger(&item());
    world.replace_subscription(&id);
    assert_eq!(world.asked("DELETE"), 0, "the new one has not notified yet");
    assert_eq!(world.notify(&subscriptions, "1"), 200);
    world.make_due("");
    wait_for("the end of the former one", || (world.asked("DELETE") == 1).then_some(()));
    assert_eq!(world.ids(&id), ["1"]);
    assert_eq!(world.record(&id)["status"], "active");
}

#[test]
fn a_notification_of_the_former_subscription_does_not_end_it() {
    let (world, subscriptions) = notified();
    world.connect();
    let id = world.trigger(&item());
    world.replace_subscription(&id);
    let [former, new] = [0, 1].map(|index| subscriptions.lock().made[index].clone());
    assert_ne!(former.0, new.0, "each has a separate URL");
    assert_eq!(world.notify_at(&former, "1"), 200);
    let work = || {
        world.make_due("");
        world.settle();
    };
    work();
    assert_eq!(world.asked("DELETE"), 0, "the new one has not notified yet");
    assert_eq!(world.notify_at(&new, "2"), 200);
    work();
    assert_eq!(world.asked("DELETE"), 1);
    assert_eq!(world.notify_at(&former, "3"), 404);
    assert_eq!(world.notify_at(&new, "1"), 200);
    assert_eq!(world.ids(&id), ["1", "2"], "both have told the first one");
}

#[test]
fn services_are_told_another_url_of_the_gateway() {
    let (world, subscriptions) = notified();
    world.connect();
    world.trigger(&item());
    let World { gateway, service, .. } = world;
    let _moved = gateway.start_again_with("GATEWAY__HOOKS__PUBLIC_URL", "https://moved.example");
    wait_for("the new URL", || {
        let last = subscriptions.lock().made.last().unwrap().0.clone();
        last.starts_with("https://moved.example/hooks/").then_some(())
    });
    drop(service);
}

#[test]
fn an_account_that_its_user_or_an_operator_deletes_ends_its_subscriptions_before_its_access_is_revoked() {
    for is_by_operator in [false, true] {
        let (world, _) = notified();
        world.connect();
        let id = world.trigger(&item());
        let path = match is_by_operator {
            true => {
                let listed = world.client().get("/admin/integrations").ok();
                format!("/admin/integrations/{}", listed["integrations"][0]["id"].as_str().unwrap())
            }
            false => crate::integrations::path("notified", "ada"),
        };
        let gate = support::Gate::default();
        world.service.reply("*", Reply::empty(204).behind(&gate));
        let deleting = world.client().request("DELETE", &path).begin();
        wait_for("the end at the service", || (world.asked("DELETE") == 1).then_some(()));
        assert_eq!(world.provider.live_grants(), 1, "the service still accepts the access");
        gate.open();
        let ended = json!({"ended": 1, "not_ended": 0});
        assert_eq!(deleting.wait().ok(), json!({"deleted": true, "revoked": true, "subscriptions": ended}));
        assert_eq!((world.provider.live_grants(), world.asked("DELETE")), (0, 1));
        world.client().get(&format!("/triggers/{id}")).problem(404, "unknown-trigger");
    }
}

#[test]
fn a_trigger_whose_account_has_expired_waits_for_the_user_and_continues_at_its_cursor() {
    let world = world();
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    world.happens("one");
    world.gateway.home().sqlite("UPDATE integrations SET status = 'expired', next_refresh_at = NULL");
    // A gateway keeps what it has read of an account for a moment.
    std::thread::sleep(Duration::from_secs(2));
    world.read(&id);
    let waiting = world.wait_for_status(&id, "needs-user");
    assert!(waiting["reason"].as_str().unwrap().contains("again"), "{waiting}");
    world.connect();
    wait_for("the events", || (world.ids(&id).len() == 3).then_some(()));
    assert_eq!(world.kinds(&id), ["trigger.degraded", "notified.change", "trigger.recovered"]);
    world.wait_for_status(&id, "active");
}

#[test]
fn filters_drop_events_and_a_second_read_of_the_same_stores_none() {
    let world = world();
    world.connect();
    let mut body = on_folder("plans");
    body["filters"] = json!([{"pointer": "/name", "in": ["wanted"]}]);
    let [filtered, all] = [world.trigger(&body), world.trigger(&on_folder("plans"))];
    for name in ["wanted", "other", "wanted"] {
        world.happens(name);
    }
    world.read(&all);
    wait_for("the events", || (world.ids(&all).len() == 3).then_some(()));
    assert_eq!(world.ids(&filtered), ["1", "3"]);
    // The service tells everything again.
    world.gateway.home().sqlite("UPDATE subscriptions SET cursor = NULL, cursor_key = NULL");
    let last_read = || world.record(&all)["last_read_at"].as_str().unwrap().to_owned();
    let before = last_read();
    world.read(&all);
    wait_for("the read without a cursor", || (last_read() > before).then_some(()));
    world.happens("wanted");
    world.read(&all);
    wait_for("the new event", || (world.ids(&all).len() >= 4).then_some(()));
    assert_eq!((world.ids(&all).len(), world.ids(&filtered).len()), (4, 3));
    let series = r#"gateway_trigger_events_total{connector="notified",outcome="filtered"}"#;
    assert!(world.gateway.metric(series) >= 1.0);
}

#[test]
fn lost_events_are_told_once() {
    let world = world();
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    world.has_forgotten();
    world.read(&id);
    let gap = wait_for("the gap", || world.events(&id, "")["events"].get(0).cloned());
    assert_eq!(gap["type"], "trigger.gap");
    assert!(gap["data"]["from"].is_string() && gap["data"]["to"].is_string(), "{gap}");
    world.happens("after");
    world.read(&id);
    wait_for("the event", || (world.events(&id, "")["events"].as_array().unwrap().len() == 2).then_some(()));
}

#[test]
fn a_paused_trigger_keeps_its_events_and_sends_them_when_it_continues() {
    let (world, subscriptions) = notified();
    world.connect();
    let (receiver, secret) = world.receiver();
    let mut body = item();
    body["urls"] = json!([receiver.url()]);
    let id = world.trigger(&body);
    assert_eq!(world.patch(&id, &json!({"paused": true}))["status"], "paused");
    assert_eq!(world.notify(&subscriptions, "1"), 200);
    assert_eq!(world.ids(&id), ["1"], "it can be pulled");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(receiver.seen().len(), 0);
    assert_eq!(world.patch(&id, &json!({"paused": false}))["status"], "active");
    receiver.wait_for_requests(1);
    assert_eq!(verified(&receiver.seen()[0], &secret)["data"]["id"], "1");
}

#[test]
fn a_receiver_that_is_gone_pauses_its_trigger() {
    let (world, subscriptions) = notified();
    world.connect();
    let (receiver, _) = world.receiver();
    receiver.reply("*", Reply::empty(410));
    let mut body = item();
    body["urls"] = json!([receiver.url()]);
    let id = world.trigger(&body);
    assert_eq!(world.notify(&subscriptions, "1"), 200);
    let paused = world.wait_for_status(&id, "paused");
    assert_eq!((&paused["reason"], &paused["pending_deliveries"]), (&json!("receiver-gone"), &json!(0)));
    assert_eq!(world.ids(&id), ["1"]);
}

#[test]
fn a_gateway_that_is_killed_while_it_reads_loses_no_event_and_stores_none_twice() {
    let world = world();
    world.connect();
    let id = world.trigger(&on_folder("plans"));
    world.happens("one");
    let gate = support::Gate::default();
    let held = gate.clone();
    world.service.on("/changes", move |_| Reply::json(json!({"cursor": "9", "changes": []})).behind(&held));
    let before = world.service.seen().len();
    world.read(&id);
    world.service.wait_for_requests(before + 1);
    world.gateway.kill();
    gate.open();
    world.serve_changes();
    let world = World { gateway: world.gateway.start_again(), ..world };
    wait_for("the event", || (world.ids(&id) == ["1"]).then_some(()));
    world.read(&id);
    world.happens("two");
    world.read(&id);
    wait_for("the second event", || (world.ids(&id) == ["1", "2"]).then_some(()));
}

#[test]
fn a_trigger_whose_receivers_fail_for_days_says_soon_that_it_has_ended() {
    let world = world();
    world.connect();
    let (receiver, _) = world.receiver();
    receiver.reply("*", Reply::empty(500));
    let mut seldom = on_folder("plans");
    (seldom["poll_s"], seldom["urls"]) = (json!(86_400), json!([receiver.url()]));
    let id = world.trigger(&seldom);
    world.tested(&id);
    let is_old = "UPDATE triggers SET failing_since = 1 WHERE failing_since IS NOT NULL";
    wait_for("the first failure", || (world.gateway.home().sqlite(is_old) == 1).then_some(()));
    world.tested(&id);
    let last = || world.events(&id, "")["events"].as_array().unwrap().last().cloned().unwrap();
    let ended = wait_for("the end", || Some(last()).filter(|event| event["type"] == "trigger.disabled"));
    assert_eq!(ended["data"]["reason"], "receiver-fails");
    assert_eq!(world.record(&id)["status"], "failed");
}

#[test]
fn an_application_is_told_what_becomes_of_accounts() {
    let world = world();
    let made = world.client().post("/triggers", json!({"connector": "gateway", "type": "integration_connected"}));
    assert_eq!((made.status, &made.json()["status"]), (201, &json!("active")), "{}", made.text());
    let id = made.json()["id"].as_str().unwrap().to_owned();
    world.connect();
    let page = world.events(&id, "wait_s=25");
    let event = &page["events"][0];
    assert_eq!(event["type"], "gateway.integration_connected");
    assert_eq!(
        (&event["data"]["user_identifier"], &event["data"]["connector"]),
        (&json!(email("ada")), &json!("notified"))
    );
    let record = world.client().get(&crate::integrations::path("notified", "ada")).ok();
    for member in ["account", "scopes", "auth_type", "selected", "status", "created_at"] {
        assert_eq!((&event["data"][member], record[member].is_null()), (&record[member], false), "{member}");
    }
    world.tested(&id);
    let types = world.client().get("/trigger-types?connector=gateway").ok();
    let tested = &world.events(&id, "")["events"][1]["data"];
    assert!(tested["user_identifier"].is_string(), "{tested}");
    assert_eq!(*tested, types["trigger_types"][0]["example"]);
}
