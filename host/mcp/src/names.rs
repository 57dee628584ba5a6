//! The names of tools and of their arguments.

use std::borrow::Cow;

use store::digest::sha256_hex;

/// The longest name of a tool or an argument that every client takes.
pub const MAX_NAME: usize = 64;

/// Digits of the hash at the end of a name that was cut.
const HASH_DIGITS: usize = 8;

/// The name of the tool for an operation, with the connector.
pub fn tool_name(connector: &str, operation: &str) -> String {
    cut(&format!("{connector}__{operation}")).into_owned()
}

/// A name of ASCII with at most [`MAX_NAME`] characters. A longer one is cut, and ends with a hash
/// of the whole name.
fn cut(name: &str) -> Cow<'_, str> {
    if name.len() <= MAX_NAME {
        return Cow::Borrowed(name);
    }
    let hash = sha256_hex(name.as_bytes());
    let kept = name.get(..MAX_NAME - HASH_DIGITS - 1).unwrap_or_default();
    Cow::Owned(format!("{kept}_{}", hash.get(..HASH_DIGITS).unwrap_or_default()))
}

/// The name of an argument: `property` if every client takes it, else a similar name that is not in
/// `taken`.
pub fn argument_name(property: &str, taken: impl Fn(&str) -> bool) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-');
    if (1..=MAX_NAME).contains(&property.len()) && property.chars().all(is_plain) {
        return property.to_owned();
    }
    let plain: String =
        property.chars().map(|character| if is_plain(character) { character } else { '_' }).take(MAX_NAME).collect();
    if !plain.is_empty() && !taken(&plain) {
        return plain;
    }
    let hash = sha256_hex(property.as_bytes());
    let kept: String = plain.chars().take(MAX_NAME - HASH_DIGITS - 1).collect();
    format!("{kept}_{}", hash.get(..HASH_DIGITS).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_and_stays_unlike_others() {
        assert_eq!(tool_name("mail", "send"), "mail__send");
        let long = |end: &str| tool_name("mail", &format!("{}{end}", "a".repeat(64)));
        assert_eq!(long("b").len(), MAX_NAME);
        assert_ne!(long("b"), long("c"));
        assert_eq!(tool_name("a", &"b".repeat(61)).len(), MAX_NAME);
    }

    #[test]
    fn an_argument_has_a_name_that_every_client_takes() {
        assert_eq!(argument_name("page.size-1_a", |_| true), "page.size-1_a");
        assert_eq!(argument_name("$filter", |_| false), "_filter");
        let other = argument_name("$filter", |_| true);
        assert!(other.starts_with("_filter_") && other.len() == 16, "{other}");
        assert!(argument_name("", |_| false).len() > 1);
        assert_eq!(argument_name(&"é".repeat(100), |_| false), "_".repeat(MAX_NAME));
    }
}
