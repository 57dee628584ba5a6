//! Webhooks: the secrets that sign them, and their delivery to a receiver on loopback. This file
//! has the helpers that the tests share, each other file one subject.

mod callbacks;
mod delivery;
mod events;
mod receivers;
mod secrets;

use serde_json::{Value, json};
use support::{Client, Seen, Setup, Store, Upstream, module, wait_for};

/// A gateway with a connector that needs no accounts. Each account that a user connects all the
/// same is an event, of which the receiver is told.
fn setup(store: &Store, receiver: &Upstream) -> Setup {
    telling(store, &format!("{}/events", receiver.url()), true)
}

/// As [`setup`], with this URL for events.
fn telling(store: &Store, events_url: &str, allow_private_network: bool) -> Setup {
    Setup::new()
        .on(store)
        .module("account", module::account(&json!({"identifier": "account", "auth": "none"})))
        .config(&format!("[callbacks]\nallow_private_network = {allow_private_network}\nevents_url = \"{events_url}\""))
}

/// Connects an account, which is an event.
#[track_caller]
fn connect(client: &Client, user_identifier: &str) {
    let body = json!({"auth_type": "none", "user_identifier": user_identifier});
    client.post("/connectors/account/integrations", body).ok();
}

/// Waits until this many webhooks have come in all, and returns them.
#[track_caller]
fn wait(receiver: &Upstream, count: usize) -> Vec<Seen> {
    receiver.wait_for_requests(count);
    receiver.seen()
}

fn body(seen: &Seen) -> Value {
    serde_json::from_slice(&seen.body).unwrap()
}

/// Waits until a metric of webhooks of events has this value.
#[track_caller]
fn wait_for_events(gateway: &support::Gateway, outcome: &str, count: f64) {
    let series = format!("gateway_webhooks_total{{kind=\"event\",outcome=\"{outcome}\"}}");
    wait_for(&format!("{count} webhooks that are {outcome}"), || (gateway.metric(&series) >= count).then_some(()));
}
