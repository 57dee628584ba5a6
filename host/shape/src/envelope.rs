//! Reads a [`Shape`] from the members `response_fields` and `response_filters` of a request body.
//!
//! Each limit is checked before more is read, so that a huge member takes neither memory nor time.

use std::collections::BTreeSet;

use json_text::{first_elements, first_members};
use serde_json::value::RawValue;

use super::filter::Filter;
use super::{Shape, Violation};

/// Maximum number of `response_filters`.
pub const MAX_FILTERS: usize = 100;

/// Maximum number of `values` of one filter.
pub const MAX_VALUES: usize = 1000;

/// Maximum number of `response_fields`.
pub const MAX_FIELDS: usize = 1000;

/// Maximum length of a path, in characters.
pub const MAX_PATH_CHARACTERS: usize = 512;

/// Reading stops when it has found more violations than this.
pub const MAX_VIOLATIONS: usize = 100;

/// The members that a filter may have.
const FILTER_MEMBERS: [&str; 4] = ["field_name", "type", "values", "root"];

impl Shape {
    /// Reads the values of `response_fields` and `response_filters`. An absent member, `null` and
    /// an empty list all mean that nothing is shaped. An empty `root` of a filter counts as absent.
    ///
    /// # Errors
    ///
    /// Returns the violations in the order of the body, at most one more than [`MAX_VIOLATIONS`].
    pub fn from_members(
        response_fields: Option<&RawValue>,
        response_filters: Option<&RawValue>,
    ) -> Result<Self, Vec<Violation>> {
        let mut reader = Reader { violations: Vec::new() };
        let fields = reader.fields(response_fields);
        let filters = reader.filters(response_filters);
        if reader.violations.is_empty() { Ok(Self::new(fields, filters)) } else { Err(reader.violations) }
    }
}

/// Collects the violations of one body.
struct Reader {
    violations: Vec<Violation>,
}

impl Reader {
    fn report(&mut self, pointer: String, detail: impl Into<String>) {
        if !self.is_over() {
            self.violations.push(Violation { pointer, detail: detail.into() });
        }
    }

    /// Returns `true` if there are so many violations that further ones are not needed.
    fn is_over(&self) -> bool {
        self.violations.len() > MAX_VIOLATIONS
    }

    fn fields(&mut self, value: Option<&RawValue>) -> Vec<String> {
        let mut fields = Vec::new();
        let advice = "Give an array of dotted paths, or omit the member.";
        for (index, entry) in self.read_list(value, "/response_fields", MAX_FIELDS, advice).into_iter().enumerate() {
            let (empty, other) = ("Name a field to keep, or remove the entry.", "Give a dotted path as a string.");
            fields.extend(self.read_path(|| format!("/response_fields/{index}"), entry, empty, other));
            if self.is_over() {
                break;
            }
        }
        fields
    }

    fn filters(&mut self, value: Option<&RawValue>) -> Vec<Filter> {
        let mut filters = Vec::new();
        let advice = "Give an array of filter objects, or omit the member.";
        for (index, entry) in self.read_list(value, "/response_filters", MAX_FILTERS, advice).into_iter().enumerate() {
            filters.extend(self.filter(&format!("/response_filters/{index}"), entry));
            if self.is_over() {
                break;
            }
        }
        filters
    }

    /// Reads one filter. Returns `None` if a violation makes it unusable.
    fn filter(&mut self, pointer: &str, entry: &RawValue) -> Option<Filter> {
        let Ok(members) = first_members(entry.get(), MAX_VIOLATIONS + FILTER_MEMBERS.len()) else {
            let detail = format!("This is {}. Give an object with {}.", kind(entry), FILTER_MEMBERS.join(", "));
            self.report(pointer.to_owned(), detail);
            return None;
        };
        for (name, _) in members.first.iter().filter(|(name, _)| !FILTER_MEMBERS.contains(&name.as_ref())) {
            let detail = format!("A filter has only the members {}. Remove this one.", FILTER_MEMBERS.join(", "));
            self.report(format!("{pointer}/{}", escape(name)), detail);
        }
        for name in FILTER_MEMBERS {
            if members.first.iter().filter(|member| member.0 == name).nth(1).is_some() {
                let detail = format!("The filter contains `{name}` more than once; send it once.");
                self.report(format!("{pointer}/{name}"), detail);
            }
        }
        let member = |name: &str| members.first.iter().rfind(|member| member.0 == name).map(|member| member.1);
        let field = self.field_name(format!("{pointer}/field_name"), member("field_name"));
        self.filter_type(format!("{pointer}/type"), member("type"));
        let values = self.values(&format!("{pointer}/values"), member("values"));
        let root = self.root(format!("{pointer}/root"), member("root"));
        Some(Filter { field: field?, values: values?, root })
    }

    fn field_name(&mut self, pointer: String, value: Option<&RawValue>) -> Option<String> {
        const ADVICE: &str = "Give the dotted path of the field to test as a string.";
        let Some(value) = value else {
            self.report(pointer, format!("The member is missing. {ADVICE}"));
            return None;
        };
        self.read_path(|| pointer, value, ADVICE, ADVICE)
    }

    fn filter_type(&mut self, pointer: String, value: Option<&RawValue>) {
        const ADVICE: &str = "The only filter type is \"string_list\".";
        match value {
            Some(value) if text(value).as_deref() == Some("string_list") => {}
            Some(value) if is_text(value) => self.report(pointer, format!("There is no such filter type. {ADVICE}")),
            Some(other) => self.report(pointer, format!("This is {}. {ADVICE}", kind(other))),
            None => self.report(pointer, format!("The member is missing. {ADVICE}")),
        }
    }

    fn values(&mut self, pointer: &str, value: Option<&RawValue>) -> Option<BTreeSet<Vec<u8>>> {
        const ADVICE: &str = "Give an array of the strings to match.";
        let Some(entries) = value.and_then(|value| first_elements(value.get(), MAX_VALUES).ok()) else {
            let problem =
                value.map_or_else(|| "The member is missing.".to_owned(), |other| format!("This is {}.", kind(other)));
            self.report(pointer.to_owned(), format!("{problem} {ADVICE}"));
            return None;
        };
        if entries.count > MAX_VALUES {
            self.report(pointer.to_owned(), too_many(entries.count, MAX_VALUES));
            return None;
        }
        let mut values = BTreeSet::new();
        for (index, entry) in entries.first.into_iter().enumerate() {
            match text(entry) {
                Some(text) => {
                    values.insert(text.into_bytes());
                }
                None => self.report(
                    format!("{pointer}/{index}"),
                    format!(
                        "This is {}. Give a string. Numbers and booleans of the response are compared by their text.",
                        unreadable(entry)
                    ),
                ),
            }
        }
        Some(values)
    }

    fn root(&mut self, pointer: String, value: Option<&RawValue>) -> Option<String> {
        const ADVICE: &str = "Give the dotted path of the list to filter as a string, or omit the member.";
        match value?.get() {
            "null" | "\"\"" => None,
            _ => self.read_path(|| pointer, value?, ADVICE, ADVICE),
        }
    }

    /// Reads a path. `if_empty` and `if_no_text` are the advice in the messages about an empty path
    /// and about a value that is not text.
    fn read_path(
        &mut self,
        pointer: impl FnOnce() -> String,
        value: &RawValue,
        if_empty: &str,
        if_no_text: &str,
    ) -> Option<String> {
        let detail = match text(value) {
            None => format!("This is {}. {if_no_text}", unreadable(value)),
            Some(path) if path.is_empty() => format!("The path is empty. {if_empty}"),
            Some(path) if path.chars().nth(MAX_PATH_CHARACTERS).is_some() => {
                format!("The path is too long. Give at most {MAX_PATH_CHARACTERS} characters.")
            }
            Some(path) => return Some(path),
        };
        self.report(pointer(), detail);
        None
    }

    /// Returns the entries of an optional list, which has at most `max`.
    fn read_list<'a>(
        &mut self,
        value: Option<&'a RawValue>,
        pointer: &str,
        max: usize,
        advice: &str,
    ) -> Vec<&'a RawValue> {
        let Some(value) = value.filter(|value| value.get() != "null") else { return Vec::new() };
        let detail = match first_elements(value.get(), max) {
            Err(_) => format!("This is {}. {advice}", kind(value)),
            Ok(entries) if entries.count > max => too_many(entries.count, max),
            Ok(entries) => return entries.first,
        };
        self.report(pointer.to_owned(), detail);
        Vec::new()
    }
}

fn too_many(count: usize, max: usize) -> String {
    format!("The list has {count} entries. Give at most {max}.")
}

/// The text of a string. `None` for any other value, and for a string that is not Unicode.
fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

fn is_text(value: &RawValue) -> bool {
    value.get().starts_with('"')
}

/// Names the type of a value in messages.
fn kind(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        Some(b'"') => "a string",
        Some(b'[') => "an array",
        Some(b'{') => "an object",
        _ => "a number",
    }
}

/// Says in messages what a value is that cannot be read as text.
fn unreadable(value: &RawValue) -> &'static str {
    if is_text(value) { "a string with an escape that is half of a character, such as \\ud800" } else { kind(value) }
}

/// Writes a name as one token of a JSON pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
