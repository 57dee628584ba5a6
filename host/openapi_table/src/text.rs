//! The table as text.

use std::fmt::Write;

use contract_rules::schema::{self, Kind};
use serde_json::{Number, Value};

use crate::table::{Answers, Field, Format, Place, Row, Table};

/// Longer lists are written one value a line.
const LINE: usize = 100;

/// The inside of `connector! { … }`.
pub(crate) fn render(table: &Table) -> String {
    let mut out = String::new();
    comment(&mut out, 0, &table.documentation);
    let _ = writeln!(out, "connector {} {:?};\n\nauth {};", table.identifier, table.title, table.auth);
    for (index, upstream) in table.upstreams.iter().enumerate() {
        let credential = if index > 0 && table.auth != "Auth::None" { " credential standard" } else { "" };
        let _ = writeln!(out, "upstream {} {:?}{credential};", upstream.name, upstream.base_url);
    }
    for row in &table.rows {
        out.push('\n');
        write_row(&mut out, row);
    }
    out
}

fn write_row(out: &mut String, row: &Row) {
    comment(out, 0, &row.documentation);
    let _ = write!(out, "{}: {} {} {:?}", row.name, row.method, row.upstream, row.path);
    // A path declares the strings that it contains.
    let is_plain =
        |field: &&Field| field.place == Place::Path && is_plain_string(&field.spec) && field.encoding.is_none();
    let fields: Vec<&Field> = row.fields.iter().filter(|field| !is_plain(field)).collect();
    if !fields.is_empty() {
        out.push_str(" {\n");
        for field in fields {
            write_field(out, row, field);
        }
        out.push('}');
    }
    out.push_str(match row.format {
        Format::Json => "",
        Format::Form => " form",
        Format::Multipart => " multipart",
    });
    match row.answers {
        Answers::Json => {}
        Answers::File => out.push_str(" answers file"),
        Answers::Any => out.push_str(" answers any"),
    }
    if let Some(example) = &row.example {
        let _ = write!(out, "\n    example {}", json(example));
    }
    out.push_str(";\n");
}

fn is_plain_string(spec: &schema::Field) -> bool {
    let parts = [
        spec.minimum.is_some(),
        spec.maximum.is_some(),
        spec.values.is_some(),
        spec.pattern.is_some(),
        spec.format.is_some(),
    ];
    matches!(spec.kind, Kind::String) && spec.documentation.is_empty() && parts == [false; 5] && !spec.secret
}

fn write_field(out: &mut String, row: &Row, field: &Field) {
    write_spec(out, 1, &field.spec);
    let implied = match field.place {
        Place::Path => true,
        Place::Query => row.is_bodiless(),
        Place::Body => !row.is_bodiless(),
        Place::Header => false,
    };
    if !implied {
        let place = match field.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
            Place::Body => "body",
        };
        let _ = write!(out, " in {place}");
    }
    if let Some(name) = &field.upstream_name {
        let _ = write!(out, " as {name:?}");
    }
    if let Some(encoding) = &field.encoding {
        let _ = write!(out, " {encoding}");
    }
    if field.spec.nullable {
        out.push_str(" nullable");
    }
    out.push_str(",\n");
}

/// A field up to the modifiers that only fields of a row have.
fn write_spec(out: &mut String, depth: usize, spec: &schema::Field) {
    let indentation = "    ".repeat(depth);
    comment(out, depth, &spec.documentation);
    let optional = if spec.optional { "?" } else { "" };
    let _ = write!(out, "{indentation}{}{optional}: ", name(&spec.name));
    write_kind(out, depth, &spec.kind);
    match (&spec.minimum, &spec.maximum) {
        (None, None) => {}
        (low, high) => {
            let bound = |bound: &Option<Number>| bound.as_ref().map(Number::to_string).unwrap_or_default();
            let equals = if high.is_some() { "=" } else { "" };
            let _ = write!(out, "({}..{equals}{})", bound(low), bound(high));
        }
    }
    if let Some(values) = &spec.values {
        let texts: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        let line = texts.join(", ");
        if line.len() <= LINE {
            let _ = write!(out, " one_of [{line}]");
        } else {
            let separator = format!(",\n{indentation}    ");
            let _ = write!(out, " one_of [\n{indentation}    {},\n{indentation}]", texts.join(&separator));
        }
    }
    if let Some(pattern) = &spec.pattern {
        let _ = write!(out, " pattern {pattern:?}");
    }
    if let Some(format) = &spec.format {
        let _ = write!(out, " format {format:?}");
    }
    if let Some(default) = &spec.default {
        let _ = write!(out, " default {}", json(default));
    }
    if spec.secret {
        out.push_str(" secret");
    }
}

fn write_kind(out: &mut String, depth: usize, kind: &Kind) {
    match kind {
        Kind::String => out.push_str("string"),
        Kind::Integer => out.push_str("integer"),
        Kind::Number => out.push_str("number"),
        Kind::Boolean => out.push_str("boolean"),
        Kind::StringOrList => out.push_str("string | [string]"),
        Kind::List(item) => {
            out.push('[');
            write_kind(out, depth, item);
            out.push(']');
        }
        Kind::Members(fields) => {
            out.push_str("{\n");
            for field in fields {
                write_spec(out, depth + 1, field);
                out.push_str(",\n");
            }
            let _ = write!(out, "{}}}", "    ".repeat(depth));
        }
        Kind::File => out.push_str("file"),
        Kind::Object | Kind::Entries(_) | Kind::TextEntries(_) => out.push_str("object"),
    }
}

/// A documentation comment.
fn comment(out: &mut String, depth: usize, text: &str) {
    for line in text.lines() {
        let line = format!("{}/// {line}", "    ".repeat(depth));
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// A name, in quotes if it is not an identifier.
fn name(text: &str) -> String {
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_identifier = begins && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_identifier { text.to_owned() } else { format!("{text:?}") }
}

/// A JSON value in the syntax of a table.
fn json(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{}: {}", name(key), json(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(", ")),
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}
