//! Reading the keys of one table, and noticing the unknown ones.
//!
//! A section is told each of its keys once, by being asked for it. What is left when it is done was never asked for, so no
//! list of known keys has to be kept beside the code that reads them.

use toml::{Table, Value};

use super::error::{Location, Problem};
use super::source::Source;
use contract::words::most_alike;

/// Turns a value into a typed one; the error says what is expected, to follow "must be".
pub(super) type Expected = String;

/// What was found while reading.
pub(super) struct Report {
    source: Source,
    problems: Vec<Problem>,
    /// Every key that was asked for, with its section's name.
    known: Vec<String>,
    unknown: Vec<(Location, String)>,
}

/// One table of the configuration.
pub(super) struct Section<'a> {
    key: Vec<String>,
    table: Table,
    report: &'a mut Report,
}

/// A value as it was set.
pub(super) struct Given<'a> {
    pub(super) value: &'a Value,
    /// The text of the variable, if one set the value.
    pub(super) text: Option<&'a str>,
}

impl<'a> Given<'a> {
    /// A value that stands in the file, or within another one.
    pub(super) fn of(value: &'a Value) -> Self {
        Self { value, text: None }
    }

    /// The value as a string. What came from a variable is one even if it reads as a number.
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
    pub(super) fn read(&mut self, table: Table, read: impl FnOnce(&mut Section<'_>)) {
        Section { key: Vec::new(), table, report: self }.read(read);
    }

    /// All that was wrong, in the order of the file, then of the variables.
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
    fn read(mut self, read: impl FnOnce(&mut Section<'_>)) {
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

    /// Whether a key was set. Asking does not make it known.
    pub(super) fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// Reads a value into `target`, which keeps its default when the key is absent or wrong.
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

    /// Reads a section within this one; an absent one is read as empty.
    pub(super) fn section(&mut self, name: &str, read: impl FnOnce(&mut Section<'_>)) {
        let key = self.named(name);
        self.report.known.push(key.join("."));
        let table = match self.table.remove(name) {
            None => Table::new(),
            Some(Value::Table(table)) => table,
            Some(_) => return self.problem(name, "must be a section, with keys of its own".to_owned()),
        };
        Section { key, table, report: self.report }.read(read);
    }

    /// Reads a section whose keys are names that the operator chose: each is handed to `read` in turn.
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

    /// Drops a key whose name is not acceptable, and says why.
    pub(super) fn refuse(&mut self, name: &str, message: &str) {
        self.table.remove(name);
        self.problem(name, message.to_owned());
    }

    /// Notes what is wrong with a key.
    pub(super) fn problem(&mut self, name: &str, message: String) {
        let key = self.named(name);
        let location = self.report.source.location(&key);
        self.report.problems.push(Problem { location, key: key.join("."), message });
    }
}

/// The known key that was probably meant: one of the same name deeper in the same section, else the most alike in it.
fn nearest<'a>(unknown: &str, known: &'a [String]) -> Option<&'a str> {
    let (section, name) = split(unknown);
    let within =
        |key: &&String| section.is_empty() || key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
    known
        .iter()
        .filter(within)
        .find(|key| split(key).1 == name)
        .or_else(|| {
            let beside = || known.iter().filter(|key| split(key).0 == section);
            let nearest = most_alike(name, beside().map(|key| split(key).1))?;
            beside().find(|key| split(key).1 == nearest)
        })
        .map(String::as_str)
}

/// A key's section and its own name.
fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}
