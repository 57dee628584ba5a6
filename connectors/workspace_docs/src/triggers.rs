//! Changes of files in Google Drive, as events.

use connector_sdk::http::{self, Error};
use connector_sdk::triggers::{Condition, Event, Events, Read, Subscribe, Subscription, Trigger, Unsubscribe, Value};
use connector_sdk::{Document, Fault, Request};

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[Trigger {
    name: "file_changed",
    title: "File changed",
    description: "A document or another file in Google Drive was created, changed, shared with the user, moved to the trash \
                  or removed. The data is Google's change; `file` is the file as it is now. A file that was removed, or \
                  that the user may no longer see, has `removed` and no `file`. Several changes of a file in a short time \
                  may be one event.",
    parameters: r#"{
        "type": "object",
        "properties": {
            "document_id": {"type": "string", "minLength": 1, "description": "only changes of this document; absent: of all files"}
        },
        "additionalProperties": false
    }"#,
    payload: r#"{
        "type": "object",
        "properties": {
            "changeType": {"type": "string"},
            "time": {"type": "string"},
            "removed": {"type": "boolean"},
            "fileId": {"type": "string"},
            "file": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "name": {"type": "string"},
                    "mimeType": {"type": "string"},
                    "trashed": {"type": "boolean"},
                    "modifiedTime": {"type": "string"},
                    "webViewLink": {"type": "string"}
                }
            }
        },
        "required": ["fileId"]
    }"#,
    example: r#"{
        "changeType": "file",
        "time": "2026-03-02T10:00:00.000Z",
        "removed": false,
        "fileId": "1aBcD",
        "file": {
            "id": "1aBcD",
            "name": "Plan",
            "mimeType": "application/vnd.google-apps.document",
            "trashed": false,
            "version": "12",
            "createdTime": "2026-03-01T09:00:00.000Z",
            "modifiedTime": "2026-03-02T09:59:58.000Z",
            "lastModifyingUser": {"displayName": "Kim", "emailAddress": "kim@example.com"},
            "webViewLink": "https://docs.google.com/document/d/1aBcD/edit"
        }
    }"#,
    inboxes: &["channel"],
    conditions: &[Condition::equals_parameter("/fileId", "/document_id")],
    subscribe: Some("open_channel"),
    unsubscribe: Some("close_channel"),
    read: Some("read_changes"),
    lifetime_seconds: Some(3600),
    ..Trigger::READ
}];

/// The longest life of a channel for changes: seven days.
const CHANNEL_SECONDS: u64 = 7 * 86_400;

/// Google's maximum number of changes in a page.
const MAX_PAGE: u32 = 1000;

/// Members of the list. Google would leave out most of them.
const FIELDS: &str = "nextPageToken,newStartPageToken,changes(changeType,time,removed,fileId,driveId,file(id,name,mimeType,trashed,version,createdTime,modifiedTime,owners(displayName,emailAddress),lastModifyingUser(displayName,emailAddress),parents,webViewLink))";

/// Opens a channel for the changes of all files.
pub(crate) fn subscribe(_: Subscribe) -> Result<Subscription, Fault> {
    let request = Request::post("drive", "/changes/watch").query("pageToken", start()?);
    connector_google::channel::open(of_all(request), CHANNEL_SECONDS)
}

/// Closes a channel.
pub(crate) fn unsubscribe(input: Unsubscribe) -> Result<(), Fault> {
    connector_google::channel::close(Request::post("drive", "/channels/stop"), &input)
}

/// Reads the changes since the cursor, which is Google's token. The token does not end.
pub(crate) fn read(input: Read) -> Result<Events, Fault> {
    let Some(cursor) = &input.cursor else { return Ok(Events::none(Value::of(&start()?)?)) };
    let token: String = cursor.whole()?;
    let request = Request::get("drive", "/changes").query("pageToken", token);
    let request = of_all(request).query("pageSize", input.limit.min(MAX_PAGE)).query("fields", FIELDS);
    let response = http::send(request)?;
    // Google documents neither, and other lists of Google answer so if a token is too old.
    if matches!(response.status(), 404 | 410) {
        return Ok(Events::gap(Value::of(&start()?)?));
    }
    let list = response.successful()?.document()?;
    let events =
        list.pointer("/changes").iter().flat_map(Document::items).filter_map(|change| event(&change)).collect();
    let (token, more) = match (list.string("/nextPageToken"), list.string("/newStartPageToken")) {
        (Some(next), _) => (next, true),
        (None, Some(start)) => (start, false),
        (None, None) => return Err(no_token("nextPageToken` or `newStartPageToken")),
    };
    Ok(Events { events, more, ..Events::none(Value::of(&token)?) })
}

/// The token that stands for now.
fn start() -> Result<String, Fault> {
    let request = Request::get("drive", "/changes/startPageToken").query("supportsAllDrives", true);
    let answer = http::send(request)?.successful()?.document()?;
    answer.string("/startPageToken").ok_or_else(|| no_token("startPageToken"))
}

/// With the files of shared drives, and with files that were removed.
fn of_all(request: Request) -> Request {
    let request = request.query("includeRemoved", true).query("supportsAllDrives", true);
    request.query("includeItemsFromAllDrives", true)
}

/// A change of a file. A change of a shared drive itself is no event.
fn event(change: &Document) -> Option<Event> {
    let time = change.string("/time");
    let id = format!("{}/{}", change.string("/fileId")?, time.as_deref().unwrap_or_default());
    Some(Event { time, ..Event::new(id, Value::from(change)) })
}

fn no_token(name: &str) -> Fault {
    Error::BadAnswer(format!("Google's list of changes has no `{name}`")).into()
}
