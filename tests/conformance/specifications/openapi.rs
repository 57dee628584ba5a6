//! `OpenAPI` 3 documents.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::method::{Answer, Method, Parts, with_definitions};
use super::template::Template;

const VERBS: [&str; 5] = ["get", "put", "post", "patch", "delete"];

/// Headers that a document describes elsewhere.
const DESCRIBED_ELSEWHERE: [&str; 3] = ["accept", "authorization", "content-type"];

/// All operations of a document. Each has two names: its `operationId`, and `VERB /path`.
pub(crate) fn methods(document: &Value) -> Vec<Method> {
    let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
    let definitions = schemas.map(|(name, schema)| (name.clone(), converted(schema, document))).collect();
    let document = Document { document, definitions };
    let paths = document.document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, item)| {
        let item = document.resolved(item);
        VERBS.iter().filter_map(move |verb| item.get(*verb).map(|operation| (path, *verb, item, operation)))
    });
    operations.map(|(path, verb, item, operation)| document.method(path, verb, item, operation)).collect()
}

struct Document<'a> {
    document: &'a Value,
    definitions: Map<String, Value>,
}

impl Document<'_> {
    fn method(&self, path: &str, verb: &str, item: &Value, operation: &Value) -> Method {
        let lists = [&item["parameters"], &operation["parameters"]].into_iter().filter_map(Value::as_array);
        let parameters: Vec<&Value> = lists.flatten().map(|parameter| self.resolved(parameter)).collect();
        let server = [operation, item, self.document].into_iter().find_map(|part| part["servers"][0]["url"].as_str());
        let server = server.unwrap();
        let base = server.split_once("://").map_or(server, |(_, rest)| rest).trim_end_matches('/');
        let spans_segments = |name: &str| {
            parameters.iter().any(|parameter| parameter["name"] == name && parameter["x-multi-segment"] == true)
        };
        let url = Template::parse(&format!("{base}{path}"), spans_segments);

        let mut parts = Parts::default();
        for parameter in &parameters {
            let name = parameter["name"].as_str().unwrap();
            let schema = self.parameter(parameter);
            let name = match parameter["in"].as_str() {
                Some("path") => {
                    parts.path.insert(name.to_owned(), schema);
                    continue;
                }
                Some("query") => {
                    parts.query.insert(name.to_owned(), schema);
                    name.to_owned()
                }
                Some("header") if DESCRIBED_ELSEWHERE.contains(&name.to_lowercase().as_str()) => continue,
                Some("header") => {
                    let name = name.to_lowercase();
                    parts.headers.insert(name.clone(), schema);
                    name
                }
                other => panic!("where is a parameter in {other:?}? Say it here"),
            };
            if parameter["required"] == true {
                parts.required.push(name);
            }
        }
        let body = self.resolved(&operation["requestBody"]);
        if let Some(content) = body["content"].as_object() {
            let name = |media_type: &String| media_type.split(';').next().unwrap_or_default().trim().to_owned();
            parts.media_types = content.keys().map(name).collect();
            let is_form = |media_type: &&String| media_type.starts_with("application/x-www-form-urlencoded");
            let preferred = content.keys().find(|media_type| name(media_type) == "application/json");
            let preferred = preferred
                .or_else(|| content.keys().find(is_form))
                .or_else(|| content.keys().find(|media_type| media_type.starts_with("multipart/form-data")));
            let media = preferred.map_or_else(|| content.values().next().unwrap(), |media_type| &content[media_type]);
            parts.body = Some(converted(&media["schema"], self.document));
            parts.body_is_required = body["required"] == true;
        }
        let answers = operation["responses"].as_object().into_iter().flatten();
        let success =
            answers.filter(|(status, _)| status.starts_with('2')).map(|(_, answer)| self.resolved(answer)).next();
        let content = success.and_then(|answer| answer["content"].as_object());
        let answer = match content.map(|content| content.get("application/json")) {
            Some(Some(media)) => {
                let schema = converted(&media["schema"], self.document);
                Answer::Schema(with_definitions(schema, &self.definitions))
            }
            Some(None) => Answer::File,
            None => Answer::Empty,
        };
        Method {
            names: [
                operation["operationId"].as_str().map(str::to_owned),
                Some(format!("{} {path}", verb.to_uppercase())),
            ]
            .into_iter()
            .flatten()
            .collect(),
            verb: verb.to_uppercase(),
            request: parts.schema(&url, &self.definitions),
            url,
            answer,
        }
    }

    fn parameter(&self, parameter: &Value) -> Value {
        let mut schema = converted(&parameter["schema"], self.document);
        if schema["type"] == "array" && parameter["explode"] == false {
            schema["x-joined"] = json!(true);
        }
        schema
    }

    /// A part of the document, or the part that it refers to.
    fn resolved<'a>(&'a self, part: &'a Value) -> &'a Value {
        resolved(part, self.document)
    }
}

fn resolved<'a>(part: &'a Value, document: &'a Value) -> &'a Value {
    match part["$ref"].as_str() {
        Some(reference) => {
            let decoded = percent_decode_str(reference.trim_start_matches('#')).decode_utf8_lossy();
            document.pointer(&decoded).unwrap_or_else(|| panic!("{reference} leads nowhere"))
        }
        None => part,
    }
}

/// The JSON Schema of a schema of `OpenAPI` 3.0. An object takes only the members that it
/// describes, because services ignore or refuse all others.
fn converted(schema: &Value, document: &Value) -> Value {
    let convert = |schema: &Value| converted(schema, document);
    if let Some(all) = schema["allOf"].as_array() {
        return convert(&merged(all, schema, document));
    }
    let mut converted = Map::new();
    for (key, value) in schema.as_object().into_iter().flatten() {
        match key.as_str() {
            "$ref" => match value.as_str().unwrap().strip_prefix("#/components/schemas/") {
                Some(name) => drop(converted.insert(key.clone(), json!(format!("#/$defs/{name}")))),
                None => return convert(resolved(schema, document)),
            },
            "properties" => {
                let properties = value.as_object().unwrap().iter().map(|(name, value)| (name.clone(), convert(value)));
                converted.insert(key.clone(), Value::Object(properties.collect()));
            }
            "items" => drop(converted.insert(key.clone(), convert(value))),
            "additionalProperties" if value.is_object() => drop(converted.insert(key.clone(), convert(value))),
            // Alternatives of real services overlap, although `oneOf` says that they do not.
            "oneOf" | "anyOf" => {
                let alternatives: Vec<Value> = value.as_array().unwrap().iter().map(convert).collect();
                converted.insert("anyOf".into(), alternatives.into());
            }
            "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => {}
            "type"
            | "description"
            | "enum"
            | "pattern"
            | "format"
            | "minimum"
            | "maximum"
            | "minLength"
            | "maxLength"
            | "minItems"
            | "maxItems"
            | "uniqueItems"
            | "required"
            | "readOnly"
            | "additionalProperties" => {
                converted.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
    // A member that is only to be read is required in answers.
    if let (Some(Value::Array(required)), Value::Object(properties)) =
        (converted.get_mut("required"), &schema["properties"])
    {
        required
            .retain(|name| properties.get(name.as_str().unwrap_or_default()).is_none_or(|one| one["readOnly"] != true));
    }
    let is_open = converted.get("properties").is_none_or(|properties| properties == &json!({}));
    if !is_open && !converted.contains_key("additionalProperties") && !converted.contains_key("anyOf") {
        converted.insert("additionalProperties".into(), json!(false));
    }
    if schema["nullable"] == true { nullable(converted) } else { Value::Object(converted) }
}

fn nullable(mut schema: Map<String, Value>) -> Value {
    if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        alternatives.push(json!({"type": "null"}));
        return Value::Object(schema);
    }
    if schema.contains_key("$ref") {
        return json!({"anyOf": [schema, {"type": "null"}]});
    }
    if let Some(one) = schema.get("type").cloned() {
        schema.insert("type".into(), json!([one, "null"]));
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
    Value::Object(schema)
}

/// The parts of `allOf` as one schema. JSON Schema cannot say that an object has the members of
/// several schemas and no others.
fn merged(all: &[Value], around: &Value, document: &Value) -> Value {
    let mut merged = around.as_object().cloned().unwrap_or_default();
    merged.remove("allOf");
    for part in all {
        let part = resolved(part, document);
        let part = match part["allOf"].as_array() {
            Some(inner) => self::merged(inner, part, document),
            None => part.clone(),
        };
        for (key, value) in part.as_object().into_iter().flatten() {
            match (merged.get_mut(key), value) {
                (Some(Value::Object(members)), Value::Object(more)) => members.extend(more.clone()),
                (Some(Value::Array(items)), Value::Array(more)) if key == "required" => items.extend(more.clone()),
                _ => drop(merged.insert(key.clone(), value.clone())),
            }
        }
    }
    Value::Object(merged)
}
