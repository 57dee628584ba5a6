//! The schema of an answer in the few words that the gateway takes: one type each, `properties`,
//! `items`, `description`, and `nullable`.
//!
//! An answer may have more members than its schema and may lack some. A part that needs other words
//! is therefore left out.

use std::cell::Cell;

use contract_rules::schema::NULLABLE;
use serde_json::{Map, Value, json};

use crate::document::target;
use crate::schema::{is_nullable, types};

/// Words of some documents about a member, which are written as sentences.
const MARKS: [&str; 6] = ["Required", "Optional", "Output only", "Input only", "Immutable", "Identifier"];

/// Maximum number of references, combinations and lists that lead to a schema without a member in
/// between.
const MAX_STEPS: usize = 8;

/// Maximum number of schemas that one reader reads. Those that it makes of them take at most about
/// 200 MB.
const MAX_READ: usize = 500_000;

/// How much of a document a schema has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The levels of members.
    pub levels: usize,
    /// The levels that have a sentence. The answer itself is the first one.
    pub described: usize,
    /// The most characters of a sentence. A longer one is left out.
    pub sentence: usize,
}

impl Detail {
    /// Members of three levels, with the sentences that are not too long.
    pub const FULL: Self = Self { levels: 3, described: 4, sentence: 160 };

    /// The detail of the members of this one's members.
    #[must_use]
    pub fn below(self) -> Self {
        Self { levels: self.levels.saturating_sub(1), described: self.described.saturating_sub(1), ..self }
    }
}

/// Reads the schemas of answers of a document.
pub struct Reader<'a> {
    root: &'a Value,
    /// The number of schemas that may still be read.
    left: Cell<usize>,
}

impl<'a> Reader<'a> {
    /// `root` is the document that references are relative to. It is an OpenAPI document, or a
    /// JSON Schema.
    pub fn new(root: &'a Value) -> Self {
        Self { root, left: Cell::new(MAX_READ) }
    }

    /// Returns `true` if the document has more schemas than a reader reads.
    pub fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// The schema of an answer. `None` if the values have no one type.
    pub fn read(&self, schema: &Value, detail: Detail) -> Option<Value> {
        self.read_below(schema, detail, 0)
    }

    fn read_below(&self, schema: &Value, detail: Detail, steps: usize) -> Option<Value> {
        if steps > MAX_STEPS || self.is_spent() {
            return None;
        }
        self.left.set(self.left.get() - 1);
        let mut found = match schema["$ref"].as_str() {
            Some(reference) => self.read_below(target(self.root, reference)?, detail, steps + 1)?,
            None => self.combined(schema, detail, steps)?,
        };
        if is_nullable(schema) {
            found[NULLABLE] = json!(true);
        }
        if let Some(sentence) = sentence(schema, detail) {
            found["description"] = json!(sentence);
        }
        Some(found)
    }

    /// The schema with what `allOf` adds to it and what `oneOf` and `anyOf` agree on.
    fn combined(&self, schema: &Value, detail: Detail, steps: usize) -> Option<Value> {
        let list = |keyword: &str| schema[keyword].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut parts: Vec<Value> = self.plain(schema, detail, steps).into_iter().collect();
        // A part without a type only limits the others.
        parts.extend(list("allOf").iter().filter_map(|part| self.read_below(part, detail, steps + 1)));
        parts.extend(["oneOf", "anyOf"].iter().filter_map(|keyword| self.agreed(list(keyword), detail, steps)));
        let mut parts = parts.into_iter();
        let first = parts.next()?;
        parts.try_fold(first, united)
    }

    /// The schema that values of all alternatives fit. `None` if their types differ.
    fn agreed(&self, alternatives: &[Value], detail: Detail, steps: usize) -> Option<Value> {
        let (nulls, others): (Vec<&Value>, Vec<&Value>) = alternatives.iter().partition(|one| one["type"] == "null");
        let mut others = others.into_iter().map(|one| self.read_below(one, detail, steps + 1));
        let first = others.next()??;
        let mut agreed = others.try_fold(first, |agreed, other| united(agreed, other?))?;
        if !nulls.is_empty() {
            agreed[NULLABLE] = json!(true);
        }
        Some(agreed)
    }

    /// The schema without its combinations.
    fn plain(&self, schema: &Value, detail: Detail, steps: usize) -> Option<Value> {
        let [kind] = types(schema)[..] else { return None };
        Some(match kind {
            "object" => object(self.members(schema, detail), detail),
            "array" => match schema.get("items").and_then(|items| self.read_below(items, detail, steps + 1)) {
                Some(mut items) => {
                    // The list has the sentence.
                    if let Some(items) = items.as_object_mut() {
                        items.shift_remove("description");
                    }
                    json!({"type": "array", "items": items})
                }
                None => json!({"type": "array"}),
            },
            "string" | "integer" | "number" | "boolean" => json!({"type": kind}),
            _ => return None,
        })
    }

    fn members(&self, schema: &Value, detail: Detail) -> Map<String, Value> {
        if detail.levels == 0 {
            return Map::new();
        }
        let all = schema["properties"].as_object().into_iter().flatten();
        let answered = all.filter(|(_, member)| member["writeOnly"] != true);
        answered.filter_map(|(name, member)| Some((name.clone(), self.read(member, detail.below())?))).collect()
    }
}

/// The schema of an object with these members, if the detail has them.
pub fn object(members: Map<String, Value>, detail: Detail) -> Value {
    if members.is_empty() || detail.levels == 0 {
        return json!({"type": "object"});
    }
    json!({"type": "object", "properties": members})
}

/// The schema of values of which each fits one of two schemas. `None` if their types differ.
/// Members whose types differ are left out.
pub fn united(one: Value, other: Value) -> Option<Value> {
    let (Value::Object(mut united), Value::Object(other)) = (one, other) else { return None };
    let kinds = [united["type"].as_str()?.to_owned(), other["type"].as_str()?.to_owned()];
    match kinds.each_ref().map(String::as_str) {
        ["integer", "number"] | ["number", "integer"] => drop(united.insert("type".into(), json!("number"))),
        [one, other] if one != other => return None,
        _ => {}
    }
    for (keyword, value) in other {
        match (keyword.as_str(), united.get_mut(&keyword)) {
            ("type", _) | ("description", Some(_)) => {}
            ("items", Some(items)) => match self::united(items.take(), value) {
                Some(both) => *items = both,
                None => drop(united.shift_remove("items")),
            },
            ("properties", Some(Value::Object(members))) => {
                for (name, member) in value.as_object().into_iter().flatten() {
                    let Some(known) = members.get_mut(name) else {
                        members.insert(name.clone(), member.clone());
                        continue;
                    };
                    match self::united(known.take(), member.clone()) {
                        Some(both) => *known = both,
                        None => drop(members.shift_remove(name)),
                    }
                }
            }
            _ => drop(united.insert(keyword, value)),
        }
    }
    Some(united.into())
}

/// The first sentence of a description that says something. `None` if the detail has none, or it is
/// too long.
fn sentence(schema: &Value, detail: Detail) -> Option<String> {
    if detail.described == 0 {
        return None;
    }
    let text = schema["description"].as_str()?.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rest = text.as_str();
    loop {
        let end = rest.match_indices(". ").map(|(at, _)| at).find(|at| !is_abbreviation(&rest[..*at]));
        let sentence = end.map_or(rest, |at| &rest[..at]).trim_end_matches('.');
        if !MARKS.contains(&sentence) {
            let is_short = sentence.chars().count() < detail.sentence;
            return (!sentence.is_empty() && is_short).then(|| format!("{sentence}."));
        }
        rest = end.map_or("", |at| &rest[at + 2..]);
    }
}

/// Returns `true` if a text ends with a word whose full stop ends no sentence.
fn is_abbreviation(text: &str) -> bool {
    ["e.g", "i.e", "etc", "vs"].iter().any(|word| text.ends_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(schema: &Value, detail: Detail) -> Option<Value> {
        Reader::new(schema).read(schema, detail)
    }

    #[test]
    fn a_schema_has_the_members_of_three_levels_with_one_type_each() {
        let schema = json!({
            "$ref": "#/$defs/Page",
            "$defs": {
                "Page": {"type": "object", "required": ["items"], "additionalProperties": false, "properties": {
                    "items": {"type": "array", "description": "The items. More text.", "items": {"$ref": "#/$defs/Item"}},
                    "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                    "any": {},
                    "next": {"type": ["string", "null"], "format": "uri"},
                }},
                "Item": {"type": "object", "description": "An item.", "properties": {
                    "parent": {"anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}], "description": "The parent, e.g. a folder."},
                    "state": {"type": "string", "enum": ["a"]},
                }},
            },
        });
        let innermost = json!({"type": "object", "description": "The parent, e.g. a folder.", "nullable": true});
        let inner = json!({"type": "object", "description": "The parent, e.g. a folder.", "nullable": true, "properties": {
            "parent": innermost, "state": {"type": "string"},
        }});
        let expected = json!({"type": "object", "properties": {
            "items": {"type": "array", "description": "The items.", "items": {"type": "object", "properties": {
                "parent": inner, "state": {"type": "string"},
            }}},
            "next": {"type": "string", "nullable": true},
        }});
        assert_eq!(read(&schema, Detail::FULL).unwrap(), expected);
    }

    #[test]
    fn combinations_have_the_members_of_all_parts_and_the_types_on_which_alternatives_agree() {
        let named = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let numbered = json!({"properties": {"number": {"type": "integer"}, "name": {"type": "string"}}});
        let both = json!({"type": "object", "properties": {"name": {"type": "string"}, "number": {"type": "integer"}}});
        for (schema, expected) in [
            (json!({"allOf": [named, numbered, {"required": ["name"]}]}), Some(both.clone())),
            (json!({"allOf": [named], "properties": {"number": {"type": "integer"}}}), Some(both.clone())),
            (json!({"oneOf": [named, numbered]}), Some(both)),
            (json!({"anyOf": [{"required": ["name"]}], "properties": named["properties"]}), Some(named.clone())),
            (json!({"oneOf": [named, {"type": "string"}]}), None),
            (json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}), Some(json!({"type": "number"}))),
            (
                json!({"allOf": [{"type": "string"}], "nullable": true}),
                Some(json!({"type": "string", "nullable": true})),
            ),
        ] {
            assert_eq!(read(&schema, Detail::FULL), expected, "{schema}");
        }
    }

    #[test]
    fn members_that_only_requests_have_are_left_out_and_a_circle_ends() {
        let schema = json!({"type": "object", "properties": {
            "id": {"type": "string"}, "password": {"type": "string", "writeOnly": true}, "circle": {"$ref": "#/properties/circle"},
        }});
        let expected = json!({"type": "object", "properties": {"id": {"type": "string"}}});
        assert_eq!(read(&schema, Detail::FULL).unwrap(), expected);
        assert_eq!(read(&json!({"$ref": "other.yaml#/a"}), Detail::FULL), None);
        assert!(read(&json!({"type": "array", "items": {"$ref": "#"}}), Detail::FULL).is_some());
    }

    #[test]
    fn descriptions_end_at_their_level_and_long_ones_are_left_out() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "object", "description": "One.", "properties": {"b": {"type": "string", "description": "Two."}}},
            "c": {"type": "string", "description": "A sentence of many words"},
            "d": {"type": "string", "description": "Output only. Required. Its name. More."}, "e": {"type": "string", "description": "Required."},
        }});
        let found = read(&schema, Detail { levels: 3, described: 2, sentence: 12 }).unwrap();
        assert_eq!(found["properties"]["a"]["description"], "One.");
        assert!(found["properties"]["a"]["properties"]["b"].get("description").is_none(), "{found}");
        assert!(found["properties"]["c"].get("description").is_none());
        assert_eq!(found["properties"]["d"]["description"], "Its name.");
        assert!(found["properties"]["e"].get("description").is_none());
    }

    #[test]
    fn a_document_with_too_many_schemas_is_not_read_to_its_end() {
        let members: Map<String, Value> = (0..100).map(|number| (format!("m{number}"), json!({"$ref": "#"}))).collect();
        let schema = json!({"type": "object", "properties": members});
        let reader = Reader::new(&schema);
        reader.read(&schema, Detail::FULL);
        assert!(reader.is_spent());
    }
}
