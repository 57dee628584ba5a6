//! Changes of the events of the user's calendar.
//!
//! Microsoft lists the changes of all events. If it refuses this list, there is one of events
//! between two times. Another list with later times follows before these are reached.

use connector_microsoft::delta::{self, Delta};
use connector_microsoft::subscription;
use connector_sdk::triggers::{Event, Events, Read, Renew, Subscribe, Subscription, Trigger, Unsubscribe, Value};
use connector_sdk::{Document, Fault, clock};

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[Trigger {
    name: "event_changed",
    title: "Calendar event changed",
    description: "An event of the user's calendar was created, changed or deleted. The data is Microsoft's event. An event \
                  that was deleted has only its id and `@removed`. For some calendars, Microsoft lists only the changes of \
                  events in a period. The period always includes the last 90 days and the next 60 days.",
    payload: r#"{
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "subject": {"type": ["string", "null"]},
            "start": {"type": "object"},
            "end": {"type": "object"},
            "organizer": {"type": ["object", "null"]},
            "attendees": {"type": "array", "items": {"type": "object"}},
            "isCancelled": {"type": "boolean"},
            "lastModifiedDateTime": {"type": "string"},
            "webLink": {"type": "string"},
            "@removed": {"type": "object"}
        },
        "required": ["id"]
    }"#,
    example: r#"{
        "id": "AAMkAGI1",
        "changeKey": "EZ9r3czxY0m2jz8c45czkwAAFXcvIw==",
        "subject": "Review",
        "bodyPreview": "The plan",
        "createdDateTime": "2026-03-01T09:00:00Z",
        "lastModifiedDateTime": "2026-03-01T09:30:00Z",
        "start": {"dateTime": "2026-03-02T10:00:00.0000000", "timeZone": "UTC"},
        "end": {"dateTime": "2026-03-02T11:00:00.0000000", "timeZone": "UTC"},
        "location": {"displayName": "Room 4"},
        "isCancelled": false,
        "organizer": {"emailAddress": {"name": "Kim", "address": "kim@example.com"}},
        "attendees": [{"type": "required", "emailAddress": {"name": "Ada", "address": "ada@example.com"}}],
        "webLink": "https://outlook.office365.com/owa/?itemid=AAMkAGI1"
    }"#,
    inboxes: &["graph"],
    subscribe: Some("subscribe"),
    renew: Some("renew"),
    unsubscribe: Some("unsubscribe"),
    read: Some("read_changes"),
    lifetime_seconds: Some(MINUTES * 60),
    ..Trigger::READ
}];

/// The longest life of a subscription to events that Microsoft documents: seven days.
const MINUTES: u32 = 10_080;

/// The changes of all events.
const ALL: Delta<'_> = Delta { path: "/me/events/delta", first: "", made: None };

/// The path of the changes of events between two times, and the distance of these times from now.
const BETWEEN: &str = "/me/calendarView/delta";
const DISTANCE_MS: u64 = 90 * 86_400_000;

/// Another list follows this long before the later time is reached.
const RESERVE_MS: u64 = 60 * 86_400_000;

/// Subscribes to the changes of all events.
pub(crate) fn subscribe(_: Subscribe) -> Result<Subscription, Fault> {
    subscription::subscribe("me/events", "created,updated,deleted", MINUTES)
}

/// Renews a subscription.
pub(crate) fn renew(input: Renew) -> Result<Subscription, Fault> {
    subscription::renew(&input, MINUTES)
}

/// Ends a subscription.
pub(crate) fn unsubscribe(input: Unsubscribe) -> Result<(), Fault> {
    subscription::unsubscribe(&input)
}

/// Reads the events that have changed since the cursor.
pub(crate) fn read(input: Read) -> Result<Events, Fault> {
    let Some(cursor) = &input.cursor else { return first(&input) };
    let until: Option<i64> = cursor.optional("until")?;
    let next = Next::parse(cursor)?;
    let input = Read { cursor: Some(cursor.required("delta")?), ..input };
    let Some(until) = until else { return Ok(with_until(ALL.read(&input, event)?, None)) };
    let is_near = u64::try_from(until).is_ok_and(|until| until < clock::now().saturating_add(RESERVE_MS));
    // The other list begins before this one is read, so that no change is between the two.
    let next = if is_near { Some(Next::further(next, &input)?) } else { None };
    let events = between(&input)?;
    if events.gap {
        return Ok(with_until(events, Some(end())));
    }
    match next {
        Some(next) if next.is_ready && !events.more => {
            let cursor = delta::continued(&next.delta, &events.cursor)?;
            Ok(with_until(Events { cursor, ..events }, Some(next.until)))
        }
        next => {
            let more = events.more || next.as_ref().is_some_and(|next| !next.is_ready);
            Ok(with_next(Events { more, ..events }, Some(until), next.as_ref()))
        }
    }
}

/// The list of later times. It takes the place of the present one when its first list, which has no
/// events, was read to the end, and the present one after it.
struct Next {
    until: i64,
    delta: Value,
    /// `true` if its first list was read to the end.
    is_ready: bool,
}

impl Next {
    fn parse(cursor: &Value) -> Result<Option<Self>, Fault> {
        let Some(next) = cursor.optional::<Value>("next")? else { return Ok(None) };
        let (until, delta) = (next.required("until")?, next.required("delta")?);
        Ok(Some(Self { until, delta, is_ready: next.required("is_ready")? }))
    }

    /// Begins the list, or reads more of its first list.
    fn further(next: Option<Self>, input: &Read) -> Result<Self, Fault> {
        let (until, cursor) = match next {
            Some(next) if next.is_ready => return Ok(next),
            Some(next) => (next.until, Some(next.delta)),
            None => (end(), None),
        };
        let events = between(&Read { cursor, ..input.clone() })?;
        Ok(Self { until, delta: events.cursor, is_ready: !events.more })
    }
}

/// Begins the list of all events. If Microsoft does not have it, begins the one between two times.
fn first(input: &Read) -> Result<Events, Fault> {
    match ALL.read(input, event) {
        Err(Fault::Upstream(refusal)) if matches!(refusal.status, 400 | 404 | 405 | 501) => {
            Ok(with_until(between(input)?, Some(end())))
        }
        events => Ok(with_until(events?, None)),
    }
}

fn between(input: &Read) -> Result<Events, Fault> {
    let time = |milliseconds| clock::rfc3339(milliseconds).replace(':', "%3A");
    let (start, end) = (clock::now().saturating_sub(DISTANCE_MS), clock::now().saturating_add(DISTANCE_MS));
    let first = format!("startDateTime={}&endDateTime={}", time(start), time(end));
    Delta { path: BETWEEN, first: &first, made: None }.read(input, event)
}

/// The later time of a list that begins now, in milliseconds since 1970.
fn end() -> i64 {
    i64::try_from(clock::now().saturating_add(DISTANCE_MS)).unwrap_or(i64::MAX)
}

fn with_until(events: Events, until: Option<i64>) -> Events {
    with_next(events, until, None)
}

fn with_next(events: Events, until: Option<i64>, next: Option<&Next>) -> Events {
    let until = until.map_or_else(|| "null".to_owned(), |until| until.to_string());
    let next = next.map_or_else(String::new, |Next { until, delta, is_ready }| {
        format!(r#","next":{{"until":{until},"is_ready":{is_ready},"delta":{}}}"#, delta.0)
    });
    let cursor = Value(format!(r#"{{"until":{until},"delta":{}{next}}}"#, events.cursor.0));
    Events { cursor, ..events }
}

/// A change of an event. Its id has the event's change key, which is another one after each change.
fn event(item: &Document) -> Option<Event> {
    let id = item.string("/id")?;
    let time = item.string("/lastModifiedDateTime");
    let version = item.string("/changeKey").or_else(|| item.string("/@odata.etag")).or_else(|| time.clone());
    let (kind, version) = match item.pointer("/@removed") {
        Some(_) => ("removed", "removed".to_owned()),
        None => ("changed", version.unwrap_or_default()),
    };
    Some(Event { kind: kind.to_owned(), time, ..Event::new(format!("{id}/{version}"), Value::from(item)) })
}
