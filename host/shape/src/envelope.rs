//! The members of a request body that say how to shape the answer.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::filter::Filter;
use super::{Shape, Violation};

/// The members of a filter, for the sentence about one that is none.
const FILTER_MEMBERS: [&str; 4] = ["field_name", "type", "values", "root"];

impl Shape {
    /// Reads the values of `response_fields` and `response_filters`. Absent, null or an empty list asks for nothing;
    /// an empty `root` counts as absent.
    ///
    /// # Errors
    ///
    /// All violations at once, in the order of the body.
    pub fn from_members(
        response_fields: Option<&Value>,
        response_filters: Option<&Value>,
    ) -> Result<Self, Vec<Violation>> {
        let mut reader = Reader { violations: Vec::new() };
        let fields = reader.fields(response_fields);
        let filters = reader.filters(response_filters);
        if reader.violations.is_empty() { Ok(Self::new(&fields, filters)) } else { Err(reader.violations) }
    }
}

struct Reader {
    violations: Vec<Violation>,
}

impl Reader {
    fn report(&mut self, pointer: String, detail: impl Into<String>) {
        self.violations.push(Violation { pointer, detail: detail.into() });
    }

    fn fields<'a>(&mut self, value: Option<&'a Value>) -> Vec<&'a str> {
        let mut fields = Vec::new();
        let entries = self.list(value, "/response_fields", "Give an array of dotted paths, or leave it out.");
        for (index, entry) in entries.iter().enumerate() {
            let pointer = || format!("/response_fields/{index}");
            match entry {
                Value::String(path) if path.is_empty() => {
                    self.report(pointer(), "The path is empty. Name a field to keep, or leave the entry out.");
                }
                Value::String(path) => fields.push(path.as_str()),
                other => self.report(pointer(), format!("This is {}. Give a dotted path as a string.", kind(other))),
            }
        }
        fields
    }

    fn filters(&mut self, value: Option<&Value>) -> Vec<Filter> {
        let entries = self.list(value, "/response_filters", "Give an array of filter objects, or leave it out.");
        let mut filters = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let pointer = format!("/response_filters/{index}");
            match entry {
                Value::Object(members) => filters.extend(self.filter(&pointer, members)),
                other => {
                    let detail = format!("This is {}. Give an object with {}.", kind(other), FILTER_MEMBERS.join(", "));
                    self.report(pointer, detail);
                }
            }
        }
        filters
    }

    /// One filter; `None` where a violation leaves none to be made.
    fn filter(&mut self, pointer: &str, members: &Map<String, Value>) -> Option<Filter> {
        for name in members.keys().filter(|name| !FILTER_MEMBERS.contains(&name.as_str())) {
            let detail = format!("A filter has no member {name:?}, only {}. Take it out.", FILTER_MEMBERS.join(", "));
            self.report(format!("{pointer}/{}", escape(name)), detail);
        }
        let field = self.field_name(format!("{pointer}/field_name"), members.get("field_name"));
        self.filter_type(format!("{pointer}/type"), members.get("type"));
        let values = self.values(&format!("{pointer}/values"), members.get("values"));
        let root = self.root(format!("{pointer}/root"), members.get("root"));
        Some(Filter { field: field?, values: values?, root })
    }

    fn field_name(&mut self, pointer: String, value: Option<&Value>) -> Option<String> {
        const ADVICE: &str = "Give the dotted path of the field to test as a string.";
        match value {
            Some(Value::String(path)) if !path.is_empty() => return Some(path.clone()),
            Some(Value::String(_)) => self.report(pointer, format!("The path is empty. {ADVICE}")),
            Some(other) => self.report(pointer, format!("This is {}. {ADVICE}", kind(other))),
            None => self.report(pointer, format!("The member is missing. {ADVICE}")),
        }
        None
    }

    fn filter_type(&mut self, pointer: String, value: Option<&Value>) {
        const ADVICE: &str = "The one type of filter is \"string_list\".";
        match value {
            Some(Value::String(name)) if name == "string_list" => {}
            Some(Value::String(name)) => self.report(pointer, format!("There is no filter of type {name:?}. {ADVICE}")),
            Some(other) => self.report(pointer, format!("This is {}. {ADVICE}", kind(other))),
            None => self.report(pointer, format!("The member is missing. {ADVICE}")),
        }
    }

    fn values(&mut self, pointer: &str, value: Option<&Value>) -> Option<BTreeSet<Vec<u8>>> {
        const ADVICE: &str = "Give an array of the strings to match.";
        let Some(Value::Array(entries)) = value else {
            let what =
                value.map_or_else(|| "The member is missing.".to_owned(), |other| format!("This is {}.", kind(other)));
            self.report(pointer.to_owned(), format!("{what} {ADVICE}"));
            return None;
        };
        let mut values = BTreeSet::new();
        for (index, entry) in entries.iter().enumerate() {
            match entry {
                Value::String(text) => {
                    values.insert(text.clone().into_bytes());
                }
                other => self.report(
                    format!("{pointer}/{index}"),
                    format!("This is {}. Give a string; numbers and booleans are compared by their text.", kind(other)),
                ),
            }
        }
        Some(values)
    }

    fn root(&mut self, pointer: String, value: Option<&Value>) -> Option<String> {
        match value {
            Some(Value::String(path)) if !path.is_empty() => return Some(path.clone()),
            None | Some(Value::Null | Value::String(_)) => {}
            Some(other) => self.report(
                pointer,
                format!(
                    "This is {}. Give the dotted path of the list to filter as a string, or leave it out.",
                    kind(other)
                ),
            ),
        }
        None
    }

    /// The entries of an optional list.
    fn list<'a>(&mut self, value: Option<&'a Value>, pointer: &str, advice: &str) -> &'a [Value] {
        match value {
            None | Some(Value::Null) => &[],
            Some(Value::Array(entries)) => entries,
            Some(other) => {
                self.report(pointer.to_owned(), format!("This is {}. {advice}", kind(other)));
                &[]
            }
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A name as one token of a JSON pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
