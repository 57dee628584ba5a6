//! The messages of a chat. Microsoft lists them by the time of their last change, the newest first.
//!
//! Each read begins some minutes before the last change, because a message may be listed after a
//! later one.

use std::time::Duration;

use connector_microsoft::subscription;
use connector_sdk::triggers::{Event, Events, Read, Recent, Subscribe, Subscription, Value};
use connector_sdk::{Document, Fault, Request, http};
use serde::Serialize;

/// Maximum number of messages in a page, and of pages in one read.
const PAGE: u32 = 50;
const PAGES: usize = 40;

/// A message that Microsoft lists later than this after it was written is not found.
const OVERLAP: Duration = Duration::from_secs(300);

/// Maximum length of the messages in a cursor, which is at most 8 KiB.
const KNOWN_BYTES: usize = 6 << 10;

/// The place in the messages of a chat.
#[derive(Serialize)]
struct Cursor {
    /// The messages of the last minutes, by the time at which they were written. A message that has
    /// only changed was written before, or is known.
    recent: Recent,
    /// The time of the last change, for earlier versions of this connector, which have no `recent`.
    changed: Option<String>,
    /// See `changed`.
    written: Option<String>,
}

/// A message, with the time at which it was written.
struct Written {
    time: String,
    event: Event,
}

/// Subscribes to the messages of a chat.
pub(crate) fn subscribe(input: Subscribe) -> Result<Subscription, Fault> {
    let chat: String = input.parameters.required("chat_id")?;
    subscription::subscribe(&format!("chats/{chat}/messages"), "created", super::MINUTES)
}

/// Reads the messages that were written in a chat since the cursor.
pub(crate) fn read(input: Read) -> Result<Events, Fault> {
    let sorted = messages(&input.parameters)?.query("$top", PAGE).query("$orderby", ORDER);
    let Some(cursor) = &input.cursor else {
        let page = http::send(sorted)?.successful()?.document()?;
        return Ok(Events::none(Cursor::at(first(&page))?));
    };
    let mut recent = Cursor::parse(cursor)?;
    let mut request = sorted;
    if let Some(time) = recent.since() {
        request = request.query("$filter", format!("lastModifiedDateTime gt {time}"));
    }
    let mut new: Vec<Written> = Vec::new();
    let (mut newest_change, mut oldest_change) = (None, None);
    let mut gap = true;
    for _ in 0..PAGES {
        let response = http::send(request)?.successful()?;
        let page = response.document()?;
        for item in page.pointer("/value").iter().flat_map(Document::items) {
            oldest_change = changed(&item).or(oldest_change);
            newest_change = newest_change.or_else(|| oldest_change.clone());
            let Some(written) = written(&item) else { continue };
            // The list can shift between two requests.
            let is_listed = new.iter().any(|known| known.event.id == written.event.id);
            if recent.is_new(&written.event.id, &written.time) && !is_listed {
                new.push(written);
            }
        }
        match response.body_link("/@odata.nextLink")? {
            Some(link) => request = Request::follow("graph", link),
            None => {
                gap = false;
                break;
            }
        }
    }
    if let Some(time) = oldest_change.filter(|_| gap) {
        // The messages that have changed before are lost, and are told as one gap.
        recent.begin_after(time);
    }
    new.reverse();
    new.sort_by(|one, other| plain(&one.time).cmp(plain(&other.time)));
    let limit = usize::try_from(input.limit).unwrap_or(usize::MAX);
    let more = new.len() > limit;
    new.truncate(limit);
    for Written { time, event } in &new {
        recent.add(&event.id, time);
    }
    // Messages over the limit were written later than those in the answer.
    if let Some(time) = newest_change.filter(|_| !more) {
        recent.reach(&time);
    }
    let events = new.into_iter().map(|written| written.event).collect();
    Ok(Events { events, cursor: Cursor::at(recent)?, more, gap })
}

const ORDER: &str = "lastModifiedDateTime desc";

/// The newest messages of a chat, which were written before the trigger was made.
fn first(page: &Document) -> Recent {
    let mut recent = Recent::default();
    let items: Vec<Document> = page.pointer("/value").iter().flat_map(Document::items).collect();
    for item in &items {
        if let Some(time) = changed(item) {
            recent.reach(&time);
        }
        if let Some(Written { time, event }) = written(item) {
            recent.add(&event.id, &time);
        }
    }
    // The messages that are not on this page have changed before.
    let is_whole = u32::try_from(items.len()).is_ok_and(|number| number < PAGE);
    if let Some(oldest) = items.last().and_then(changed).filter(|_| !is_whole) {
        recent.begin_after(oldest);
    }
    recent
}

impl Cursor {
    /// The cursor with these messages.
    fn at(mut recent: Recent) -> Result<Value, Fault> {
        recent.keep(OVERLAP, KNOWN_BYTES);
        let newest = recent.newest().map(str::to_owned);
        Value::of(&Self { recent, changed: newest.clone(), written: newest })
    }

    fn parse(value: &Value) -> Result<Recent, Fault> {
        if let Some(recent) = value.optional("recent")? {
            return Ok(recent);
        }
        // A message that an earlier version has answered may come again, with the same id.
        Ok(Recent::starting_at(value.optional("written")?))
    }
}

/// The time of the last change of a message.
fn changed(item: &Document) -> Option<String> {
    item.string("/lastModifiedDateTime").or_else(|| item.string("/createdDateTime"))
}

/// `None` for what is no event.
fn written(item: &Document) -> Option<Written> {
    Some(Written { time: item.string("/createdDateTime")?, event: super::message(item)? })
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
