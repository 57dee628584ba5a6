//! Google's discovery documents.

use serde_json::{Map, Value, json};

use super::method::{Answer, Method, Parts, with_definitions};
use super::template::Template;

/// All methods of a document.
pub(super) fn methods(document: &Value) -> Vec<Method> {
    let schemas = document["schemas"].as_object().into_iter().flatten();
    let definitions = schemas.map(|(name, schema)| (name.clone(), converted(schema))).collect();
    let mut found = Vec::new();
    collect(document, &Document { document, definitions }, &mut found);
    found
}

struct Document<'a> {
    document: &'a Value,
    definitions: Map<String, Value>,
}

/// Adds the methods of a resource and of the resources below it.
fn collect(resource: &Value, document: &Document<'_>, found: &mut Vec<Method>) {
    for described in resource["methods"].as_object().into_iter().flatten().map(|(_, method)| method) {
        let path = described["flatPath"].as_str().or_else(|| described["path"].as_str()).unwrap();
        found.push(document.method(described, &format!("{}{path}", text(document.document, "servicePath")), None));
        // The second address of a method, for large bodies.
        let upload = &described["mediaUpload"];
        if let Some(path) = upload["protocols"]["simple"]["path"].as_str() {
            found.push(document.method(described, path.trim_start_matches('/'), Some(&upload["accept"])));
        }
    }
    for (_, inner) in resource["resources"].as_object().into_iter().flatten() {
        collect(inner, document, found);
    }
}

impl Document<'_> {
    /// A method at a path. With `uploads` its body is a file of one of these media types.
    fn method(&self, described: &Value, path: &str, uploads: Option<&Value>) -> Method {
        let host = text(self.document, "rootUrl").trim_start_matches("https://");
        let url = Template::parse(&format!("{host}{path}"), |_| false);
        let mut parts = Parts::default();
        let own = described["parameters"].as_object().into_iter().flatten();
        for (name, parameter) in self.document["parameters"].as_object().into_iter().flatten().chain(own) {
            let fields = if parameter["location"] == "path" { &mut parts.path } else { &mut parts.query };
            fields.insert(name.clone(), converted_parameter(parameter));
            if parameter["required"] == true {
                parts.required.push(name.clone());
            }
        }
        // A parameter such as `name` stands for several segments, which the flat path has as
        // separate placeholders.
        parts.path.retain(|name, _| url.placeholders().any(|(placeholder, _)| placeholder == name));
        match uploads {
            Some(accept) => {
                parts.body = Some(json!({"type": "string"}));
                parts.media_types =
                    accept.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect();
            }
            None => {
                parts.body = described["request"]["$ref"].as_str().map(|name| self.body(name, text(described, "id")));
                parts.media_types = vec!["application/json".to_owned()];
            }
        }
        let answer = match described["response"]["$ref"].as_str() {
            Some(name) => {
                let schema = json!({"$ref": format!("#/$defs/{name}")});
                Answer::Schema(with_definitions(schema, &self.definitions))
            }
            None if described["supportsMediaDownload"] == true => Answer::File,
            None => Answer::Empty,
        };
        Method {
            names: vec![text(described, "id").to_owned()],
            verb: text(described, "httpMethod").to_owned(),
            request: parts.schema(&url, &self.definitions),
            url,
            answer,
        }
    }

    /// The schema of a body, with the members that only this method requires.
    fn body(&self, name: &str, method: &str) -> Value {
        let mut schema = self.definitions[name].clone();
        let properties = self.document["schemas"][name]["properties"].as_object().into_iter().flatten();
        let required = properties.filter(|(_, property)| {
            property["annotations"]["required"]
                .as_array()
                .is_some_and(|methods| methods.iter().any(|one| one == method))
        });
        schema["required"] = required.map(|(name, _)| json!(name)).collect();
        schema
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}"))
}

/// The JSON Schema of a parameter. Its location, its name and its being required are not part of
/// it.
fn converted_parameter(parameter: &Value) -> Value {
    let mut one = parameter.clone();
    let members = one.as_object_mut().unwrap();
    members.remove("required");
    members.remove("repeated");
    let schema = converted(&one);
    if parameter["repeated"] == true { json!({"type": "array", "items": schema}) } else { schema }
}

/// The JSON Schema of a schema of a discovery document. Google refuses members that it does not
/// know.
fn converted(schema: &Value) -> Value {
    let mut converted = Map::new();
    for (key, value) in schema.as_object().into_iter().flatten() {
        match key.as_str() {
            "$ref" => drop(converted.insert(key.clone(), json!(format!("#/$defs/{}", value.as_str().unwrap())))),
            "type" if value == "any" => {}
            "type" | "enum" | "pattern" | "readOnly" | "description" => {
                drop(converted.insert(key.clone(), value.clone()))
            }
            "minimum" | "maximum" => {
                let number: Value = serde_json::from_str(value.as_str().unwrap()).unwrap();
                converted.insert(key.clone(), number);
            }
            "properties" => {
                let properties =
                    value.as_object().unwrap().iter().map(|(name, value)| (name.clone(), self::converted(value)));
                converted.insert(key.clone(), Value::Object(properties.collect()));
            }
            "items" | "additionalProperties" => drop(converted.insert(key.clone(), self::converted(value))),
            "format" => format(&mut converted, value.as_str().unwrap()),
            _ => {}
        }
    }
    if converted.contains_key("properties") && !converted.contains_key("additionalProperties") {
        converted.insert("additionalProperties".into(), json!(false));
    }
    Value::Object(converted)
}

fn format(schema: &mut Map<String, Value>, format: &str) {
    let (key, value) = match format {
        // Numbers of 64 bits are texts in JSON.
        "int64" => ("pattern", json!("^-?[0-9]{1,18}$")),
        "uint64" => ("pattern", json!("^[0-9]{1,18}$")),
        "int32" => {
            schema.entry("minimum").or_insert(json!(i32::MIN));
            schema.entry("maximum").or_insert(json!(i32::MAX));
            return;
        }
        "uint32" => {
            schema.entry("minimum").or_insert(json!(0));
            schema.entry("maximum").or_insert(json!(u32::MAX));
            return;
        }
        // Base64 for URLs, with or without padding.
        "byte" => ("pattern", json!("^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2}(==)?|[A-Za-z0-9_-]{3}=?)?$")),
        "google-datetime" | "date-time" => ("format", json!("date-time")),
        "date" => ("format", json!("date")),
        "google-duration" => ("pattern", json!("^-?[0-9]{1,9}(\\.[0-9]{1,9})?s$")),
        "google-fieldmask" => ("pattern", json!("^[A-Za-z_.*]+(,[A-Za-z_.*]+)*$")),
        "double" | "float" => return,
        other => panic!("what does the format `{other}` mean? Say it here"),
    };
    schema.insert(key.into(), value);
}
