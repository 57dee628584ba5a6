//! Triggers: what happens at a service reaches the application.
//!
//! # Words
//! A *trigger type* is declared by a connector. A *trigger* is the wish of a caller on one account. A
//! *subscription* is what stands at the service; triggers of one account that agree in what is covered
//! share it. An *event* is one stored occurrence of one trigger.
//!
//! # Layout
//! - `types`: the types that connectors declare, and those of the gateway itself
//! - `definition`: what callers say of a trigger, checked
//! - `manage`: making, changing, finding and deleting triggers
//! - `events`: reading and repeating events
//! - `inboxes`: the addresses of applications and of subscriptions, and what comes to them
//! - `work`: takes subscriptions that are due; `step`: one step of work on a subscription
//! - `deliver`: from an occurrence to an event of each trigger, with its webhooks
//! - `record`: the public forms; `state`: the state of a trigger, from evidence
//! - `error`: what can fail
//!
//! # Invariants
//! - Events, what keeps them from being stored twice, and their webhooks are one transaction. So are the
//!   events of a read and its cursor.
//! - One gateway at a time works on a subscription, with a fence.
//! - No cursor is a time.
//! - A connector sees neither secret nor address of an inbox.

mod error;
mod record;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tokio::time::Instant;

pub use self::error::TriggerError;
pub use self::record::{
    EventMessage, EventRecord, EventsRecord, HookRequestRecord, InboxRecord, InboxSecretRecord, OUTCOMES,
    RejectionRecord, STATUSES, SubscriptionRecord, TriggerRecord, TypeRecord,
};
use auth::Limits;

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

/// All triggers of the gateway.
pub struct Triggers {}

impl Triggers {
    /// The types of a connector, or of all, in the order of their names, that a caller with these limits
    /// may use.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn types(&self, of: Of<'_>, connector: Option<&str>) -> Result<Vec<TypeRecord>, TriggerError> {
        todo!()
    }

    /// Makes a trigger. `user_identifier` is the account that the caller names.
    ///
    /// # Errors
    /// See [`TriggerError`].
    pub async fn create(
        &self,
        of: Of<'_>,
        user_identifier: Option<&str>,
        new: NewTrigger,
        deadline: Instant,
    ) -> Result<TriggerRecord, TriggerError> {
        todo!()
    }

    /// A trigger. `None` if the caller has none with this id.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn get(&self, of: Of<'_>, id: &str) -> Result<Option<TriggerRecord>, TriggerError> {
        todo!()
    }

    /// A page of triggers.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn list(&self, of: Of<'_>, query: ListQuery) -> Result<Listed, TriggerError> {
        todo!()
    }

    /// Changes a trigger. Its cursor and its subscription stay.
    ///
    /// # Errors
    /// See [`TriggerError`].
    pub async fn change(&self, of: Of<'_>, id: &str, changes: Changes) -> Result<Option<TriggerRecord>, TriggerError> {
        todo!()
    }

    /// Deletes a trigger. Returns if its subscription ended at the service: `Some(None)` if nothing stood
    /// there.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn remove(&self, of: Of<'_>, id: &str, deadline: Instant) -> Result<Option<Option<bool>>, TriggerError> {
        todo!()
    }

    /// Delivers the example of the type. Returns the id of the event.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn test(&self, of: Of<'_>, id: &str) -> Result<Option<String>, TriggerError> {
        todo!()
    }

    /// Reads now.
    ///
    /// # Errors
    /// `TooSoon` within 10 s of the last read, `NothingToRead`, or if the store fails.
    pub async fn read_now(&self, of: Of<'_>, id: &str) -> Result<Option<()>, TriggerError> {
        todo!()
    }

    /// A page of events, the oldest first.
    ///
    /// # Errors
    /// `Invalid` if the cursor is not one, or if the store or the vault fails.
    pub async fn events(&self, of: Of<'_>, id: &str, query: EventsQuery) -> Result<Option<EventsRecord>, TriggerError> {
        todo!()
    }

    /// An event in full. `None` if the caller has no such trigger, or if the event is not kept.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn event(&self, of: Of<'_>, id: &str, event: &str) -> Result<Option<EventRecord>, TriggerError> {
        todo!()
    }

    /// Sends events once more, with their ids. Returns their number.
    ///
    /// # Errors
    /// `NotKept`, or if the store or the vault fails.
    pub async fn replay(&self, of: Of<'_>, id: &str, replay: Replay) -> Result<Option<u64>, TriggerError> {
        todo!()
    }

    /// Makes the subscription of a trigger anew, and reads.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn resubscribe(&self, id: &str) -> Result<Option<TriggerRecord>, TriggerError> {
        todo!()
    }

    /// All inboxes of applications.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn inboxes(&self) -> Result<Vec<InboxRecord>, TriggerError> {
        todo!()
    }

    /// An inbox.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn inbox(&self, id: &str) -> Result<Option<InboxRecord>, TriggerError> {
        todo!()
    }

    /// Makes an inbox. `tenant` is empty for all tenants.
    ///
    /// # Errors
    /// `UnknownType` if no connector declares it, `Store(Duplicate)`, or if the store fails.
    pub async fn add_inbox(&self, connector: &str, inbox: &str, tenant: &str) -> Result<InboxRecord, TriggerError> {
        todo!()
    }

    /// Deletes an inbox.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn delete_inbox(&self, id: &str) -> Result<bool, TriggerError> {
        todo!()
    }

    /// Gives an inbox a secret. Returns its id. `None` if there is no such inbox.
    ///
    /// # Errors
    /// `TooManySecrets`, or if the store or the vault fails.
    pub async fn add_secret(&self, inbox: &str, secret: &str) -> Result<Option<InboxSecretRecord>, TriggerError> {
        todo!()
    }

    /// Deletes a secret of an inbox.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn delete_secret(&self, inbox: &str, id: &str) -> Result<bool, TriggerError> {
        todo!()
    }

    /// A page of the requests of services, the newest first, and the place of the last one.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn hook_requests(
        &self,
        filter: store::HookRequestFilter,
    ) -> Result<(Vec<HookRequestRecord>, Option<(SystemTime, i64)>), TriggerError> {
        todo!()
    }
}
