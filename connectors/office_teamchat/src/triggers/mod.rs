//! Messages that are written in Microsoft Teams, as events.
//!
//! - here: the types of events.
//! - `channel`: the messages of a channel.
//! - `chat`: the messages of a chat.

pub(crate) mod channel;
pub(crate) mod chat;

use connector_microsoft::subscription;
use connector_sdk::triggers::{Event, Renew, Subscription, Trigger, Unsubscribe, Value};
use connector_sdk::{Document, Fault};

/// Messages.
const OF_MESSAGES: Trigger = Trigger {
    payload: r#"{
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "messageType": {"type": "string"},
            "createdDateTime": {"type": "string"},
            "subject": {"type": ["string", "null"]},
            "from": {"type": ["object", "null"]},
            "body": {"type": "object", "properties": {"contentType": {"type": "string"}, "content": {"type": ["string", "null"]}}},
            "mentions": {"type": "array", "items": {"type": "object"}},
            "attachments": {"type": "array", "items": {"type": "object"}},
            "webUrl": {"type": ["string", "null"]}
        },
        "required": ["id"]
    }"#,
    inboxes: &["graph"],
    renew: Some("renew"),
    unsubscribe: Some("unsubscribe"),
    lifetime_seconds: Some(MINUTES * 60),
    ..Trigger::READ
};

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[
    Trigger {
        name: "channel_message",
        title: "Message written in a channel",
        description: "A message was written in a channel of a team. The data is Microsoft's message. Replies and changes of \
                      messages are left out.",
        parameters: r#"{
            "type": "object",
            "properties": {
                "team_id": {"type": "string", "minLength": 1},
                "channel_id": {"type": "string", "minLength": 1}
            },
            "required": ["team_id", "channel_id"],
            "additionalProperties": false
        }"#,
        example: r#"{
            "id": "1616990032035",
            "messageType": "message",
            "createdDateTime": "2026-03-02T10:00:00.035Z",
            "lastModifiedDateTime": "2026-03-02T10:00:00.035Z",
            "subject": "Launch",
            "importance": "normal",
            "from": {"user": {"id": "8ea0e38b-efb3-4757-924a-5f94061cf8c2", "displayName": "Kim"}},
            "body": {"contentType": "text", "content": "Hello"},
            "channelIdentity": {"teamId": "fbe2bf47-16c8-47cf-b4a5-4b9b187c508b", "channelId": "19:abc@thread.tacv2"},
            "attachments": [],
            "mentions": []
        }"#,
        key: &["team_id", "channel_id"],
        subscribe: Some("subscribe_to_channel"),
        read: Some("read_channel"),
        ..OF_MESSAGES
    },
    Trigger {
        name: "chat_message",
        title: "Message written in a chat",
        description: "A message was written in a chat of the user. The data is Microsoft's message. Changes of messages are \
                      left out.",
        parameters: r#"{
            "type": "object",
            "properties": {"chat_id": {"type": "string", "minLength": 1}},
            "required": ["chat_id"],
            "additionalProperties": false
        }"#,
        example: r#"{
            "id": "1616990032036",
            "messageType": "message",
            "createdDateTime": "2026-03-02T10:00:00.036Z",
            "lastModifiedDateTime": "2026-03-02T10:00:00.036Z",
            "chatId": "19:abc@unq.gbl.spaces",
            "importance": "normal",
            "from": {"user": {"id": "8ea0e38b-efb3-4757-924a-5f94061cf8c2", "displayName": "Kim"}},
            "body": {"contentType": "text", "content": "Hello"},
            "attachments": [],
            "mentions": []
        }"#,
        key: &["chat_id"],
        subscribe: Some("subscribe_to_chat"),
        read: Some("read_chat"),
        ..OF_MESSAGES
    },
];

/// The longest life of a subscription to messages that Microsoft documents: three days.
const MINUTES: u32 = 4320;

/// Renews a subscription.
pub(crate) fn renew(input: Renew) -> Result<Subscription, Fault> {
    subscription::renew(&input, MINUTES)
}

/// Ends a subscription.
pub(crate) fn unsubscribe(input: Unsubscribe) -> Result<(), Fault> {
    subscription::unsubscribe(&input)
}

/// A message. A note of Teams itself, for example about a new member, is no event.
fn message(item: &Document) -> Option<Event> {
    let is_written = item.string("/messageType").is_none_or(|kind| kind == "message");
    let id = item.string("/id").filter(|_| is_written)?;
    Some(Event { time: item.string("/createdDateTime"), ..Event::new(id, Value::from(item)) })
}
