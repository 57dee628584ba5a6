//! Events of a mailbox.
//!
//! - here: the inbox and the types of events.
//! - `watch`: lets Gmail notify the gateway.
//! - `history`: the changes of the mailbox.
//! - `read`: the messages and changes of labels in the history.

mod history;
mod read;
mod watch;

use connector_sdk::triggers::{AccountKey, Check, Claim, Inbox, JwtAudience, JwtCheck, Place, Trigger};

pub(crate) use read::{labels, messages};
pub(crate) use watch::{begin, end, renew};

/// Gmail publishes to a topic of Google Cloud Pub/Sub, which pushes to the gateway. The message has
/// the address of the mailbox, and only says that something has changed.
pub(crate) const INBOXES: &[Inbox] = &[Inbox {
    name: "pubsub",
    checks: &[Check::Jwt(JwtCheck {
        place: Place::Header("Authorization"),
        issuers: &["https://accounts.google.com", "accounts.google.com"],
        jwks_url: "https://www.googleapis.com/oauth2/v3/certs",
        audience: JwtAudience::Setting("pubsub_audience"),
        claims: &[("email", Claim::Setting("pubsub_service_account")), ("email_verified", Claim::Literal("true"))],
    })],
    decode: Some("/message/data"),
    id: &[Place::Pointer("/message/messageId")],
    kind: &[Place::Pointer("/subscription")],
    data: "/message/data",
    time: Some(Place::Pointer("/message/publishTime")),
    accounts: &[AccountKey { place: Place::Pointer("/message/data/emailAddress"), account: "/data/email" }],
    max_body: 64 << 10,
    ..Inbox::APPLICATION
}];

/// Changes of a mailbox.
const OF_MAILBOX: Trigger = Trigger {
    inboxes: &["pubsub"],
    key: &["label_id"],
    subscribe: Some("begin_watch"),
    renew: Some("renew_watch"),
    unsubscribe: Some("end_watch"),
    requires_setting: Some("pubsub_topic"),
    // Gmail notifies for seven days. Google asks its users to renew daily, which is two thirds of
    // this.
    lifetime_seconds: Some(36 * 3600),
    ..Trigger::READ
};

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[
    Trigger {
        name: "message_received",
        title: "Message received",
        description: "A message has arrived in the mailbox. The data is Gmail's message without its body: `payload.headers` \
                      has sender, recipients, subject and date, and `snippet` the beginning of the text. `messages_get` \
                      answers the whole message. Without `label_id`, drafts, messages that the user has sent, spam and \
                      the trash are left out. With it, only the label counts.",
        parameters: r#"{
            "type": "object",
            "properties": {
                "label_id": {
                    "type": "string",
                    "minLength": 1,
                    "description": "only messages with this label, for example INBOX; absent: all that were received"
                }
            },
            "additionalProperties": false
        }"#,
        payload: r#"{
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "threadId": {"type": "string"},
                "labelIds": {"type": "array", "items": {"type": "string"}},
                "snippet": {"type": "string"},
                "internalDate": {"type": "string"},
                "payload": {
                    "type": "object",
                    "properties": {
                        "headers": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {"name": {"type": "string"}, "value": {"type": "string"}}
                            }
                        }
                    }
                }
            },
            "required": ["id", "threadId"]
        }"#,
        example: r#"{
            "id": "18c1a2b3c4d5e6f7",
            "threadId": "18c1a2b3c4d5e6f7",
            "labelIds": ["UNREAD", "INBOX"],
            "snippet": "Are you free tomorrow?",
            "historyId": "987654",
            "internalDate": "1772445600000",
            "sizeEstimate": 4321,
            "payload": {
                "mimeType": "multipart/alternative",
                "headers": [
                    {"name": "From", "value": "Kim <kim@example.com>"},
                    {"name": "To", "value": "ada@example.com"},
                    {"name": "Subject", "value": "Lunch"},
                    {"name": "Date", "value": "Mon, 2 Mar 2026 11:00:00 +0100"}
                ]
            }
        }"#,
        read: Some("read_messages"),
        ..OF_MAILBOX
    },
    Trigger {
        name: "label_changed",
        title: "Label added or removed",
        description: "Labels of a message were added or removed: it was read, starred, archived, moved to the trash, or \
                      labelled by the user. `change` is `added` or `removed`, `labelIds` are these labels, and `message` \
                      has the id of the message and all of its labels. Gmail does not tell the time of a change.",
        parameters: r#"{
            "type": "object",
            "properties": {
                "label_id": {
                    "type": "string",
                    "minLength": 1,
                    "description": "only changes of this label, for example STARRED; absent: all labels"
                }
            },
            "additionalProperties": false
        }"#,
        payload: r#"{
            "type": "object",
            "properties": {
                "change": {"type": "string", "enum": ["added", "removed"]},
                "labelIds": {"type": "array", "items": {"type": "string"}},
                "message": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "threadId": {"type": "string"},
                        "labelIds": {"type": "array", "items": {"type": "string"}}
                    }
                }
            },
            "required": ["change", "labelIds", "message"]
        }"#,
        example: r#"{
            "change": "removed",
            "labelIds": ["UNREAD"],
            "message": {"id": "18c1a2b3c4d5e6f7", "threadId": "18c1a2b3c4d5e6f7", "labelIds": ["INBOX"]}
        }"#,
        read: Some("read_labels"),
        ..OF_MAILBOX
    },
];
