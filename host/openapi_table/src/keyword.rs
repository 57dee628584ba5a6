//! Limits, values, patterns, formats and defaults.

use contract_rules::schema::{Field, Kind};
use serde_json::{Number, Value};

use crate::document::text;
use crate::pattern;
use crate::schema::Reader;

/// Formats that the gateway checks.
const FORMATS: [&str; 10] =
    ["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"];

/// Keywords that a field does not have.
const WITHOUT: [&str; 8] = [
    "multipleOf",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "not",
    "patternProperties",
    "if",
    "dependentRequired",
];

/// Maximum number of values, so that a table stays readable.
const MAX_VALUES: usize = 400;

/// Copies the keywords of a schema to a field. For a list, also copies the keywords of its items.
pub(crate) fn apply(reader: &mut Reader<'_>, field: &mut Field, schema: &Value, items: Option<&Value>) {
    bounds(reader, field, schema);
    let of_strings = match &field.kind {
        Kind::String | Kind::StringOrList => Some(schema),
        Kind::List(item) if matches!(**item, Kind::String) => items,
        _ => None,
    };
    match of_strings {
        Some(schema) => strings(reader, field, schema),
        None if schema.get("enum").is_some() && !matches!(field.kind, Kind::Boolean) => {
            reader.note("its list of values is not checked, because they are not strings");
        }
        None => {}
    }
    let has_limits =
        |items: &Value| ["minLength", "maxLength", "minimum", "maximum"].iter().any(|key| items.get(key).is_some());
    if items.is_some_and(has_limits) {
        reader.note("the limits of its items are not checked");
    }
    for keyword in WITHOUT {
        if schema.get(keyword).is_some_and(|value| *value != Value::Bool(false)) {
            reader.note(format!("`{keyword}` is not checked"));
        }
    }
    if field.optional {
        field.default = schema.get("default").filter(|default| !default.is_null()).cloned();
    }
    field.secret = text(schema, "format") == "password";
}

/// The limits of a number's value, a string's characters or a list's items.
fn bounds(reader: &mut Reader<'_>, field: &mut Field, schema: &Value) {
    let number = |key: &str| schema.get(key).and_then(Value::as_number).cloned();
    let (low, high) = match field.kind {
        Kind::Integer | Kind::Number => ("minimum", "maximum"),
        Kind::String => ("minLength", "maxLength"),
        Kind::List(_) => ("minItems", "maxItems"),
        _ => return,
    };
    field.minimum = number(low);
    field.maximum = number(high);
    match field.kind {
        Kind::Integer => {
            // In 3.0 these are booleans next to the limits, in 3.1 they are numbers.
            let is_exclusive = |key: &str| schema.get(key) == Some(&Value::Bool(true));
            field.minimum = number("exclusiveMinimum").map(|bound| moved(&bound, 1)).or_else(|| {
                let by = i64::from(is_exclusive("exclusiveMinimum"));
                field.minimum.as_ref().map(|bound| moved(bound, by))
            });
            field.maximum = number("exclusiveMaximum").map(|bound| moved(&bound, -1)).or_else(|| {
                let by = -i64::from(is_exclusive("exclusiveMaximum"));
                field.maximum.as_ref().map(|bound| moved(bound, by))
            });
        }
        Kind::Number => {
            let exclusive = |key: &str| schema.get(key).filter(|value| **value != Value::Bool(false)).is_some();
            if exclusive("exclusiveMinimum") || exclusive("exclusiveMaximum") {
                reader.note("a limit that excludes itself is not checked exactly");
                field.minimum = field.minimum.take().or_else(|| number("exclusiveMinimum"));
                field.maximum = field.maximum.take().or_else(|| number("exclusiveMaximum"));
            }
        }
        // A lower limit of 0 excludes nothing.
        _ => field.minimum = field.minimum.take().filter(|bound| bound.as_u64() != Some(0)),
    }
}

/// A bound of whole numbers, changed by a number. A bound such as `100.0` is whole.
fn moved(bound: &Number, by: i64) -> Number {
    if let Some(bound) = bound.as_i64() {
        return bound.saturating_add(by).into();
    }
    match bound.as_f64() {
        #[expect(clippy::cast_possible_truncation, reason = "the number is whole and in the range")]
        Some(bound) if bound.fract() == 0.0 && bound.abs() < 9e15 => (bound as i64).saturating_add(by).into(),
        _ => bound.clone(),
    }
}

/// Values, pattern and format.
fn strings(reader: &mut Reader<'_>, field: &mut Field, schema: &Value) {
    let single = schema.get("const").filter(|value| value.is_string()).map(|value| vec![value.clone()]);
    if let Some(values) = schema.get("enum").and_then(Value::as_array).cloned().or(single) {
        let mut texts: Vec<String> = Vec::new();
        for value in values.iter().filter_map(Value::as_str) {
            if !texts.iter().any(|known| known == value) {
                texts.push(value.to_owned());
            }
        }
        if texts.len() > MAX_VALUES {
            reader.note(format!("its {} values are not checked", texts.len()));
        } else if !texts.is_empty() {
            field.values = Some(texts);
        }
    }
    if let Some(given) = schema.get("pattern").and_then(Value::as_str) {
        match pattern::of_table(given) {
            Ok(pattern) => field.pattern = Some(pattern),
            Err(why) => reader.note(format!("the pattern `{given}` is not checked, because {why}")),
        }
    }
    let format = text(schema, "format");
    field.format = FORMATS.contains(&format).then(|| format.to_owned());
}
