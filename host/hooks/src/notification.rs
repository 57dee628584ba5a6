//! A request to an inbox, and the values outside of its body.

use std::borrow::Cow;

use contract::trigger_types::Place;
use hyper::Method;
use hyper::header::{HeaderMap, HeaderValue};
use url::form_urlencoded;

/// A request to an inbox.
#[derive(Clone, Copy)]
pub struct Notification<'a> {
    /// The method.
    pub method: &'a Method,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The query as it was sent: percent-encoded and without `?`.
    pub query: &'a str,
    /// The bytes of the body.
    pub body: &'a [u8],
}

impl<'a> Notification<'a> {
    /// The values at a place outside of the body, in their order.
    pub(crate) fn values(&self, place: &Place) -> Vec<Cow<'a, str>> {
        values(self.headers, self.query, place)
    }

    /// The first value at a place outside of the body. The same one is checked and used, however
    /// often a sender repeats it.
    pub(crate) fn value(&self, place: &Place) -> Option<Cow<'a, str>> {
        self.values(place).into_iter().next()
    }

    /// The first value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&'a HeaderValue> {
        self.headers.get(name)
    }

    /// The first value of a query parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<Cow<'a, str>> {
        parameters(self.query, name).into_iter().next()
    }
}

/// The values at a place outside of a body. None for places in the body.
pub(crate) fn values<'a>(headers: &'a HeaderMap, query: &'a str, place: &Place) -> Vec<Cow<'a, str>> {
    match place {
        Place::Header(name) => lines(headers, name).map(Cow::Borrowed).collect(),
        Place::HeaderField((name, key)) => {
            let fields = lines(headers, name).flat_map(|line| line.split(','));
            let named = fields.filter_map(|field| field.split_once('=')).filter(|(field, _)| field.trim() == key);
            named.map(|(_, value)| Cow::Borrowed(value.trim())).collect()
        }
        Place::Query(name) => parameters(query, name),
        Place::Pointer(_) | Place::BodyHash => Vec::new(),
    }
}

/// The lines of a header that are text.
fn lines<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    headers.get_all(name).iter().filter_map(|value| std::str::from_utf8(value.as_bytes()).ok())
}

fn parameters<'a>(query: &'a str, name: &str) -> Vec<Cow<'a, str>> {
    form_urlencoded::parse(query.as_bytes()).filter(|(given, _)| given == name).map(|(_, value)| value).collect()
}
