//! Checks whether a field accepts a value, for defaults and examples. The gateway validates
//! requests with the schema itself.

use serde_json::{Map, Number, Value};

use super::{Entry, Field, Kind};
use crate::{Broken, pointer};

/// A value that a field does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The names and indices that lead to the value.
    pub steps: Vec<String>,
    /// The reason.
    pub reason: Broken,
}

impl Mismatch {
    fn new(reason: impl Into<Broken>) -> Self {
        Self { steps: Vec::new(), reason: reason.into() }
    }

    fn below(mut self, step: impl Into<String>) -> Self {
        self.steps.insert(0, step.into());
        self
    }

    /// Says that an example does not fit, with the JSON Pointer to the value.
    #[must_use]
    pub fn of_example(&self) -> String {
        let Self { steps, reason } = self;
        if steps.is_empty() {
            return format!("the example does not fit: {reason}");
        }
        let place: String = steps.iter().map(|step| pointer::of(step)).collect();
        format!("the example does not fit at `{place}`: {reason}")
    }
}

/// Returns `true` if an object with these fields accepts a value. Patterns and formats are not
/// checked.
///
/// # Errors
/// The first member that does not fit.
pub fn accept_object(fields: &[Field], value: &Value) -> Result<(), Mismatch> {
    let Value::Object(members) = value else { return Err(Mismatch::new("expected an object")) };
    for (name, value) in members {
        let Some(field) = fields.iter().find(|field| field.name == *name) else {
            return Err(Mismatch::new(format!("there is no field `{name}`")).below(name));
        };
        field.accept(value).map_err(|mismatch| mismatch.below(name))?;
    }
    match fields.iter().find(|field| !field.optional && !members.contains_key(&field.name)) {
        Some(missing) => Err(Mismatch::new(format!("the field `{}` is required", missing.name))),
        None => Ok(()),
    }
}

impl Field {
    /// Returns `true` if the field accepts a value. The pattern and the format are not checked.
    ///
    /// # Errors
    /// The part of the value that does not fit.
    pub fn accept(&self, value: &Value) -> Result<(), Mismatch> {
        if self.optional && value.is_null() {
            return Ok(());
        }
        match (&self.kind, value) {
            (Kind::Members(fields), value) => accept_object(fields, value),
            (Kind::File, value) => accept_object(&file(), value),
            (Kind::Entries(entries), Value::Object(members)) => accept_entries(entries, members, is_scalar_or_list),
            (Kind::TextEntries(entries), Value::Object(members)) => accept_entries(entries, members, Value::is_string),
            (Kind::Object, Value::Object(members)) => {
                match self.without.iter().find(|name| members.contains_key(*name)) {
                    Some(name) => Err(Mismatch::new(format!("the member `{name}` is forbidden")).below(name)),
                    None => Ok(()),
                }
            }
            (Kind::List(item), Value::Array(items)) => self.accept_items(item, items),
            (Kind::StringOrList, Value::Array(items)) => self.accept_items(&Kind::String, items),
            (Kind::StringOrList, Value::String(text)) => self.accept_values(text),
            (Kind::String, Value::String(text)) => {
                self.accept_values(text)?;
                self.accept_size(text.chars().count(), "characters")
            }
            (Kind::Boolean, Value::Bool(_)) => Ok(()),
            (Kind::Integer, Value::Number(number)) if is_whole(number) => self.accept_number(number),
            (Kind::Number, Value::Number(number)) => self.accept_number(number),
            (kind, _) => Err(Mismatch::new(format!("expected {}", expected(kind)))),
        }
    }

    fn accept_items(&self, item: &Kind, items: &[Value]) -> Result<(), Mismatch> {
        for (index, value) in items.iter().enumerate() {
            let field = Field { values: self.values.clone(), ..Field::new("", item.clone()) };
            field.accept(value).map_err(|mismatch| mismatch.below(index.to_string()))?;
        }
        self.accept_size(items.len(), "items")
    }

    fn accept_values(&self, text: &str) -> Result<(), Mismatch> {
        match &self.values {
            Some(values) if !values.iter().any(|value| value == text) => {
                Err(Mismatch::new(format!("expected one of {}", values.join(", "))))
            }
            _ => Ok(()),
        }
    }

    fn accept_size(&self, size: usize, unit: &str) -> Result<(), Mismatch> {
        let limit = |bound: &Option<Number>| bound.as_ref().and_then(Number::as_u64);
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        match (limit(&self.minimum), limit(&self.maximum)) {
            (Some(minimum), _) if size < minimum => Err(Mismatch::new(format!("expected at least {minimum} {unit}"))),
            (_, Some(maximum)) if size > maximum => Err(Mismatch::new(format!("expected at most {maximum} {unit}"))),
            _ => Ok(()),
        }
    }

    fn accept_number(&self, number: &Number) -> Result<(), Mismatch> {
        let value = number.as_f64();
        match (&self.minimum, &self.maximum) {
            (Some(minimum), _) if value < minimum.as_f64() => {
                Err(Mismatch::new(format!("expected a number that is at least {minimum}")))
            }
            (_, Some(maximum)) if value > maximum.as_f64() => {
                Err(Mismatch::new(format!("expected a number that is at most {maximum}")))
            }
            _ => Ok(()),
        }
    }
}

/// The members of a file.
fn file() -> [Field; 3] {
    let content_type = Field { optional: true, ..Field::new("content_type", Kind::String) };
    [Field::new("file_name", Kind::String), content_type, Field::new("content_base64", Kind::String)]
}

fn accept_entries(entries: &[Entry], members: &Map<String, Value>, fits: fn(&Value) -> bool) -> Result<(), Mismatch> {
    for (name, value) in members {
        let Some(entry) = entries.iter().find(|entry| entry.name == *name) else {
            return Err(Mismatch::new(format!("there is no entry `{name}`")).below(name));
        };
        let listed = |values: &Vec<String>| value.as_str().is_some_and(|text| values.iter().any(|value| value == text));
        let accepted = value.is_null() || (fits(value) && entry.values.as_ref().is_none_or(listed));
        if !accepted {
            return Err(Mismatch::new(format!("the entry `{name}` does not accept this value")).below(name));
        }
    }
    Ok(())
}

fn is_scalar_or_list(value: &Value) -> bool {
    let is_scalar = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    is_scalar(value) || value.as_array().is_some_and(|items| items.iter().all(is_scalar))
}

fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

fn expected(kind: &Kind) -> &'static str {
    match kind {
        Kind::String => "a string",
        Kind::Integer => "a whole number",
        Kind::Number => "a number",
        Kind::Boolean => "a boolean",
        Kind::List(_) => "a list",
        Kind::StringOrList => "a string or a list of strings",
        Kind::Object | Kind::Members(_) | Kind::Entries(_) | Kind::TextEntries(_) | Kind::File => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Mismatch, accept_object};
    use crate::schema::{Entry, Field, Kind};

    fn refusal(value: Value) -> (String, String) {
        let entry = |name: &str, values: Option<&[&str]>| Entry {
            name: name.to_owned(),
            values: values.map(|values| values.iter().map(|value| (*value).to_owned()).collect()),
            documentation: String::new(),
        };
        let optional = |name: &str, kind: Kind| Field { optional: true, ..Field::new(name, kind) };
        let fields = [
            Field::new("id", Kind::String),
            Field { maximum: Some(2.into()), ..optional("tags", Kind::List(Box::new(Kind::String))) },
            Field { minimum: Some(1.into()), ..optional("page", Kind::Integer) },
            optional("query", Kind::Entries(vec![entry("q", None), entry("order", Some(&["asc"]))])),
            optional("address", Kind::Members(vec![Field::new("street", Kind::String)])),
            Field { without: vec!["hidden".to_owned()], ..optional("body", Kind::Object) },
            optional("photo", Kind::File),
        ];
        match accept_object(&fields, &value) {
            Ok(()) => (String::new(), String::new()),
            Err(mismatch) => (mismatch.steps.join("/"), mismatch.reason.to_string()),
        }
    }

    #[test]
    fn a_value_that_fits_is_accepted() {
        let value = json!({
            "id": "1", "tags": ["a"], "page": 2.0, "query": {"q": [1, true], "order": "asc"}, "address": {"street": "x"}, "body": null,
            "photo": {"file_name": "a", "content_base64": ""},
        });
        assert_eq!(refusal(value), (String::new(), String::new()));
    }

    #[test]
    fn a_mismatch_says_where_and_why() {
        for (value, steps, reason) in [
            (json!({}), "", "the field `id` is required"),
            (json!({"id": 1}), "id", "expected a string"),
            (json!({"id": "1", "other": 1}), "other", "there is no field `other`"),
            (json!({"id": "1", "tags": ["a", 1]}), "tags/1", "expected a string"),
            (json!({"id": "1", "tags": ["a", "b", "c"]}), "tags", "expected at most 2 items"),
            (json!({"id": "1", "page": 0}), "page", "expected a number that is at least 1"),
            (json!({"id": "1", "page": 1.5}), "page", "expected a whole number"),
            (json!({"id": "1", "query": {"x": 1}}), "query/x", "there is no entry `x`"),
            (
                json!({"id": "1", "query": {"order": "up"}}),
                "query/order",
                "the entry `order` does not accept this value",
            ),
            (json!({"id": "1", "address": {}}), "address", "the field `street` is required"),
            (json!({"id": "1", "photo": {"file_name": "a"}}), "photo", "the field `content_base64` is required"),
            (json!({"id": "1", "body": {"hidden": 1}}), "body/hidden", "the member `hidden` is forbidden"),
        ] {
            assert_eq!(refusal(value), (steps.to_owned(), reason.to_owned()));
        }
    }

    #[test]
    fn an_example_that_does_not_fit_is_told_with_the_place_of_the_value() {
        let mismatch = |steps: &[&str]| {
            steps.iter().rev().fold(Mismatch::new("expected a string"), |mismatch, step| mismatch.below(*step))
        };
        assert_eq!(mismatch(&[]).of_example(), "the example does not fit: expected a string");
        assert_eq!(mismatch(&["tags", "1"]).of_example(), "the example does not fit at `/tags/1`: expected a string");
        assert_eq!(mismatch(&["a/b"]).of_example(), "the example does not fit at `/a~1b`: expected a string");
    }
}
