//! Shaping: `response_filters` and `response_fields`, applied to the bytes of a JSON document.
//!
//! The crate knows neither HTTP nor connectors: bytes and a [`Shape`] go in, and bytes come out.
//!
//! # Invariants
//!
//! - The answer consists of ranges of the document, copied byte for byte. Numbers keep their text,
//!   strings their escapes and members their order. If values were parsed and printed again, `1.0`
//!   could become `1`, and a number of 30 digits would lose digits.
//! - No range is copied before the whole document has been checked. Otherwise a caller could get a
//!   part of a document that is not valid JSON. The caller gets either a shaped document or an
//!   error.
//! - No input makes the crate panic, and at most [`MAX_DEPTH`] levels of recursion use the stack.
//!   Otherwise an upstream could end the process with one response.
//!
//! # Layout
//!
//! - `envelope`: reads a [`Shape`] from the members of a request body, and reports every violation
//! - `paths`: holds all dotted paths of a shape in one trie
//! - `blocks`: finds the end of plain text in long strings
//! - `scan`: the grammar of JSON; steps over tokens and whole values
//! - `text`: decodes strings for comparisons
//! - `outline`: records the values that the paths lead to, in the same pass that checks the
//!   document
//! - `filter`: marks elements of lists as removed in an outline
//! - `write`: copies the ranges that remain in an outline
//! - `unmatched`: the fields that led nowhere, and the members that were there instead
//! - `error`: [`Violation`] and [`ShapeError`]

mod blocks;
mod envelope;
mod error;
mod filter;
mod outline;
mod paths;
mod scan;
mod text;
mod unmatched;
mod write;

pub use envelope::{MAX_FIELDS, MAX_FILTERS, MAX_PATH_CHARACTERS, MAX_VALUES, MAX_VIOLATIONS};
pub use error::{ShapeError, Violation};
pub use unmatched::Unmatched;

use filter::Filter;
use paths::Paths;
use scan::Scanner;

/// Maximum depth of nested lists and objects. Real services nest about a dozen levels. The limit
/// bounds the stack that filtering and writing need for a hostile document, because both recurse.
const MAX_DEPTH: u32 = 512;

/// The parsed `response_fields` and `response_filters` of a request.
#[derive(Debug, Clone)]
pub struct Shape {
    /// In the order in which they are applied.
    filters: Vec<Filter>,
    /// The paths of `response_fields`. If there are none, the whole document is kept.
    fields: Vec<String>,
    /// The paths of the fields and of the filters together, so that one pass over the document
    /// finds both.
    paths: Paths,
}

impl Shape {
    /// Makes a shape from paths that `envelope` has checked.
    fn new(fields: Vec<String>, filters: Vec<Filter>) -> Self {
        let paths = Paths::new(fields.iter().map(String::as_str), filters.iter().map(Filter::path));
        Self { filters, fields, paths }
    }

    /// Returns `true` if there are no filters and no fields, so that every document stays
    /// unchanged.
    pub fn is_identity(&self) -> bool {
        self.filters.is_empty() && self.fields.is_empty()
    }

    /// The memory that the shape takes, in bytes. It may be many times the size of its text: each
    /// segment of a path is a separate position, unless another path begins like it. 0 if nothing is
    /// shaped.
    pub fn bytes(&self) -> usize {
        if self.is_identity() {
            return 0;
        }
        let fields: usize = self.fields.iter().map(|field| size_of::<String>() + field.len()).sum();
        fields + self.filters.iter().map(Filter::bytes).sum::<usize>() + self.paths.bytes()
    }

    /// Shapes one JSON document (RFC 8259 in UTF-8, with or without a byte order mark). Applies the
    /// filters first, then the fields.
    ///
    /// The whole document is checked, including the parts that are not kept. Whitespace remains
    /// inside values that are kept whole. Other whitespace is dropped.
    ///
    /// # Errors
    ///
    /// Fails if the document is not JSON, is not UTF-8, is nested deeper than [`MAX_DEPTH`], or has
    /// 4 GiB or more.
    pub fn apply(&self, document: &[u8]) -> Result<Vec<u8>, ShapeError> {
        self.apply_while(document, || true).map(|shaped| shaped.document)
    }

    /// As [`Shape::apply`], while `has_time` returns `true`. It is called before each filter, and
    /// each filter takes linear time. Also says which fields led nowhere. This takes a second pass
    /// over the document if there are such fields.
    ///
    /// # Errors
    ///
    /// As [`Shape::apply`], and `OutOfTime`.
    pub fn apply_while(&self, document: &[u8], has_time: impl Fn() -> bool) -> Result<Shaped, ShapeError> {
        self.apply_within(document, has_time, |_| true)
    }

    /// As [`Shape::apply_while`], while `has_room` returns `true`. It is asked with the bytes that
    /// the values which the paths lead to are about to take, if these are many: an object of eight
    /// bytes may take 56.
    ///
    /// # Errors
    ///
    /// As [`Shape::apply_while`], and `NoMemory`.
    pub fn apply_within(
        &self,
        document: &[u8],
        has_time: impl Fn() -> bool,
        mut has_room: impl FnMut(usize) -> bool,
    ) -> Result<Shaped, ShapeError> {
        if let Err(error) = simdutf8::compat::from_utf8(document) {
            return Err(ShapeError::NotUtf8 { offset: error.valid_up_to() });
        }
        // A byte order mark is skipped and never copied to the answer.
        let start = document.len() - json_text::without_mark(document).len();
        if self.is_identity() {
            let mut scanner = Scanner::new(document, start);
            scanner.whitespace();
            scanner.skip_value(0)?;
            scanner.end()?;
            let document = document.get(start..).unwrap_or_default().to_vec();
            return Ok(Shaped { document, unmatched: Vec::new() });
        }
        let mut found = self.paths.none_found();
        let keep_all = self.fields.is_empty();
        let mut outline = outline::read_outline(document, start, &self.paths, keep_all, &mut found, &mut has_room)?;
        for filter in &self.filters {
            if !has_time() {
                return Err(ShapeError::OutOfTime);
            }
            filter.apply(document, &mut outline);
        }
        let is_found = |field: &str| self.paths.along(field).last().is_some_and(|end| found.contains(end));
        let candidates: Vec<&str> = self.fields.iter().map(String::as_str).filter(|field| !is_found(field)).collect();
        if !candidates.is_empty() && !has_time() {
            return Err(ShapeError::OutOfTime);
        }
        let unmatched = unmatched::unmatched(document, start, &candidates);
        Ok(Shaped { document: write::write_document(document, &outline), unmatched })
    }
}

/// A document that a [`Shape`] was applied to.
#[derive(Debug, PartialEq, Eq)]
pub struct Shaped {
    /// The parts of the document that were kept.
    pub document: Vec<u8>,
    /// The fields that led nowhere in the document that the shape was applied to, in their order.
    pub unmatched: Vec<Unmatched>,
}

#[cfg(test)]
mod tests;
