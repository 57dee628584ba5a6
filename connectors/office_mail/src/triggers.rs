//! Messages that arrive, as events.

use connector_microsoft::delta::Delta;
use connector_microsoft::subscription;
use connector_sdk::triggers::{Event, Events, Read, Renew, Subscribe, Subscription, Trigger, Unsubscribe, Value};
use connector_sdk::{Document, Fault, Request};

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[Trigger {
    name: "message_received",
    title: "Message received",
    description: "A message has arrived in a folder of the mailbox. The data is Microsoft's message without its body: \
                  `bodyPreview` has the beginning. `get_message` answers the whole message. A message that was moved to \
                  the folder has arrived there as well.",
    parameters: r#"{
        "type": "object",
        "properties": {
            "mail_folder_id": {
                "type": "string",
                "minLength": 1,
                "default": "inbox",
                "description": "folder id or a well-known name such as inbox, archive"
            }
        },
        "additionalProperties": false
    }"#,
    payload: r#"{
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "subject": {"type": ["string", "null"]},
            "from": {"type": ["object", "null"]},
            "toRecipients": {"type": "array", "items": {"type": "object"}},
            "receivedDateTime": {"type": "string"},
            "bodyPreview": {"type": ["string", "null"]},
            "isRead": {"type": ["boolean", "null"]},
            "hasAttachments": {"type": ["boolean", "null"]}
        },
        "required": ["id"]
    }"#,
    example: r#"{
        "id": "AAMkAGI2",
        "subject": "Hello",
        "from": {"emailAddress": {"name": "Kim", "address": "kim@example.com"}},
        "toRecipients": [{"emailAddress": {"name": "Ada", "address": "ada@example.com"}}],
        "receivedDateTime": "2026-03-02T10:00:00Z",
        "sentDateTime": "2026-03-02T09:59:58Z",
        "bodyPreview": "Are you free tomorrow?",
        "importance": "normal",
        "hasAttachments": false,
        "isRead": false,
        "conversationId": "AAQkAGI2",
        "internetMessageId": "<1@example.com>",
        "webLink": "https://outlook.office365.com/owa/?ItemID=AAMkAGI2"
    }"#,
    inboxes: &["graph"],
    key: &["mail_folder_id"],
    subscribe: Some("subscribe"),
    renew: Some("renew"),
    unsubscribe: Some("unsubscribe"),
    read: Some("read_messages"),
    lifetime_seconds: Some(MINUTES * 60),
    ..Trigger::READ
}];

/// The longest life of a subscription to messages that Microsoft documents: seven days.
const MINUTES: u32 = 10_080;

/// The members of a message in an event.
const FIRST: &str = "changeType=created&$select=subject,from,sender,toRecipients,ccRecipients,replyTo,receivedDateTime,\
                     sentDateTime,bodyPreview,importance,hasAttachments,isRead,categories,conversationId,\
                     internetMessageId,parentFolderId,webLink";

/// Subscribes to the messages of a folder.
pub(crate) fn subscribe(input: Subscribe) -> Result<Subscription, Fault> {
    let folder = folder(&input.parameters)?.replace('\'', "''");
    subscription::subscribe(&format!("me/mailFolders('{folder}')/messages"), "created", MINUTES)
}

/// Renews a subscription.
pub(crate) fn renew(input: Renew) -> Result<Subscription, Fault> {
    subscription::renew(&input, MINUTES)
}

/// Ends a subscription.
pub(crate) fn unsubscribe(input: Unsubscribe) -> Result<(), Fault> {
    subscription::unsubscribe(&input)
}

/// Reads the messages that have arrived since the cursor.
pub(crate) fn read(input: Read) -> Result<Events, Fault> {
    let folder = folder(&input.parameters)?;
    let request = Request::get("graph", "/me/mailFolders").segment("parameters/mail_folder_id", &folder)?;
    let path = format!("{}/messages/delta", request.path);
    Delta { path: &path, first: FIRST, made: None }.read(&input, message)
}

fn folder(parameters: &Value) -> Result<String, Fault> {
    Ok(parameters.optional("mail_folder_id")?.unwrap_or_else(|| "inbox".to_owned()))
}

/// A message. One that has left the folder is no event.
fn message(item: &Document) -> Option<Event> {
    if item.pointer("/@removed").is_some() {
        return None;
    }
    Some(Event { time: item.string("/receivedDateTime"), ..Event::new(item.string("/id")?, Value::from(item)) })
}
