//! Schemas of answers in the few words that the gateway takes: one type each, `properties`,
//! `items`, `description`, and `nullable`.

use serde_json::{Map, Value, json};

/// Words of Google about a member, which are written as sentences.
const MARKS: [&str; 6] = ["Required", "Optional", "Output only", "Input only", "Immutable", "Identifier"];

/// How much of a specification a schema has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Detail {
    /// The levels of members.
    pub(super) levels: usize,
    /// The levels that have a sentence. The answer itself is the first one.
    pub(super) described: usize,
    /// The most characters of a sentence. A longer one is left out.
    pub(super) sentence: usize,
}

impl Detail {
    /// The detail of the members of this one's members.
    fn below(self) -> Self {
        Self { levels: self.levels.saturating_sub(1), described: self.described.saturating_sub(1), ..self }
    }
}

/// The schema of a JSON Schema. `None` if the values have no one type.
pub(super) fn of_schema(schema: &Value, detail: Detail) -> Option<Value> {
    Reader { root: schema }.read(schema, detail, 0)
}

/// The schema that fits all of these values.
pub(super) fn of_values<'a>(values: impl IntoIterator<Item = &'a Value>, detail: Detail) -> Option<Value> {
    let mut found: Option<Value> = None;
    let mut has_null = false;
    for value in values {
        let Some(one) = of_value(value, detail) else {
            has_null |= value.is_null();
            continue;
        };
        found = Some(match found {
            Some(before) => united(before, one)?,
            None => one,
        });
    }
    if has_null && let Some(found) = &mut found {
        found["nullable"] = json!(true);
    }
    found
}

fn of_value(value: &Value, detail: Detail) -> Option<Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(number) if number.is_f64() => json!({"type": "number"}),
        Value::Number(_) => json!({"type": "integer"}),
        Value::String(_) => json!({"type": "string"}),
        Value::Array(items) => match of_values(items, detail) {
            Some(items) => json!({"type": "array", "items": items}),
            None => json!({"type": "array"}),
        },
        Value::Object(members) => {
            let members =
                members.iter().filter_map(|(name, value)| Some((name.clone(), of_value(value, detail.below())?)));
            object(members.collect(), detail)
        }
    })
}

fn object(members: Map<String, Value>, detail: Detail) -> Value {
    if members.is_empty() || detail.levels == 0 {
        return json!({"type": "object"});
    }
    json!({"type": "object", "properties": members})
}

/// The schema of values of which each fits one of two schemas. `None` if their types differ.
/// Members whose types differ are left out.
fn united(one: Value, other: Value) -> Option<Value> {
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

/// Takes out of a schema what a value contradicts. Returns `false` if that is the whole schema.
pub(super) fn agree(schema: &mut Value, value: &Value) -> bool {
    match (schema["type"].as_str().unwrap_or_default(), value) {
        (_, Value::Null) => {
            schema["nullable"] = json!(true);
            true
        }
        ("object", Value::Object(values)) => {
            if let Some(members) = schema.get_mut("properties").and_then(Value::as_object_mut) {
                members.retain(|name, member| values.get(name).is_none_or(|value| agree(member, value)));
            }
            true
        }
        ("array", Value::Array(values)) => {
            if let Some(items) = schema.get_mut("items")
                && !values.iter().all(|value| agree(items, value))
                && let Some(schema) = schema.as_object_mut()
            {
                schema.shift_remove("items");
            }
            true
        }
        ("integer", Value::Number(number)) => {
            if number.is_f64() {
                schema["type"] = json!("number");
            }
            true
        }
        (kind, value) => {
            kind == match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            }
        }
    }
}

struct Reader<'a> {
    root: &'a Value,
}

impl Reader<'_> {
    /// `references` counts those that led here without a member in between.
    fn read(&self, schema: &Value, detail: Detail, references: usize) -> Option<Value> {
        if references > 8 {
            return None;
        }
        if let Some(target) = schema["$ref"].as_str() {
            let target = self.root.pointer(target.trim_start_matches('#'))?;
            let mut found = self.read(target, detail, references + 1)?;
            if let Some(sentence) = sentence(schema, detail) {
                found["description"] = json!(sentence);
            }
            return Some(found);
        }
        let mut found = match schema["anyOf"].as_array() {
            Some(alternatives) => self.alternatives(alternatives, detail, references)?,
            None => self.plain(schema, detail)?,
        };
        if let Some(sentence) = sentence(schema, detail) {
            found["description"] = json!(sentence);
        }
        Some(found)
    }

    fn alternatives(&self, alternatives: &[Value], detail: Detail, references: usize) -> Option<Value> {
        let is_null = |one: &&Value| one["type"] == "null";
        let mut found: Option<Value> = None;
        for alternative in alternatives.iter().filter(|one| !is_null(one)) {
            let one = self.read(alternative, detail, references + 1)?;
            found = Some(match found {
                Some(before) => united(before, one)?,
                None => one,
            });
        }
        let mut found = found?;
        if alternatives.iter().any(|one| is_null(&one)) {
            found["nullable"] = json!(true);
        }
        Some(found)
    }

    fn plain(&self, schema: &Value, detail: Detail) -> Option<Value> {
        let (kind, is_nullable) = match &schema["type"] {
            Value::String(kind) => (kind.as_str(), false),
            Value::Array(kinds) => {
                let mut others = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
                let kind = others.next()?;
                if others.next().is_some() {
                    return None;
                }
                (kind, kinds.iter().any(|kind| kind == "null"))
            }
            _ if schema["properties"].is_object() => ("object", false),
            _ if schema["items"].is_object() => ("array", false),
            _ => return None,
        };
        let mut found = match kind {
            "object" => {
                let members = schema["properties"].as_object().into_iter().flatten();
                let below = detail.below();
                let members = members.filter(|_| detail.levels > 0);
                object(
                    members.filter_map(|(name, member)| Some((name.clone(), self.read(member, below, 0)?))).collect(),
                    detail,
                )
            }
            "array" => match schema.get("items").and_then(|items| self.read(items, detail, 0)) {
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
        };
        if is_nullable {
            found["nullable"] = json!(true);
        }
        Some(found)
    }
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

    const ALL: Detail = Detail { levels: 3, described: 4, sentence: 160 };

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
        assert_eq!(of_schema(&schema, ALL).unwrap(), expected);
    }

    #[test]
    fn descriptions_end_at_their_level_and_long_ones_are_left_out() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "object", "description": "One.", "properties": {"b": {"type": "string", "description": "Two."}}},
            "c": {"type": "string", "description": "A sentence of many words"},
            "d": {"type": "string", "description": "Output only. Required. Its name. More."}, "e": {"type": "string", "description": "Required."},
        }});
        let found = of_schema(&schema, Detail { levels: 3, described: 2, sentence: 12 }).unwrap();
        assert_eq!(found["properties"]["a"]["description"], "One.");
        assert!(found["properties"]["a"]["properties"]["b"].get("description").is_none(), "{found}");
        assert!(found["properties"]["c"].get("description").is_none());
        assert_eq!(found["properties"]["d"]["description"], "Its name.");
        assert!(found["properties"]["e"].get("description").is_none());
    }

    #[test]
    fn members_on_which_samples_do_not_agree_are_left_out() {
        let values =
            [json!({"a": 1, "b": "x", "c": [{"d": null}], "e": null}), json!({"a": 1.5, "b": true, "c": [{"d": "x"}]})];
        let expected = json!({"type": "object", "properties": {
            "a": {"type": "number"},
            "c": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "string"}}}},
        }});
        assert_eq!(of_values(&values, ALL).unwrap(), expected);
    }

    #[test]
    fn what_a_sample_contradicts_is_taken_out() {
        let mut schema = json!({"type": "object", "properties": {
            "a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "array", "items": {"type": "string"}}, "d": {"type": "boolean"},
        }});
        assert!(agree(&mut schema, &json!({"a": 1.5, "b": 2, "c": [{}], "d": null})));
        let expected = json!({"type": "object", "properties": {
            "a": {"type": "number"}, "c": {"type": "array"}, "d": {"type": "boolean", "nullable": true},
        }});
        assert_eq!(schema, expected);
        assert!(!agree(&mut schema, &json!([])));
    }
}
