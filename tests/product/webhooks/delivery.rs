//! The delivery of webhooks: signed, tried again until they are received, and the same ones after a
//! crash.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use support::webhooks::{is_signed_with, make_secret, verified};
use support::{Gate, Gateway, Reply, Store, Upstream, wait_for};

use super::{body, connect, setup, wait, wait_for_events};
use crate::integrations::on_each_store;

on_each_store!(
    a_webhook_is_signed_with_each_valid_secret,
    a_webhook_that_is_not_accepted_is_sent_again_under_the_same_id,
    a_webhook_that_was_not_accepted_is_sent_again_by_the_next_process,
);

/// The pauses between the attempts, in seconds.
const PAUSES: [u64; 6] = [5, 300, 1800, 7200, 18_000, 36_000];

/// A receiver that accepts everything.
fn accepting() -> Upstream {
    let receiver = Upstream::start();
    receiver.reply("*", Reply::empty(204));
    receiver
}

fn a_webhook_is_signed_with_each_valid_secret(store: &Store) {
    let receiver = accepting();
    let gateway = setup(store, &receiver).start();
    let client = gateway.client();
    let (first_id, first) = make_secret(&client);
    connect(&client, "one");
    let seen = wait(&receiver, 1).remove(0);
    assert_eq!(verified(&seen, &first)["data"]["user_identifier"], "one");
    assert_eq!(seen.header("webhook-signature").split(' ').count(), 1);
    assert!(seen.header("webhook-id").starts_with("msg_"), "{:?}", seen.headers);

    let (_, second) = make_secret(&client);
    connect(&client, "two");
    let seen = wait(&receiver, 2).remove(1);
    assert_eq!(seen.header("webhook-signature").split(' ').count(), 2);
    assert!(is_signed_with(&seen, &first) && is_signed_with(&seen, &second));
    assert!(!is_signed_with(&seen, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));

    client.delete(&format!("/webhooks/secrets/{first_id}")).ok();
    connect(&client, "three");
    let seen = wait(&receiver, 3).remove(2);
    assert!(is_signed_with(&seen, &second) && !is_signed_with(&seen, &first));
    wait_for_events(&gateway, "delivered", 3.0);
}

fn a_webhook_that_is_not_accepted_is_sent_again_under_the_same_id(store: &Store) {
    let receiver = Upstream::start();
    receiver.reply("*", Reply::empty(503));
    let gateway = setup(store, &receiver).start();
    let client = gateway.client();
    let (_, secret) = make_secret(&client);
    connect(&client, "one");
    wait(&receiver, 1);
    receiver.reply("*", Reply::empty(204));
    let seen = wait(&receiver, 2);
    wait_for_events(&gateway, "delivered", 1.0);
    assert_eq!(seen[0].header("webhook-id"), seen[1].header("webhook-id"));
    assert_eq!(verified(&seen[0], &secret), verified(&seen[1], &secret));
    // Each attempt has its own timestamp, so that the second signature is another one.
    assert!(seen[0].header("webhook-timestamp") < seen[1].header("webhook-timestamp"));
    assert_ne!(seen[0].header("webhook-signature"), seen[1].header("webhook-signature"));
    assert_eq!(receiver.seen().len(), 2);
}

#[test]
fn on_sqlite_the_webhooks_of_a_killed_gateway_are_free_when_the_next_one_starts() {
    let receiver = Upstream::start();
    receiver.reply("*", Reply::empty(204).behind(&Gate::default()));
    let gateway = setup(&Store::Sqlite, &receiver).start();
    make_secret(&gateway.client());
    connect(&gateway.client(), "one");
    wait(&receiver, 1);
    gateway.kill();
    // No lease ends by itself: this is in the year 2100.
    let extend = "UPDATE webhook_deliveries SET leased_until = 4102444800000 WHERE leased_until IS NOT NULL";
    assert_eq!(gateway.home().sqlite(extend), 1);
    receiver.reply("*", Reply::empty(204));
    let gateway = gateway.start_again();
    let seen = wait(&receiver, 2);
    assert_eq!(seen[0].header("webhook-id"), seen[1].header("webhook-id"));
    wait_for_events(&gateway, "delivered", 1.0);
}

fn a_webhook_that_was_not_accepted_is_sent_again_by_the_next_process(store: &Store) {
    let receiver = Upstream::start();
    receiver.reply("*", Reply::hang_up());
    let gateway = setup(store, &receiver).start();
    let client = gateway.client();
    let (_, secret) = make_secret(&client);
    connect(&client, "one");
    wait(&receiver, 1);
    wait_for_events(&gateway, "retried", 1.0);
    gateway.kill();
    receiver.reply("*", Reply::empty(200));
    let gateway = gateway.start_again();
    let seen = wait(&receiver, 2);
    assert_eq!(seen[0].header("webhook-id"), seen[1].header("webhook-id"));
    assert_eq!(verified(&seen[0], &secret), verified(&seen[1], &secret));
    wait_for_events(&gateway, "delivered", 1.0);
}

/// A gateway on a PostgreSQL database whose receiver gives this reply, and which has tried one
/// webhook.
fn tried_once(database: &Store, receiver: &Upstream) -> Gateway {
    let gateway = setup(database, receiver).start();
    make_secret(&gateway.client());
    connect(&gateway.client(), "one");
    wait(receiver, 1);
    gateway
}

fn sql(store: &Store, statement: &str) {
    let Store::Postgres(database) = store else { panic!("only PostgreSQL takes statements of tests") };
    database.sql(statement);
}

#[test]
fn a_webhook_that_a_killed_gateway_was_sending_is_sent_again() {
    let (store, receiver, gate) = (Store::postgres(), Upstream::start(), Gate::default());
    receiver.reply("*", Reply::empty(200).behind(&gate));
    let gateway = tried_once(&store, &receiver);
    gateway.kill();
    gate.open();
    let gateway = gateway.start_again();
    // The lease of the killed gateway ends after 30 seconds.
    sql(&store, "UPDATE webhook_deliveries SET leased_until = 0");
    let seen = wait(&receiver, 2);
    assert_eq!(seen[0].header("webhook-id"), seen[1].header("webhook-id"));
    wait_for_events(&gateway, "delivered", 1.0);
}

#[test]
fn a_webhook_is_tried_seven_times_with_growing_pauses_and_then_has_failed() {
    let (store, receiver) = (Store::postgres(), Upstream::start());
    receiver.reply("*", Reply::empty(404));
    let gateway = tried_once(&store, &receiver);
    for attempts in 1..=PAUSES.len() {
        wait_for_events(&gateway, "retried", attempts as f64);
        sql(&store, "UPDATE webhook_deliveries SET next_attempt_at = 0");
        wait(&receiver, attempts + 1);
    }
    wait_for_events(&gateway, "failed", 1.0);
    let pauses: Vec<u64> = gateway.log().iter().filter_map(|line| line["again_in_s"].as_u64()).collect();
    assert_eq!(pauses, PAUSES);
    let ids: HashSet<_> = receiver.seen().iter().map(|seen| seen.header("webhook-id").to_owned()).collect();
    assert_eq!((ids.len(), receiver.seen().len()), (1, PAUSES.len() + 1));
    // A delivery that has ended is not tried again, even if it were due.
    sql(&store, "UPDATE webhook_deliveries SET next_attempt_at = 0");
    connect(&gateway.client(), "two");
    wait(&receiver, PAUSES.len() + 2);
    assert_eq!(body(receiver.seen().last().unwrap())["data"]["user_identifier"], "two");
}

#[test]
fn a_410_ends_the_attempts() {
    let (store, receiver) = (Store::postgres(), Upstream::start());
    receiver.reply("*", Reply::empty(410));
    let gateway = tried_once(&store, &receiver);
    wait_for_events(&gateway, "failed", 1.0);
    sql(&store, "UPDATE webhook_deliveries SET next_attempt_at = 0");
    connect(&gateway.client(), "two");
    wait_for_events(&gateway, "failed", 2.0);
    assert_eq!(receiver.seen().len(), 2);
}

#[test]
fn of_two_gateways_one_sends_each_webhook() {
    const EVENTS: usize = 100;
    let (store, receiver) = (Store::postgres(), accepting());
    let one = setup(&store, &receiver).start();
    let key = format!("master_key_file = {:?}", one.home().data().join("master.key"));
    let other = setup(&store, &receiver).general(&key).start();
    make_secret(&one.client());
    let clients = [one.client(), other.client()];
    let connecting: Vec<_> = (0..EVENTS)
        .map(|number| {
            let body = json!({"auth_type": "none", "user_identifier": format!("user {number}")});
            clients[number % 2].begin("/connectors/account/integrations", body)
        })
        .collect();
    for connecting in connecting {
        connecting.wait().ok();
    }
    let delivered = |gateway: &Gateway| gateway.metric("gateway_webhooks_total{kind=\"event\",outcome=\"delivered\"}");
    wait_for("all webhooks", || (delivered(&one) + delivered(&other) >= EVENTS as f64).then_some(()));
    let mut received: HashMap<String, Value> = HashMap::new();
    for seen in receiver.seen() {
        let previous = received.insert(seen.header("webhook-id").to_owned(), body(&seen));
        assert_eq!(previous, None, "a webhook was sent twice");
    }
    assert_eq!(received.len(), EVENTS);
    assert_eq!(delivered(&one) + delivered(&other), EVENTS as f64);
}
