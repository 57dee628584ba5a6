//! One method of a provider, in the form that every format of specification is read into.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use support::Seen;
use support::multipart::Part;

use super::template::Template;

/// A method of a provider: the requests that it takes and the answers that it gives, as JSON
/// Schemas.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    /// The names by which the catalogue may refer to it.
    pub(crate) names: Vec<String>,
    /// GET, POST, …
    pub(crate) verb: String,
    /// Host and path.
    pub(crate) url: Template,
    /// Schema of a request in the form of [`Method::read`].
    pub(crate) request: Value,
    /// The body of the answer to a successful request.
    pub(crate) answer: Answer,
}

/// The body of a successful answer, as far as a specification describes it.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// JSON of this schema.
    Schema(Value),
    /// JSON like this.
    Sample(Value),
    /// Bytes.
    File,
    /// It is empty or not described.
    Empty,
}

/// The parts of a request, from which a [`Method`] is made.
#[derive(Default)]
pub(super) struct Parts {
    /// Schemas of the placeholders in the path that the specification describes.
    pub(super) path: Map<String, Value>,
    pub(super) query: Map<String, Value>,
    pub(super) headers: Map<String, Value>,
    /// Names of the query parameters and headers that a request must have.
    pub(super) required: Vec<String>,
    /// Schema of the body; `None` if a request has no body.
    pub(super) body: Option<Value>,
    pub(super) body_is_required: bool,
    /// Media types of the body. `message/*` stands for all subtypes.
    pub(super) media_types: Vec<String>,
}

impl Parts {
    /// The schema of a request, with the `definitions` that it refers to.
    pub(super) fn schema(self, url: &Template, definitions: &Map<String, Value>) -> Value {
        let mut path = self.path;
        for (name, is_quoted) in url.placeholders() {
            let schema = path.entry(name).or_insert_with(|| json!({"type": "string", "minLength": 1}));
            if is_quoted {
                // In a string of OData a single quote is doubled.
                schema["pattern"] = json!("^([^']|'')+$");
            }
        }
        let required = |fields: &Map<String, Value>| -> Vec<String> {
            self.required.iter().filter(|name| fields.contains_key(*name)).cloned().collect()
        };
        let mut members = Map::new();
        members.insert("path".into(), object(&path, &path.keys().cloned().collect::<Vec<_>>()));
        members.insert("query".into(), object(&self.query, &required(&self.query)));
        members.insert("headers".into(), object(&self.headers, &required(&self.headers)));
        let mut names = vec!["path", "query", "headers"];
        if let Some(body) = self.body {
            members.insert("body".into(), body);
            members.insert("content_type".into(), content_type(&self.media_types));
            if self.body_is_required {
                names.push("body");
            }
        }
        let schema = json!({
            "type": "object", "properties": members, "required": names, "additionalProperties": false,
        });
        with_definitions(schema, definitions)
    }
}

fn object(properties: &Map<String, Value>, required: &[String]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn content_type(media_types: &[String]) -> Value {
    let exact = media_types.iter().filter(|media_type| !media_type.ends_with("/*"));
    let ranges = media_types.iter().filter_map(|media_type| media_type.strip_suffix('*'));
    let ranges = ranges.map(|range| json!({"pattern": format!("^{range}")}));
    let exact = json!({"enum": exact.collect::<Vec<_>>()});
    json!({"anyOf": ranges.chain([exact]).collect::<Vec<_>>()})
}

/// Adds those definitions to a schema that it refers to, directly or through another one. A schema
/// without the others is compiled faster.
pub(super) fn with_definitions(mut schema: Value, definitions: &Map<String, Value>) -> Value {
    let mut needed = Map::new();
    let mut open = references(&schema);
    while let Some(name) = open.pop() {
        if let Some(definition) = definitions.get(&name).filter(|_| !needed.contains_key(&name)) {
            open.extend(references(definition));
            needed.insert(name, definition.clone());
        }
    }
    schema["$defs"] = Value::Object(needed);
    schema
}

/// The names of the definitions that a schema refers to directly.
fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| match value {
                Value::String(target) if name == "$ref" => {
                    target.strip_prefix("#/$defs/").map(str::to_owned).into_iter().collect()
                }
                other => references(other),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

impl Method {
    /// The schema of a part of the request, for example of the query parameter `q`; `None` if it is
    /// not described.
    pub(crate) fn part(&self, place: &str, name: &str) -> Option<&Value> {
        self.request["properties"][place]["properties"].get(name)
    }

    /// The schema of the body; `None` if a request has no body.
    pub(crate) fn body(&self) -> Option<&Value> {
        self.request["properties"].get("body")
    }

    /// A schema, or the definition that it refers to.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let target = schema["$ref"].as_str().and_then(|target| self.request.pointer(target.trim_start_matches('#')));
        target.unwrap_or(schema)
    }

    /// The schema of a member of the body.
    fn member(&self, name: &str) -> Value {
        let Some(body) = self.body() else { return Value::Null };
        self.resolved(&self.resolved(body)["properties"][name]).clone()
    }

    /// A form as an object. `annotations[name]` is the member `name` of the object `annotations`.
    fn form(&self, pairs: Vec<(String, String)>) -> Value {
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        for (name, value) in pairs {
            match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
                Some((object, member)) if self.member(&name).is_null() && self.member(object)["type"] == "object" => {
                    inner.push((object.to_owned(), member.to_owned(), value));
                }
                _ => outer.push((name, value)),
            }
        }
        let mut form = fields(outer, |name| self.member(name));
        for (object, member, value) in inner {
            let schema = self.member(&object)["properties"][&member].clone();
            form[object][member] = typed(&value, self.resolved(&schema));
        }
        form
    }

    /// Reads a request as a document with the members `path`, `query`, `headers`, `content_type`
    /// and `body`. The text of parameters becomes the type that the method describes, if it can.
    /// Returns `None` if the request is for another method.
    pub(crate) fn read(&self, url: &str, seen: &Seen) -> Option<Value> {
        if self.verb != seen.method {
            return None;
        }
        let path = self.url.values(url)?;
        let described = |place: &str, name: &str| match self.part(place, name) {
            Some(schema) => {
                // The definition has the type. Its place in the request says if a list is joined.
                let mut found = self.resolved(schema).clone();
                if schema["x-joined"] == true {
                    found["x-joined"] = json!(true);
                }
                found
            }
            None => Value::Null,
        };
        let path: Map<String, Value> = path
            .into_iter()
            .map(|(name, value)| {
                let value = typed(&value, &described("path", &name));
                (name, value)
            })
            .collect();
        let headers = self.request["properties"]["headers"]["properties"].as_object().into_iter().flatten();
        let headers: Map<String, Value> = headers
            .filter(|(name, _)| seen.headers.contains_key(name.as_str()))
            .map(|(name, schema)| (name.clone(), typed(seen.header(name), schema)))
            .collect();
        let query = fields(seen.parameters(), |name| described("query", name));
        let mut document = json!({"path": path, "query": query, "headers": headers});
        let is_form = seen.header("content-type").starts_with("application/x-www-form-urlencoded");
        if !seen.body.is_empty() || is_form {
            let content_type = seen.header("content-type").split(';').next().unwrap_or_default().trim().to_owned();
            document["body"] = if content_type == "application/x-www-form-urlencoded" {
                self.form(seen.form())
            } else if content_type == "multipart/form-data" {
                let text = |part: &Part| String::from_utf8_lossy(&part.content).into_owned();
                let parts = seen.multipart().iter().map(|part| (part.name.clone(), text(part))).collect();
                self.form(parts)
            } else {
                let text = || json!(String::from_utf8_lossy(&seen.body));
                serde_json::from_slice(&seen.body).unwrap_or_else(|_| text())
            };
            document["content_type"] = json!(content_type);
        }
        Some(document)
    }
}

/// Names and values of a query or a form, each value in the type of its schema. A name that occurs
/// more than once is a list.
fn fields(pairs: Vec<(String, String)>, schema: impl Fn(&str) -> Value) -> Value {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in pairs {
        values.entry(name).or_default().push(value);
    }
    let typed = values.into_iter().map(|(name, values)| {
        let schema = schema(&name);
        let is_repeated = schema["type"] == "array" && schema["x-joined"] != true;
        let value = match &values[..] {
            [value] if !is_repeated => typed(value, &schema),
            values if is_repeated => values.iter().map(|value| typed(value, &schema["items"])).collect(),
            values => json!(values),
        };
        (name, value)
    });
    Value::Object(typed.collect())
}

/// A text as a value of a schema's type. A text that is no such value stays a text, which the
/// schema then refuses.
fn typed(text: &str, schema: &Value) -> Value {
    let is = |name: &str| match &schema["type"] {
        Value::Array(types) => types.iter().any(|one| one == name),
        one => one == name,
    };
    if is("array") {
        return text.split(',').map(|item| typed(item, &schema["items"])).collect();
    }
    let parsed = serde_json::from_str::<Value>(text).ok();
    // A part of a form with files may be an object.
    if let Some(object) =
        parsed.as_ref().filter(|value| value.is_object() && (is("object") || schema["$ref"].is_string()))
    {
        return object.clone();
    }
    let fits =
        |value: &Value| (value.is_number() && (is("integer") || is("number"))) || (value.is_boolean() && is("boolean"));
    parsed.filter(fits).unwrap_or_else(|| json!(text))
}
