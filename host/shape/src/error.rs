//! The errors of reading a shape and of shaping a document.

use super::MAX_DEPTH;

/// One violation in the `response_fields` or `response_filters` of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The location in the request body, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// The mistake, then what to do.
    pub detail: String,
}

/// The reason for which a document cannot be shaped. Offsets count bytes from the start of the
/// given document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The document does not follow the grammar of RFC 8259.
    #[error("not JSON at byte {offset}: expected {expected}")]
    NotJson {
        /// The first byte that does not fit.
        offset: usize,
        /// The token that the grammar allows there.
        expected: &'static str,
    },
    /// The document is not UTF-8.
    #[error("not UTF-8 at byte {offset}")]
    NotUtf8 {
        /// The first byte of the invalid sequence.
        offset: usize,
    },
    /// Lists and objects are nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels at byte {offset}")]
    TooDeep {
        /// The bracket or brace that exceeds the limit.
        offset: usize,
    },
    /// The document has 4 GiB or more. The outline addresses it with 32-bit offsets.
    #[error("larger than 4 GiB")]
    TooLarge,
    /// There was no memory for the values that the paths lead to.
    #[error("not shaped, because there is no memory left")]
    NoMemory,
    /// There was no time for all filters.
    #[error("not shaped in time")]
    OutOfTime,
}
