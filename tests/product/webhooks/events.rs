//! The events that the gateway sends to the operator.

use serde_json::{Value, json};
use support::description::inlined;
use support::webhooks::{make_secret, verified};
use support::{Client, Dialect, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, module, wait_for};

use super::body;
use crate::integrations::{client, connect, email, on_each_store, path, started, who};

on_each_store!(
    the_operator_is_told_of_an_account_that_is_connected_and_removed,
    the_operator_is_told_once_of_access_that_expired,
    the_operator_is_told_of_credentials_that_are_no_longer_accepted,
);

/// A gateway with the guest `account`, and a receiver of events that accepts all of them.
struct World {
    gateway: Gateway,
    client: Client,
    provider: OAuthProvider,
    receiver: Upstream,
    secret: String,
}

fn world(store: &Store, dialect: Dialect) -> World {
    world_with(store, dialect, &json!({}))
}

/// As [`world`], with members of `service` added to the guest's description of its service.
fn world_with(store: &Store, dialect: Dialect, service: &Value) -> World {
    let (provider, receiver) = (OAuthProvider::start(dialect), Upstream::start());
    receiver.reply("*", Reply::empty(204));
    let callbacks = format!("[callbacks]\nallow_private_network = true\nevents_url = \"{}\"", receiver.url());
    let setup = Setup::new().on(store).config(&callbacks).account_with("account", &provider, service);
    let gateway = started(setup, &provider);
    let client = gateway.client();
    let (_, secret) = make_secret(&client);
    World { gateway, client, provider, receiver, secret }
}

impl World {
    /// Waits for an event of this type, and returns its data.
    #[track_caller]
    fn event(&self, kind: &str) -> Value {
        let seen = wait_for(kind, || self.receiver.seen().into_iter().find(|seen| body(seen)["type"] == kind));
        let event = verified(&seen, &self.secret);
        let members: Vec<_> = event.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["type", "timestamp", "data"]);
        assert!(humantime::parse_rfc3339(event["timestamp"].as_str().unwrap()).is_ok(), "{event}");
        event["data"].clone()
    }

    fn types(&self) -> Vec<String> {
        self.receiver.seen().iter().map(|seen| body(seen)["type"].as_str().unwrap().to_owned()).collect()
    }
}

fn the_operator_is_told_of_an_account_that_is_connected_and_removed(store: &Store) {
    let world = world(store, Dialect::strict());
    // Also of other tenants: the operator's secret signs all events.
    let ann = client(&world.gateway, "acme", Some("ann"), "operate,integrate");
    connect(&ann, "account", "ada");
    let of_ann = json!({
        "tenant": "acme", "subject": "ann", "connector": "account", "user_identifier": email("ada"),
    });
    assert_eq!(world.event("integration.connected"), of_ann);
    ann.delete(&path("account", "ada")).ok();
    let mut removed = of_ann;
    removed["reason"] = Value::Null;
    removed["deleted"] = json!(true);
    assert_eq!(world.event("integration.revoked"), removed);
    for seen in world.receiver.seen() {
        for secret in world.provider.secrets() {
            assert!(!String::from_utf8_lossy(&seen.body).contains(&secret));
        }
    }
    assert_eq!(world.types(), ["integration.connected", "integration.revoked"]);
}

fn the_operator_is_told_of_credentials_that_are_no_longer_accepted(store: &Store) {
    let world = world_with(store, Dialect::strict(), &json!({"additions": [{"is": "client_credentials"}]}));
    world.provider.add_client("robot", "secret-of-the-robot");
    let credentials = json!({"client_id": "robot", "client_secret": "secret-of-the-robot"});
    let init = json!({"auth_type": "oauth2_client_credentials", "credentials": credentials});
    world.client.post("/connectors/account/integrations", init).ok();
    assert_eq!(world.event("integration.connected")["user_identifier"], "robot");
    world.provider.end_credentials();
    world.provider.expire();
    who(&world.client).problem(424, "reauthorization-required");
    let expired = world.event("integration.expired");
    assert_eq!(expired["user_identifier"], "robot");
    assert!(!expired.to_string().contains("secret-of-the-robot"), "{expired}");
}

fn the_operator_is_told_once_of_access_that_expired(store: &Store) {
    let world = world(store, Dialect::strict());
    connect(&world.client, "account", "ada");
    world.provider.withdraw();
    for _ in 0..3 {
        who(&world.client).problem(424, "reauthorization-required");
    }
    let data = world.event("integration.expired");
    assert_eq!((&data["subject"], &data["user_identifier"]), (&Value::Null, &json!(email("ada"))));
    assert_eq!(data["reason"]["owner"], "user");
    // A later event shows that no second one is on its way.
    connect(&world.client, "account", "bob");
    wait_for("the next event", || (world.types().len() >= 3).then_some(()));
    let mut types = world.types();
    types.sort();
    assert_eq!(types, ["integration.connected", "integration.connected", "integration.expired"]);
}

#[test]
fn the_operator_is_told_when_a_token_without_a_refresh_token_ends_with_its_lifetime() {
    let world = world(&Store::Sqlite, Dialect::strict().without_refresh().living(1));
    connect(&world.client, "account", "ada");
    assert_eq!(world.event("integration.expired")["reason"]["owner"], "user");
    let record = world.client.get(&path("account", "ada")).ok();
    assert_eq!((&record["status"], &record["reason"]["owner"]), (&json!("expired"), &json!("user")));
    who(&world.client).problem(424, "reauthorization-required");
}

#[test]
fn the_operator_is_told_when_a_service_refuses_a_token_that_cannot_be_refreshed() {
    let world = world(&Store::Sqlite, Dialect::github().without_refresh());
    connect(&world.client, "account", "ada");
    world.provider.expire();
    who(&world.client).problem(424, "reauthorization-required");
    let data = world.event("integration.revoked");
    assert_eq!((&data["deleted"], &data["reason"]["owner"]), (&json!(false), &json!("user")));
}

#[test]
fn the_operator_is_told_of_connectors_that_are_swapped_and_refused() {
    let world = world(&Store::Sqlite, Dialect::strict());
    let (first, second) = (module::liar("version=1.0.0"), module::liar("version=2.0.0"));
    world.gateway.home().put("liar", &first);
    world.gateway.wait_for_version("liar", "1.0.0");
    world.gateway.home().put("liar", &second);
    let swapped = json!({
        "connector": "liar", "version": "2.0.0", "sha256": module::digest(&second),
        "replaced": {"version": "1.0.0", "sha256": module::digest(&first)},
    });
    assert_eq!(world.event("connector.swapped"), swapped);
    world.gateway.home().put("liar", b"nonsense");
    let refused = world.event("connector.refused");
    assert_eq!((&refused["file"], &refused["serving"]), (&json!("liar.wasm"), &json!(module::digest(&second))));
    assert_eq!(refused["reason"], world.gateway.wait_for_refusal("liar.wasm"));
    assert_eq!(world.types(), ["connector.swapped", "connector.refused"], "a new connector replaces no other");
}

#[test]
fn the_event_of_a_swap_is_not_lost_if_the_gateway_is_killed_right_after_it_and_is_sent_once() {
    let store = Store::postgres();
    let mut world = world(&store, Dialect::strict());
    let (first, second) = (module::liar("version=1.0.0"), module::liar("version=2.0.0"));
    world.gateway.home().put("liar", &first);
    world.gateway.wait_for_version("liar", "1.0.0");
    world.gateway.home().put("liar", &second);
    let swapped = world.event("connector.swapped");
    let swaps = |world: &World| world.types().iter().filter(|kind| *kind == "connector.swapped").count();
    world.gateway = world.gateway.start_again();
    assert_eq!(swaps(&world), 1, "a start sends no second event");
    // As if the gateway had been killed before it stored the event.
    world.gateway.kill();
    world.gateway.wait();
    store.database().sql("DELETE FROM webhook_deliveries");
    world.receiver.take_seen();
    world.gateway = world.gateway.start_again();
    assert_eq!(world.event("connector.swapped"), swapped);
    // An event of something else shows that no second one is on its way.
    world.gateway.home().put("liar", b"nonsense");
    world.event("connector.refused");
    assert_eq!(swaps(&world), 1);
}

#[test]
fn the_description_has_every_event() {
    let world = world(&Store::Sqlite, Dialect::strict());
    let document = inlined(world.client.get("/openapi.json").ok());
    let types = document.pointer("/webhooks/event/post/requestBody/content/application~1json/schema/properties/type");
    let expected = [
        "integration.connected",
        "integration.expired",
        "integration.revoked",
        "connector.swapped",
        "connector.refused",
    ];
    assert_eq!(types, Some(&json!({"type": "string", "enum": expected})));
}
