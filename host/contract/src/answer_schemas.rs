//! The schemas of the answers of a connector's operations, which its module has next to its
//! manifest.
//!
//! They are a JSON object with a schema for each operation. A schema has one of the types of JSON,
//! and only the keywords that describe members: `type`, `description`, `properties`, `items`, and
//! `nullable` with `true` if the value may be null too. A schema may refer to one of the
//! definitions in the member `$defs`, so that many operations can share a part. An answer may have
//! more members than its schema, and may lack some.

use std::collections::HashMap;

use serde_json::{Map, Value};
use thiserror::Error;

use contract_rules::schema::NULLABLE;

use crate::{Answer, Manifest};

/// The member with the shared parts. No operation has a name with `$`.
const DEFINITIONS: &str = "$defs";

/// The beginning of a reference to a shared part.
const REFERENCE: &str = "#/$defs/";

/// The types of JSON, without null.
const TYPES: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];

/// Maximum number of schemas in the schema of one answer, with what it refers to.
const MAX_PARTS: usize = 4000;

/// Maximum number of schemas inside of each other.
const MAX_DEPTH: usize = 16;

/// Maximum size of the text.
pub const MAX_ANSWER_SCHEMAS_BYTES: usize = 1 << 20;

/// A rule that the schemas of answers break.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AnswerSchemaError {
    /// The text is not JSON.
    #[error("the answer schemas are not a JSON object: {0}")]
    NotJson(String),
    /// The text is too long.
    #[error("the answer schemas have more than {} KiB of JSON", MAX_ANSWER_SCHEMAS_BYTES >> 10)]
    TooLong,
    /// A schema has another form.
    #[error("the answer schema of `{owner}`: {reason}")]
    Form {
        /// The operation or the definition.
        owner: String,
        /// The mistake there.
        reason: String,
    },
    /// A schema does not belong to the manifest.
    #[error("the module has an answer schema of `{operation}`, but {reason}")]
    Foreign {
        /// The operation.
        operation: String,
        /// The rule.
        reason: String,
    },
}

/// The schemas of answers. All of them keep the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerSchemas {
    operations: Map<String, Value>,
    definitions: Map<String, Value>,
}

impl AnswerSchemas {
    /// Reads and checks the schemas.
    ///
    /// # Errors
    /// If the text is not an object of schemas, or a schema breaks a rule.
    pub fn parse(text: &str) -> Result<Self, AnswerSchemaError> {
        if text.len() > MAX_ANSWER_SCHEMAS_BYTES {
            return Err(AnswerSchemaError::TooLong);
        }
        let mut operations: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| AnswerSchemaError::NotJson(error.to_string()))?;
        let definitions = match operations.shift_remove(DEFINITIONS) {
            Some(Value::Object(definitions)) => definitions,
            Some(_) => return Err(form(DEFINITIONS, "it must be an object of schemas")),
            None => Map::new(),
        };
        let schemas = Self { operations, definitions };
        let mut measure = Measure { definitions: &schemas.definitions, known: HashMap::new() };
        for (name, schema) in schemas.definitions.iter().chain(&schemas.operations) {
            measure.of(schema).map_err(|reason| form(name, &reason))?;
        }
        Ok(schemas)
    }

    /// The operations that have a schema.
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        self.operations.keys().map(String::as_str)
    }

    /// Checks the schemas against the manifest of their module.
    ///
    /// # Errors
    /// If an operation is not there, has a schema in the manifest too, or answers a file, or if its
    /// example does not fit.
    pub fn check(&self, manifest: &Manifest) -> Result<(), AnswerSchemaError> {
        self.operations().try_for_each(|operation| {
            self.check_operation(operation, manifest)
                .map_err(|reason| AnswerSchemaError::Foreign { operation: operation.to_owned(), reason })
        })
    }

    fn check_operation(&self, operation: &str, manifest: &Manifest) -> Result<(), String> {
        let described = manifest.operations.iter().find(|described| described.path == operation);
        let described = described.ok_or("there is no such operation")?;
        if described.answer_schema.is_some() {
            return Err("its manifest has one too; leave one of them out".to_owned());
        }
        if described.answer == Answer::File {
            return Err("the operation answers a file".to_owned());
        }
        let example = described.answer_example.as_deref().and_then(|text| serde_json::from_str(text).ok());
        match example.zip(self.get(operation)).and_then(|(example, schema)| misfit(&schema, &example)) {
            Some(place) => Err(format!("its answer-example has another type at `{place}`")),
            None => Ok(()),
        }
    }

    /// The schema of an operation's answer, without references.
    pub fn get(&self, operation: &str) -> Option<Value> {
        Some(self.expanded(self.operations.get(operation)?))
    }

    /// The schemas as JSON text.
    pub fn to_json(&self) -> String {
        let mut all = self.operations.clone();
        if !self.definitions.is_empty() {
            all.insert(DEFINITIONS.to_owned(), self.definitions.clone().into());
        }
        Value::Object(all).to_string()
    }

    /// A schema with what it refers to in place of the references. The rules bound its size.
    fn expanded(&self, schema: &Value) -> Value {
        let Value::Object(keywords) = schema else { return schema.clone() };
        let mut expanded = Map::new();
        let definition = keywords.get("$ref").and_then(reference).and_then(|name| self.definitions.get(name));
        if let Some(Value::Object(shared)) = definition.map(|shared| self.expanded(shared)) {
            expanded.extend(shared);
        }
        for (keyword, value) in keywords {
            let value = match (keyword.as_str(), value) {
                ("$ref", _) => continue,
                ("properties", Value::Object(members)) => members
                    .iter()
                    .map(|(name, member)| (name.clone(), self.expanded(member)))
                    .collect::<Map<_, _>>()
                    .into(),
                ("items", items) => self.expanded(items),
                (_, value) => value.clone(),
            };
            expanded.insert(keyword.clone(), value);
        }
        expanded.into()
    }
}

/// The first place at which a value does not have the type that a schema says, as a JSON Pointer.
/// `None` if the value fits the schema.
pub fn misfit(schema: &Value, value: &Value) -> Option<String> {
    let is_fit = match (schema["type"].as_str(), value) {
        (None, _) => true,
        (Some(_), Value::Null) => schema[NULLABLE] == true,
        (Some("object"), Value::Object(members)) => {
            return members.iter().find_map(|(name, member)| {
                let place = misfit(schema["properties"].get(name)?, member)?;
                Some(format!("/{}{place}", name.replace('~', "~0").replace('/', "~1")))
            });
        }
        (Some("array"), Value::Array(items)) => {
            let of_items = schema.get("items")?;
            let mut places = items.iter().enumerate();
            return places.find_map(|(index, item)| Some(format!("/{index}{}", misfit(of_items, item)?)));
        }
        (Some("integer"), Value::Number(number)) => {
            !number.is_f64() || number.as_f64().is_some_and(|it| it.fract() == 0.0)
        }
        (Some(kind), value) => kind == kind_of(value),
    };
    (!is_fit).then(String::new)
}

/// The type of a value.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn form(owner: &str, reason: &str) -> AnswerSchemaError {
    AnswerSchemaError::Form { owner: owner.to_owned(), reason: reason.to_owned() }
}

/// The name of the definition that a reference leads to.
fn reference(target: &Value) -> Option<&str> {
    target.as_str()?.strip_prefix(REFERENCE)
}

/// The number of schemas that a schema consists of, and how many of them are inside of each other.
#[derive(Clone, Copy)]
struct Size {
    parts: usize,
    depth: usize,
}

impl Size {
    const ONE: Self = Self { parts: 1, depth: 1 };

    /// The size with another schema inside of this one.
    fn around(self, inner: Self) -> Self {
        Self { parts: self.parts.saturating_add(inner.parts), depth: self.depth.max(inner.depth.saturating_add(1)) }
    }
}

/// Checks the form of schemas, and measures them.
struct Measure<'a> {
    definitions: &'a Map<String, Value>,
    /// The definitions that were measured. `None` while one is measured: a reference to it would then
    /// make it a part of itself.
    known: HashMap<&'a str, Option<Size>>,
}

impl<'a> Measure<'a> {
    fn of(&mut self, schema: &'a Value) -> Result<Size, String> {
        let Value::Object(keywords) = schema else { return Err("each schema must be an object".to_owned()) };
        let mut size = Size::ONE;
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("type", Value::String(kind)) if TYPES.contains(&kind.as_str()) => {}
                ("type", _) => return Err(format!("`type` must be one of `{}`", TYPES.join("`, `"))),
                ("description", Value::String(_)) | (NULLABLE, Value::Bool(true)) => {}
                ("items", items) => size = size.around(self.of(items)?),
                ("properties", Value::Object(members)) => {
                    for member in members.values() {
                        size = size.around(self.of(member)?);
                    }
                }
                ("$ref", target) => size = size.around(self.of_reference(target)?),
                _ => {
                    return Err(format!(
                        "`{keyword}` is not possible there; a schema has `type`, `description`, `properties`, `items`, `{NULLABLE}: true` \
                         and `$ref`"
                    ));
                }
            }
        }
        if size.parts > MAX_PARTS {
            return Err(format!("it consists of more than {MAX_PARTS} schemas"));
        }
        if size.depth > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} schemas are inside of each other"));
        }
        match (keywords.contains_key("type"), keywords.contains_key("$ref")) {
            (true, false) | (false, true) => Ok(size),
            _ => Err("each schema needs either a `type` or a `$ref`".to_owned()),
        }
    }

    fn of_reference(&mut self, target: &'a Value) -> Result<Size, String> {
        let name = reference(target).ok_or_else(|| format!("`$ref` must begin with `{REFERENCE}`"))?;
        let (name, schema) = self
            .definitions
            .get_key_value(name)
            .ok_or_else(|| format!("`{REFERENCE}{name}` is no definition in `{DEFINITIONS}`"))?;
        match self.known.get(name.as_str()) {
            Some(Some(size)) => return Ok(*size),
            Some(None) => return Err(format!("`{REFERENCE}{name}` is a part of itself")),
            None => {}
        }
        self.known.insert(name, None);
        let size = self.of(schema)?;
        self.known.insert(name, Some(size));
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Operation, sample};

    type Change = fn(&mut Operation);

    fn refusal(schemas: &Value) -> String {
        AnswerSchemas::parse(&schemas.to_string()).unwrap_err().to_string()
    }

    /// Checks schemas against a manifest with the operation `list`.
    fn checked(schemas: &Value, change: Change) -> Result<(), String> {
        let mut manifest = sample::manifest();
        change(&mut manifest.operations[0]);
        AnswerSchemas::parse(&schemas.to_string()).unwrap().check(&manifest).map_err(|error| error.to_string())
    }

    #[test]
    fn schemas_that_do_not_belong_to_the_manifest_are_refused() {
        let list = json!({"list": {"type": "object", "properties": {"n": {"type": "integer"}}}});
        assert_eq!(checked(&list, |_| ()), Ok(()));
        assert_eq!(checked(&list, |operation| operation.answer_example = Some(r#"{"n": 1}"#.to_owned())), Ok(()));
        let mistakes: [(Value, Change, &str); 4] = [
            (
                json!({"lists": {"type": "object"}}),
                |_| (),
                "an answer schema of `lists`, but there is no such operation",
            ),
            (list.clone(), |operation| operation.answer_schema = Some("{}".to_owned()), "its manifest has one too"),
            (list.clone(), |operation| operation.answer = Answer::File, "answers a file"),
            (list, |operation| operation.answer_example = Some(r#"{"n": "1"}"#.to_owned()), "another type at `/n`"),
        ];
        for (schemas, change, words) in mistakes {
            let reason = checked(&schemas, change).unwrap_err();
            assert!(reason.contains(words), "{words}: {reason}");
        }
    }

    #[test]
    fn a_schema_is_found_by_its_operation_without_references() {
        let user = json!({"type": "object", "properties": {"id": {"type": "integer"}}});
        let text = json!({
            "list": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            "$defs": {
                "user": user,
                "item": {"type": "object", "properties": {
                    "by": {"$ref": "#/$defs/user", "description": "The author.", "nullable": true}, "to": {"$ref": "#/$defs/user"},
                }},
            },
        });
        let schemas = AnswerSchemas::parse(&text.to_string()).unwrap();
        assert_eq!(schemas.operations().collect::<Vec<_>>(), ["list"]);
        let list = schemas.get("list").unwrap();
        let mut by = user.clone();
        (by["description"], by["nullable"]) = (json!("The author."), json!(true));
        assert_eq!(list["items"]["properties"], json!({"by": by, "to": user}));
        assert_eq!((schemas.get("item"), schemas.get("$defs")), (None, None));
        assert_eq!(AnswerSchemas::parse(&schemas.to_json()).unwrap(), schemas);
    }

    #[test]
    fn schemas_of_another_form_are_refused_with_the_place() {
        for (schema, words) in [
            (json!([]), "each schema must be an object"),
            (json!({}), "needs either a `type` or a `$ref`"),
            (json!({"type": ["string", "null"]}), "`type` must be one of"),
            (json!({"type": "null"}), "`type` must be one of"),
            (json!({"type": "string", "nullable": false}), "`nullable` is not possible there"),
            (json!({"type": "object", "required": ["a"]}), "`required` is not possible there"),
            (json!({"type": "object", "properties": {"a": true}}), "each schema must be an object"),
            (json!({"type": "array", "items": {"anyOf": []}}), "`anyOf` is not possible there"),
            (json!({"$ref": "#/$defs/b"}), "`#/$defs/b` is no definition"),
            (json!({"$ref": "#/properties/b"}), "`$ref` must begin with `#/$defs/`"),
            (json!({"$ref": "#/$defs/a", "type": "object"}), "either a `type` or a `$ref`"),
        ] {
            let message = refusal(&json!({"list": schema, "$defs": {"a": {"type": "object"}}}));
            assert!(message.contains("`list`") && message.contains(words), "{schema}: {message}");
        }
        assert!(refusal(&json!([])).contains("not a JSON object"));
        assert!(refusal(&json!({"$defs": 1})).contains("`$defs`"));
    }

    #[test]
    fn schemas_that_would_grow_without_bounds_are_refused() {
        let circle =
            json!({"a": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}});
        assert!(refusal(&circle).contains("is a part of itself"));
        let mut definitions = json!({"d0": {"type": "object", "properties": {"x": {"type": "string"}}}});
        for number in 1..8 {
            let inner = json!({"$ref": format!("#/$defs/d{}", number - 1)});
            let members: Map<String, Value> = (0..8).map(|member| (format!("m{member}"), inner.clone())).collect();
            definitions[format!("d{number}")] = json!({"type": "object", "properties": members});
        }
        assert!(refusal(&json!({"$defs": definitions})).contains("more than 4000 schemas"));
        let deep = (0..20).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
        assert!(refusal(&json!({"a": deep})).contains("inside of each other"));
        let chain = |number: usize| json!({"type": "array", "items": {"$ref": format!("#/$defs/{number}")}});
        let mut chained: Map<String, Value> = (1..20).map(|number| (number.to_string(), chain(number - 1))).collect();
        chained.insert("0".to_owned(), json!({"type": "string"}));
        assert!(refusal(&json!({"$defs": chained})).contains("inside of each other"));
        let long = "x".repeat(MAX_ANSWER_SCHEMAS_BYTES + 1);
        assert_eq!(AnswerSchemas::parse(&long).unwrap_err(), AnswerSchemaError::TooLong);
    }

    #[test]
    fn the_first_value_of_another_type_is_named() {
        let schema = json!({"type": "object", "properties": {
            "n": {"type": "integer"}, "a/b": {"type": "array", "items": {"type": "string", "nullable": true}}, "f": {"type": "number"},
        }});
        for fit in [json!({}), json!({"n": 2.0, "more": null}), json!({"a/b": ["x", null], "f": 1})] {
            assert_eq!(misfit(&schema, &fit), None, "{fit}");
        }
        for (wrong, place) in [
            (json!([]), ""),
            (json!({"n": 1.5}), "/n"),
            (json!({"n": null}), "/n"),
            (json!({"a/b": ["x", 1]}), "/a~1b/1"),
        ] {
            assert_eq!(misfit(&schema, &wrong).as_deref(), Some(place), "{wrong}");
        }
    }
}
