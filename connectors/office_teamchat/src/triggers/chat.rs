//! The messages of a chat. Microsoft lists them by the time of their last change, the newest first.

use connector_microsoft::subscription;
use connector_sdk::triggers::{Event, Events, Read, Subscribe, Subscription, Value};
use connector_sdk::{Document, Fault, Request, http};
use serde::Serialize;

/// Maximum number of messages in a page, and of pages in one read.
const PAGE: u32 = 50;
const PAGES: usize = 40;

/// The place in the messages of a chat.
#[derive(Serialize)]
struct Cursor {
    /// The time of the last change that was read. `None` if the chat had no message.
    changed: Option<String>,
    /// Messages that were written later are events. `None` for every message.
    written: Option<String>,
}

/// A message, or `None` if it is no event, with the time of its last change.
struct Changed {
    time: String,
    event: Option<Event>,
}

/// Subscribes to the messages of a chat.
pub(crate) fn subscribe(input: Subscribe) -> Result<Subscription, Fault> {
    let chat: String = input.parameters.required("chat_id")?;
    subscription::subscribe(&format!("chats/{chat}/messages"), "created", super::MINUTES)
}

/// Reads the messages that were written in a chat since the cursor.
pub(crate) fn read(input: Read) -> Result<Events, Fault> {
    let sorted = |size| Ok::<_, Fault>(messages(&input.parameters)?.query("$top", size).query("$orderby", ORDER));
    let Some(cursor) = &input.cursor else {
        let newest = http::send(sorted(1)?)?.successful()?.document()?;
        let newest = newest.string("/value/0/lastModifiedDateTime");
        return Ok(Events::none(Value::of(&Cursor { changed: newest.clone(), written: newest })?));
    };
    let cursor = Cursor { changed: cursor.optional("changed")?, written: cursor.optional("written")? };
    let mut request = sorted(PAGE)?;
    if let Some(time) = &cursor.changed {
        request = request.query("$filter", format!("lastModifiedDateTime gt {time}"));
    }
    let mut changed = Vec::new();
    let mut gap = true;
    for _ in 0..PAGES {
        let response = http::send(request)?.successful()?;
        let page = response.document()?;
        changed
            .extend(page.pointer("/value").iter().flat_map(Document::items).filter_map(|item| cursor.changed(&item)));
        match response.body_link("/@odata.nextLink")? {
            Some(link) => request = Request::follow("graph", link),
            None => {
                gap = false;
                break;
            }
        }
    }
    changed.reverse();
    let limit = usize::try_from(input.limit).unwrap_or(usize::MAX);
    let more = changed.iter().filter(|changed| changed.event.is_some()).count() > limit;
    // The last time, and the one before it.
    let (mut last, mut before) = (cursor.changed.clone(), cursor.changed.clone());
    let mut events = Vec::new();
    for Changed { time, event } in changed {
        let is_same = last.as_ref() == Some(&time);
        if event.is_some() && events.len() == limit {
            // The next read passes over this time, so it gets all messages of this time again.
            if is_same && before != cursor.changed {
                last = before;
            }
            break;
        }
        if !is_same {
            before = last.replace(time);
        }
        events.extend(event);
    }
    let written = if more { cursor.written } else { last.clone() };
    Ok(Events { events, cursor: Value::of(&Cursor { changed: last, written })?, more, gap })
}

const ORDER: &str = "lastModifiedDateTime desc";

impl Cursor {
    fn changed(&self, item: &Document) -> Option<Changed> {
        let time = item.string("/lastModifiedDateTime").or_else(|| item.string("/createdDateTime"))?;
        let is_new = match (&self.written, item.string("/createdDateTime")) {
            (Some(written), Some(time)) => plain(&time) > plain(written),
            (None, _) => true,
            (Some(_), None) => false,
        };
        Some(Changed { time, event: super::message(item).filter(|_| is_new) })
    }
}

/// A time without the `Z`. The order of such texts is the order of the times, with and without
/// fractions.
fn plain(time: &str) -> &str {
    time.trim_end_matches('Z')
}

fn messages(parameters: &Value) -> Result<Request, Fault> {
    let chat: String = parameters.required("chat_id")?;
    let mut request = Request::get("graph", "/chats").segment("parameters/chat_id", &chat)?;
    request.path.push_str("/messages");
    Ok(request)
}
