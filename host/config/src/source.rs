//! The file and the variables as one table, with the location of each value.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::error::{ConfigError, Location, Problem};

/// The beginning of variables that set keys: `GATEWAY__SECTION__KEY`.
const PREFIX: &str = "GATEWAY__";

/// The location of each key, by the names of its sections and its own name.
type Locations = BTreeMap<Vec<String>, Location>;

/// All values of the file and the variables.
pub(super) struct Source {
    pub(super) table: Table,
    locations: Locations,
    /// Unparsed texts of variables. A secret such as `1e9` must stay a string.
    texts: BTreeMap<Vec<String>, String>,
    /// Problems with the names of variables.
    pub(super) problems: Vec<Problem>,
    /// The location of a missing key: the beginning of the file.
    file: Location,
}

/// The text of a configuration file. The parser skips a byte order mark at its beginning.
pub(super) fn read_file(path: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })
}

impl Source {
    /// Merges the variables into the file's table. Sections are merged. Any other value of the file
    /// is replaced.
    pub(super) fn new(path: &Path, text: &str, variables: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let syntax = |error: toml::de::Error| ConfigError::Syntax {
            path: path.to_owned(),
            line: line_at(text, error.span().map_or(0, |span| span.start)),
            // The error's full text is not used: it quotes the line, which may contain a secret.
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

    /// The location of a key. A part of an inline value has the location of the whole value.
    pub(super) fn location(&self, key: &[String]) -> Location {
        (0..=key.len()).rev().find_map(|length| self.locations.get(key.get(..length)?)).unwrap_or(&self.file).clone()
    }

    /// The text of the variable that set a key, or `None` if the file set it.
    pub(super) fn variable_text(&self, key: &[String]) -> Option<&str> {
        self.texts.get(key).map(String::as_str)
    }

    fn set_from_variable(&mut self, name: &str, key: &str, text: &str) {
        // All keys are in lower case, but variables are usually in upper case.
        let key: Vec<String> = key.to_ascii_lowercase().split("__").map(str::to_owned).collect();
        if key.iter().any(String::is_empty) {
            self.problems.push(Problem {
                location: Location::Variable(name.to_owned()),
                key: key.join("."),
                message: "does not name a key; write it as GATEWAY__KEY or GATEWAY__SECTION__KEY".to_owned(),
            });
            return;
        }
        let value = parse_value(text);
        for length in 1..key.len() {
            self.locations.entry(key[..length].to_vec()).or_insert_with(|| Location::Variable(name.to_owned()));
        }
        // The variable replaces everything that the file has below this key, so the locations go
        // too.
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

/// A variable's value, parsed as TOML if possible, else as a string.
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
