//! Reads a [`Shape`] from the members `response_fields` and `response_filters` of a request body.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::filter::Filter;
use super::{Shape, Violation};

/// The members that a filter may have, for messages about other members.
const FILTER_MEMBERS: [&str; 4] = ["field_name", "type", "values", "root"];

impl Shape {
    /// Reads the values of `response_fields` and `response_filters`. An absent member, `null` and an empty list all mean that
    /// nothing is shaped. An empty `root` of a filter counts as absent.
    ///
    /// # Errors
    ///
    /// Returns all violations at once, in the order of the body.
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

/// Collects the violations of one body.
struct Reader {
    violations: Vec<Violation>,
}

impl Reader {
    fn report(&mut self, pointer: String, detail: impl Into<String>) {
        self.violations.push(Violation { pointer, detail: detail.into() });
    }

    fn fields<'a>(&mut self, value: Option<&'a Value>) -> Vec<&'a str> {
        let mut fields = Vec::new();
        let entries = self.list(value, "/response_fields", "Give an array of dotted paths, or omit the member.");
        for (index, entry) in entries.iter().enumerate() {
            let pointer = || format!("/response_fields/{index}");
            match entry {
                Value::String(path) if path.is_empty() => {
                    self.report(pointer(), "The path is empty. Name a field to keep, or remove the entry.");
                }
                Value::String(path) => fields.push(path.as_str()),
                other => self.report(pointer(), format!("This is {}. Give a dotted path as a string.", kind(other))),
            }
        }
        fields
    }

    fn filters(&mut self, value: Option<&Value>) -> Vec<Filter> {
        let entries = self.list(value, "/response_filters", "Give an array of filter objects, or omit the member.");
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

    /// Reads one filter. Returns `None` if a violation makes it unusable.
    fn filter(&mut self, pointer: &str, members: &Map<String, Value>) -> Option<Filter> {
        for name in members.keys().filter(|name| !FILTER_MEMBERS.contains(&name.as_str())) {
            let detail = format!("A filter has no member {name:?}, only {}. Remove it.", FILTER_MEMBERS.join(", "));
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
        const ADVICE: &str = "The only filter type is \"string_list\".";
        match value {
            Some(Value::String(name)) if name == "string_list" => {}
            Some(Value::String(name)) => self.report(pointer, format!("There is no filter type {name:?}. {ADVICE}")),
            Some(other) => self.report(pointer, format!("This is {}. {ADVICE}", kind(other))),
            None => self.report(pointer, format!("The member is missing. {ADVICE}")),
        }
    }

    fn values(&mut self, pointer: &str, value: Option<&Value>) -> Option<BTreeSet<Vec<u8>>> {
        const ADVICE: &str = "Give an array of the strings to match.";
        let Some(Value::Array(entries)) = value else {
            let problem =
                value.map_or_else(|| "The member is missing.".to_owned(), |other| format!("This is {}.", kind(other)));
            self.report(pointer.to_owned(), format!("{problem} {ADVICE}"));
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
                    format!(
                        "This is {}. Give a string. Numbers and booleans of the response are compared by their text.",
                        kind(other)
                    ),
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
                    "This is {}. Give the dotted path of the list to filter as a string, or omit the member.",
                    kind(other)
                ),
            ),
        }
        None
    }

    /// Returns the entries of an optional list.
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

/// Names the type of a value in messages.
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

/// Writes a name as one token of a JSON pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
