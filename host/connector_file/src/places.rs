//! The places of what the rules of a manifest are about. A rule names its part in words, such as
//! ``operation `list`, pagination `/next` ``.

use contract_rules::manifest::Violation;

use crate::node::Table;

/// The beginnings of the names of parts, each with a place.
#[derive(Default)]
pub(crate) struct Places(Vec<(String, usize)>);

impl Places {
    pub(crate) fn add(&mut self, part: String, at: usize) {
        self.0.push((part, at));
    }

    /// Keeps the place of a clause that was not taken yet. Does nothing if the table lacks it.
    pub(crate) fn note(&mut self, part: impl Into<String>, table: &Table<'_>, clause: &str) {
        if let Some(at) = table.place(clause) {
            self.add(part.into(), at);
        }
    }

    /// The place of a violation, and its words without the part that the place says.
    pub(crate) fn of(&self, violation: &Violation) -> (usize, String) {
        let Violation { part, broken } = violation;
        let begins = |(known, _): &&(String, usize)| part.starts_with(known.as_str());
        let found = self.0.iter().filter(begins).max_by_key(|(known, _)| known.len());
        match found.map(|(known, at)| (*at, part.get(known.len()..).unwrap_or_default())) {
            Some((at, "")) => (at, broken.to_string()),
            Some((at, rest)) => (at, format!("{}: {broken}", rest.trim_start_matches([',', '.', ' ']))),
            None => (0, violation.to_string()),
        }
    }
}
