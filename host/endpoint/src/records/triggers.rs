//! Bodies and answers about triggers, inboxes and requests of services.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::operator::Name;
use contract_rules::schema::NULLABLE;
use integrations::labels_schema;
use shape::{MAX_FIELDS, MAX_PATH_CHARACTERS};
use store::Labels;
use triggers::{HookRequestRecord, InboxRecord, TriggerRecord, TypeRecord};

/// A trigger to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewTrigger")]
pub struct NewTriggerBody {
    /// Identifier of the connector; `gateway` for events of the gateway itself.
    pub connector: String,
    /// The name of the type; GET /trigger-types lists them.
    #[serde(rename = "type")]
    pub kind: String,
    /// What to look at, as `parameters` of the type describes it.
    pub parameters: Option<Map<String, Value>>,
    /// The URLs that get webhooks about events. Without one, events are only pulled.
    #[serde(default)]
    #[schemars(schema_with = "urls")]
    pub urls: Option<Vec<String>>,
    /// Events whose `data` does not pass all of these are dropped.
    #[schemars(length(max = 16))]
    pub filters: Option<Vec<FilterBody>>,
    #[serde(default)]
    #[schemars(schema_with = "response_fields")]
    pub response_fields: Option<Vec<String>>,
    #[serde(default)]
    #[schemars(schema_with = "labels")]
    pub labels: Option<Labels>,
    /// Seconds between two reads, where the service does not notify the gateway. The default is
    /// `poll_s` of the type, which doubles up to 900 after thirty reads in a row without an event.
    #[schemars(range(min = 60, max = 86_400))]
    pub poll_s: Option<u32>,
}

/// A condition on the `data` of an event.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TriggerFilter")]
pub struct FilterBody {
    /// JSON Pointer (RFC 6901) into `data`.
    #[schemars(regex(pattern = "^(/([^~]|~[01])*)*$"))]
    pub pointer: String,
    /// The values that pass. Null stands for a missing value too.
    #[serde(rename = "in")]
    #[schemars(with = "Vec<Scalar>", length(min = 1, max = 100))]
    pub values: Vec<Value>,
}

#[derive(JsonSchema)]
#[schemars(inline, extend("type" = ["string", "number", "boolean", "null"]))]
#[expect(dead_code, reason = "only its schema is used")]
struct Scalar(Value);

/// Changes of a trigger. A member that is left out does not change.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TriggerChange")]
pub struct TriggerChangeBody {
    /// They replace all previous ones.
    #[serde(default)]
    #[schemars(schema_with = "urls")]
    pub urls: Option<Vec<String>>,
    /// They replace all previous ones. Null: no filter.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<Vec<FilterBody>>", length(max = 16), extend("nullable" = true))]
    pub filters: Option<Option<Vec<FilterBody>>>,
    /// They replace all previous ones. Null: the whole `data`.
    #[serde(default, deserialize_with = "given")]
    #[schemars(schema_with = "changed_response_fields")]
    pub response_fields: Option<Option<Vec<String>>>,
    #[serde(default)]
    #[schemars(schema_with = "labels")]
    pub labels: Option<Labels>,
    /// Null: `poll_s` of the type.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<u32>", range(min = 60, max = 86_400), extend("nullable" = true))]
    pub poll_s: Option<Option<u32>>,
    /// `true`: events are kept, and not delivered; nothing is read. `false`: events are delivered
    /// again, with those that were kept.
    pub paused: Option<bool>,
}

/// A member that is there, perhaps with null.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn urls(_: &mut SchemaGenerator) -> Schema {
    schema(json!({
        "type": ["array", "null"], "maxItems": 3,
        "items": {"type": "string", "format": "uri"},
        "description": "Absolute https URLs. They get each event as a webhook, signed with the tenant's secrets.",
    }))
}

fn response_fields(_: &mut SchemaGenerator) -> Schema {
    schema(json!({
        "type": ["array", "null"], "maxItems": MAX_FIELDS,
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_PATH_CHARACTERS},
        "description": "Dot-notation paths of the fields of `data` to keep.",
    }))
}

fn changed_response_fields(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = response_fields(generator);
    schema.insert(NULLABLE.to_owned(), true.into());
    schema
}

fn labels(_: &mut SchemaGenerator) -> Schema {
    let mut labels = labels_schema(true);
    labels["description"] =
        "Texts about the trigger. They are in its events, and GET /triggers?label.NAME=TEXT finds it.".into();
    schema(labels)
}

fn schema(value: Value) -> Schema {
    Schema::try_from(value).unwrap_or_default()
}

/// A page of types of events.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriggerTypePage")]
pub struct TypePageRecord {
    /// In the order of their connectors and names.
    pub trigger_types: Vec<TypeRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A page of triggers.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriggerPage")]
pub struct TriggerPageRecord {
    /// The newest first.
    pub triggers: Vec<TriggerRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A trigger was deleted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriggerDeleted")]
pub struct TriggerDeletedRecord {
    #[schemars(extend("const" = true))]
    pub deleted: bool,
    /// `true` if the service ended the subscription, `false` if it did not, null if there was nothing
    /// to end: other triggers share it, or the service did not notify the gateway.
    pub unsubscribed: Option<bool>,
}

/// An example is on its way.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriggerTested")]
pub struct TriggerTestedRecord {
    /// The id of the event, and the `webhook-id` of its webhooks.
    pub event_id: String,
}

/// Events to send once more: all since a time, or those with these ids.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TriggerReplay")]
pub struct ReplayBody {
    /// The oldest 1,000 events since this time are sent. If `queued` is 1000, request the next ones
    /// with the `received_at` of the last one.
    #[schemars(extend("format" = "date-time"))]
    pub since: Option<String>,
    #[schemars(length(min = 1, max = 200))]
    pub event_ids: Option<Vec<String>>,
}

/// Events are sent once more.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriggerReplayed")]
pub struct TriggerReplayedRecord {
    /// The number of events that are sent. Events of a trigger without `urls` are not. Those of a
    /// trigger that is paused or has failed wait until it continues.
    pub queued: u64,
}

/// An inbox to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewInbox")]
pub struct NewInboxBody {
    /// Identifier of the connector.
    pub connector: String,
    /// The name of the inbox, as the connector declares it.
    pub inbox: String,
    /// The tenant whose application it is. Without it, the inbox serves all tenants.
    #[schemars(with = "Option<Name>")]
    pub tenant: Option<String>,
}

/// A page of inboxes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InboxPage")]
pub struct InboxPageRecord {
    /// In the order of their ids.
    pub inboxes: Vec<InboxRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// An inbox was deleted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InboxDeleted")]
pub struct InboxDeletedRecord {
    #[schemars(extend("const" = true))]
    pub deleted: bool,
}

/// A secret with which the service signs its requests.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewInboxSecret")]
pub struct NewInboxSecretBody {
    /// As the service shows it. It is never answered.
    #[schemars(length(min = 1, max = 4096), extend("writeOnly" = true))]
    pub secret: String,
}

/// A secret of an inbox was deleted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InboxSecretDeleted")]
pub struct InboxSecretDeletedRecord {
    #[schemars(extend("const" = true))]
    pub deleted: bool,
}

/// A page of requests of services.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HookRequestPage")]
pub struct HookRequestPageRecord {
    /// The newest first.
    pub hook_requests: Vec<HookRequestRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}
