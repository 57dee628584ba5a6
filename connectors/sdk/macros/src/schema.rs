//! The JSON Schema (draft 2020-12) of a row's input, as text.

use crate::field::{Encoding, Field, Kind, Place};
use crate::json::quote;
use crate::row::Row;
use crate::table::Table;

/// An object schema with a property for each field; members that it does not name are refused.
pub(crate) fn of_row(table: &Table, row: &Row) -> String {
    let mut out = Object::new();
    out.raw("type", "\"object\"");
    let mut properties = Object::new();
    for field in &row.fields {
        properties.raw(&field.name.text, &property(table, Some(row), field));
    }
    out.raw("properties", &properties.close());
    let required: Vec<&str> =
        row.fields.iter().filter(|field| !field.optional).map(|field| field.name.text.as_str()).collect();
    if !required.is_empty() {
        out.raw("required", &strings(required.into_iter(), false));
    }
    out.raw("additionalProperties", "false");
    out.close()
}

/// The schema of a setting's value.
pub(crate) fn of_setting(table: &Table, setting: &Field) -> String {
    property(table, None, setting)
}

/// The schema of a field; a setting has no row.
fn property(table: &Table, row: Option<&Row>, field: &Field) -> String {
    let mut out = Object::new();
    let null = field.optional;
    let values = table.values_of(field);
    match &field.kind {
        Kind::StringOrList => {
            out.raw("type", &types(&["string", "array"], null));
            string_keywords(&mut out, field, values.as_deref(), null);
            out.raw("items", &scalar(&Kind::String, field, values.as_deref()));
        }
        Kind::List(item) => {
            out.raw("type", &types(&["array"], null));
            out.raw("items", &scalar(item, field, values.as_deref()));
        }
        Kind::Entries(entries) => {
            out.raw("type", &types(&["object"], null));
            let mut properties = Object::new();
            for entry in entries {
                let mut schema = Object::new();
                if row.is_some_and(|row| row.place(field) == Place::Header) {
                    schema.raw("type", "[\"string\",\"null\"]");
                } else if let Some(values) = &entry.one_of {
                    schema.raw("enum", &strings(values.iter().map(String::as_str), true));
                } else {
                    schema.raw("type", "[\"string\",\"number\",\"boolean\",\"array\",\"null\"]");
                    schema.raw("items", "{\"type\":[\"string\",\"number\",\"boolean\"]}");
                }
                properties.raw(&entry.name.text, &schema.close());
            }
            out.raw("properties", &properties.close());
            out.raw("additionalProperties", "false");
        }
        Kind::Object => {
            out.raw("type", &types(&["object"], null));
            if !field.without.is_empty() {
                let mut refused = Object::new();
                for name in &field.without {
                    refused.raw(&name.text, "false");
                }
                out.raw("properties", &refused.close());
            }
        }
        kind => {
            out.raw("type", &types(&[name(kind)], null));
            string_keywords(&mut out, field, values.as_deref(), null);
        }
    }
    bounds(&mut out, row, field);
    if let Some(default) = &field.default {
        out.raw("default", &default.value.text());
    }
    if field.secret {
        out.raw("writeOnly", "true");
    }
    if !field.documentation.is_empty() {
        out.string("description", &field.documentation);
    }
    out.close()
}

fn scalar(kind: &Kind, field: &Field, values: Option<&[String]>) -> String {
    let mut out = Object::new();
    out.raw("type", &types(&[name(kind)], false));
    if *kind == Kind::String {
        string_keywords(&mut out, field, values, false);
    }
    out.close()
}

fn string_keywords(out: &mut Object, field: &Field, values: Option<&[String]>, null: bool) {
    if let Some(values) = values {
        out.raw("enum", &strings(values.iter().map(String::as_str), null));
    }
    if let Some(pattern) = &field.pattern {
        out.string("pattern", &pattern.value());
    }
    if let Some(format) = &field.format {
        out.string("format", &format.value());
    }
}

/// The bounds as written, and those that the place asks for: a path has no empty segments.
fn bounds(out: &mut Object, row: Option<&Row>, field: &Field) {
    let in_path = row
        .is_some_and(|row| row.place(field) == Place::Path && matches!(row.action, crate::row::Action::Request { .. }));
    let (minimum, maximum) = (field.bounds.minimum.clone(), field.bounds.maximum.clone());
    let at_least_one = minimum.clone().or_else(|| in_path.then(|| "1".to_owned()));
    match &field.kind {
        Kind::Integer | Kind::Number => {
            out.optional("minimum", minimum);
            out.optional("maximum", maximum);
        }
        Kind::String => {
            out.optional("minLength", at_least_one);
            out.optional("maxLength", maximum.or_else(|| field.max_bytes.map(|bytes| bytes.to_string())));
        }
        Kind::List(_) => {
            out.optional("minItems", at_least_one);
            out.optional("maxItems", maximum);
        }
        Kind::StringOrList => {
            if in_path {
                out.raw("minLength", "1");
            }
            out.optional("minItems", at_least_one);
            out.optional("maxItems", maximum);
        }
        Kind::Boolean | Kind::Object | Kind::Entries(_) => {}
    }
    debug_assert!(field.encoding == Encoding::Segment || field.kind == Kind::String);
}

pub(crate) fn name(kind: &Kind) -> &'static str {
    match kind {
        Kind::String => "string",
        Kind::Integer => "integer",
        Kind::Number => "number",
        Kind::Boolean => "boolean",
        Kind::Object | Kind::Entries(_) => "object",
        Kind::List(_) | Kind::StringOrList => "array",
    }
}

fn types(names: &[&str], null: bool) -> String {
    let names: Vec<&str> = names.iter().copied().chain(null.then_some("null")).collect();
    match names.as_slice() {
        [name] => format!("\"{name}\""),
        _ => strings(names.into_iter(), false),
    }
}

fn strings<'a>(items: impl Iterator<Item = &'a str>, null: bool) -> String {
    let mut out = String::from("[");
    for item in items {
        if out.len() > 1 {
            out.push(',');
        }
        quote(item, &mut out);
    }
    out.push_str(if null { ",null]" } else { "]" });
    out
}

/// A JSON object under construction.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self("{".to_owned())
    }

    fn raw(&mut self, name: &str, json: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        quote(name, &mut self.0);
        self.0.push(':');
        self.0.push_str(json);
    }

    fn string(&mut self, name: &str, text: &str) {
        let mut json = String::new();
        quote(text, &mut json);
        self.raw(name, &json);
    }

    fn optional(&mut self, name: &str, json: Option<String>) {
        if let Some(json) = json {
            self.raw(name, &json);
        }
    }

    fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
