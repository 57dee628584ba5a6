//! `$ref`, `allOf`, `oneOf` and `anyOf`, replaced by one flat schema.

use serde_json::{Map, Value, json};

use crate::schema::{Reader, types};

/// Maximum depth of nested schemas. A deeper schema is an error of the document.
const MAX_LEVELS: usize = 32;

/// Keywords that say what a value is. A choice between schemas without them is about required
/// members only.
const OF_TYPE: [&str; 6] = ["type", "properties", "items", "enum", "$ref", "allOf"];

impl Reader<'_> {
    /// The schema without references and combinations. `None` if it is recursive.
    pub(crate) fn flat(&mut self, schema: &Value) -> Result<Option<Value>, String> {
        self.flat_below(schema, 0)
    }

    fn flat_below(&mut self, schema: &Value, level: usize) -> Result<Option<Value>, String> {
        if level > MAX_LEVELS {
            return Err("its schemas lead to each other".to_owned());
        }
        let document = self.document;
        let (found, reference) = document.resolved(schema)?;
        if let Some(reference) = reference
            && !self.opens(reference)
        {
            return Ok(None);
        }
        let Value::Object(found) = found else { return Ok(Some(json!({}))) };
        let mut flat = found.clone();
        // Keywords next to a reference describe this use of the schema.
        if reference.is_some()
            && let Some(description) = schema.get("description")
        {
            flat.insert("description".to_owned(), description.clone());
        }
        if reference.is_some()
            && let Some(required) = schema.get("required")
        {
            merge(&mut flat, Map::from_iter([("required".to_owned(), required.clone())]));
        }
        if let Some(Value::Array(parts)) = flat.remove("allOf") {
            for part in parts {
                if let Some(Value::Object(part)) = self.flat_below(&part, level + 1)? {
                    merge(&mut flat, part);
                }
            }
        }
        for keyword in ["oneOf", "anyOf"] {
            if let Some(Value::Array(choices)) = flat.remove(keyword) {
                self.choose(&mut flat, &choices, level)?;
            }
        }
        Ok(Some(Value::Object(flat)))
    }

    /// Merges the result of a choice into the schema.
    fn choose(&mut self, flat: &mut Map<String, Value>, choices: &[Value], level: usize) -> Result<(), String> {
        let says_type = |choice: &Value| OF_TYPE.iter().any(|keyword| choice.get(keyword).is_some());
        if !choices.iter().any(says_type) {
            self.note("a choice between sets of required members is not checked");
            return Ok(());
        }
        let before = flat.clone();
        let mut found = Vec::new();
        for choice in choices {
            match self.flat_below(choice, level + 1)? {
                None => found.push(json!({"type": "object"})),
                Some(choice) if choice.get("type") == Some(&json!("null")) => {
                    flat.insert("nullable".to_owned(), Value::Bool(true));
                }
                Some(choice) => found.push(choice),
            }
        }
        let kinds: Vec<Vec<String>> =
            found.iter().map(|choice| types(choice).into_iter().map(str::to_owned).collect()).collect();
        let all_are = |kind: &str| kinds.iter().all(|types| types.as_slice() == [kind]);
        let chosen = match found.as_slice() {
            [] => return Ok(()),
            [only] => only.clone(),
            several if all_are("string") => any_string(several),
            _ if all_are("object") => {
                self.note("it is one of several objects, so it takes any object");
                flat.remove("properties");
                json!({"type": "object"})
            }
            [text, list] | [list, text] if is_string(text) && is_list_of_strings(list) => {
                json!({"type": ["string", "array"], "items": {"type": "string"}})
            }
            [first, ..] => {
                let names: Vec<String> = kinds.iter().flatten().map(|kind| format!("`{kind}`")).collect();
                let first_kind = kinds.iter().flatten().next().cloned().unwrap_or_default();
                // If the schema around the choice has a type, that type holds.
                if before.get("type").and_then(Value::as_str).is_none() {
                    self.note(format!("it is one of {}; the field takes `{first_kind}` only", names.join(", ")));
                }
                first.clone()
            }
        };
        if let Value::Object(chosen) = chosen {
            merge(flat, chosen);
        }
        Ok(())
    }
}

/// A string with the values of all choices, or any string if one of them has no values.
fn any_string(choices: &[Value]) -> Value {
    let values: Option<Vec<&Vec<Value>>> =
        choices.iter().map(|choice| choice.get("enum").and_then(Value::as_array)).collect();
    match values {
        Some(values) => json!({"type": "string", "enum": values.into_iter().flatten().collect::<Vec<_>>()}),
        None => json!({"type": "string"}),
    }
}

fn is_string(schema: &Value) -> bool {
    types(schema) == ["string"]
}

fn is_list_of_strings(schema: &Value) -> bool {
    types(schema) == ["array"] && schema.get("items").is_some_and(is_string)
}

/// Adds the members of a schema to another one. Members that exist stay as they are. Properties and
/// required names are joined.
fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => {
                for (name, property) in more {
                    known.entry(name).or_insert(property);
                }
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                for name in more {
                    if !known.contains(&name) {
                        known.push(name);
                    }
                }
            }
            (Some(_), _) => {}
            (None, value) => {
                into.insert(key, value);
            }
        }
    }
}
