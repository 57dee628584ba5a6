//! Inputs of an operation: the catalogue's example, and generated ones that the gateway and the
//! provider accept.

use serde_json::{Map, Value, json};
use support::catalogue::{example, fields};

use crate::generator::narrow::{narrowed, resolved};
use crate::generator::{Direction, Generator};
use crate::specifications::Method;
use crate::{further, rules};

/// Number of generated inputs of an operation.
const GENERATED: usize = 20;

/// Members of every request body that are for the gateway alone.
const ENVELOPE: [&str; 3] = ["response_fields", "response_filters", "callback_urls"];

/// The inputs of an operation. `described` is the schema of its request body in the description of
/// the API, and `methods` are the methods that it may call.
pub(crate) fn inputs(name: &str, operation: &Value, described: &Value, methods: &[Method]) -> Vec<Value> {
    let mut root = json!({"$defs": {}});
    for method in methods {
        let definitions = method.request["$defs"].as_object().cloned().unwrap_or_default();
        root["$defs"].as_object_mut().unwrap().extend(definitions);
    }
    let schema = input_schema(operation, described, methods, &root);
    let mut example = example(operation);
    let is_background = described["properties"]["waiting"].is_object();
    if is_background {
        example["waiting"] = json!(true);
    }
    let mut inputs = vec![example.clone()];
    inputs.extend(further::inputs(name));
    let mut generator = Generator::new(name, Direction::Request);
    for number in 0..GENERATED {
        let mut input = generator.value(&demanding(&schema, number), &root);
        if is_background {
            input["waiting"] = json!(true);
        }
        rules::keep(name, &mut input, &example);
        inputs.push(input);
    }
    inputs
}

/// The schema of inputs that the gateway and the provider accept.
fn input_schema(operation: &Value, described: &Value, methods: &[Method], root: &Value) -> Value {
    let catalogue = fields(operation);
    let members = described["properties"].as_object().into_iter().flatten();
    let members: Map<String, Value> = members
        .filter(|(name, _)| !ENVELOPE.contains(&name.as_str()) && *name != "waiting")
        .map(|(name, gateway)| {
            let field = catalogue.get(name).cloned().unwrap_or_default();
            let provider = methods.iter().find_map(|method| provider_schema(name, &field, method, root));
            let mut schema = narrowed(gateway, &provider.unwrap_or_default(), root);
            for forbidden in field["forbidden"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                schema["properties"].as_object_mut().unwrap().shift_remove(forbidden);
            }
            (name.clone(), schema)
        })
        .collect();
    json!({"type": "object", "properties": members, "required": described["required"]})
}

/// The schema of the input with this number: it requires a part of the optional fields, and of the
/// entries of fields such as `query`. So each of them is in an input at least once.
fn demanding(schema: &Value, number: usize) -> Value {
    let mut schema = schema.clone();
    let names: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
    for (position, name) in names.into_iter().enumerate() {
        let field = &mut schema["properties"][&name];
        let entries = field["properties"].as_object().filter(|_| field["additionalProperties"] == false);
        let entries: Vec<String> = entries.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let due: Vec<String> = entries.into_iter().skip(number).step_by(GENERATED).collect();
        if position % GENERATED != number && due.is_empty() {
            continue;
        }
        for entry in &due {
            forbid_null(&mut field["properties"][entry]);
        }
        require(field, due);
        forbid_null(field);
        require(&mut schema, vec![name]);
    }
    schema
}

/// Changes a schema of objects, so that it requires these members too.
fn require(schema: &mut Value, names: Vec<String>) {
    if !names.is_empty() {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        schema["required"] = required.into_iter().chain(names.into_iter().map(Value::String)).collect();
    }
}

/// Changes a schema, so that it does not accept null. It accepts something else.
fn forbid_null(schema: &mut Value) {
    if let Some(types) = schema["type"].as_array_mut().filter(|types| types.len() > 1) {
        types.retain(|one| one != "null");
    }
    if let Some(values) = schema["enum"].as_array_mut().filter(|values| values.len() > 1) {
        values.retain(|value| !value.is_null());
    }
}

/// The schema that a method has for a field of the catalogue; `None` if the method has no such
/// part.
fn provider_schema(name: &str, field: &Value, method: &Method, root: &Value) -> Option<Value> {
    if field["encoding"] == "odata_string" {
        // The provider describes the text after single quotes have been doubled.
        return None;
    }
    let upstream = field["upstream_name"].as_str().unwrap_or(name);
    let place = match field["in"].as_str()? {
        "path" => "path",
        "query" => "query",
        "header" => "headers",
        "body" if name == "body" && field["type"] == "object" => return method.body().cloned(),
        "body" => return member(method.body()?, upstream, root).cloned(),
        _ => return None,
    };
    if let Some(names) = field["names"].as_array() {
        let entries = names.iter().filter_map(Value::as_str).filter_map(|name| {
            let schema = match place {
                "headers" => header(method.part(place, &name.to_lowercase())),
                _ => method.part(place, name).or_else(|| member(method.body()?, name, root))?.clone(),
            };
            Some((name.to_owned(), schema))
        });
        let entries: Map<String, Value> = entries.collect();
        return (!entries.is_empty()).then(|| json!({"type": "object", "properties": entries}));
    }
    let aliases = [Some(upstream), field["upstream_alias"].as_str()];
    aliases.into_iter().flatten().find_map(|name| method.part(place, name)).cloned()
}

/// The schema of a header's value. Characters outside of ASCII do not arrive everywhere.
fn header(described: Option<&Value>) -> Value {
    let mut schema = described.cloned().unwrap_or_else(|| json!({"type": "string"}));
    if ["pattern", "enum"].iter().all(|key| schema[key].is_null()) {
        schema["pattern"] = json!("^[A-Za-z0-9=\"./;, -]{1,20}$");
    }
    schema
}

/// A member of a body. Dots in the name lead into inner objects, unless the name begins with `@`.
fn member<'a>(body: &'a Value, name: &str, root: &'a Value) -> Option<&'a Value> {
    let names = if name.starts_with('@') { vec![name] } else { name.split('.').collect() };
    names.into_iter().try_fold(body, |schema, name| resolved(schema, root)["properties"].get(name))
}
