//! The file and the variables as one table, each value with the location it came from.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::error::{ConfigError, Location, Problem};

/// Variables that set keys begin with it: `GATEWAY__SECTION__KEY`.
const PREFIX: &str = "GATEWAY__";

/// From the names of a key and its sections to where it was set.
type Locations = BTreeMap<Vec<String>, Location>;

/// All that was set, wherever it was.
pub(super) struct Source {
    pub(super) table: Table,
    locations: Locations,
    /// Texts of variables, as they were set: a secret such as `1e9` is no number.
    texts: BTreeMap<Vec<String>, String>,
    /// What was already wrong.
    pub(super) problems: Vec<Problem>,
    /// The location of a key that nobody set: the file, at its beginning.
    file: Location,
}

/// The text of a configuration file.
pub(super) fn read_file(path: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })
}

impl Source {
    /// Puts the variables over the file. Sections are merged; of anything else the variable's value stays.
    pub(super) fn new(path: &Path, text: &str, variables: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let syntax = |error: toml::de::Error| ConfigError::Syntax {
            path: path.to_owned(),
            line: line_at(text, error.span().map_or(0, |span| span.start)),
            // Not the error's own text: it quotes the line, which may hold a secret.
            message: error.message().to_owned(),
        };
        let mut source = Self {
            table: toml::from_str(text).map_err(syntax)?,
            locations: Locations::new(),
            texts: BTreeMap::new(),
            problems: Vec::new(),
            file: Location::File(path.to_owned(), 1),
        };
        let spanned = DeTable::parse(text).map_err(syntax)?;
        let mut note = |key: &[String], offset: usize| {
            source.locations.insert(key.to_vec(), Location::File(path.to_owned(), line_at(text, offset)));
        };
        note_locations(&mut Vec::new(), spanned.get_ref(), &mut note);
        for (name, value) in variables {
            if let Some(key) = name.strip_prefix(PREFIX) {
                source.set_from_variable(name, key, value);
            }
        }
        Ok(source)
    }

    /// Where a key was set; a part of an inline value stands where the whole of it does.
    pub(super) fn location(&self, key: &[String]) -> Location {
        (0..=key.len()).rev().find_map(|length| self.locations.get(key.get(..length)?)).unwrap_or(&self.file).clone()
    }

    /// The text of the variable that set a key, unless the file did.
    pub(super) fn variable_text(&self, key: &[String]) -> Option<&str> {
        self.texts.get(key).map(String::as_str)
    }

    fn set_from_variable(&mut self, name: &str, key: &str, text: &str) {
        // Every identifier is lower-case, and variables by custom are not.
        let key: Vec<String> = key.to_ascii_lowercase().split("__").map(str::to_owned).collect();
        if key.iter().any(String::is_empty) {
            self.problems.push(Problem {
                location: Location::Variable(name.to_owned()),
                key: key.join("."),
                message: "names no key; write it as GATEWAY__KEY or GATEWAY__SECTION__KEY".to_owned(),
            });
            return;
        }
        let value = parse_value(text);
        for length in 1..key.len() {
            self.locations.entry(key[..length].to_vec()).or_insert_with(|| Location::Variable(name.to_owned()));
        }
        // What the file says below this key, if this replaces it, is gone together with its locations.
        if !value.is_table() {
            self.locations.retain(|other, _| !other.starts_with(&key));
            self.texts.retain(|other, _| !other.starts_with(&key));
        }
        note_variable(&mut key.clone(), &value, name, &mut self.locations);
        self.texts.insert(key.clone(), text.to_owned());
        let whole = key.into_iter().rev().fold(value, |inner, name| {
            let mut table = Table::new();
            table.insert(name, inner);
            Value::Table(table)
        });
        if let Value::Table(over) = whole {
            merge(&mut self.table, over);
        }
    }
}

/// A variable's value as TOML where it is, else as a string.
fn parse_value(text: &str) -> Value {
    text.parse().unwrap_or_else(|_| Value::String(text.to_owned()))
}

fn merge(table: &mut Table, over: Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(value)) => merge(below, value),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

fn note_locations(key: &mut Vec<String>, table: &DeTable<'_>, note: &mut impl FnMut(&[String], usize)) {
    for (name, value) in table {
        key.push(name.get_ref().to_string());
        note(key, name.span().start);
        if let DeValue::Table(table) = value.get_ref() {
            note_locations(key, table, note);
        }
        key.pop();
    }
}

fn note_variable(key: &mut Vec<String>, value: &Value, variable: &str, locations: &mut Locations) {
    locations.insert(key.clone(), Location::Variable(variable.to_owned()));
    if let Value::Table(table) = value {
        for (name, value) in table {
            key.push(name.clone());
            note_variable(key, value, variable, locations);
            key.pop();
        }
    }
}

/// The line of an offset, counted from one.
fn line_at(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    1 + before.bytes().filter(|byte| *byte == b'\n').count()
}
