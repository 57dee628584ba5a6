//! The messages and the changes of labels in the history of a mailbox. The cursor is the id of the
//! last record that was read.

use connector_sdk::json::quoted;
use connector_sdk::triggers::{Event, Events, Read, Value};
use connector_sdk::{Document, Fault, Request, clock, http};

use super::history::{self, Changes};

/// The headers of a message in an event.
const HEADERS: [&str; 9] =
    ["From", "To", "Cc", "Reply-To", "Subject", "Date", "Message-ID", "In-Reply-To", "List-Unsubscribe"];

/// Labels of messages that were not received. They count only if the trigger names no label.
const NOT_RECEIVED: [&str; 4] = ["DRAFT", "SENT", "SPAM", "TRASH"];

/// Number of messages that are requested at the same time.
const PARALLEL: usize = 10;

/// Reads the messages that have arrived since the cursor.
pub(crate) fn messages(input: Read) -> Result<Events, Fault> {
    let label: Option<String> = input.parameters.optional("label_id")?;
    let Some(since) = &input.cursor else { return first() };
    let since: String = since.whole()?;
    let added = |record: &Document| {
        let mut ids = Vec::new();
        for message in record.pointer("/messagesAdded").iter().flat_map(Document::items) {
            let labels = texts(message.pointer("/message/labelIds"));
            let is_wanted = match &label {
                Some(label) => labels.contains(label),
                None => !labels.iter().any(|label| NOT_RECEIVED.contains(&label.as_str())),
            };
            ids.extend(message.string("/message/id").filter(|_| is_wanted));
        }
        ids
    };
    let changes = history::since(&since, &["messageAdded"], label.as_deref(), input.limit, added)?;
    events(changes, |ids| get(&ids))
}

/// Reads the changes of labels since the cursor.
pub(crate) fn labels(input: Read) -> Result<Events, Fault> {
    let label: Option<String> = input.parameters.optional("label_id")?;
    let Some(since) = &input.cursor else { return first() };
    let since: String = since.whole()?;
    let changed = |record: &Document| {
        let mut events = Vec::new();
        for (member, change) in [("/labelsAdded", "added"), ("/labelsRemoved", "removed")] {
            for changed in record.pointer(member).iter().flat_map(Document::items) {
                let is_wanted = label.as_ref().is_none_or(|label| texts(changed.pointer("/labelIds")).contains(label));
                events.extend(label_event(record, &changed, change).filter(|_| is_wanted));
            }
        }
        events
    };
    // A filter of Gmail would leave out messages that no longer have the label.
    let changes = history::since(&since, &["labelAdded", "labelRemoved"], None, input.limit, changed)?;
    events(changes, Ok)
}

fn first() -> Result<Events, Fault> {
    Ok(Events::none(Value::of(&history::newest()?)?))
}

fn events<T>(changes: Changes<T>, make: impl Fn(Vec<T>) -> Result<Vec<Event>, Fault>) -> Result<Events, Fault> {
    match changes {
        Changes::Since { found, last, more } => {
            Ok(Events { events: make(found)?, more, ..Events::none(Value::of(&last)?) })
        }
        Changes::Gone(newest) => Ok(Events::gap(Value::of(&newest)?)),
    }
}

/// The messages with these ids. Those that were deleted meanwhile are left out.
fn get(ids: &[String]) -> Result<Vec<Event>, Fault> {
    let mut events = Vec::new();
    for part in ids.chunks(PARALLEL) {
        let requests = part.iter().map(|id| {
            let mut request = Request::get("api", "/users/me/messages").segment("id", id)?.query("format", "metadata");
            for header in HEADERS {
                request = request.query("metadataHeaders", header);
            }
            Ok(request)
        });
        for response in http::send_all(requests.collect::<Result<_, Fault>>()?) {
            let response = response?;
            if response.status() == 404 {
                continue;
            }
            let message = response.successful()?.document()?;
            let Some(id) = message.string("/id") else { continue };
            let time = message.string("/internalDate").and_then(|time| time.parse().ok()).map(clock::rfc3339);
            events.push(Event { time, ..Event::new(id, Value::from(&message)) });
        }
    }
    Ok(events)
}

/// A change of labels. The id of the record belongs to the id of the event, because the same change
/// may come again.
fn label_event(record: &Document, changed: &Document, change: &str) -> Option<Event> {
    let id = format!("{}/{}/{change}", record.string("/id")?, changed.string("/message/id")?);
    let (labels, message) = (changed.pointer("/labelIds")?, changed.pointer("/message")?);
    let data = format!(r#"{{"change":{},"labelIds":{},"message":{}}}"#, quoted(change), labels.text(), message.text());
    Some(Event { kind: change.to_owned(), ..Event::new(id, Value(data)) })
}

fn texts(list: Option<Document>) -> Vec<String> {
    list.iter().flat_map(Document::items).filter_map(|item| item.as_string()).collect()
}
