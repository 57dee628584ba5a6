//! What can be wrong with a shape or with a document.

use super::MAX_DEPTH;

/// One thing that is wrong in a request's `response_fields` or `response_filters`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The place in the request body, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// What is wrong there and what to do about it, in a sentence.
    pub detail: String,
}

/// Why a document could not be shaped. Offsets count the bytes of the document as it was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The document does not follow the grammar of RFC 8259.
    #[error("not JSON at byte {offset}: expected {expected}")]
    NotJson {
        /// The first byte that does not fit.
        offset: usize,
        /// What the grammar allows there.
        expected: &'static str,
    },
    /// The document is not UTF-8.
    #[error("not UTF-8 at byte {offset}")]
    NotUtf8 {
        /// The first byte of the broken sequence.
        offset: usize,
    },
    /// Lists and objects are nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels at byte {offset}")]
    TooDeep {
        /// The bracket that opens one level too many.
        offset: usize,
    },
    /// The document has 4 GiB or more, which its outline's 32-bit offsets cannot address.
    #[error("larger than 4 GiB")]
    TooLarge,
}
