//! Triggers, as applications and operators use them.
//!
//! - [`making`]: what is checked before a trigger is made, and in which order
//! - [`records`]: what callers see of their triggers, and what they change
//! - [`life`]: what a trigger gets, what its subscription goes through, and how it ends
//! - [`reading`]: events that are read, pulled, delivered and sent once more
//! - [`control`]: webhooks about the trigger itself
//! - [`accounts`]: events of the gateway about accounts
//! - [`keeping`]: events that are no longer kept, or no longer known
//! - [`backlog`]: events for which a tenant has no room
//! - [`keys`]: triggers on accounts with an API key
//! - [`owners`]: whose triggers a caller sees, and what a limited key may do
//! - [`operators`]: inboxes, triggers of all tenants, and the commands
//! - [`page`]: the page for callers
//! - [`local_push`]: a push without the service, as the page for operators says
//! - [`shipped`]: the types of the product's connectors, each with a stand-in for its service

mod accounts;
mod backlog;
mod control;
mod keeping;
mod keys;
mod life;
mod local_push;
mod making;
mod operators;
mod owners;
mod page;
mod reading;
mod records;
mod shipped;

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use support::accounts::email;
use support::webhooks::make_secret;
use support::{Answer, Call, Client, Dialect, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, wait_for};

use crate::integrations::{connect, registered};

/// A gateway whose connector reads changes at a service, and the service.
pub(crate) struct World {
    pub(crate) gateway: Gateway,
    pub(crate) service: Upstream,
    /// The changes at the service.
    changes: Arc<Mutex<Vec<Value>>>,
    pub(crate) provider: OAuthProvider,
}

pub(crate) fn world() -> World {
    world_with("")
}

/// A world with a part of the configuration.
pub(crate) fn world_with(config: &str) -> World {
    world_on(&Store::Sqlite, config)
}

/// The same, on a database.
pub(crate) fn world_on(store: &Store, config: &str) -> World {
    world_of(Setup::new().on(store), config)
}

/// The same, with a setup that has the database.
fn world_of(setup: Setup, config: &str) -> World {
    let (service, provider) = (Upstream::start(), OAuthProvider::start(Dialect::strict()));
    let setup = configured(setup.guest("notified"), &service, &provider, config);
    let gateway = registered(setup.start(), &provider);
    let world = World { gateway, service, changes: Arc::default(), provider };
    world.serve_changes();
    world
}

/// Adds the configuration of the connector to a setup, and a further part of the configuration.
fn configured(setup: Setup, service: &Upstream, provider: &OAuthProvider, config: &str) -> Setup {
    setup
        .provider("notified", provider, &[("accounts", "")])
        .config(&format!("upstreams.api = \"{}\"", service.url()))
        .config("[callbacks]\nallow_private_network = true")
        .config(config)
}

/// The id of a trigger that was made.
#[track_caller]
fn id_of(made: &Answer) -> String {
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

/// The body of a trigger on a folder.
pub(crate) fn on_folder(folder: &str) -> Value {
    json!({"connector": "notified", "type": "change", "parameters": {"folder": folder}})
}

impl World {
    pub(crate) fn client(&self) -> Client {
        self.gateway.client()
    }

    /// Lets the service answer which changes there were since a number of them.
    fn serve_changes(&self) {
        let known = Arc::clone(&self.changes);
        self.service.on("/changes", move |seen| {
            let since = seen.parameter("since").map_or(0, |since| since.parse::<usize>().unwrap());
            let known = known.lock();
            Reply::json(json!({"cursor": known.len().to_string(), "changes": known[since.min(known.len())..]}))
        });
    }

    /// Lets the service say once that it does not know the cursor any more.
    pub(crate) fn has_forgotten(&self) {
        let (known, changes) = (Arc::new(Mutex::new(false)), Arc::clone(&self.changes));
        self.service.on("/changes", move |seen| {
            let since = seen.parameter("since").map_or(0, |since| since.parse::<usize>().unwrap());
            let changes = changes.lock();
            let has_said = std::mem::replace(&mut *known.lock(), true);
            let mut page = json!({"cursor": changes.len().to_string(), "changes": changes[since.min(changes.len())..]});
            if !has_said {
                page["gap"] = json!(true);
            }
            Reply::json(page)
        });
    }

    /// Connects the account `ada`.
    pub(crate) fn connect(&self) {
        connect(&self.client(), "notified", "ada");
    }

    /// Sends the body of a trigger on the account `ada`.
    pub(crate) fn make(&self, body: &Value) -> Answer {
        self.making("ada", body).send()
    }

    /// A request for a trigger on the account of a user.
    fn making(&self, user: &str, body: &Value) -> Call {
        self.client().request("POST", "/triggers").header("x-user-identifier", &email(user)).json(body)
    }

    /// Makes a trigger, and waits until the gateway has read once. Returns its id.
    #[track_caller]
    pub(crate) fn trigger(&self, body: &Value) -> String {
        let id = id_of(&self.make(body));
        wait_for("the first read", || (self.record(&id)["status"] == "active").then_some(()));
        id
    }

    /// A receiver that accepts all webhooks, and the secret that signs them.
    fn receiver(&self) -> (Upstream, String) {
        let (_, secret) = make_secret(&self.client());
        let receiver = Upstream::start();
        receiver.reply("*", Reply::empty(204));
        (receiver, secret)
    }

    #[track_caller]
    pub(crate) fn record(&self, id: &str) -> Value {
        self.client().get(&format!("/triggers/{id}")).ok()
    }

    /// Changes a trigger, and returns its record.
    #[track_caller]
    fn patch(&self, id: &str, body: &Value) -> Value {
        self.client().request("PATCH", &format!("/triggers/{id}")).json(body).send().ok()
    }

    /// Lets a trigger deliver the example of its type. Returns the id of the event.
    #[track_caller]
    fn tested(&self, id: &str) -> String {
        let tested = self.client().post(&format!("/triggers/{id}/test"), json!({})).ok();
        tested["event_id"].as_str().unwrap().to_owned()
    }

    /// Something happens at the service.
    pub(crate) fn happens(&self, name: &str) {
        let mut changes = self.changes.lock();
        let id = (changes.len() + 1).to_string();
        changes.push(json!({"id": id, "name": name}));
    }

    /// Lets the trigger be read again at once. A read of the gateway itself may end meanwhile, after
    /// which a caller has to wait once more.
    #[track_caller]
    pub(crate) fn read(&self, id: &str) {
        wait_for("a read", || {
            let passes = "UPDATE subscriptions SET last_read_at = last_read_at - 20000, tried_at = NULL";
            assert!(self.gateway.home().sqlite(passes) > 0);
            let answer = self.client().post(&format!("/triggers/{id}/read"), json!({}));
            assert!([202, 429].contains(&answer.status), "{}", answer.text());
            (answer.status == 202).then_some(())
        });
    }

    /// Waits until no work on subscriptions is due or in progress.
    #[track_caller]
    fn settle(&self) {
        let is_busy = "UPDATE subscriptions SET rung = rung
             WHERE leased_until IS NOT NULL OR due_at <= unixepoch('subsec') * 1000";
        wait_for("all work to be done", || (self.gateway.home().sqlite(is_busy) == 0).then_some(()));
    }

    /// A page of events.
    #[track_caller]
    pub(crate) fn events(&self, id: &str, query: &str) -> Value {
        self.client().get(&format!("/triggers/{id}/events?{query}")).ok()
    }
}
