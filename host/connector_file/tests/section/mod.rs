//! The rows of the SDK's shared files as sections of `connector.toml`.

use std::fmt::Write;

use serde_json::{Map, Value, json};

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn members(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}

/// The section of a row. Each part of the row is in a line by itself.
pub(crate) fn operation(name: &str, row: &Value) -> String {
    let (method, upstream, path) = (text(&row["method"]).to_uppercase(), text(&row["upstream"]), text(&row["path"]));
    let doc: Vec<&str> = row["doc"].as_str().unwrap_or("One").lines().map(str::trim).collect();
    let doc = inline(&doc.join("\n").into());
    let mut section = format!("[operations.{name}]\nrequest = \"{method} {upstream} {path}\"\ndoc = {doc}\n");
    for (name, value) in members(row) {
        if !["method", "upstream", "path", "doc", "fields"].contains(&name.as_str()) {
            writeln!(section, "{name} = {}", inline(value)).expect("a string");
        }
    }
    for (name, declared) in row.get("fields").map(members).into_iter().flatten() {
        writeln!(section, "fields.{name:?} = {}", inline(&field(declared))).expect("a string");
    }
    section
}

/// A field or a setting: its modifiers with its type.
pub(crate) fn field(declared: &Value) -> Value {
    let mut field = declared.get(1).cloned().unwrap_or_else(|| json!({}));
    match (text(&declared[0]), declared.get(2)) {
        ("entries", Some(names)) => field["entries"] = names.clone(),
        ("list", Some(item)) => field["type"] = format!("[{}]", text(&item[0])).into(),
        ("object", Some(inner)) => {
            let inner = members(inner).iter().map(|(name, declared)| (name.clone(), self::field(declared)));
            field["fields"] = Value::Object(inner.collect());
        }
        ("string_or_list", _) => field["type"] = "string | [string]".into(),
        (kind, _) => field["type"] = kind.into(),
    }
    field
}

/// A value in one line of TOML.
pub(crate) fn inline(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{name:?} = {}", inline(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        // The other values are the same in JSON.
        value => value.to_string(),
    }
}
