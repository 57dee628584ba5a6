//! The texts of the operations for the manifest: documentation, schemas and examples.
//!
//! Each invocation has the constants of the connector in its memory, but only `describe` needs
//! these texts. They are therefore compressed (RFC 1951), all together, because they are similar.
//! This way a connector with many operations fits in one page.

use std::str::Split;

use crate::table::Connector;

/// The texts of one operation.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// First paragraph of the row's documentation comment.
    pub summary: String,
    /// The further paragraphs.
    pub description: String,
    /// JSON Schema of the input.
    pub input_schema: String,
    /// An input, as JSON text.
    pub example: Option<String>,
    /// JSON Schema of the answer.
    pub answer_schema: Option<String>,
    /// An answer, as JSON text.
    pub answer_example: Option<String>,
}

/// The texts of each operation, in the order of the operations.
#[must_use]
pub fn of(connector: &Connector) -> Vec<Texts> {
    // The macro has compressed valid text. The gateway refuses a manifest that lacks them.
    let bytes = miniz_oxide::inflate::decompress_to_vec(connector.texts).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    let mut parts = text.split('\0');
    connector.operations.iter().map(|_| Texts::read(&mut parts)).collect()
}

impl Texts {
    /// `None` for an empty text, which stands for a missing one.
    fn read(parts: &mut Split<'_, char>) -> Self {
        let mut next = || parts.next().unwrap_or_default().to_owned();
        let given = |text: String| if text.is_empty() { None } else { Some(text) };
        Self {
            summary: next(),
            description: next(),
            input_schema: next(),
            example: given(next()),
            answer_schema: given(next()),
            answer_example: given(next()),
        }
    }
}
