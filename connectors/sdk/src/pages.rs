//! The items of a list that a service divides into pages, one after the other.
//!
//! ```
//! # use connector_sdk::testing::{Answer, Gateway};
//! # use connector_sdk::{Fault, Outcome, Request};
//! use connector_sdk::pages::{Next, Pages};
//!
//! # let gateway = Gateway::new()
//! #     .answer(Answer::json(200, r#"{"users": [{"name": "Ada"}], "next": "p2"}"#))
//! #     .answer(Answer::json(200, r#"{"users": [{"name": "Bob"}]}"#));
//! # fn names() -> Result<Outcome, Fault> {
//! let next = Next::Cursor { pointer: "/next", parameter: "page_token" };
//! let mut names = Vec::new();
//! for user in Pages::new(Request::get("api", "/users"), "/users", next, 500).progress("users") {
//!     names.extend(user?.string("/name"));
//! }
//! Outcome::json(&names)
//! # }
//! # assert!(matches!(names(), Ok(Outcome::Reply(names)) if names == r#"["Ada","Bob"]"#));
//! # assert_eq!(gateway.requests()[1].path, "/users?page_token=p2");
//! ```

use crate::http::{self, Request, Response};
use crate::json::Kind;
use crate::{Document, Fault, progress};

/// How the next page is found.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// The header `Link` has its URL (RFC 8288).
    LinkHeader,
    /// The answer has its URL at this JSON Pointer.
    Link(&'static str),
    /// The answer has a value at this JSON Pointer, which a query parameter of the next request takes.
    Cursor {
        /// The place of the value. It is absent, null or empty on the last page.
        pointer: &'static str,
        /// Name of the query parameter.
        parameter: &'static str,
    },
    /// A query parameter is the number of the page. A page without items follows the last page.
    PageNumber {
        /// The number of the first page.
        first: u32,
        /// Name of the query parameter.
        parameter: &'static str,
    },
    /// A query parameter is the number of items to skip. A page without items follows the last page.
    Offset {
        /// Name of the query parameter.
        parameter: &'static str,
    },
    /// The last item of a page has a value, which a query parameter of the next request takes.
    LastItem {
        /// The place of the value in the item, for example `/id`. Empty if the items are the values.
        pointer: &'static str,
        /// Name of the query parameter.
        parameter: &'static str,
        /// The place of a boolean in the answer that is false or absent on the last page, for example
        /// `/has_more`. `None` if a page without items follows the last page.
        more: Option<&'static str>,
    },
}

/// The items of a list, as an iterator. It requests a page when the items of the previous page are
/// used up.
#[derive(Debug)]
pub struct Pages {
    /// The first request, without a page.
    first: Request,
    items: &'static str,
    next: Next,
    limit: u32,
    what: Option<String>,
    /// The items of the current page.
    page: Option<Document>,
    /// Items of the current page that were given.
    used: u32,
    /// Items of all pages that were given.
    given: u32,
    /// Items of all pages that were read.
    read: u32,
    /// Pages that were read.
    pages: u32,
    /// The value that led to the current page.
    cursor: Option<String>,
    upcoming: Option<Request>,
}

impl Pages {
    /// The items at a JSON Pointer of each page, at most `limit`. `request` is for the first page. A
    /// page that has nothing at the pointer has no items.
    #[must_use]
    pub fn new(request: Request, items: &'static str, next: Next, limit: u32) -> Self {
        let mut pages = Self {
            first: request,
            items,
            next,
            limit,
            what: None,
            page: None,
            used: 0,
            given: 0,
            read: 0,
            pages: 0,
            cursor: None,
            upcoming: None,
        };
        let link = pages.first.link.take();
        let first = pages.numbered(0);
        pages.upcoming = Some(Request { link, ..first });
        pages
    }

    /// Reports progress after each page, for an operation in the background: the part of the limit
    /// that was read, and a message such as `120 users`.
    #[must_use]
    pub fn progress(mut self, what: impl Into<String>) -> Self {
        self.what = Some(what.into());
        self
    }

    /// Returns `true` if the service has more items than were given, because the limit was reached.
    /// Of a service that names no next page, it is not known before another page is read.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.upcoming.is_some() || self.page.as_ref().is_some_and(|page| self.used < page.length())
    }

    fn read(&mut self, request: Request) -> Result<(), Fault> {
        let response = http::send(request)?.successful()?;
        let document = response.document()?;
        let page = document.pointer(self.items).filter(|items| items.kind() == Kind::Array);
        let length = page.as_ref().map_or(0, Document::length);
        self.page = page;
        self.used = 0;
        self.read = self.read.saturating_add(length);
        self.pages = self.pages.saturating_add(1);
        self.upcoming = self.following(&response, &document, length)?;
        if let Some(what) = &self.what {
            let read = self.read.min(self.limit);
            let part = if self.upcoming.is_none() { 1.0 } else { f64::from(read) / f64::from(self.limit.max(1)) };
            progress::report(part, &format!("{read} {what}"));
        }
        Ok(())
    }

    /// The request for the page after this one. `None` if this one is the last.
    fn following(&mut self, response: &Response, document: &Document, length: u32) -> Result<Option<Request>, Fault> {
        let link = match self.next {
            Next::LinkHeader => response.header_link("link")?,
            Next::Link("") | Next::Cursor { pointer: "", .. } => None,
            Next::Link(pointer) if document.string(pointer).is_some_and(|url| url.is_empty()) => None,
            Next::Link(pointer) => response.body_link(pointer)?,
            Next::Cursor { pointer, parameter } => {
                let found = document.pointer(pointer).filter(|value| value.kind() != Kind::Null);
                let Some(cursor) = found.map(|value| value.as_string().unwrap_or_else(|| value.text())) else {
                    return Ok(None);
                };
                return if cursor.is_empty() { Ok(None) } else { self.after(parameter, cursor).map(Some) };
            }
            Next::LastItem { pointer, parameter, more } => {
                let is_true = |pointer| document.pointer(pointer).is_some_and(|value| value.text() == "true");
                let is_last = more.is_some_and(|more| !is_true(more));
                let items = self.page.as_ref().filter(|_| !is_last);
                let Some(item) = items.and_then(|items| items.item(length.checked_sub(1)?)) else { return Ok(None) };
                let value = item.pointer(pointer).and_then(|value| scalar(&value));
                let Some(value) = value.filter(|value| !value.is_empty()) else {
                    return Err(Fault::upstream(
                        502,
                        format!(
                            "The last item of a page has no text and no number at `{pointer}`, which leads to the next page."
                        ),
                    ));
                };
                return self.after(parameter, value).map(Some);
            }
            Next::PageNumber { .. } | Next::Offset { .. } if length == 0 => None,
            Next::PageNumber { .. } | Next::Offset { .. } => return Ok(Some(self.numbered(self.pages))),
        };
        Ok(link.map(|link| Request {
            headers: self.first.headers.clone(),
            omit_credential: self.first.omit_credential,
            ..Request::follow(&self.first.upstream, link)
        }))
    }

    /// The first request, for the page after this value.
    fn after(&mut self, parameter: &str, value: String) -> Result<Request, Fault> {
        if self.cursor.as_ref() == Some(&value) {
            return Err(Fault::upstream(502, "The service names the same next page again, so its list has no end."));
        }
        let request = self.first.again().query(parameter, &value);
        self.cursor = Some(value);
        Ok(request)
    }

    /// The first request, for the page with this number, counted from 0.
    fn numbered(&self, page: u32) -> Request {
        match self.next {
            Next::PageNumber { first, parameter } => self.first.again().query(parameter, first.saturating_add(page)),
            Next::Offset { parameter } => self.first.again().query(parameter, self.read),
            Next::LinkHeader | Next::Link(_) | Next::Cursor { .. } | Next::LastItem { .. } => self.first.again(),
        }
    }
}

/// The text of a string or a number. `None` for any other value.
fn scalar(value: &Document) -> Option<String> {
    match value.kind() {
        Kind::String => value.as_string(),
        Kind::Number => Some(value.text()),
        _ => None,
    }
}

impl Iterator for Pages {
    type Item = Result<Document, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.given < self.limit {
            if let Some(item) = self.page.as_ref().and_then(|page| page.item(self.used)) {
                self.used += 1;
                self.given += 1;
                return Some(Ok(item));
            }
            let request = self.upcoming.take()?;
            if let Err(fault) = self.read(request) {
                self.page = None;
                return Some(Err(fault));
            }
        }
        None
    }
}
