//! Reads the keys of one table, and reports unknown keys.
//!
//! The code requests each key of a section once, which removes the key. Keys that remain at the end
//! are unknown. So no separate list of known keys is needed.

use toml::{Table, Value};

use super::error::{Location, Problem};
use super::source::Source;
use contract::words::most_alike;

/// The error of a conversion: the expected value, to be read after "must be".
pub(super) type Expected = String;

/// The problems that are found while reading.
pub(super) struct Report {
    source: Source,
    problems: Vec<Problem>,
    /// Every key that was requested, with the names of its sections.
    known: Vec<String>,
    /// Keys that were not requested. Their messages need the complete list of known keys.
    unknown: Vec<(Location, String)>,
}

/// One table of the configuration.
pub(super) struct Section<'a> {
    key: Vec<String>,
    table: Table,
    report: &'a mut Report,
}

/// A value that was set.
pub(super) struct Given<'a> {
    pub(super) value: &'a Value,
    /// The text of the variable, if a variable set the value.
    pub(super) text: Option<&'a str>,
}

impl<'a> Given<'a> {
    /// A value of the file, or a value within another one.
    pub(super) fn from_value(value: &'a Value) -> Self {
        Self { value, text: None }
    }

    /// The value as a string. A variable's value is a string even if it could be read as a number.
    pub(super) fn string(&self) -> Option<&str> {
        self.value.as_str().or(self.text)
    }
}

impl Report {
    pub(super) fn new(mut source: Source) -> (Self, Table) {
        let table = std::mem::take(&mut source.table);
        let problems = std::mem::take(&mut source.problems);
        (Self { source, problems, known: Vec::new(), unknown: Vec::new() }, table)
    }

    /// Reads a whole table.
    pub(super) fn read_table(&mut self, table: Table, read: impl FnOnce(&mut Section<'_>)) {
        Section { key: Vec::new(), table, report: self }.read_all(read);
    }

    /// All problems: first the problems of the file in its order, then the problems of variables.
    /// Also returns the known keys.
    pub(super) fn problems(self) -> (Vec<Problem>, Vec<String>) {
        let mut problems = self.problems;
        for (location, key) in self.unknown {
            let message = match nearest(&key, &self.known) {
                Some(known) => format!("is not known; the nearest key is `{known}`"),
                None => "is not known".to_owned(),
            };
            problems.push(Problem { location, key, message });
        }
        problems.sort();
        (problems, self.known)
    }
}

impl Section<'_> {
    fn read_all(mut self, read: impl FnOnce(&mut Section<'_>)) {
        read(&mut self);
        for (name, _) in std::mem::take(&mut self.table) {
            let key = self.named(&name);
            let location = self.report.source.location(&key);
            self.report.unknown.push((location, key.join(".")));
        }
    }

    fn named(&self, name: &str) -> Vec<String> {
        let mut key = self.key.clone();
        key.push(name.to_owned());
        key
    }

    /// Returns `true` if a key was set. This does not make the key known.
    pub(super) fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// Reads a value into `target`, which keeps its default if the key is absent or wrong.
    pub(super) fn value<T>(
        &mut self,
        name: &str,
        target: &mut T,
        convert: impl FnOnce(&Given<'_>) -> Result<T, Expected>,
    ) {
        let key = self.named(name);
        self.report.known.push(key.join("."));
        let Some(value) = self.table.remove(name) else { return };
        let given = Given { value: &value, text: self.report.source.variable_text(&key) };
        match convert(&given) {
            Ok(value) => *target = value,
            Err(expected) => self.problem(name, format!("must be {expected}")),
        }
    }

    /// Reads a section within this one. An absent section is read like an empty one.
    pub(super) fn section(&mut self, name: &str, read: impl FnOnce(&mut Section<'_>)) {
        let key = self.named(name);
        self.report.known.push(key.join("."));
        let table = match self.table.remove(name) {
            None => Table::new(),
            Some(Value::Table(table)) => table,
            Some(_) => return self.problem(name, "must be a section with keys".to_owned()),
        };
        Section { key, table, report: self.report }.read_all(read);
    }

    /// Reads a section whose keys are names that the operator chose, by a call of `read` for each
    /// name.
    pub(super) fn each(&mut self, name: &str, mut read: impl FnMut(&str, &mut Section<'_>)) {
        self.section(name, |section| {
            let names: Vec<String> = section.table.keys().cloned().collect();
            for name in names {
                read(&name, section);
            }
        });
    }

    /// The location of a key.
    pub(super) fn location(&self, name: &str) -> Location {
        self.report.source.location(&self.named(name))
    }

    /// Removes a key with an unacceptable name, and reports why.
    pub(super) fn refuse(&mut self, name: &str, message: &str) {
        self.table.remove(name);
        self.problem(name, message.to_owned());
    }

    /// Reports a problem of a key.
    pub(super) fn problem(&mut self, name: &str, message: String) {
        self.report_problem(self.named(name), message);
    }

    /// Reports a problem of a key of a section within this one.
    pub(super) fn problem_in(&mut self, section: &str, name: &str, message: String) {
        let mut key = self.named(section);
        key.push(name.to_owned());
        self.report_problem(key, message);
    }

    fn report_problem(&mut self, key: Vec<String>, message: String) {
        let location = self.report.source.location(&key);
        self.report.problems.push(Problem { location, key: key.join("."), message });
    }
}

/// The known key that the operator probably meant: a key of the same name in a section below, else
/// the most similar key of the same section.
fn nearest(unknown: &str, known: &[String]) -> Option<String> {
    let (section, name) = split(unknown);
    let is_below =
        |key: &&String| section.is_empty() || key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
    if let Some(key) = known.iter().filter(is_below).find(|key| split(key).1 == name) {
        return Some(key.clone());
    }
    let siblings = known.iter().filter(|key| split(key).0 == section).map(|key| split(key).1);
    let sibling = most_alike(name, siblings)?;
    Some(if section.is_empty() { sibling.to_owned() } else { format!("{section}.{sibling}") })
}

/// The section of a key, and its name within the section.
fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}
