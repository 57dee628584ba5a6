//! The schema of the arguments of a tool: a plain object that the strictest client takes.
//!
//! It describes the same body as the schema of the operation, in fewer words. The pipeline
//! validates the arguments by the schema of the operation, so a part that is left out here still
//! holds.

use serde_json::{Map, Value, json};

use super::names::argument_name;
use contract_rules::schema::NULLABLE;
use registry::Operation;

/// The member that shapes the answer.
pub const RESPONSE_FIELDS: &str = "response_fields";

/// The argument that names the account. No operation of a tool with this argument has a member of
/// the name.
pub const ACCOUNT: &str = "account";

/// The argument that confirms a call of a destructive operation.
pub const CONFIRM: &str = "confirm";

/// The same argument, if the operation has a member `confirm`.
pub const OTHER_CONFIRM: &str = "gateway_confirm";

/// Members of background operations that the gateway sets for tools.
const OF_BACKGROUND: [&str; 2] = ["waiting", "callback_urls"];

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
        let mut reader = Reader { root, parts: 0 };
        let (mut members, mut required) = (Map::new(), Vec::new());
        collect(&mut reader, root, 0, true, &mut members, &mut required);
        if is_background {
            members.retain(|name, _| !OF_BACKGROUND.contains(&name.as_str()));
        }
        required.retain(|name| members.contains_key(name));
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
        let required: Vec<_> = required
            .iter()
            .map(|name| renamed.iter().find(|(_, member)| member == name).map_or(name, |(shown, _)| shown))
            .collect();
        let mut document = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            document["required"] = json!(required);
        }
        document["additionalProperties"] = false.into();
        Self { document, renamed }
    }
}

/// Collects the members of an object's schema, including the members in `allOf`, `anyOf` and
/// `oneOf`.
fn collect(
    reader: &mut Reader<'_>,
    schema: &Value,
    depth: usize,
    requires: bool,
    members: &mut Map<String, Value>,
    required: &mut Vec<String>,
) {
    if depth > MAX_REFERENCES {
        return;
    }
    if let Some(target) = reader.referred(schema) {
        collect(reader, target, depth + 1, requires, members, required);
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, property) in properties {
            if !members.contains_key(name) {
                members.insert(name.clone(), reader.member(property));
            }
        }
    }
    if requires && let Some(names) = schema.get("required").and_then(Value::as_array) {
        for name in names.iter().filter_map(Value::as_str) {
            if !required.iter().any(|known| known == name) {
                required.push(name.to_owned());
            }
        }
    }
    for (key, requires) in [("allOf", requires), ("anyOf", false), ("oneOf", false)] {
        for part in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
            collect(reader, part, depth + 1, requires, members, required);
        }
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

    /// The schema of a member. Null means that a member is absent, so it need not be listed.
    fn member(&mut self, schema: &Value) -> Value {
        let keeps_null = schema.get(NULLABLE) == Some(&Value::Bool(true));
        let mut copy = self.copy(schema, 0);
        if !keeps_null && let Some(copy) = copy.as_object_mut() {
            if let Some(Value::Array(types)) = copy.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    copy.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(values)) = copy.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
        }
        copy
    }

    /// A schema without references, and without keys that no client reads.
    fn copy(&mut self, schema: &Value, references: usize) -> Value {
        self.parts += 1;
        if references > MAX_REFERENCES || self.parts > MAX_PARTS {
            return json!({});
        }
        let Some(object) = schema.as_object() else { return json!({}) };
        let mut copy = Map::new();
        if let Some(target) = self.referred(schema) {
            let target = self.copy(target, references + 1);
            if let Value::Object(target) = target {
                copy.extend(target);
            }
        }
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
                "$top": {"type": "integer"},
                "waiting": {"type": "boolean"},
            },
            "required": ["$top", "waiting"],
            "oneOf": [{"properties": {"id": {"type": "string"}}, "required": ["id"]}],
        });
        let InputSchema { document, renamed } = InputSchema::of_document(&schema, true);
        assert_eq!(
            document,
            json!({
                "type": "object",
                "properties": {
                    "page": {"type": "integer", "minimum": 1, "description": "from 1"},
                    "sort": {"type": "string", "enum": ["up", "down"]},
                    "any": {},
                    "_top": {"type": "integer"},
                    "id": {"type": "string"},
                },
                "required": ["_top"],
                "additionalProperties": false,
            })
        );
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
