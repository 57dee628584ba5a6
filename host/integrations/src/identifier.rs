//! The form of the identifiers of integrations.

/// Longest identifier: longer than any email address, and short enough for a path and a header.
pub(super) const MAX_IDENTIFIER_CHARACTERS: usize = 256;

/// The form of identifiers. A header cannot carry control characters, and it loses blanks at both
/// ends.
pub(super) const IDENTIFIER_PATTERN: &str = r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$";

/// Returns `true` if a text can be the identifier of an integration: a path and a header can carry
/// it, and the database can look for it.
pub fn is_identifier(text: &str) -> bool {
    (1..=MAX_IDENTIFIER_CHARACTERS).contains(&text.chars().count())
        && text.trim() == text
        && !text.contains(char::is_control)
        && !matches!(text, "." | "..")
}
