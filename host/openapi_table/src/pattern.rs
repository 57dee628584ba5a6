//! Patterns of strings, as a table has them.

use jsonschema::PatternOptions;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::json;

/// States of a pattern as an automaton that a gateway accepts, as its schemas count them
/// (`src/schema/cost.rs`). A module with a larger pattern is refused.
const MAX_STATES: u64 = 10_000;

/// The pattern for a table. The error is the reason why a table cannot have it.
pub(crate) fn of_table(pattern: &str) -> Result<String, &'static str> {
    let pattern = with_plain_classes(pattern);
    // A JSON Schema has further patterns, for example with lookahead.
    let options = jsonschema::draft202012::options().with_pattern_options(PatternOptions::regex());
    let parsed = regex_syntax::parse(&pattern).ok().filter(|_| options.build(&json!({"pattern": pattern})).is_ok());
    match parsed {
        None => Err("it is not a regular expression of the contract"),
        Some(parsed) if states(&parsed) > MAX_STATES => Err("it is too large for a gateway"),
        Some(_) => Ok(pattern),
    }
}

/// The pattern with `0-9` in place of `\d`, and with the letters, digits and underscore in place of
/// `\w`. These are their meanings in JSON Schema. In a table, they would stand for the digits and
/// letters of all languages, which makes a pattern large.
fn with_plain_classes(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    let mut is_in_class = false;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('d') => plain.push_str(if is_in_class { "0-9" } else { "[0-9]" }),
                Some('w') => plain.push_str(if is_in_class { "0-9A-Za-z_" } else { "[0-9A-Za-z_]" }),
                escaped => {
                    plain.push('\\');
                    plain.extend(escaped);
                }
            },
            '[' | ']' => {
                is_in_class = character == '[';
                plain.push(character);
            }
            other => plain.push(other),
        }
    }
    plain
}

/// The number of states of a pattern as an automaton, about.
fn states(pattern: &Hir) -> u64 {
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(text) => text.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) => 1 + class.ranges().len() as u64,
        HirKind::Class(Class::Bytes(class)) => 1 + class.ranges().len() as u64,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1));
            states(&repetition.sub).saturating_mul(times.max(1).into())
        }
        HirKind::Capture(capture) => states(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(states).fold(0, u64::saturating_add),
    }
}

#[cfg(test)]
mod tests {
    use super::of_table;

    #[test]
    fn digits_and_letters_are_those_of_json_schema() {
        for (pattern, expected) in [
            (r"^\d+$", "^[0-9]+$"),
            (r"^[a-z\d-]{1,255}$", "^[a-z0-9-]{1,255}$"),
            (r"^\w[\w.]*\.\D$", r"^[0-9A-Za-z_][0-9A-Za-z_.]*\.\D$"),
            (r"\\d\[\d", r"\\d\[[0-9]"),
        ] {
            assert_eq!(of_table(pattern), Ok(expected.to_owned()), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_a_gateway_refuses_is_not_in_a_table() {
        for (pattern, words) in
            [("a(?=b)", "regular expression"), ("^[a-z", "regular expression"), (r"^\p{L}{0,20}$", "too large")]
        {
            assert!(of_table(pattern).is_err_and(|why| why.contains(words)), "{pattern}");
        }
    }
}
