//! Changes of a calendar's events, as events of the gateway.

use connector_sdk::http::{self, Error, Method};
use connector_sdk::triggers::{Event, Events, Read, Subscribe, Subscription, Trigger, Unsubscribe, Value};
use connector_sdk::{Document, Fault, Request};
use serde::Serialize;

use crate::CONNECTOR;

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[Trigger {
    name: "event_changed",
    title: "Calendar event changed",
    description: "An event of a calendar was created, changed or cancelled. The data is Google's event. A cancelled event \
                  has the status `cancelled`, and perhaps no other members than its id. Of a recurring event, each \
                  instance that changes is an event.",
    parameters: r#"{
        "type": "object",
        "properties": {
            "calendar_id": {"type": "string", "minLength": 1, "description": "primary is accepted for the main calendar of the user"}
        },
        "required": ["calendar_id"],
        "additionalProperties": false
    }"#,
    payload: r#"{
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "status": {"type": "string", "enum": ["confirmed", "tentative", "cancelled"]},
            "summary": {"type": "string"},
            "start": {"type": "object"},
            "end": {"type": "object"},
            "htmlLink": {"type": "string"},
            "updated": {"type": "string"}
        },
        "required": ["id"]
    }"#,
    example: r#"{
        "kind": "calendar#event",
        "id": "abc123def456",
        "etag": "\"3181161784712000\"",
        "status": "confirmed",
        "summary": "Review",
        "htmlLink": "https://www.google.com/calendar/event?eid=abc",
        "created": "2026-03-01T09:00:00.000Z",
        "updated": "2026-03-01T09:30:00.000Z",
        "organizer": {"email": "kim@example.com", "self": true},
        "start": {"dateTime": "2026-03-02T10:00:00+01:00"},
        "end": {"dateTime": "2026-03-02T11:00:00+01:00"}
    }"#,
    inboxes: &["channel"],
    key: &["calendar_id"],
    subscribe: Some("open_channel"),
    unsubscribe: Some("close_channel"),
    read: Some("read_changes"),
    lifetime_seconds: Some(7 * 86_400),
    ..Trigger::READ
}];

/// The life of a channel: seven days. Google gives at most as much.
const CHANNEL_SECONDS: u64 = 7 * 86_400;

/// Google's maximum number of events in a page.
const MAX_PAGE: u32 = 2500;

/// Maximum number of pages of the first list in one read. Further pages are read in the next one.
const FIRST_PAGES: usize = 20;

/// The place in the changes of a calendar.
#[derive(Serialize)]
struct Cursor {
    /// Google's token for the changes since a list. `None` while the first list is being read.
    sync: Option<String>,
    /// Google's token for the next page.
    page: Option<String>,
}

/// Opens a channel for a calendar.
pub(crate) fn subscribe(input: Subscribe) -> Result<Subscription, Fault> {
    let mut request = of_calendar(Method::Post, &input.parameters)?;
    request.path.push_str("/watch");
    connector_google::channel::open(request, CHANNEL_SECONDS)
}

/// Closes a channel.
pub(crate) fn unsubscribe(input: Unsubscribe) -> Result<(), Fault> {
    connector_google::channel::close(CONNECTOR.request(Method::Post, "api", "/channels/stop")?, &input)
}

/// Reads the events of a calendar that have changed since the cursor.
pub(crate) fn read(input: Read) -> Result<Events, Fault> {
    let Some(cursor) = input.cursor else { return first(&input.parameters, None) };
    let cursor = Cursor { sync: cursor.optional("sync")?, page: cursor.optional("page")? };
    let Some(sync) = &cursor.sync else { return first(&input.parameters, cursor.page) };
    let limit = input.limit.min(MAX_PAGE);
    let request = list(&input.parameters, limit)?.query("syncToken", sync);
    let response = http::send(of_page(request, cursor.page.as_ref()))?;
    if response.status() == 410 {
        return Ok(Events { gap: true, ..first(&input.parameters, None)? });
    }
    if cursor.page.is_some() && response.status() == 400 {
        // The token of the page has ended. The changes are read from the first page again.
        let cursor = Value::of(&Cursor { page: None, ..cursor })?;
        return Ok(Events { more: true, ..Events::none(cursor) });
    }
    let list = response.successful()?.document()?;
    let items = list.pointer("/items");
    let events = items.iter().flat_map(Document::items).filter_map(|item| event(&item)).collect();
    let (cursor, more) = match (list.string("/nextPageToken"), list.string("/nextSyncToken")) {
        (Some(page), _) => (Cursor { page: Some(page), ..cursor }, true),
        (None, Some(sync)) => (Cursor { sync: Some(sync), page: None }, false),
        (None, None) => return Err(no_token()),
    };
    Ok(Events { events, cursor: Value::of(&cursor)?, more, gap: false })
}

/// Reads the list of all events, whose last page has the token for changes. The answer has no
/// events.
fn first(parameters: &Value, mut page: Option<String>) -> Result<Events, Fault> {
    for _ in 0..FIRST_PAGES {
        let request = list(parameters, MAX_PAGE)?.query("fields", "nextPageToken,nextSyncToken");
        let response = http::send(of_page(request, page.as_ref()))?;
        if page.is_some() && matches!(response.status(), 400 | 410) {
            // The token of the page has ended, so the list begins anew.
            page = None;
            continue;
        }
        let list = response.successful()?.document()?;
        if let Some(sync) = list.string("/nextSyncToken") {
            return Ok(Events::none(Value::of(&Cursor { sync: Some(sync), page: None })?));
        }
        page = Some(list.string("/nextPageToken").ok_or_else(no_token)?);
    }
    Ok(Events { more: true, ..Events::none(Value::of(&Cursor { sync: None, page })?) })
}

/// The request for a page of a list. A token is valid only with the selection of events that it
/// came with, so every list selects in the same way.
fn list(parameters: &Value, size: u32) -> Result<Request, Fault> {
    let request = of_calendar(Method::Get, parameters)?;
    Ok(request.query("singleEvents", true).query("showDeleted", true).query("maxResults", size))
}

fn of_page(request: Request, page: Option<&String>) -> Request {
    match page {
        Some(page) => request.query("pageToken", page),
        None => request,
    }
}

fn of_calendar(method: Method, parameters: &Value) -> Result<Request, Fault> {
    let calendar: String = parameters.required("calendar_id")?;
    let mut request = CONNECTOR.request(method, "api", "/calendars")?.segment("parameters/calendar_id", &calendar)?;
    request.path.push_str("/events");
    Ok(request)
}

/// A change of an event. Its id has the event's ETag, which is another one after each change.
fn event(item: &Document) -> Option<Event> {
    let id = item.string("/id")?;
    let updated = item.string("/updated");
    let version = item.string("/etag").map(|etag| etag.trim_matches('"').to_owned()).or_else(|| updated.clone());
    let is_cancelled = item.string("/status").as_deref() == Some("cancelled");
    Some(Event {
        id: format!("{id}/{}", version.unwrap_or_default()),
        kind: if is_cancelled { "cancelled" } else { "changed" }.to_owned(),
        time: updated,
        data: Value::from(item),
    })
}

fn no_token() -> Fault {
    Error::BadAnswer("Google's list of events has neither `nextPageToken` nor `nextSyncToken`".to_owned()).into()
}
