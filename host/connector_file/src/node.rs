//! The file as values that know where they are written, and the mistakes that were found in it.

use std::fmt::Display;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Mistake;

/// The mistakes that were found so far, each with its place in the text.
#[derive(Default)]
pub(crate) struct Mistakes(Vec<(usize, String)>);

impl Mistakes {
    pub(crate) fn at(&mut self, at: usize, message: impl Display) {
        self.0.push((at, message.to_string()));
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The mistakes in the order of their lines. A mistake of several operations, such as one in a
    /// header of all of them, is there once.
    pub(crate) fn lines(mut self, text: &str) -> Vec<Mistake> {
        self.0.sort();
        self.0.dedup();
        let line = |at: usize| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        self.0.into_iter().map(|(at, message)| Mistake { line: line(at), message }).collect()
    }
}

/// A value of the file.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    /// The place of its first character.
    pub(crate) at: usize,
    pub(crate) value: &'a DeValue<'a>,
}

/// A value with its name.
#[derive(Clone, Copy)]
pub(crate) struct TableEntry<'a> {
    pub(crate) name: &'a str,
    /// The place of the name.
    pub(crate) at: usize,
    pub(crate) node: Node<'a>,
}

/// A table whose entries are taken one by one. What is left in the end is unknown.
pub(crate) struct Table<'a> {
    entries: Vec<TableEntry<'a>>,
    /// The names that were asked for.
    known: Vec<&'static str>,
}

impl<'a> Node<'a> {
    fn of(spanned: &'a Spanned<DeValue<'a>>) -> Self {
        Self { at: spanned.span().start, value: spanned.get_ref() }
    }

    /// The entries of a table, or a mistake with the expected form.
    pub(crate) fn table(self, form: &str, mistakes: &mut Mistakes) -> Option<Table<'a>> {
        match self.value {
            DeValue::Table(table) => Some(Table::document(table)),
            _ => self.expected(form, mistakes),
        }
    }

    /// The only entry of a table, which says what the value is: `{ header = "X-Id" }`.
    pub(crate) fn case(self, form: &str, mistakes: &mut Mistakes) -> Option<(&'a str, Self)> {
        match self.table(form, mistakes)?.named().as_slice() {
            [entry] => Some((entry.name, entry.node)),
            _ => self.expected(form, mistakes),
        }
    }

    pub(crate) fn text(self, form: &str, mistakes: &mut Mistakes) -> Option<&'a str> {
        match self.value {
            DeValue::String(text) => Some(text),
            _ => self.expected(form, mistakes),
        }
    }

    pub(crate) fn items(self, form: &str, mistakes: &mut Mistakes) -> Option<Vec<Self>> {
        match self.value {
            DeValue::Array(items) => Some(items.iter().map(Self::of).collect()),
            _ => self.expected(form, mistakes),
        }
    }

    pub(crate) fn texts(self, form: &str, mistakes: &mut Mistakes) -> Option<Vec<String>> {
        let items = self.items(form, mistakes)?;
        items.into_iter().map(|item| item.text(form, mistakes).map(str::to_owned)).collect()
    }

    /// The value as JSON. Dates and times have no JSON.
    pub(crate) fn json(self, mistakes: &mut Mistakes) -> Option<Value> {
        match self.value {
            DeValue::String(text) => Some(Value::from(text.as_ref())),
            DeValue::Boolean(boolean) => Some(Value::from(*boolean)),
            DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(integer) => Some(Value::from(integer)),
                Err(_) => self.expected("a whole number of at most 64 bits", mistakes),
            },
            DeValue::Float(float) => match float.as_str().parse().ok().and_then(Number::from_f64) {
                Some(number) => Some(Value::Number(number)),
                None => self.expected("a finite number", mistakes),
            },
            DeValue::Datetime(_) => self.expected("a text in place of a date or time", mistakes),
            DeValue::Array(items) => items.iter().map(|item| Self::of(item).json(mistakes)).collect(),
            DeValue::Table(table) => {
                let members = entries(table).into_iter();
                let json: Option<Map<_, _>> =
                    members.map(|entry| Some((entry.name.to_owned(), entry.node.json(mistakes)?))).collect();
                json.map(Value::Object)
            }
        }
    }

    /// The place of the value at these names and indices, or of the last one that is there.
    pub(crate) fn place_of(self, steps: &[String]) -> usize {
        let Some((step, rest)) = steps.split_first() else { return self.at };
        match self.value {
            DeValue::Table(table) => match entries(table).into_iter().find(|entry| entry.name == step) {
                Some(entry) => match rest {
                    [] => entry.at,
                    rest => entry.node.place_of(rest),
                },
                None => self.at,
            },
            DeValue::Array(items) => {
                let item = step.parse().ok().and_then(|index: usize| items.get(index));
                item.map_or(self.at, |item| Self::of(item).place_of(rest))
            }
            _ => self.at,
        }
    }

    pub(crate) fn expected<T>(self, form: &str, mistakes: &mut Mistakes) -> Option<T> {
        mistakes.at(self.at, format!("expected {form}"));
        None
    }
}

/// The entries of a table in the order of the file.
fn entries<'a>(table: &'a DeTable<'a>) -> Vec<TableEntry<'a>> {
    let entry = |(name, value): (&'a Spanned<_>, &'a Spanned<DeValue<'a>>)| {
        let text: &'a std::borrow::Cow<'a, str> = name.get_ref();
        TableEntry { name: text, at: name.span().start, node: Node::of(value) }
    };
    let mut entries: Vec<TableEntry<'a>> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.at);
    entries
}

impl<'a> Table<'a> {
    pub(crate) fn document(table: &'a DeTable<'a>) -> Self {
        Self { entries: entries(table), known: Vec::new() }
    }

    /// The entries, whose names the author chooses.
    pub(crate) fn named(self) -> Vec<TableEntry<'a>> {
        self.entries
    }

    pub(crate) fn take(&mut self, name: &'static str) -> Option<TableEntry<'a>> {
        self.known.push(name);
        let index = self.entries.iter().position(|entry| entry.name == name)?;
        Some(self.entries.remove(index))
    }

    /// The place of an entry that was not taken yet.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.entries.iter().find(|entry| entry.name == name).map(|entry| entry.at)
    }

    pub(crate) fn text(&mut self, name: &'static str, mistakes: &mut Mistakes) -> Option<String> {
        let entry = self.take(name)?;
        entry.node.text(&format!("a text: `{name} = \"…\"`"), mistakes).map(str::to_owned)
    }

    /// `false` if the entry is absent.
    pub(crate) fn flag(&mut self, name: &'static str, mistakes: &mut Mistakes) -> bool {
        self.choice(name, mistakes).unwrap_or(false)
    }

    pub(crate) fn choice(&mut self, name: &'static str, mistakes: &mut Mistakes) -> Option<bool> {
        let entry = self.take(name)?;
        match entry.node.value {
            DeValue::Boolean(choice) => Some(*choice),
            _ => entry.node.expected(&format!("`{name} = true` or `{name} = false`"), mistakes),
        }
    }

    /// One of these words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
        mistakes: &mut Mistakes,
    ) -> Option<T> {
        let node = self.take(name)?.node;
        let given = node.value.as_str();
        if let Some((_, value)) = words.iter().find(|(word, _)| given == Some(word)) {
            return Some(*value);
        }
        let words: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        node.expected(&format!("one of {}", words.join(", ")), mistakes)
    }

    pub(crate) fn number(&mut self, name: &'static str, mistakes: &mut Mistakes) -> Option<u32> {
        let node = self.take(name)?.node;
        let number = match node.value {
            DeValue::Integer(integer) => u32::from_str_radix(integer.as_str(), integer.radix()).ok(),
            _ => None,
        };
        number.or_else(|| node.expected(&format!("a whole number: `{name} = 1`"), mistakes))
    }

    pub(crate) fn texts(&mut self, name: &'static str, mistakes: &mut Mistakes) -> Option<Vec<String>> {
        let entry = self.take(name)?;
        entry.node.texts(&format!("a list of texts: `{name} = [\"…\"]`"), mistakes)
    }

    /// The entries of an inner table, whose names the author chooses. Empty if it is absent.
    pub(crate) fn inner(&mut self, name: &'static str, form: &str, mistakes: &mut Mistakes) -> Vec<TableEntry<'a>> {
        let table = self.take(name).and_then(|entry| entry.node.table(form, mistakes));
        table.map(Self::named).unwrap_or_default()
    }

    /// Members of JSON. Empty if the entry is absent.
    pub(crate) fn members(&mut self, name: &'static str, mistakes: &mut Mistakes) -> Vec<(String, Value)> {
        let entries = self.inner(name, &format!("members: `{name} = {{ name = \"value\" }}`"), mistakes);
        let member = |entry: TableEntry<'_>| Some((entry.name.to_owned(), entry.node.json(mistakes)?));
        entries.into_iter().filter_map(member).collect()
    }

    /// Refuses the entries that were not taken. A misspelt name would have no effect. `what` is the
    /// word for an entry, such as `clause`.
    pub(crate) fn end(self, what: &str, mistakes: &mut Mistakes) {
        let known: Vec<String> = self.known.iter().map(|name| format!("`{name}`")).collect();
        let known = match known.split_last() {
            Some((last, [])) => format!("the only {what} is {last}"),
            Some((last, rest)) => format!("the {what}s are {} and {last}", rest.join(", ")),
            None => "there is none here".to_owned(),
        };
        for entry in &self.entries {
            mistakes.at(entry.at, format!("unknown {what} `{}`; {known}", entry.name.escape_debug()));
        }
    }
}
