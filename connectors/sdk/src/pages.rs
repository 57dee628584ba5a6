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

#[cfg(test)]
mod tests {
    use super::{Next, Pages};
    use crate::testing::{Answer, Gateway};
    use crate::{Fault, Request};

    const CURSOR: Next = Next::Cursor { pointer: "/next", parameter: "page" };

    fn gateway(answers: &[&str]) -> Gateway {
        answers.iter().fold(Gateway::new(), |gateway, answer| gateway.answer(Answer::json(200, answer)))
    }

    /// The items that were given, and whether there are more.
    fn walked(next: Next, limit: u32) -> (String, bool) {
        let mut pages = Pages::new(Request::get("api", "/a?x=1").header("X-A", "1"), "/items", next, limit);
        let items: Vec<String> =
            pages.by_ref().map(|item| item.map_or_else(|_| "!".to_owned(), |item| item.text())).collect();
        (items.concat(), pages.has_more())
    }

    fn paths(gateway: &Gateway) -> Vec<String> {
        gateway.requests().iter().map(|request| request.path.clone()).collect()
    }

    #[test]
    fn a_cursor_leads_to_the_next_page_until_it_is_empty() {
        for last in [r#"{"items":[3]}"#, r#"{"items":[3],"next":""}"#, r#"{"items":[3],"next":null}"#] {
            let gateway = gateway(&[r#"{"items":[1,2],"next":"b c"}"#, r#"{"next":7}"#, last]);
            assert_eq!(walked(CURSOR, 9), ("123".to_owned(), false));
            assert_eq!(paths(&gateway), ["/a?x=1", "/a?x=1&page=b%20c", "/a?x=1&page=7"]);
            assert!(gateway.requests().iter().all(|request| request.headers.len() == 1));
        }
    }

    #[test]
    fn the_limit_ends_the_walk_before_a_page_that_is_not_needed() {
        let pages = [r#"{"items":[1,2],"next":"b"}"#, r#"{"items":[3,4],"next":"c"}"#];
        let gateway = gateway(&pages);
        assert_eq!(walked(CURSOR, 2), ("12".to_owned(), true));
        assert_eq!(gateway.requests().len(), 1);
        let _gateway = self::gateway(&pages);
        assert_eq!(walked(CURSOR, 3), ("123".to_owned(), true));
        let gateway = self::gateway(&[]);
        assert_eq!(walked(CURSOR, 0), (String::new(), true));
        assert_eq!(gateway.requests().len(), 0);
    }

    #[test]
    fn links_are_followed_with_the_headers_of_the_first_request() {
        let gateway = gateway(&[r#"{"items":[1],"next":"https://api.example/b"}"#, r#"{"items":[2],"next":""}"#]);
        assert_eq!(walked(Next::Link("/next"), 9), ("12".to_owned(), false));
        let followed = &gateway.requests()[1];
        assert_eq!(followed.link.as_ref().map(|link| link.address()), Some("https://api.example/b"));
        assert_eq!((followed.path.as_str(), followed.headers.len()), ("", 1));

        let linked = Answer::json(200, r#"{"items":[1]}"#).header("Link", "</b>; rel=\"next\"");
        let gateway = Gateway::new().answer(linked).answer(Answer::json(200, r#"{"items":[2]}"#));
        assert_eq!(walked(Next::LinkHeader, 9), ("12".to_owned(), false));
        assert_eq!(gateway.requests()[1].link.as_ref().map(|link| link.address()), Some("/b"));
    }

    #[test]
    fn numbers_and_offsets_end_with_a_page_without_items() {
        let pages = [r#"{"items":[1,2]}"#, r#"{"items":[3]}"#, r#"{"items":[]}"#];
        let gateway = gateway(&pages);
        assert_eq!(walked(Next::PageNumber { first: 1, parameter: "p" }, 9), ("123".to_owned(), false));
        assert_eq!(paths(&gateway), ["/a?x=1&p=1", "/a?x=1&p=2", "/a?x=1&p=3"]);
        let gateway = self::gateway(&pages);
        assert_eq!(walked(Next::Offset { parameter: "start" }, 9), ("123".to_owned(), false));
        assert_eq!(paths(&gateway), ["/a?x=1&start=0", "/a?x=1&start=2", "/a?x=1&start=3"]);
    }

    const LAST: Next = Next::LastItem { pointer: "/id", parameter: "after", more: Some("/more") };

    #[test]
    fn the_last_item_leads_to_the_next_page_while_the_service_says_so() {
        for last in [r#"{"items":[{"id":7}],"more":false}"#, r#"{"items":[{"id":7}]}"#, r#"{"items":[],"more":true}"#] {
            let gateway = gateway(&[r#"{"items":[{"id":1},{"id":"b c"}],"more":true}"#, last]);
            assert!(!walked(LAST, 9).1, "{last}");
            assert_eq!(paths(&gateway), ["/a?x=1", "/a?x=1&after=b%20c"]);
        }
        let gateway = gateway(&[r#"{"items":[1,2]}"#, r#"{"items":[3]}"#, r#"{"items":[]}"#]);
        let names = Next::LastItem { pointer: "", parameter: "after", more: None };
        assert_eq!(walked(names, 9), ("123".to_owned(), false));
        assert_eq!(paths(&gateway), ["/a?x=1", "/a?x=1&after=2", "/a?x=1&after=3"]);
    }

    #[test]
    fn a_last_item_that_leads_nowhere_or_to_the_same_page_is_a_fault() {
        let same = r#"{"items":[{"id":1}],"more":true}"#;
        for (pages, words) in [
            (vec![same, same], "same next page"),
            (vec![r#"{"items":[{"name":"a"}],"more":true}"#], "at `/id`"),
            (vec![r#"{"items":[{"id":{}}],"more":true}"#], "at `/id`"),
            (vec![r#"{"items":[{"id":""}],"more":true}"#], "at `/id`"),
        ] {
            let _gateway = gateway(&pages);
            let faults: Vec<Fault> =
                Pages::new(Request::get("api", "/a"), "/items", LAST, 9).filter_map(Result::err).collect();
            let [Fault::Upstream(fault)] = &faults[..] else { panic!("{faults:?}") };
            assert!(fault.status == 502 && fault.detail.contains(words), "{fault:?}");
        }
    }

    #[test]
    fn a_list_without_an_end_and_a_failed_page_are_faults() {
        let page = r#"{"items":[1],"next":"b"}"#;
        let _gateway = gateway(&[page, page, page]);
        let faults: Vec<Fault> =
            Pages::new(Request::get("api", "/a"), "/items", CURSOR, 9).filter_map(Result::err).collect();
        assert!(matches!(&faults[..], [Fault::Upstream(fault)] if fault.status == 502), "{faults:?}");
        let _gateway = gateway(&[page]).answer(Answer::json(500, "{}"));
        let faults: Vec<Fault> =
            Pages::new(Request::get("api", "/a"), "/items", CURSOR, 9).filter_map(Result::err).collect();
        assert!(matches!(&faults[..], [Fault::Upstream(fault)] if fault.status == 500), "{faults:?}");
    }

    #[test]
    fn progress_is_the_part_of_the_limit_that_was_read() {
        let gateway = gateway(&[r#"{"items":[1,2],"next":"b"}"#, r#"{"items":[3],"next":"c"}"#, r#"{"items":[4]}"#]);
        assert_eq!(Pages::new(Request::get("api", "/a"), "/items", CURSOR, 8).progress("users").count(), 4);
        let reports = [(0.25, "2 users"), (0.375, "3 users"), (1.0, "4 users")];
        assert_eq!(gateway.progress(), reports.map(|(part, text)| (part, text.to_owned())));
    }
}
