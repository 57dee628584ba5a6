//! The notifications in a verified body.

use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use contract::Inbox;
use contract::trigger_types::{Lifecycle, Place};
use hyper::header::HeaderMap;
use ring::digest::{Context, SHA256, digest};

use crate::conditions::kind_is;
use crate::document::{Document, NotUnderstood, text_at};
use crate::notification::{self, Notification};
use crate::secret::hex;
use crate::time;
use crate::verify::Verified;

/// The notifications of one request.
#[derive(Clone, Default)]
pub struct Items {
    /// Those that are verified and understood.
    pub items: Vec<Item>,
    /// The number of those whose own token is wrong.
    pub unverified: usize,
    /// Why others are ignored. A repetition would not help.
    pub ignored: Vec<NotUnderstood>,
}

/// One notification. It has no `Debug`, because no log line may show its parts.
#[derive(Clone)]
pub struct Item {
    source: Arc<Source>,
    place: Range<usize>,
    data: Option<Range<usize>>,
    /// The SHA-256 of the parts of its id in hexadecimal digits: the same when the service sends the
    /// notification again.
    pub key: String,
    /// Its kind. Empty if the notification has none.
    pub kind: String,
    /// The meaning of the kind.
    pub meaning: Meaning,
    /// The time of the event, as the service says.
    pub time: Option<SystemTime>,
    /// The values that name the account, in the order of the declaration. `None` if one is absent,
    /// so that the notification is for no account.
    pub accounts: Option<Vec<String>>,
    /// The same values, each also from its other places. Those that are absent are `None`. A
    /// notification about the subscription is about all accounts that have the others.
    pub named: Vec<Option<String>>,
}

/// The meaning of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Something has happened at the service.
    Event,
    /// The service only tests the address, or says that notifications begin.
    Ignored,
    /// It is about the subscription.
    Lifecycle(Lifecycle),
}

/// The parts of a request that its items share.
struct Source {
    headers: HeaderMap,
    query: String,
    body_hash: String,
    document: Document,
    /// The place of the list of notifications. `None` if the body is one notification.
    list: Option<Range<usize>>,
}

/// Reads a verified notification. If the body is not understood, there are no items.
pub fn items(inbox: &Inbox, notification: &Notification<'_>, verified: &Verified) -> Items {
    let mut read = Items::default();
    let document = Document::read(inbox, notification.body);
    let places = document.and_then(|document| document.items(inbox).map(|places| (document, places)));
    let (document, places) = match places {
        Ok(found) => found,
        Err(reason) => {
            read.ignored.push(reason);
            return read;
        }
    };
    let list = inbox.items.as_ref().and_then(|pointer| document.at(&(0..document.text().len()), pointer));
    let source = Arc::new(Source {
        headers: notification.headers.clone(),
        query: notification.query.to_owned(),
        body_hash: hex(digest(&SHA256, notification.body).as_ref()),
        document,
        list,
    });
    for (number, place) in places.into_iter().enumerate() {
        if !verified.has(number) {
            read.unverified += 1;
            continue;
        }
        match Item::read(inbox, &source, place, number) {
            Ok(item) => read.items.push(item),
            Err(reason) => read.ignored.push(reason),
        }
    }
    read
}

impl Item {
    fn read(inbox: &Inbox, source: &Arc<Source>, place: Range<usize>, number: usize) -> Result<Self, NotUnderstood> {
        let at = |wanted: &Place| source.value(&place, wanted);
        let key = key_of(inbox, &inbox.id.iter().map(at).collect::<Vec<_>>(), number).ok_or(NotUnderstood::NoId)?;
        let kind = inbox.kind.iter().filter_map(at).collect::<Vec<_>>().join("/");
        let lifecycle = inbox.lifecycle.iter().find(|(name, _)| is_kind(name, &kind));
        let meaning = match lifecycle {
            Some((_, lifecycle)) => Meaning::Lifecycle(*lifecycle),
            None if inbox.ignored.iter().any(|name| is_kind(name, &kind)) => Meaning::Ignored,
            None => Meaning::Event,
        };
        let keys = account_keys(inbox);
        Ok(Self {
            key,
            kind,
            meaning,
            time: inbox.time.as_ref().and_then(at).and_then(|text| time::parse(&text)),
            accounts: keys.iter().map(|(_, places)| at(places.first().copied()?)).collect(),
            named: keys.iter().map(|(_, places)| places.iter().copied().find_map(at)).collect(),
            data: source.document.at(&place, &inbox.data),
            source: Arc::clone(source),
            place,
        })
    }

    /// The data of the event, as JSON text. `null` if the notification has none.
    pub fn data(&self) -> &str {
        self.data.as_ref().map_or("null", |data| self.source.document.part(data))
    }

    /// The whole notification, as JSON text.
    pub fn text(&self) -> &str {
        self.source.document.part(&self.place)
    }

    /// The body that the notification came with, as JSON text. If it has a list of notifications, the
    /// list has only this one.
    pub fn body(&self) -> String {
        let Source { document, list, .. } = &*self.source;
        let Some(list) = list else { return document.text().to_owned() };
        let (before, after) = (0..list.start, list.end..document.text().len());
        [document.part(&before), "[", self.text(), "]", document.part(&after)].concat()
    }

    /// The text at a place outside of the body.
    pub(crate) fn value(&self, place: &Place) -> Option<String> {
        self.source.value(&self.place, place)
    }
}

impl Source {
    /// The text at a place.
    fn value(&self, item: &Range<usize>, place: &Place) -> Option<String> {
        match place {
            Place::Pointer(pointer) => text_at(self.document.part(item), pointer),
            Place::BodyHash => Some(self.body_hash.clone()),
            place => {
                let values = notification::values(&self.headers, &self.query, place);
                values.into_iter().next().map(|value| value.into_owned()).filter(|value| !value.is_empty())
            }
        }
    }
}

/// The values that name an account: the pointer to each in the account, and its places in a
/// notification. Several keys with the same pointer are one value.
pub fn account_keys(inbox: &Inbox) -> Vec<(&str, Vec<&Place>)> {
    let mut keys: Vec<(&str, Vec<&Place>)> = Vec::with_capacity(inbox.accounts.len());
    for key in &inbox.accounts {
        match keys.iter_mut().find(|(pointer, _)| *pointer == key.account) {
            Some((_, places)) => places.push(&key.place),
            None => keys.push((key.account.as_str(), vec![&key.place])),
        }
    }
    keys
}

/// The SHA-256 of the parts of an id. `None` if all are absent: two notifications without an id
/// would be taken for one.
fn key_of(inbox: &Inbox, parts: &[Option<String>], number: usize) -> Option<String> {
    if parts.iter().all(Option::is_none) {
        return None;
    }
    let mut context = Context::new(&SHA256);
    // With its length, so that the end of one part is never the beginning of the next.
    for part in parts {
        match part {
            Some(text) => {
                context.update(&(text.len() as u64 + 1).to_be_bytes());
                context.update(text.as_bytes());
            }
            None => context.update(&0_u64.to_be_bytes()),
        }
    }
    // The items of a batch have one body.
    if inbox.items.is_some() && inbox.id.contains(&Place::BodyHash) {
        context.update(&(number as u64).to_be_bytes());
    }
    Some(hex(context.finish().as_ref()))
}

fn is_kind(name: &str, kind: &str) -> bool {
    kind_is(&[name.to_owned()], kind)
}
