//! Triggers: what happens at a service reaches the application.
//!
//! # Words
//! A *trigger type* is declared by a connector. A *trigger* is the wish of a caller on one account.
//! A *subscription* is what stands at the service; triggers of one account that agree in what is
//! covered share it. An *event* is one stored occurrence of one trigger.
//!
//! # Layout
//! - `types`: the types that connectors declare, and the gateway's own types
//! - `definition`: what callers say of a trigger, checked
//! - `create`: making triggers; `new_subscription`: the subscription of a new one, and the inbox
//!   that its service notifies
//! - `manage`: finding and changing triggers; `remove`: deleting them
//! - `events`: reading and repeating events
//! - `identity`: the account of a subscription, as the service itself names it
//! - `inboxes`: the inboxes of applications, for operators
//! - `accounts`: events of the gateway itself
//! - `agents`: triggers of agents, which end unless they are renewed
//! - `shared`: notifications that other accounts may see too, and those about lost events
//! - `push`: notifications of services, from an address to what they change
//! - `requests`: the records of all requests of services
//! - `work`: takes subscriptions that are due; `readers`: how many at a time, and for whom; `step`:
//!   one step of work on a subscription; `call`: the calls of operations in it
//! - `backlog`: events for which a tenant has no room
//! - `deliver`: from an occurrence to an event of each trigger, with its webhooks
//! - `record`: the public forms; `state`: the state of a trigger, from evidence
//! - `damage`: triggers that cannot be read; `error`: what can fail
//!
//! # The life of an event
//! 1. **The wish.** `create` checks the body of POST /triggers, chooses the account, and stores the
//!    trigger with its subscription, unless another trigger has the same. Then it runs a first step
//!    in the time of the call.
//! 2. **A step.** `work` takes subscriptions that are due, with a lease and a fence, tenants in
//!    turn. `step` finds the cursor that stands for now, asks the service to notify the gateway,
//!    renews what is about to end, and reads. Each is a call of an operation that the connector
//!    names (`call`), and counts in its limits. What was read is stored page by page, together with
//!    the cursor behind it.
//! 3. **A notification.** The route of the address verifies it without the connector (the crate
//!    `hooks`). `push` finds its subscriptions: by the address, or by the account that it names. It
//!    stores the events that it carries, or makes a read due, before the service gets its answer.
//!    If a service names only one of the accounts that see a notification, `shared` asks for the
//!    others.
//! 4. **Delivery.** `deliver` makes the event of each trigger, filtered and shaped, with a webhook
//!    for each URL. The store numbers it, and stores it once. The crate `webhooks` sends it.
//! 5. **The end.** The last trigger of a subscription ends it at the service. A trigger is deleted
//!    with its account, while the service still accepts the access.
//!
//! # Invariants
//! - Events, what keeps them from being stored twice, and their webhooks are one transaction. So
//!   are the events of a read and its cursor.
//! - One gateway at a time works on a subscription, with a fence.
//! - No cursor of a connector of the product is a time alone. Where a service lists by time, the
//!   cursor has the ids of the last minutes too.
//! - What a step has found for an account is not stored once another account has its name. No
//!   notification for the one reaches the other.
//! - A connector sees neither secret nor address of an inbox.

mod accounts;
mod agents;
mod backlog;
mod call;
mod create;
mod damage;
mod definition;
mod deliver;
mod error;
mod events;
mod identity;
mod inboxes;
mod manage;
mod new_subscription;
mod push;
mod readers;
mod record;
mod remove;
mod requests;
mod shared;
#[cfg(feature = "simulation")]
pub mod simulated;
mod state;
mod step;
mod types;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use secrecy::SecretString;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

pub use self::agents::{AgentDelivery, AgentError, AgentPoll, AgentWish, Polled, Subscribed};
use self::damage::LeftOut;
pub use self::error::TriggerError;
pub use self::push::{Accepted, InboxAt, Outcome};
pub use self::record::{
    AgentTriggerRecord, EventMessage, EventRecord, EventsRecord, HookRequestRecord, InboxRecord, InboxSecretRecord,
    OUTCOMES, RejectionRecord, STATUSES, SubscriptionRecord, TriggerRecord, TypeRecord,
};
use self::requests::Noted;
use self::shared::{Asking, Refused};
pub use self::types::gateway_types;
use auth::Limits;
use calls::CallLog;
use config::Config;
use contract::AuthScheme;
use egress::Egress;
use integrations::Integrations;
use metrics::Metrics;
use pipeline::Services;
use pipeline::budgets::Budgets;
use registry::Registry;
use store::vault::Vault;
use store::{Sealed, Store};
use webhooks::Webhooks;

/// The connector of events of the gateway itself.
pub const GATEWAY: &str = "gateway";

/// The triggers that a caller may see and change.
#[derive(Clone, Copy)]
pub enum Of<'a> {
    /// Those of a user of a tenant whose connectors the key may call.
    Caller {
        /// The tenant of the caller.
        tenant: &'a str,
        /// The subject of the caller. Empty for the tenant itself.
        subject: &'a str,
        /// The limits of the caller's key. `None` if it has none.
        limits: Option<&'a Limits>,
    },
    /// Those of all tenants.
    Operator,
}

/// The body of POST /triggers, read but not checked.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "members have the names of the route's body")]
pub struct NewTrigger {
    pub connector: String,
    pub kind: String,
    pub parameters: Value,
    pub urls: Vec<String>,
    pub filters: Option<Value>,
    pub response_fields: Option<Value>,
    pub labels: BTreeMap<String, String>,
    pub poll_s: Option<u32>,
}

/// The body of PATCH /triggers/{id}. What is `None` does not change.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "members have the names of the route's body")]
pub struct Changes {
    pub urls: Option<Vec<String>>,
    pub filters: Option<Value>,
    pub response_fields: Option<Value>,
    pub labels: Option<BTreeMap<String, String>>,
    pub poll_s: Option<Option<u32>>,
    pub paused: Option<bool>,
}

/// Selects a page of triggers.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "members have the names of the route's query")]
pub struct ListQuery {
    pub connector: Option<String>,
    pub kind: Option<String>,
    pub status: Option<String>,
    pub user_identifier: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// For operators.
    pub tenant: Option<String>,
    /// For operators.
    pub subject: Option<String>,
    /// The place of the last trigger of the page before.
    pub before: Option<(SystemTime, String)>,
    pub limit: u32,
}

/// A page of triggers.
pub struct Listed {
    /// The records, the newest first.
    pub triggers: Vec<TriggerRecord>,
    /// The place of the last one. `None` on the last page.
    pub next: Option<(SystemTime, String)>,
}

/// Selects a page of events.
#[derive(Clone, Debug)]
pub struct EventsQuery {
    /// Maximum number of events.
    pub limit: u32,
    /// The cursor of the page before. `None` for the oldest event.
    pub cursor: Option<String>,
    /// The longest wait for an event, if there is none.
    pub wait: Duration,
}

/// The events that are sent once more.
#[derive(Clone, Debug)]
pub enum Replay {
    /// All since this time.
    Since(SystemTime),
    /// Those with these ids.
    Events(Vec<String>),
}

/// The parts of the gateway that triggers use.
#[derive(Clone)]
#[expect(missing_docs, reason = "the types of the other fields say what they are")]
pub struct Parts {
    /// The name of the gateway.
    pub gateway: Arc<str>,
    pub config: Arc<Config>,
    pub calls: CallLog,
    pub store: Store,
    pub vault: Vault,
    pub egress: Egress,
    pub registry: Arc<Registry>,
    pub budgets: Budgets,
    pub integrations: Arc<Integrations>,
    pub webhooks: Webhooks,
    pub metrics: Arc<Metrics>,
}

/// All triggers of this gateway, and the subscriptions that it shares with others.
pub struct Triggers {
    parts: Parts,
    /// Notified when a subscription may be due.
    due: Notify,
    /// Notified when a step has ended, so that a reader is free.
    freed: Notify,
    /// Notified when events were stored here.
    stored: Notify,
    /// Requests of services that wait to be written.
    requests: Mutex<Noted>,
    /// The inboxes whose services are asked who else sees a notification.
    asking: Asking,
    /// Triggers that cannot be read.
    left_out: LeftOut,
    /// The addresses at which requests were refused.
    refused: Mutex<Refused>,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl Triggers {
    /// The caller runs [`Triggers::work`] in a task.
    pub fn new(parts: Parts) -> Self {
        Self {
            parts,
            due: Notify::new(),
            freed: Notify::new(),
            stored: Notify::new(),
            requests: Mutex::default(),
            asking: Asking::default(),
            left_out: LeftOut::default(),
            refused: Mutex::default(),
            stopping: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// The services that operations use.
    fn services(&self) -> Services<'_> {
        let Parts { store, egress, registry, budgets, integrations, metrics, .. } = &self.parts;
        Services { registry, budgets, integrations, egress, store, metrics }
    }

    /// The URL under which services reach the gateway. `None` if they cannot notify it.
    fn public_url(&self) -> Option<&Url> {
        let config = &self.parts.config;
        config.can_be_notified().then(|| config.hooks_url())
    }

    /// The URL that services know, up to the address.
    fn base(&self) -> Option<String> {
        self.public_url().map(|url| url.as_str().trim_end_matches('/').to_owned())
    }

    /// The URL of an address.
    fn hook_url(&self, address: &str) -> Option<String> {
        Some(format!("{}/hooks/{address}", self.base()?))
    }

    /// Returns `true` if the operator has set the token of the connector's application.
    fn has_app_token(&self, connector: &str) -> bool {
        self.app_token(connector).is_some()
    }

    /// The token of the connector's application.
    fn app_token(&self, connector: &str) -> Option<SecretString> {
        let live = self.parts.registry.get(connector)?;
        let AuthScheme::Oauth2(scheme) = &live.manifest().auth else { return None };
        self.parts.config.app_token(connector, &scheme.provider).cloned()
    }

    /// Seals a value as JSON.
    async fn seal<T: Serialize + Sync>(&self, context: &[&str], value: &T) -> Result<Sealed, TriggerError> {
        Ok(self.parts.vault.seal(context, &serde_json::to_vec(value)?).await?)
    }

    /// Reads a sealed value that is JSON.
    async fn unseal<T: DeserializeOwned>(&self, context: &[&str], sealed: &Sealed) -> Result<T, TriggerError> {
        Ok(self.parts.vault.unseal_json(context, sealed).await??)
    }

    /// The vault, ready to seal events in a transaction.
    async fn vault(&self) -> Result<&Vault, TriggerError> {
        self.parts.vault.know_newest_key().await?;
        Ok(&self.parts.vault)
    }

    fn count_renewal(&self, connector: &str, outcome: &str) {
        let labels = metrics::OutcomeLabels { connector: connector.to_owned(), outcome: outcome.to_owned() };
        self.parts.metrics.subscription_renewals.get_or_create_owned(&labels).inc();
    }
}
