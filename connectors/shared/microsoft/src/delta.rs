//! Delta queries of Microsoft Graph: lists that tell what has changed since a token.
//!
//! Microsoft gives the token in a URL. The cursor keeps the query of this URL and not the URL,
//! because a connector cannot make up addresses.
//!
//! Microsoft tells no version of an item that was removed. The id of such an event has the place at
//! which its list began, so that the event is another one if the item comes back and is removed once
//! more. Microsoft may tell a change again in a later list. So the cursor keeps which items are gone.

use std::time::Duration;

use connector_sdk::http::{self, Error, Request};
use connector_sdk::triggers::{Event, Events, Read, Recent, Value};
use connector_sdk::{Document, Fault, Response};
use serde::Serialize;

/// Maximum number of items in a page of the first list, and of pages of it in one read. Further
/// pages are read in the next one.
const FIRST_PAGE: u32 = 500;
const FIRST_PAGES: usize = 40;

/// The members of an item that was removed, in the lists of Outlook and of drives.
const REMOVED: [&str; 2] = ["/@removed", "/deleted"];

/// The items that a cursor keeps as gone. Those that went first are forgotten.
const MAX_GONE: usize = 64;

/// An item that Microsoft lists later than this after a newer one is not found. Only for
/// [`Delta::made`].
const OVERLAP: Duration = Duration::from_secs(300);

/// Maximum length of the items of the overlap, which a cursor has twice. A cursor is at most 8 KiB.
const KNOWN_BYTES: usize = 2 << 10;

/// A delta query.
pub struct Delta<'a> {
    /// The path of the function `delta`, percent-encoded.
    pub path: &'a str,
    /// The query of the first request. May be empty. Microsoft keeps its parameters in the token.
    pub first: &'a str,
    /// JSON Pointer to the time at which an item was made, if only new items are events. The list
    /// has changed items as well.
    pub made: Option<&'a str>,
}

/// The place in a delta query.
#[derive(Clone, Default, Serialize)]
struct Cursor {
    /// The query of the next request.
    query: String,
    /// `true` while the first list is being read, which has no events.
    is_first: bool,
    /// The query with which the round of pages began. `None` for the first page of a round.
    round: Option<String>,
    /// Hashes of the page's events that were answered, each of 16 characters.
    answered: String,
    /// Hashes of the items that were removed before the page and have not come back, each of 16
    /// characters.
    gone: String,
    /// The items before the round, by the time at which they were made. Only for [`Delta::made`].
    base: Recent,
    /// The same items, and the items of the round.
    recent: Recent,
    /// The newest times of `base` and `recent`, for earlier versions of this crate, which have neither.
    before: Option<String>,
    newest: Option<String>,
}

/// The cursor of a list that takes the place of another one. Items whose removal the other one has told
/// are still gone.
///
/// # Errors
/// [`Fault::InvalidInput`] if one of the values is no cursor of a delta query.
pub fn continued(list: &Value, other: &Value) -> Result<Value, Fault> {
    let gone = Cursor::parse(other)?.gone;
    Value::of(&Cursor { gone, ..Cursor::parse(list)? })
}

impl Delta<'_> {
    /// Reads the items that have changed since the cursor. `event` makes the event of an item, or
    /// `None` if it is none.
    ///
    /// # Errors
    /// Microsoft's own refusal, and [`Error::BadAnswer`] for a page that leads nowhere.
    pub fn read(&self, input: &Read, event: impl Fn(&Document) -> Option<Event>) -> Result<Events, Fault> {
        let Some(cursor) = &input.cursor else { return self.first(self.start()) };
        let cursor = Cursor::parse(cursor)?;
        if cursor.is_first {
            return self.first(cursor);
        }
        let response = self.send(&cursor, input.limit)?;
        if is_too_old(&response) {
            return Ok(Events { gap: true, ..self.first(self.start())? });
        }
        if let (400, Some(round)) = (response.status(), &cursor.round) {
            // The token of the page has ended. The round begins anew.
            let cursor = Cursor { query: round.clone(), round: None, answered: String::new(), ..cursor };
            return Ok(Events { more: true, ..Events::none(Value::of(&cursor)?) });
        }
        let page = response.successful()?.document()?;
        let (mut recent, mut gone) = (cursor.recent.clone(), cursor.gone.clone());
        let round = hash(cursor.round.as_ref().unwrap_or(&cursor.query));
        let mut events = Vec::new();
        for item in page.pointer("/value").iter().flat_map(Document::items) {
            if !self.is_made_since(&cursor, &item, &mut recent) {
                continue;
            }
            let Some(mut event) = event(&item) else { continue };
            if REMOVED.iter().any(|member| item.pointer(member).is_some()) {
                event.id = format!("{}/{round}", event.id);
                if !is_going(&mut gone, &item) {
                    continue;
                }
            } else {
                has_come(&mut gone, &item);
            }
            if !cursor.has_answered(&event) {
                events.push(event);
            }
        }
        let limit = usize::try_from(input.limit).unwrap_or(usize::MAX);
        if events.len() > limit {
            events.truncate(limit);
            let answered: String = events.iter().map(|event| hash(&event.id)).collect();
            let cursor = Cursor { answered: cursor.answered.clone() + &answered, ..cursor };
            return Ok(Events { events, cursor: Value::of(&cursor)?, more: true, gap: false });
        }
        let (cursor, more) = Cursor { gone, ..cursor }.after(&page, recent)?;
        Ok(Events { events, cursor: Value::of(&cursor)?, more, gap: false })
    }

    /// Reads pages of the first list, whose last page has the token for changes.
    fn first(&self, mut cursor: Cursor) -> Result<Events, Fault> {
        for _ in 0..FIRST_PAGES {
            let response = self.send(&cursor, FIRST_PAGE)?;
            let is_ended = response.status() == 400 || is_too_old(&response);
            if is_ended && cursor.query != self.first {
                cursor = self.start();
                continue;
            }
            let page = response.successful()?.document()?;
            let mut recent = cursor.recent.clone();
            for item in page.pointer("/value").iter().flat_map(Document::items) {
                self.is_made_since(&cursor, &item, &mut recent);
            }
            let (next, more) = cursor.after(&page, recent)?;
            cursor = next;
            if !more {
                return Ok(Events::none(Value::of(&cursor)?));
            }
        }
        Ok(Events { more: true, ..Events::none(Value::of(&cursor)?) })
    }

    fn start(&self) -> Cursor {
        Cursor { query: self.first.to_owned(), is_first: true, ..Cursor::default() }
    }

    fn send(&self, cursor: &Cursor, size: u32) -> Result<Response, Fault> {
        let query = if cursor.query.is_empty() { String::new() } else { format!("?{}", cursor.query) };
        let request = Request::get("graph", format!("{}{query}", self.path));
        Ok(http::send(request.header("Prefer", format!("odata.maxpagesize={size}")))?)
    }

    /// Returns `true` if the item was made after the last round. Also keeps the item.
    fn is_made_since(&self, cursor: &Cursor, item: &Document, recent: &mut Recent) -> bool {
        let Some(pointer) = self.made else { return true };
        let (Some(id), Some(made)) = (item.string("/id"), item.string(pointer)) else { return false };
        if recent.is_new(&id, &made) {
            recent.add(&id, &made);
        }
        cursor.base.is_new(&id, &made)
    }
}

impl Cursor {
    fn parse(value: &Value) -> Result<Self, Fault> {
        let (before, newest): (Option<String>, Option<String>) = (value.optional("before")?, value.optional("newest")?);
        // Earlier versions wrote the times without the `Z`.
        let up_to = |time: Option<&String>| Recent::starting_at(time.map(|time| format!("{time}Z")));
        Ok(Self {
            query: value.required("query")?,
            is_first: value.required("is_first")?,
            round: value.optional("round")?,
            answered: value.required("answered")?,
            // Cursors of earlier versions have none.
            gone: value.optional("gone")?.unwrap_or_default(),
            base: value.optional("base")?.unwrap_or_else(|| up_to(before.as_ref())),
            recent: value.optional("recent")?.unwrap_or_else(|| up_to(newest.as_ref())),
            before,
            newest,
        })
    }

    fn has_answered(&self, event: &Event) -> bool {
        has(&self.answered, &hash(&event.id))
    }

    /// The cursor after a page. Also returns `true` if another page follows in this round.
    fn after(self, page: &Document, mut recent: Recent) -> Result<(Self, bool), Fault> {
        recent.keep(OVERLAP, KNOWN_BYTES);
        let newest = recent.newest().map(|time| time.trim_end_matches('Z').to_owned());
        let unclear =
            || -> Fault { Error::BadAnswer("Microsoft's list of changes has no link with a token".to_owned()).into() };
        if let Some(link) = page.string("/@odata.nextLink") {
            let query = query(&link).ok_or_else(unclear)?;
            let round = if self.is_first { None } else { self.round.or(Some(self.query)) };
            return Ok((Self { query, round, answered: String::new(), newest, recent, ..self }, true));
        }
        let query = page.string("/@odata.deltaLink").as_deref().and_then(query).ok_or_else(unclear)?;
        let base = recent.clone();
        let whole = Self { query, gone: self.gone, base, recent, before: newest.clone(), newest, ..Self::default() };
        Ok((whole, false))
    }
}

/// Keeps an item as gone. Returns `false` if it is gone already.
fn is_going(gone: &mut String, item: &Document) -> bool {
    let hash = hash(&item.string("/id").unwrap_or_default());
    if has(gone, &hash) {
        return false;
    }
    gone.push_str(&hash);
    if gone.len() > MAX_GONE * hash.len() {
        *gone = gone.split_off(hash.len());
    }
    true
}

/// Forgets that an item was gone.
fn has_come(gone: &mut String, item: &Document) {
    let hash = hash(&item.string("/id").unwrap_or_default());
    if let Some(place) = place_of(gone, &hash) {
        gone.replace_range(place..place + hash.len(), "");
    }
}

fn has(hashes: &str, hash: &str) -> bool {
    place_of(hashes, hash).is_some()
}

/// The place of a hash in a text of hashes.
fn place_of(hashes: &str, hash: &str) -> Option<usize> {
    let length = hash.len();
    hashes.as_bytes().chunks(length).position(|known| known == hash.as_bytes()).map(|number| number * length)
}

/// The query of a link. Some links of drives have the token in the path: `delta(token='…')`, or
/// without quotes.
fn query(link: &str) -> Option<String> {
    if let Some((_, rest)) = link.split_once("(token=") {
        let (token, _) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'')?,
            None => rest.split_once(')')?,
        };
        return Some(format!("token={token}"));
    }
    let (_, query) = link.split_once('?')?;
    query.contains("token=").then(|| query.to_owned())
}

/// Returns `true` if Microsoft no longer knows the changes since the token.
fn is_too_old(response: &Response) -> bool {
    if response.status() == 410 {
        return true;
    }
    let code = || response.document().ok()?.string("/error/code");
    response.status() >= 400
        && code().is_some_and(|code| {
            ["syncStateNotFound", "syncStateInvalid", "resyncRequired"]
                .iter()
                .any(|known| code.eq_ignore_ascii_case(known))
        })
}

/// FNV-1a of an id. The ids of a whole page would not fit into a cursor.
fn hash(id: &str) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in id.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
#[path = "delta_tests.rs"]
mod tests;
