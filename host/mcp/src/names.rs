//! The names of tools and of their arguments.

use database::digest::sha256_hex;

/// The longest name of an operation or an argument that every client takes.
pub const MAX_NAME: usize = 64;

/// The longest name of a tool. Clients add the name that they have for the server, `connectors` in
/// the documentation, and some of them leave out a tool whose name is too long then. Claude Code
/// adds `mcp__connectors__`, and has 64 characters for both. Cursor has 60 for both, with a
/// separator.
pub const MAX_TOOL_NAME: usize = 47;

/// Digits of the hash at the end of a name that was cut.
const HASH_DIGITS: usize = 8;

/// The name of an operation, with the connector.
pub fn operation_name(connector: &str, operation: &str) -> String {
    format!("{connector}__{operation}")
}

/// A name with `longest` characters in place of a longer one of ASCII. It ends with digits of the
/// hash of the whole name: the first ones with which it is not in `taken`.
pub fn cut_name(name: &str, longest: usize, taken: impl Fn(&str) -> bool) -> String {
    let kept = name.get(..longest - HASH_DIGITS - 1).unwrap_or_default();
    with_digits(kept, name, taken)
}

/// Adds digits of the hash of a whole name to `kept`, the beginning of the name: the first ones
/// with which it is not in `taken`. After them come digits of the name with a number, so that no
/// connector takes all of them.
fn with_digits(kept: &str, name: &str, taken: impl Fn(&str) -> bool) -> String {
    let digits = |hash: String| {
        let starts = 0..=hash.len() - HASH_DIGITS;
        starts.filter_map(move |start| hash.get(start..start + HASH_DIGITS).map(str::to_owned))
    };
    let further = (1..=u32::MAX).map(|number| format!("{name} {number}"));
    let hashes = std::iter::once(name.to_owned()).chain(further).map(|text| sha256_hex(text.as_bytes()));
    hashes.flat_map(digits).map(|digits| format!("{kept}_{digits}")).find(|cut| !taken(cut)).unwrap_or_default()
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
    let kept: String = plain.chars().take(MAX_NAME - HASH_DIGITS - 1).collect();
    with_digits(&kept, property, taken)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_long_name_is_cut_and_stays_unlike_others() {
        let cut = |name: &str| cut_name(name, MAX_TOOL_NAME, |_| false);
        let long = "b".repeat(48);
        assert_eq!(cut(&long).len(), MAX_TOOL_NAME);
        assert_ne!(cut(&long), cut(&"b".repeat(49)));
        let other = cut_name(&long, MAX_TOOL_NAME, |name| name == cut(&long));
        assert_eq!(other.len(), MAX_TOOL_NAME);
        assert_ne!(other, cut(&long));
    }

    #[test]
    fn no_names_of_others_leave_a_tool_without_one() {
        let long = "b".repeat(60);
        let kept = &long[..MAX_TOOL_NAME - HASH_DIGITS - 1];
        let hash = sha256_hex(long.as_bytes());
        let mut taken: HashSet<String> = (0..=hash.len() - HASH_DIGITS)
            .map(|start| format!("{kept}_{}", &hash[start..start + HASH_DIGITS]))
            .collect();
        for _ in 0..200 {
            let name = cut_name(&long, MAX_TOOL_NAME, |name| taken.contains(name));
            assert_eq!(name.len(), MAX_TOOL_NAME);
            assert!(taken.insert(name));
        }
    }

    #[test]
    fn an_argument_has_a_name_that_every_client_takes() {
        assert_eq!(argument_name("page.size-1_a", |_| true), "page.size-1_a");
        assert_eq!(argument_name("$filter", |_| false), "_filter");
        let other = argument_name("$filter", |name| name == "_filter");
        assert!(other.starts_with("_filter_") && other.len() == 16, "{other}");
        let third = argument_name("$filter", |name| name == "_filter" || name == other);
        assert!(third.starts_with("_filter_") && third.len() == 16 && third != other, "{third}");
        assert!(argument_name("", |_| false).len() > 1);
        assert_eq!(argument_name(&"é".repeat(100), |_| false), "_".repeat(MAX_NAME));
    }
}
