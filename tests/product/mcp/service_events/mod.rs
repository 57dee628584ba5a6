//! Events of services for agents: the extension `io.modelcontextprotocol/events`.
//!
//! - [`listing`]: the types that an agent may use
//! - [`polling`]: stored events, and the trigger behind them
//! - [`sending`]: events that are sent to a URL of the agent
//! - [`refusals`]: what an agent is told if it gets no events

mod listing;
mod polling;
mod refusals;
mod sending;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use support::webhooks::{is_signed_with, verified};
use support::{Reply, Seen, Store, Upstream, wait_for};

use super::{Agent, code, result, with_initialize};
use crate::integrations::{client, on_each_store};
use crate::triggers::{World, world, world_on, world_with};

const CHANGE: &str = "notified.change";

/// A secret as an agent makes it.
fn secret(byte: u8) -> String {
    format!("whsec_{}", STANDARD.encode([byte; 32]))
}

/// The parameters of a request about changes of the folder `plans`.
fn plans(more: Value) -> Value {
    let mut params = json!({"name": CHANGE, "arguments": {"folder": "plans"}});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    params
}

fn agent(world: &World) -> Agent {
    Agent::new(&world.client(), "/mcp")
}

/// An agent that knows messages about its subscription.
fn knowing(world: &World) -> Agent {
    agent(world).with(json!({"extensions": {"io.modelcontextprotocol/events": {}}}))
}

impl Agent {
    #[track_caller]
    fn poll(&self, cursor: &Value) -> Value {
        result(&self.send("events/poll", plans(json!({"cursor": cursor}))))
    }

    #[track_caller]
    fn subscribe(&self, receiver: &Receiver, byte: u8) -> Value {
        result(&self.send("events/subscribe", receiver.params(byte)))
    }
}

/// The triggers of the caller.
#[track_caller]
fn triggers(world: &World) -> Vec<Value> {
    world.client().get("/triggers").ok()["triggers"].as_array().unwrap().clone()
}

#[track_caller]
fn only_trigger(world: &World) -> Value {
    let mut triggers = triggers(world);
    assert_eq!(triggers.len(), 1, "{triggers:?}");
    triggers.remove(0)
}

/// Delivers the example of the type, and returns the id of the event.
#[track_caller]
fn tested(world: &World) -> String {
    let id = only_trigger(world)["id"].as_str().unwrap().to_owned();
    let tested = world.client().post(&format!("/triggers/{id}/test"), json!({})).ok();
    tested["event_id"].as_str().unwrap().to_owned()
}

/// The receiver of an agent, which answers challenges.
struct Receiver(Upstream);

impl Receiver {
    fn start() -> Self {
        let receiver = Self(Upstream::start());
        receiver.answers(204);
        receiver
    }

    /// Answers challenges, and everything else with this status.
    fn answers(&self, status: u16) {
        self.0.on("*", move |seen| {
            let body: Value = serde_json::from_slice(&seen.body).unwrap();
            match body["type"].as_str() {
                Some("verification") => Reply::json(json!({"challenge": body["challenge"]})),
                _ => Reply::empty(status),
            }
        });
    }

    fn url(&self) -> String {
        format!("{}/hooks/1", self.0.url())
    }

    fn params(&self, byte: u8) -> Value {
        plans(json!({"delivery": {"mode": "webhook", "url": self.url(), "secret": secret(byte)}}))
    }

    /// The requests so far that are no challenges, once there are this many.
    #[track_caller]
    fn wait_for(&self, count: usize) -> Vec<Seen> {
        wait_for("webhooks for the agent", || {
            let is_challenge = |seen: &Seen| String::from_utf8_lossy(&seen.body).contains("\"verification\"");
            let seen: Vec<Seen> = self.0.seen().into_iter().filter(|seen| !is_challenge(seen)).collect();
            (seen.len() >= count).then_some(seen)
        })
    }
}
