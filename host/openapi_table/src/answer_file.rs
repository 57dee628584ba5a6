//! The file with the schemas of answers: parts that are the same are written once, and each schema
//! has a line.

use std::collections::{HashMap, HashSet};
use std::iter;

use serde_json::{Map, Value, json};

use crate::LeftOut;
use crate::answer_schema::{Detail, Reader};
use crate::document::Document;
use crate::table::Row;

/// Shorter parts are written again, because a reference is hardly shorter.
const MIN_CHARACTERS: usize = 60;

/// The details that are tried one after the other, each with the parts that it leaves out.
const DETAILS: [(Detail, &str); 4] = [
    (Detail::FULL, ""),
    (Detail { described: 0, ..Detail::FULL }, "the descriptions"),
    (Detail { described: 0, levels: 2, ..Detail::FULL }, "the descriptions, and members below the second level,"),
    (Detail { described: 0, levels: 1, ..Detail::FULL }, "the descriptions, and members below the first level,"),
];

/// The text for the answers of rows, with the most detail with which `fits` accepts it. `None` if
/// the document describes no answer, or none of the texts fits.
pub(crate) fn of_rows(
    document: &Document,
    rows: &[Row],
    fits: impl Fn(&str) -> bool,
    left_out: &mut LeftOut,
) -> Option<String> {
    const WHY: &str = "the schemas of answers, which would be over the limit of a module; name the operations that you need with --operations";
    for (detail, missing) in DETAILS {
        let reader = Reader::new(document.root());
        let schema = |row: &Row| reader.read(row.answer.as_ref()?, detail).filter(says_members);
        let schemas: Map<String, Value> =
            rows.iter().filter_map(|row| Some((row.name.clone(), schema(row)?))).collect();
        if reader.is_spent() {
            continue;
        }
        if schemas.is_empty() {
            return None;
        }
        let text = text(&schemas);
        if fits(&text) {
            if !missing.is_empty() {
                left_out.add(format!("{missing} of {WHY}"));
            }
            return Some(text);
        }
    }
    left_out.add(WHY.to_owned());
    None
}

/// Returns `true` if a schema says more than a type.
pub fn says_members(schema: &Value) -> bool {
    schema.get("properties").is_some() || schema.get("items").is_some()
}

/// The text for these schemas, by their operations.
pub fn text(schemas: &Map<String, Value>) -> String {
    let mut parts = Parts::default();
    for (operation, schema) in schemas {
        parts.find(operation, schema);
    }
    let mut taken = HashSet::new();
    let shared = parts.in_order.iter().filter(|part| part.count > 1).filter_map(|part| {
        let numbered = (2..).map(|number| format!("{}{number}", part.member));
        let name = iter::once(part.member.clone()).chain(numbered).find(|name| taken.insert(name.clone()))?;
        Some((part, name))
    });
    let shared: Vec<(&Part, String)> = shared.collect();
    let names: Names<'_> = shared.iter().map(|(part, name)| (part.key.as_str(), name.as_str())).collect();
    let line = |name: &str, schema: &Value| format!("{}:{schema}", json!(name));
    let mut lines: Vec<String> =
        schemas.iter().map(|(operation, schema)| line(operation, &referring(schema, &names))).collect();
    let definitions: Vec<String> =
        shared.iter().map(|(part, name)| line(name, &with_parts(&part.schema, &names))).collect();
    if !definitions.is_empty() {
        lines.push(format!("\"$defs\":{{\n{}\n}}", definitions.join(",\n")));
    }
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// The names of shared parts, by their keys.
type Names<'a> = HashMap<&'a str, &'a str>;

/// A part that may be shared.
struct Part {
    key: String,
    /// The part without what differs from place to place.
    schema: Value,
    /// The member where the part was found first.
    member: String,
    /// How often it was found outside of other parts.
    count: usize,
}

/// The parts that may be shared, in the order in which they are found.
#[derive(Default)]
struct Parts {
    in_order: Vec<Part>,
    /// The place of each part in the list, by its key.
    places: HashMap<String, usize>,
}

impl Parts {
    fn find(&mut self, member: &str, schema: &Value) {
        if let Some((key, schema)) = bare(schema) {
            if let Some(place) = self.places.get(&key) {
                self.in_order[*place].count += 1;
                return;
            }
            self.places.insert(key.clone(), self.in_order.len());
            self.in_order.push(Part { key, schema, member: member.to_owned(), count: 1 });
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            self.find(name, member);
        }
        if let Some(items) = schema.get("items") {
            self.find(member, items);
        }
    }
}

/// A part without what differs from place to place, and its text. `None` if the part is not shared.
fn bare(schema: &Value) -> Option<(String, Value)> {
    schema.get("properties")?;
    let mut bare = schema.as_object()?.clone();
    bare.shift_remove("description");
    bare.shift_remove("nullable");
    let bare = Value::Object(bare);
    Some((bare.to_string(), bare)).filter(|(text, _)| text.len() >= MIN_CHARACTERS)
}

/// The schema, or a reference to it.
fn referring(schema: &Value, names: &Names<'_>) -> Value {
    let Some(name) = bare(schema).and_then(|(key, _)| names.get(key.as_str())) else {
        return with_parts(schema, names);
    };
    let mut reference = json!({"$ref": format!("#/$defs/{name}")});
    for keyword in ["description", "nullable"] {
        if let Some(value) = schema.get(keyword) {
            reference[keyword] = value.clone();
        }
    }
    reference
}

/// The schema with references to the parts inside of it.
fn with_parts(schema: &Value, names: &Names<'_>) -> Value {
    let mut schema = schema.clone();
    for member in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        *member = referring(member, names);
    }
    if let Some(items) = schema.get_mut("items") {
        *items = referring(items, names);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_the_same_are_written_once() {
        let user = |description: &str| {
            json!({"type": "object", "description": description, "properties": {
                "id": {"type": "integer"}, "name": {"type": "string", "nullable": true}, "mail": {"type": "string"},
            }})
        };
        let other = json!({"type": "object", "properties": {"user": {"type": "object", "properties": {
            "number": {"type": "integer"}, "address": {"type": "string"}, "city": {"type": "string"},
        }}}});
        let schemas = json!({
            "get": user("A user."),
            "list": {"type": "array", "items": user("One.")},
            "other": other, "another": {"type": "array", "items": other},
        });
        let text = text(schemas.as_object().unwrap());
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(file["get"], json!({"$ref": "#/$defs/get", "description": "A user."}));
        assert_eq!(file["list"], json!({"type": "array", "items": {"$ref": "#/$defs/get", "description": "One."}}));
        assert_eq!(file["another"]["items"], json!({"$ref": "#/$defs/other"}));
        assert_eq!(file["$defs"]["other"], other);
        assert_eq!(text.lines().count(), 10, "{text}");
    }

    #[test]
    fn no_two_shared_parts_have_the_same_name() {
        let part = |length: usize| {
            let members = (0..length).map(|number| (format!("member{number}"), json!({"type": "string"})));
            json!({"type": "object", "properties": members.collect::<Map<_, _>>()})
        };
        let object = |name: &str, length| json!({"type": "object", "properties": {name: part(length)}});
        let list = |schema: Value| json!({"type": "array", "items": schema});
        let schemas = json!({
            "a": object("user", 2), "b": object("user", 3), "c": object("user2", 4),
            "d": list(part(2)), "e": list(part(3)), "f": list(part(4)),
        });
        let file: Value = serde_json::from_str(&text(schemas.as_object().unwrap())).unwrap();
        assert_eq!(file["$defs"], json!({"user": part(2), "user2": part(3), "user22": part(4)}));
    }
}
