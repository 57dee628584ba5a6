//! Shaping: `response_filters` and `response_fields`, applied to the bytes of a JSON document.
//!
//! What is kept is kept byte for byte: numbers keep their text, strings their escapes, members their order. No value
//! is ever parsed into memory and printed again; the answer is made of ranges of the document. The price of that is an
//! invariant: no range is copied before the whole document has proved to be valid JSON, so a caller gets a shaped
//! document or an error, never part of a broken one.
//!
//! # Layout
//!
//! - `envelope`: reads a [`Shape`] out of a request body and reports all that is wrong with it
//! - `paths`: all dotted paths of a shape in one trie
//! - `scan`: the grammar; steps over tokens and whole values
//! - `text`: decodes strings where they are compared
//! - `outline`: the places in a document that the paths lead to, found in the same pass that checks it
//! - `filter`: takes elements of lists out of an outline
//! - `write`: copies what an outline has left
//! - `error`: [`Violation`] and [`ShapeError`]

mod envelope;
mod error;
mod filter;
mod outline;
mod paths;
mod scan;
mod text;
mod write;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub use error::{ShapeError, Violation};

use filter::Filter;
use paths::Paths;
use scan::Scanner;

/// How many lists and objects may be open around one another. Providers nest a dozen deep; the limit bounds what a
/// hostile document can make the recursion of filtering and writing take of the thread's stack.
pub const MAX_DEPTH: u32 = 512;

/// Not part of the document by RFC 8259, though some providers send it; it is stepped over and never passed on.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A parsed envelope: what to keep of an answer.
#[derive(Debug, Clone)]
pub struct Shape {
    filters: Vec<Filter>,
    has_fields: bool,
    paths: Paths,
}

impl Shape {
    /// `fields` and the filters' own strings are taken as they are; the envelope has been checked.
    fn new(fields: &[&str], filters: Vec<Filter>) -> Self {
        let paths = Paths::new(fields.iter().copied(), filters.iter().map(Filter::path));
        Self { filters, has_fields: !fields.is_empty(), paths }
    }

    /// True when there is nothing to filter and nothing to project, so that every document stays as it is.
    pub fn is_identity(&self) -> bool {
        self.filters.is_empty() && !self.has_fields
    }

    /// Shapes one JSON document (RFC 8259, in UTF-8, with or without a byte order mark): filters first, then fields.
    ///
    /// The whole document is checked, also what is not kept. Whitespace stays inside what is kept whole and goes
    /// elsewhere.
    ///
    /// # Errors
    ///
    /// When the document is not JSON, not UTF-8, nested deeper than [`MAX_DEPTH`] or too large to address.
    pub fn apply(&self, document: &[u8]) -> Result<Vec<u8>, ShapeError> {
        if let Err(error) = str::from_utf8(document) {
            return Err(ShapeError::NotUtf8 { offset: error.valid_up_to() });
        }
        let start = if document.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        if self.is_identity() {
            let mut scanner = Scanner::new(document, start);
            scanner.whitespace();
            scanner.skip_value(0)?;
            scanner.end()?;
            return Ok(document.get(start..).unwrap_or_default().to_vec());
        }
        let mut outline = outline::read(document, start, &self.paths, !self.has_fields)?;
        for filter in &self.filters {
            filter.apply(document, &mut outline);
        }
        Ok(write::write(document, &outline))
    }
}
