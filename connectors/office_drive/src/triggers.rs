//! Changes of files and folders of a drive.

use connector_microsoft::delta::Delta;
use connector_microsoft::subscription;
use connector_sdk::triggers::{Event, Events, Read, Renew, Subscribe, Subscription, Trigger, Unsubscribe, Value};
use connector_sdk::{Document, Fault, Request};

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[Trigger {
    name: "item_changed",
    title: "File or folder changed",
    description: "A file or folder of a drive was created, changed, moved, shared or deleted. The data is Microsoft's item. \
                  An item that was deleted has `deleted`. Several changes of an item in a short time may be one event.",
    parameters: r#"{
        "type": "object",
        "properties": {
            "drive_id": {"type": "string", "minLength": 1, "description": "absent: the user's own drive"}
        },
        "additionalProperties": false
    }"#,
    payload: r#"{
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "name": {"type": "string"},
            "size": {"type": "integer"},
            "webUrl": {"type": "string"},
            "lastModifiedDateTime": {"type": "string"},
            "parentReference": {"type": "object", "properties": {"driveId": {"type": "string"}, "id": {"type": "string"}}},
            "file": {"type": "object"},
            "folder": {"type": "object"},
            "deleted": {"type": "object"}
        },
        "required": ["id"]
    }"#,
    example: r#"{
        "id": "01ABC",
        "name": "Plan.docx",
        "eTag": "\"{01ABC},3\"",
        "cTag": "\"c:{01ABC},2\"",
        "size": 20480,
        "createdDateTime": "2026-03-01T09:00:00Z",
        "lastModifiedDateTime": "2026-03-02T10:00:00Z",
        "lastModifiedBy": {"user": {"displayName": "Kim"}},
        "parentReference": {"driveId": "b!abc", "id": "01PARENT", "path": "/drive/root:/Plans"},
        "file": {"mimeType": "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
        "webUrl": "https://example.sharepoint.com/Plans/Plan.docx"
    }"#,
    inboxes: &["graph"],
    key: &["drive_id"],
    subscribe: Some("subscribe"),
    renew: Some("renew"),
    unsubscribe: Some("unsubscribe"),
    read: Some("read_changes"),
    lifetime_seconds: Some(MINUTES * 60),
    ..Trigger::READ
}];

/// The longest life of a subscription to a drive that Microsoft documents: somewhat less than 30
/// days.
const MINUTES: u32 = 42_300;

/// Subscribes to the changes of a drive. Microsoft has only updates for the root of a drive.
pub(crate) fn subscribe(input: Subscribe) -> Result<Subscription, Fault> {
    let resource = match drive(&input.parameters)? {
        Some(drive) => format!("drives/{drive}/root"),
        None => "me/drive/root".to_owned(),
    };
    subscription::subscribe(&resource, "updated", MINUTES)
}

/// Renews a subscription.
pub(crate) fn renew(input: Renew) -> Result<Subscription, Fault> {
    subscription::renew(&input, MINUTES)
}

/// Ends a subscription.
pub(crate) fn unsubscribe(input: Unsubscribe) -> Result<(), Fault> {
    subscription::unsubscribe(&input)
}

/// Reads the items of a drive that have changed since the cursor.
pub(crate) fn read(input: Read) -> Result<Events, Fault> {
    let request = match drive(&input.parameters)? {
        Some(drive) => Request::get("graph", "/drives").segment("parameters/drive_id", &drive)?,
        None => Request::get("graph", "/me/drive"),
    };
    let path = format!("{}/root/delta", request.path);
    // Microsoft gives the token for now, without a list of all items.
    Delta { path: &path, first: "token=latest", made: None }.read(&input, item)
}

fn drive(parameters: &Value) -> Result<Option<String>, Fault> {
    parameters.optional("drive_id")
}

/// A change of an item. Its id has the item's ETag, which is another one after each change. The
/// root of the drive is in each list and is no event.
fn item(item: &Document) -> Option<Event> {
    if item.pointer("/root").is_some() {
        return None;
    }
    let id = item.string("/id")?;
    let time = item.string("/lastModifiedDateTime");
    let version = item.string("/eTag").map(|etag| etag.trim_matches('"').to_owned()).or_else(|| time.clone());
    let (kind, version) = match item.pointer("/deleted") {
        Some(_) => ("deleted", "deleted".to_owned()),
        None => ("changed", version.unwrap_or_default()),
    };
    Some(Event { kind: kind.to_owned(), time, ..Event::new(format!("{id}/{version}"), Value::from(item)) })
}
