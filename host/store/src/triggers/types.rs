//! Triggers and events, as they are stored.

use std::time::{Duration, SystemTime};

use database::digest::sha256_hex;

use crate::agent_triggers::{AgentPart, NewAgentPart};
use crate::integrations::{Labels, read_labels, read_sealed};
use crate::records::{named, new_id, record};
use crate::{Sealed, StoreError};

new_id! {
    /// Makes the id of a new trigger.
    new_trigger_id = "trg_"
}

/// The id of an event: the same for a trigger and an occurrence, whoever tells of it. `source` is
/// the inbox or the reader, and `occurrence` is the id at the service.
pub fn event_id(trigger: &str, source: &str, occurrence: &str) -> String {
    let hash = sha256_hex(format!("{trigger}\0{source}\0{occurrence}").as_bytes());
    format!("evt_{}", hash.get(..32).unwrap_or_default())
}

named! {
    /// The state of a trigger that is stored. What else is known of it follows from its subscription.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TriggerState {
        /// Its subscription was not made yet.
        Pending = "pending",
        /// It works, or would if its subscription did.
        Live = "live",
        /// Its events are kept, and not delivered.
        Paused = "paused",
        /// It has ended for good.
        Failed = "failed",
    }
}

/// The last word to the receivers of a trigger about the trigger itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It does not work at the moment.
    Degraded,
    /// It works again.
    Recovered,
    /// It has ended for good.
    Disabled,
}

/// A trigger to be stored.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the columns of the table have the same names and are explained there")]
pub struct NewTrigger {
    pub id: String,
    pub tenant: String,
    pub subject: String,
    pub connector: String,
    pub kind: String,
    pub user_identifier: String,
    /// Sealed with [`Trigger::context`].
    pub definition: Sealed,
    pub labels: Labels,
    pub poll_s: Option<u32>,
    /// `None` unless an agent makes it.
    pub agent: Option<NewAgentPart>,
}

record! {
    row =>
    /// A trigger.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "the columns of the table have the same names and are explained there")]
    pub struct Trigger {
        pub id: String,
        pub tenant: String,
        pub subject: String,
        pub connector: String,
        pub kind: String,
        pub user_identifier: String,
        pub subscription: Option<String>,
        /// Sealed with [`Trigger::context`].
        pub definition: Sealed,
        pub labels: Labels = read_labels(row)?,
        pub poll_s: Option<u32> = row.read::<Option<i64>>()?.and_then(|seconds| u32::try_from(seconds).ok()),
        pub state: TriggerState,
        pub reason: Option<String>,
        pub last_event_at: Option<SystemTime>,
        pub told_degraded: bool,
        /// Its receivers know that it has ended.
        pub told_disabled: bool,
        pub created_at: SystemTime,
        /// Its webhooks that are not delivered yet.
        pub pending_deliveries: u64 = u64::try_from(row.read::<i64>()?).unwrap_or_default(),
        /// `None` unless an agent has made it.
        pub agent: Option<AgentPart> = AgentPart::read(row)?,
    }
}

impl Trigger {
    /// The context in which parameters, URLs, filters and fields are sealed.
    pub fn context(id: &str) -> [&str; 2] {
        ["trigger", id]
    }
}

/// Selects a page of triggers, the newest first.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "each member is a column that rows must agree in")]
pub struct TriggerFilter {
    pub tenant: Option<String>,
    pub subject: Option<String>,
    pub connector: Option<String>,
    pub kind: Option<String>,
    pub user_identifier: Option<String>,
    /// Only triggers that have these labels.
    pub labels: Labels,
    /// Only triggers before the last one of the previous page, by time of creation and id.
    pub before: Option<(SystemTime, String)>,
    /// Maximum number of triggers.
    pub limit: u32,
}

/// A change of a trigger. What is `None` does not change.
#[derive(Clone, Debug, Default)]
pub struct TriggerChange {
    /// The sealed definition.
    pub definition: Option<Sealed>,
    /// The labels.
    pub labels: Option<Labels>,
    /// The interval of reads. `Some(None)` for the one of the type.
    pub poll_s: Option<Option<u32>>,
    /// `true` to pause it, `false` to let it continue.
    pub paused: Option<bool>,
}

/// The subscription of a trigger that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The id of the subscription. `None` if it had none.
    pub subscription: Option<String>,
    /// `true` if it has no other trigger.
    pub is_last: bool,
}

/// An event to be stored for one trigger. Its body has a number, which is known only when it is
/// stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// See [`event_id`].
    pub id: String,
    /// The trigger.
    pub trigger: String,
    /// The tenant of the trigger.
    pub tenant: String,
    /// The body up to its number, and the rest.
    pub body: (String, String),
    /// Its webhooks. Empty if the trigger has no URLs.
    pub deliveries: Vec<EventDelivery>,
    /// Time for which the body is kept, and time in which the same occurrence makes no second
    /// event.
    pub kept_for: Duration,
    /// See `kept_for`.
    pub known_for: Duration,
}

/// A webhook about an event, before its body is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventDelivery {
    /// The id of the delivery.
    pub id: String,
    /// The origin of the URL.
    pub receiver: String,
    /// The URL, sealed with [`crate::NewDelivery::url_context`] for the id of the delivery.
    pub url: Sealed,
    /// The [`crate::NewDelivery::hash_of_url`] of the URL.
    pub url_hash: String,
    /// `true` for the receiver of an agent, which has separate secrets.
    pub for_agent: bool,
}

record! {
    /// A change of an account that triggers of the gateway want to know of.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "the columns of the table have the same names and are explained there")]
    pub struct IntegrationChange {
        pub number: i64,
        pub tenant: String,
        pub subject: String,
        pub connector: String,
        pub user_identifier: String,
        pub kind: String,
    }
}

/// The events of a trigger after a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptEvents {
    /// The oldest first.
    pub events: Vec<StoredEvent>,
    /// `true` if older ones after the number are no longer kept.
    pub are_older_gone: bool,
    /// The number of the last event of the trigger before these were read. If there are no events,
    /// none up to this one is kept.
    pub last: i64,
}

record! {
    row =>
    /// An event that is kept.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct StoredEvent {
        /// See [`event_id`].
        pub id: String,
        /// The trigger.
        pub trigger: String,
        /// Its number among the events of the trigger.
        pub sequence: i64,
        /// Time at which it was stored.
        pub received_at: SystemTime,
        /// `true` once a caller has requested that it is sent once more. Its webhooks that wait say so.
        pub is_replayed: bool,
        /// The body, sealed with [`StoredEvent::context`].
        pub body: Sealed = read_sealed(row)?.ok_or(StoreError::Unexpected("an event has no body"))?,
    }
}

impl StoredEvent {
    /// The context in which a body is sealed.
    pub fn context(id: &str) -> [&str; 2] {
        ["trigger_event", id]
    }
}
