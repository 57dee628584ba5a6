//! The schema of the arguments of a tool: a plain object in the [`super::dialect`] that
//! every client takes.
//!
//! It describes the same body as the schema of the operation, in fewer words. The pipeline
//! validates the arguments by the schema of the operation, so a part that is left out here still
//! holds.

use serde_json::{Map, Value, json};

use super::dialect;
use super::names::argument_name;
use registry::Operation;

/// The member that shapes the answer.
pub const RESPONSE_FIELDS: &str = "response_fields";

/// The member that filters the answer. It is no argument of a tool, and is taken.
const RESPONSE_FILTERS: &str = "response_filters";

/// The argument that names the account. No operation of a tool with this argument has a member of
/// the name.
pub const ACCOUNT: &str = "account";

/// The argument that confirms a call of a destructive operation.
pub const CONFIRM: &str = "confirm";

/// The same argument, if the operation has a member `confirm`.
pub const OTHER_CONFIRM: &str = "gateway_confirm";

/// Members of background operations that the gateway sets for tools.
const OF_BACKGROUND: [&str; 2] = ["waiting", "callback_urls"];

/// Returns `true` for a member that the gateway sets if the operation runs in the background.
pub(super) fn is_of_background(member: &str) -> bool {
    OF_BACKGROUND.contains(&member)
}

/// References that are followed in one place. A schema that refers to itself ends here.
const MAX_REFERENCES: usize = 8;

/// The values of a schema of which one tool may consist. References can repeat parts any number of
/// times.
const MAX_PARTS: usize = 4000;

/// Arguments of a tool in addition to the members of the operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extra {
    /// `true` if the caller has several accounts.
    pub has_account: bool,
    /// The argument that confirms a call.
    pub confirm: Option<&'static str>,
}

/// The schema of the argument that confirms a call.
pub fn confirm_schema() -> Value {
    json!({"type": "string", "description": "Only for the second call: what the first one answered, once the user agrees."})
}

/// The schema of a tool's arguments.
pub struct InputSchema {
    /// A JSON Schema.
    pub document: Value,
    /// Arguments that have another name than the member of the operation: the argument, the member.
    pub renamed: Vec<(String, String)>,
    /// The members of the operation that are objects or lists, and never texts.
    pub structures: Vec<String>,
}

impl InputSchema {
    /// The schema for an operation.
    pub fn of(operation: &Operation, extra: Extra) -> Self {
        let is_background = operation.manifest.background;
        let mut schema = Self::of_document(&operation.input_schema(), is_background);
        let Some(properties) = schema.document["properties"].as_object_mut() else { return schema };
        if operation.manifest.envelope && !properties.contains_key(RESPONSE_FIELDS) {
            let description = "Keeps only these fields of the answer, as dotted paths.";
            let fields = json!({"type": "array", "items": {"type": "string"}, "description": description});
            properties.insert(RESPONSE_FIELDS.to_owned(), fields);
            schema.structures.extend([RESPONSE_FIELDS, RESPONSE_FILTERS].map(str::to_owned));
        }
        if let Some(name) = extra.confirm {
            properties.insert(name.to_owned(), confirm_schema());
        }
        if extra.has_account && !properties.contains_key(ACCOUNT) {
            let description = "The account to use, as list_accounts names it.";
            properties.insert(ACCOUNT.to_owned(), json!({"type": "string", "description": description}));
        }
        schema
    }

    fn of_document(root: &Value, is_background: bool) -> Self {
        let resolved = Reader { root, parts: 0 }.copy(root, 0);
        let whole = dialect::simplified(&resolved);
        let mut members = whole["properties"].as_object().cloned().unwrap_or_default();
        if is_background {
            members.retain(|name, _| !is_of_background(name));
        }
        let mut renamed = Vec::new();
        let mut properties = Map::new();
        for (name, property) in &members {
            let is_taken = |other: &str| members.contains_key(other) || properties.contains_key(other);
            let shown = argument_name(name, is_taken);
            if shown != *name {
                renamed.push((shown.clone(), name.clone()));
            }
            properties.insert(shown, property.clone());
        }
        let required = whole["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let required: Vec<&str> = required
            .filter(|name| members.contains_key(*name))
            .map(|name| renamed.iter().find(|(_, member)| member == name).map_or(name, |(shown, _)| shown))
            .collect();
        let mut document = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            document["required"] = json!(required);
        }
        document["additionalProperties"] = false.into();
        if let Some(description) = whole.get("description") {
            document["description"] = description.clone();
        }
        let is_structure =
            |types: &[String]| !types.is_empty() && types.iter().all(|name| name == "object" || name == "array");
        let structures = dialect::types_of_members(&resolved).into_iter().filter(|(_, types)| is_structure(types));
        Self { document, renamed, structures: structures.map(|(name, _)| name).collect() }
    }
}

/// Copies parts of a schema.
struct Reader<'a> {
    root: &'a Value,
    /// The number of values that were copied.
    parts: usize,
}

impl<'a> Reader<'a> {
    /// The schema that a `$ref` refers to, if it is in the same document.
    fn referred(&self, schema: &Value) -> Option<&'a Value> {
        self.root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
    }

    /// A schema without keys that no client reads. References become parts of `allOf`.
    fn copy(&mut self, schema: &Value, references: usize) -> Value {
        self.parts += 1;
        if references > MAX_REFERENCES || self.parts > MAX_PARTS {
            return json!({});
        }
        let Some(object) = schema.as_object() else { return schema.clone() };
        let mut copy = Map::new();
        for (key, value) in object {
            let value = match key.as_str() {
                "$ref" | "$defs" | "definitions" | "$schema" | "$id" | "$anchor" | "$comment" | "examples" => continue,
                extension if extension.starts_with("x-") => continue,
                "properties" | "patternProperties" | "dependentSchemas" => {
                    let parts = value.as_object().into_iter().flatten();
                    Value::Object(parts.map(|(name, part)| (name.clone(), self.copy(part, references))).collect())
                }
                "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                    let parts = value.as_array().into_iter().flatten();
                    Value::Array(parts.map(|part| self.copy(part, references)).collect())
                }
                "items" | "not" | "contains" | "propertyNames" | "if" | "then" | "else" => self.copy(value, references),
                "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" if value.is_object() => {
                    self.copy(value, references)
                }
                _ => value.clone(),
            };
            copy.insert(key.clone(), value);
        }
        if let Some(target) = self.referred(schema) {
            let target = self.copy(target, references + 1);
            match copy.get_mut("allOf").and_then(Value::as_array_mut) {
                Some(parts) => parts.push(target),
                None => drop(copy.insert("allOf".to_owned(), json!([target]))),
            }
        }
        Value::Object(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_becomes_a_plain_object() {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "$defs": {"page": {"type": "integer", "minimum": 1}},
            "properties": {
                "page": {"$ref": "#/$defs/page", "description": "from 1"},
                "sort": {"type": ["string", "null"], "enum": ["up", "down", null]},
                "any": true,
                "lists": {"type": ["array", "null"], "items": {"type": "string"}},
                "$top": {"type": "integer"},
                "waiting": {"type": "boolean"},
            },
            "required": ["$top", "waiting"],
            "oneOf": [{"properties": {"id": {"type": "string"}}, "required": ["id"]}],
        });
        let InputSchema { document, renamed, structures } = InputSchema::of_document(&schema, true);
        assert_eq!(
            document,
            json!({
                "type": "object",
                "properties": {
                    "page": {"type": "integer", "description": "from 1; at least 1"},
                    "sort": {"type": "string", "enum": ["up", "down"]},
                    "any": {"type": "string", "description": "any JSON value"},
                    "lists": {"type": "array", "items": {"type": "string"}},
                    "_top": {"type": "integer"},
                    "id": {"type": "string"},
                },
                "required": ["_top", "id"],
                "additionalProperties": false,
            })
        );
        assert_eq!(structures, ["lists"]);
        assert_eq!(renamed, [("_top".to_owned(), "$top".to_owned())]);
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "twin": {"$ref": "#/$defs/node"}}});
        let schema = json!({"type": "object", "$defs": {"node": node}, "properties": {"a": {"$ref": "#/$defs/node"}}});
        let text = InputSchema::of_document(&schema, false).document.to_string();
        assert!(!text.contains("$ref") && text.len() < 300_000, "{}", text.len());
        let around = json!({"type": "object", "$ref": "#"});
        assert_eq!(InputSchema::of_document(&around, false).document["properties"], json!({}));
    }
}
