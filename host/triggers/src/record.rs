//! The public forms of triggers, events and inboxes. Comments of members are their descriptions in
//! `/openapi.json`.
#![expect(missing_docs, reason = "members without a comment are what their names say")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use clock::timestamp::Timestamp;
use webhooks::AnyWebhookRecord;

/// A type of events.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriggerType")]
pub struct TypeRecord {
    /// Identifier of the connector; `gateway` for events of the gateway itself.
    pub connector: String,
    /// The name of the type.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub description: String,
    /// `carried` if a notification of the service has the event, `read` if the gateway reads it.
    #[schemars(extend("enum" = ["carried", "read"]))]
    pub source: &'static str,
    /// `needs-setup` if the operator must set something up before the service can notify the gateway.
    #[schemars(extend("enum" = ["available", "needs-setup", "none"]))]
    pub push: &'static str,
    /// Seconds between two reads where the service does not notify the gateway.
    pub poll_s: Option<u32>,
    /// JSON Schema of `parameters`.
    #[schemars(with = "Value")]
    pub parameters: Box<RawValue>,
    /// JSON Schema of the `data` of an event.
    #[schemars(with = "Value")]
    pub payload: Box<RawValue>,
    /// The `data` of an event.
    #[schemars(with = "Value")]
    pub example: Box<RawValue>,
    /// Scopes that the account's grant must have.
    pub scopes: Vec<String>,
}

/// A trigger as callers see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Trigger")]
pub struct TriggerRecord {
    pub id: String,
    pub connector: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// The account; null if the connector needs none.
    pub user_identifier: Option<String>,
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub parameters: Value,
    pub urls: Vec<String>,
    #[schemars(with = "Vec<Value>")]
    pub filters: Value,
    #[schemars(with = "Option<Vec<String>>")]
    pub response_fields: Value,
    pub labels: BTreeMap<String, String>,
    /// Seconds between two reads, as the caller has set them; null for the interval of the type.
    pub poll_s: Option<u32>,
    /// A trigger that is `pending` has not begun: what happens until it is `active` is not delivered.
    #[schemars(extend("enum" = STATUSES))]
    pub status: &'static str,
    /// Why it is not active; null if it is.
    pub reason: Option<String>,
    #[schemars(extend("enum" = ["push", "poll", "push+poll"]))]
    pub mode: &'static str,
    /// The subscription at the service; null if there is none.
    pub subscription: Option<SubscriptionRecord>,
    pub last_read_at: Option<Timestamp>,
    pub next_read_at: Option<Timestamp>,
    pub last_event_at: Option<Timestamp>,
    /// Webhooks that are not delivered yet.
    pub pending_deliveries: u64,
    pub created_at: Timestamp,
    /// Set if an agent has made the trigger, and null otherwise.
    pub agent: Option<AgentTriggerRecord>,
    /// The tenant and the user, for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// See `tenant`. Empty if it belongs to the tenant itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// The part of a trigger that an agent has made over `/mcp`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentTrigger")]
pub struct AgentTriggerRecord {
    /// The subscription, as the agent and its receiver know it.
    pub subscription_id: String,
    /// The trigger ends at this time, unless the agent renews it.
    pub expires_at: Timestamp,
    #[schemars(extend("enum" = ["poll", "webhook"]))]
    pub delivery: &'static str,
}

/// A subscription at a service.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriggerSubscription")]
pub struct SubscriptionRecord {
    /// Null if it does not end.
    pub expires_at: Option<Timestamp>,
    pub renewed_at: Option<Timestamp>,
    pub last_push_at: Option<Timestamp>,
}

/// A page of events. The events are those of webhooks.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriggerEvents")]
pub struct EventsRecord {
    /// The oldest first, or the newest first if that was asked for.
    #[schemars(with = "Vec<EventMessage>")]
    pub events: Vec<Box<RawValue>>,
    /// The cursor of the next call. Never null.
    pub next_cursor: String,
    /// True if events after the cursor are no longer kept.
    pub truncated: bool,
}

/// An event in full, with the webhooks about it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriggerEvent")]
pub struct EventRecord {
    /// The body that webhooks have.
    #[serde(flatten)]
    #[schemars(with = "EventMessage")]
    pub body: Value,
    pub deliveries: Vec<AnyWebhookRecord>,
}

/// An event, as webhooks and pages have it.
#[derive(JsonSchema)]
#[schemars(rename = "TriggerMessage")]
#[expect(dead_code, reason = "only its schema is used")]
pub struct EventMessage {
    /// `CONNECTOR.TYPE`; `trigger.gap`, `trigger.degraded`, `trigger.recovered` and `trigger.disabled`
    /// are about the trigger itself.
    #[schemars(rename = "type")]
    kind: String,
    /// Time at which it happened, or at which the gateway learned of it.
    timestamp: Timestamp,
    /// As `payload` of the type describes it, with the fields that the trigger keeps.
    data: Value,
    event: EventAbout,
}

/// The origin of an event.
#[derive(JsonSchema)]
#[schemars(rename = "TriggerMessageEvent")]
#[expect(dead_code, reason = "only its schema is used")]
struct EventAbout {
    /// The same for one occurrence, also if the service tells of it twice.
    id: String,
    trigger_id: String,
    connector: String,
    /// The account; null if the connector needs none.
    user_identifier: Option<String>,
    labels: BTreeMap<String, String>,
    received_at: Timestamp,
    #[schemars(extend("enum" = ["push", "read", "catch-up", "test"]))]
    source: String,
    /// `true` if it is sent once more on request.
    replay: bool,
    /// Grows with each event of the trigger, in the order in which they were stored.
    sequence: u64,
}

/// An inbox of an application.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Inbox")]
pub struct InboxRecord {
    pub id: String,
    pub connector: String,
    pub inbox: String,
    /// Null if it serves all tenants.
    pub tenant: Option<String>,
    /// The address for the service. Null without `hooks.public_url`.
    pub url: Option<String>,
    #[schemars(extend("enum" = ["needs-secret", "needs-setup", "unverified", "verified"]))]
    pub state: &'static str,
    pub secrets: Vec<InboxSecretRecord>,
    pub last_accepted_at: Option<Timestamp>,
    pub rejected_24h: u64,
    /// Null if none was rejected.
    pub last_rejection: Option<RejectionRecord>,
}

/// A secret of an inbox, without the secret itself.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InboxSecret")]
pub struct InboxSecretRecord {
    pub id: String,
    pub created_at: Timestamp,
}

/// The last request that did not pass the checks.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InboxRejection")]
pub struct RejectionRecord {
    pub at: Timestamp,
    pub reason: String,
}

/// A request of a service to an address.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HookRequest")]
pub struct HookRequestRecord {
    pub at: Timestamp,
    /// The gateway that answered it.
    pub gateway: String,
    /// The inbox or the subscription; null if no one has the address.
    pub address: Option<String>,
    pub connector: Option<String>,
    #[schemars(extend("enum" = OUTCOMES))]
    pub outcome: String,
    pub reason: Option<String>,
    pub kind: Option<String>,
    /// Events that were new.
    pub events: u64,
    pub ms: u64,
    pub bytes: u64,
    pub remote: String,
}

/// The states of a trigger.
pub const STATUSES: [&str; 6] = ["pending", "active", "degraded", "needs-user", "paused", "failed"];

/// The outcomes of requests of services.
pub const OUTCOMES: [&str; 6] = ["stored", "duplicate", "handshake", "ignored", "unattributed", "rejected"];
