//! Events of a service at several gateways that die.
//!
//! - [`frozen`]: a gateway that stands still and continues
//! - [`pushes`]: notifications that come to any gateway, or to two at the same time

mod frozen;
mod pushes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use support::accounts::email;
use support::webhooks::{make_secret, verified};
use support::{Client, Dialect, Gate, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, wait_for};

use super::{key_of, wait_for_ready};
use crate::integrations::{connect, registered};

/// The public URL of the gateways for services. It is at no real host.
const PUBLIC: &str = "https://hooks.example";

/// The gateways, each of which the service knows by the first segment of its requests.
const NAMES: [&str; 3] = ["one", "two", "three"];

/// The changes at the service.
#[derive(Default)]
struct Happened {
    changes: usize,
    /// Reads are answered once this is open.
    gate: Option<Gate>,
    /// The address and the secret of the subscription.
    hook: Option<(String, String)>,
}

fn service(happened: &Arc<Mutex<Happened>>) -> Upstream {
    let (service, shared) = (Upstream::start(), Arc::clone(happened));
    service.on("*", move |seen| {
        let mut happened = shared.lock();
        if seen.path.ends_with("/subscriptions") {
            let body: Value = serde_json::from_slice(&seen.body).unwrap();
            let text = |name: &str| body[name].as_str().unwrap().to_owned();
            happened.hook = Some((text("notificationUrl"), text("clientState")));
            return Reply::json(json!({"id": "s1"})).status(201);
        }
        let since = seen.parameter("since").map_or(0, |since| since.parse::<usize>().unwrap());
        let change = |number: usize| json!({"id": format!("read-{number}"), "name": "plan.txt"});
        let changes: Vec<Value> = (since + 1..=happened.changes).map(change).collect();
        let reply = Reply::json(json!({"cursor": happened.changes.to_string(), "changes": changes}));
        match &happened.gate {
            Some(gate) => reply.behind(gate),
            None => reply,
        }
    });
    service
}

/// Notifies a gateway of an item, as a service does that waits for the answer. Returns `true` if
/// the gateway has it.
fn push(gateway: &Gateway, happened: &Mutex<Happened>, id: &str) -> bool {
    begin_push(gateway, happened, id).try_wait().is_ok_and(|answer| answer.status == 200)
}

fn begin_push(gateway: &Gateway, happened: &Mutex<Happened>, id: &str) -> support::Pending {
    let (url, secret) = happened.lock().hook.clone().unwrap();
    let items = json!({"value": [{"clientState": secret, "id": id, "etag": "1", "changeType": "created"}]});
    gateway.anonymous().request("POST", url.strip_prefix(PUBLIC).unwrap()).json(&items).begin()
}

/// Gateways on one database, each of which reaches the service under its name.
fn gateways_named(names: &[&str], store: &Store, service: &Upstream, provider: &OAuthProvider) -> Vec<Gateway> {
    let setup = |name: &str| {
        let setup = Setup::new().on(store).guest("notified").provider("notified", provider, &[("accounts", "")]);
        let setup = setup.config(&format!("upstreams.api = \"{}/{name}\"", service.url()));
        setup.config(&format!("[callbacks]\nallow_private_network = true\n[hooks]\npublic_url = \"{PUBLIC}\""))
    };
    let first = registered(setup(names[0]).start(), provider);
    let key = key_of(&first);
    let mut gateways = vec![first];
    gateways.extend(names[1..].iter().map(|name| setup(name).general(&key).start()));
    wait_for_ready(&gateways[0], names.len());
    gateways
}

/// Makes a trigger on the account `ada`, and waits for its subscription. Returns its id.
#[track_caller]
fn trigger(client: &Client, kind: &str, parameters: &Value, urls: &[String]) -> String {
    let body = json!({"connector": "notified", "type": kind, "parameters": parameters, "urls": urls});
    let made = client.request("POST", "/triggers").header("x-user-identifier", &email("ada")).json(&body).send();
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["id"].as_str().unwrap().to_owned();
    // Another gateway may have the first step.
    let is_active = || client.get(&format!("/triggers/{id}")).ok()["status"] == "active";
    wait_for("the subscription", || is_active().then_some(()));
    id
}

/// Waits until the service gets a read after so many requests, and returns the index of the gateway
/// that reads. `read_now` makes reads due.
fn wait_for_reader(service: &Upstream, before: usize, read_now: impl Fn()) -> usize {
    wait_for("a read", || {
        // A read that ends sets the time of the next one, also after it was set here.
        read_now();
        let mut paths = service.seen().into_iter().skip(before).map(|seen| seen.path);
        let path = paths.find(|path| path.ends_with("/changes"))?;
        NAMES.iter().position(|name| path.starts_with(&format!("/{name}/")))
    })
}

#[test]
fn readers_that_are_killed_lose_no_event_and_deliver_none_under_two_ids() {
    let (store, happened) = (Store::postgres(), Arc::<Mutex<Happened>>::default());
    let (service, receiver, provider) =
        (service(&happened), Upstream::start(), OAuthProvider::start(Dialect::strict()));
    receiver.reply("*", Reply::empty(204));
    let mut gateways = gateways_named(&NAMES, &store, &service, &provider);
    let client = gateways[0].client();
    let (_, secret) = make_secret(&client);
    connect(&client, "notified", "ada");
    let trigger = |kind: &str, parameters: Value| trigger(&client, kind, &parameters, &[receiver.url()]);
    let triggers = [trigger("change", json!({"folder": "plans"})), trigger("item", json!({}))];

    let mut expected = BTreeSet::new();
    // The ids of the webhooks about each item. A signature is good for five minutes, so webhooks are
    // verified as they come.
    let mut delivered: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut take_delivered = || {
        for seen in receiver.take_seen() {
            let webhook = verified(&seen, &secret);
            let of_item = delivered.entry(webhook["data"]["id"].as_str().unwrap_or_default().to_owned()).or_default();
            of_item.insert(seen.header("webhook-id").to_owned());
        }
        delivered.clone()
    };
    let read_now = || store.database().sql("UPDATE subscriptions SET due_at = 0, read_at = 0 WHERE address IS NULL");
    for round in 0..4 {
        let gate = Gate::default();
        {
            let mut happened = happened.lock();
            happened.gate = Some(gate.clone());
            happened.changes += 2;
            expected.extend([1, 0].map(|before| format!("read-{}", happened.changes - before)));
        }
        let before = service.seen().len();
        let reader = wait_for_reader(&service, before, read_now);
        let pushed = format!("push-{round}");
        let unanswered = begin_push(&gateways[reader], &happened, &pushed);
        gateways[reader].kill();
        drop(unanswered.try_wait());
        happened.lock().gate = None;
        gate.open();
        // The service has no answer, and sends it to the others.
        let other = &gateways[(reader + 1) % NAMES.len()];
        wait_for("a gateway that takes the notification", || push(other, &happened, &pushed).then_some(()));
        expected.insert(pushed);
        // The leases of the dead gateway end, without the time that this takes.
        for table in ["subscriptions", "webhook_deliveries"] {
            store.database().sql(&format!("UPDATE {table} SET leased_until = 0 WHERE leased_until IS NOT NULL"));
        }
        let killed = gateways.remove(reader);
        gateways.insert(reader, killed.start_again());
        wait_for_ready(&gateways[reader], NAMES.len());
        take_delivered();
    }

    let found = wait_for("all events", || {
        read_now();
        let pages =
            triggers.iter().map(|id| gateways[0].client().get(&format!("/triggers/{id}/events?limit=100")).ok());
        let events: Vec<Value> = pages.flat_map(|page| page["events"].as_array().unwrap().clone()).collect();
        (events.len() >= expected.len()).then_some(events)
    });
    let id_of = |event: &Value| event["event"]["id"].as_str().unwrap().to_owned();
    let ids: BTreeMap<String, String> =
        found.iter().map(|event| (event["data"]["id"].as_str().unwrap_or_default().to_owned(), id_of(event))).collect();
    assert_eq!((found.len(), ids.keys().cloned().collect::<BTreeSet<_>>()), (expected.len(), expected.clone()));
    let delivered =
        wait_for("all webhooks", || Some(take_delivered()).filter(|delivered| delivered.len() >= expected.len()));
    let once: BTreeMap<String, BTreeSet<String>> =
        ids.into_iter().map(|(item, id)| (item, BTreeSet::from([id]))).collect();
    assert_eq!(delivered, once);
}
