//! Collects the violations of one value: as many as an answer lists, in messages of a readable
//! length.

use super::fields::Fields;
use contract::words::shortened;
use contract_rules::pointer;

/// Maximum number of violations in one answer. Further ones are neither built nor counted.
pub const MAX_VIOLATIONS: usize = shape::MAX_VIOLATIONS;

/// The detail of the last violation if there are more.
pub const MORE_VIOLATIONS: &str = "Further violations are not listed.";

/// Unknown names of one value for which the nearest known name is looked up.
const MAX_LOOKUPS: usize = 5;

/// Maximum length of a pointer in an answer. A longer one is cut.
pub(super) const MAX_POINTER_BYTES: usize = 1024;

/// A wrong part of a value.
#[derive(Debug)]
pub struct Violation {
    /// JSON Pointer (RFC 6901) into the value.
    pub pointer: String,
    /// A sentence that says what to do.
    pub detail: String,
}

/// Collects the violations of one value.
#[derive(Default)]
pub(super) struct Violations {
    list: Vec<Violation>,
    lookups: usize,
    has_more: bool,
}

impl Violations {
    /// Adds a violation, unless there are enough.
    pub(super) fn add(&mut self, mut pointer: String, detail: impl Into<String>) {
        if self.list.len() == MAX_VIOLATIONS {
            self.has_more = true;
            return;
        }
        if pointer.len() > MAX_POINTER_BYTES {
            pointer.truncate(pointer.floor_char_boundary(MAX_POINTER_BYTES));
            pointer.push('…');
            pointer.shrink_to_fit();
        }
        self.list.push(Violation { pointer, detail: detail.into() });
    }

    /// Adds the violation that an object at `parent` has another field than its `fields`.
    pub(super) fn add_unknown_field(&mut self, parent: &str, name: &str, fields: &Fields<'_>) {
        let is_looked_up = self.lookups < MAX_LOOKUPS;
        self.lookups += 1;
        let detail = if is_looked_up {
            fields.unknown(name, "GET /openapi.json")
        } else {
            format!("`{}` is not a field here.", shortened(name))
        };
        self.add(format!("{parent}{}", pointer::of(name)), detail);
    }

    /// Returns `true` if this part of the value has a violation already.
    pub(super) fn has(&self, pointer: &str) -> bool {
        self.list.iter().any(|violation| violation.pointer == pointer)
    }

    /// Notes that there are violations which are not added.
    pub(super) fn note_more(&mut self) {
        self.has_more = true;
    }

    /// Returns `true` if there are more violations than an answer lists.
    pub(super) fn is_over(&self) -> bool {
        self.has_more
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The violations. If there are more, the last one says so.
    pub(super) fn into_list(mut self) -> Vec<Violation> {
        if self.has_more {
            self.list.push(Violation { pointer: String::new(), detail: MORE_VIOLATIONS.to_owned() });
        }
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(names: &[&str]) -> Vec<Violation> {
        let mut violations = Violations::default();
        let mut fields = Fields::default();
        fields.extend(&["maxResults", "pageToken"]);
        for name in names {
            violations.add_unknown_field("", name, &fields);
        }
        violations.into_list()
    }

    #[test]
    fn the_nearest_name_is_looked_up_for_the_first_five_unknown_names() {
        let details: Vec<String> = unknown(&["maxResult"; 7]).into_iter().map(|violation| violation.detail).collect();
        let with_nearest = "`maxResult` is not a field here; did you mean `maxResults`?";
        assert_eq!(details[..5], [with_nearest; 5]);
        assert_eq!(details[5..], ["`maxResult` is not a field here."; 2]);
    }

    #[test]
    fn a_long_name_is_cut_and_has_no_nearest_one() {
        let long = format!("maxResults{}", "x".repeat(5000));
        let found = unknown(&[&long]).remove(0);
        assert!(found.detail.len() < 150 && found.detail.contains("the fields are maxResults, pageToken"), "{found:?}");
        assert!(found.pointer.len() <= MAX_POINTER_BYTES + '…'.len_utf8(), "{found:?}");
    }

    #[test]
    fn no_more_violations_are_kept_than_an_answer_lists() {
        let exactly = vec!["a"; MAX_VIOLATIONS];
        assert_eq!(unknown(&exactly).len(), MAX_VIOLATIONS);
        let over = unknown(&vec!["a"; MAX_VIOLATIONS + 20]);
        assert_eq!((over.len(), over[MAX_VIOLATIONS].detail.as_str()), (MAX_VIOLATIONS + 1, MORE_VIOLATIONS));
    }
}
