//! Documents of OpenAPI 2.0, turned into documents of 3.0. `$ref` still names `/definitions`, which
//! stay there.

use serde_json::{Map, Value, json};

const METHODS: [&str; 6] = ["get", "head", "post", "put", "patch", "delete"];

/// Keys of a parameter that are not a part of its schema.
const OF_PARAMETER: [&str; 7] =
    ["name", "in", "description", "required", "collectionFormat", "allowEmptyValue", "schema"];

/// The document as one of 3.0.
pub(crate) fn upgraded(mut root: Value) -> Value {
    let schemes = root.get("schemes").and_then(Value::as_array).cloned().unwrap_or_default();
    let scheme = if schemes.is_empty() || schemes.iter().any(|scheme| scheme == "https") { "https" } else { "http" };
    let text = |name: &str| root.get(name).and_then(Value::as_str).unwrap_or_default();
    let servers = match text("host") {
        "" => json!([]),
        host => json!([{"url": format!("{scheme}://{host}{}", text("basePath"))}]),
    };
    let security = root.get("securityDefinitions").and_then(Value::as_object).cloned().unwrap_or_default();
    let security: Map<String, Value> = security.into_iter().map(|(name, scheme)| (name, scheme_of(scheme))).collect();
    let consumes = root.get("consumes").cloned();
    let produces = root.get("produces").cloned();
    let shared = root.get("parameters").cloned().unwrap_or_default();
    for item in root.get_mut("paths").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        let Some(item) = item.as_object_mut() else { continue };
        let common = parameters(item.remove("parameters"), &shared);
        for method in METHODS {
            if let Some(operation) = item.get_mut(method).and_then(Value::as_object_mut) {
                let own = parameters(operation.remove("parameters"), &shared);
                let inherited = common.iter().filter(|known| !own.iter().any(|own| is_same(own, known))).cloned();
                let all = inherited.chain(own.iter().cloned()).collect();
                let consumes = operation.get("consumes").cloned().or_else(|| consumes.clone());
                let produces = operation.get("produces").cloned().or_else(|| produces.clone());
                upgrade(operation, all, &media_types(consumes), &media_types(produces));
            }
        }
    }
    if let Value::Object(root) = &mut root {
        root.insert("servers".to_owned(), servers);
        root.insert("components".to_owned(), json!({"securitySchemes": security}));
    }
    root
}

/// The parameters of an item or an operation. References to shared parameters are replaced by them.
fn parameters(parameters: Option<Value>, shared: &Value) -> Vec<Value> {
    let Some(Value::Array(parameters)) = parameters else { return Vec::new() };
    let resolved = |parameter: Value| {
        let reference =
            parameter.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/parameters/"));
        reference.and_then(|name| shared.get(name)).cloned().unwrap_or(parameter)
    };
    parameters.into_iter().map(resolved).collect()
}

fn is_same(left: &Value, right: &Value) -> bool {
    left.get("name") == right.get("name") && left.get("in") == right.get("in")
}

fn media_types(types: Option<Value>) -> Vec<String> {
    let Some(Value::Array(types)) = types else { return vec!["application/json".to_owned()] };
    types.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn upgrade(operation: &mut Map<String, Value>, parameters: Vec<Value>, consumes: &[String], produces: &[String]) {
    let place = |parameter: &Value| parameter.get("in").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (form, others): (Vec<_>, Vec<_>) = parameters.into_iter().partition(|parameter| place(parameter) == "formData");
    let (body, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|parameter| place(parameter) == "body");
    let body = body.into_iter().next();
    let schema = match &body {
        Some(body) => body.get("schema").cloned(),
        None if form.is_empty() => None,
        None => Some(form_schema(&form)),
    };
    if let Some(schema) = schema {
        // A list in a form is one text, unless the document says `multi`.
        let lists: Map<String, Value> =
            form.iter().map(|field| (name_of(field), json!({"explode": is_multi(field)}))).collect();
        // Only one media type has files.
        let with_files = ["multipart/form-data".to_owned()];
        let has_file = form.iter().any(|field| field.get("type").is_some_and(|kind| kind == "file"));
        let content: Map<String, Value> = if has_file { &with_files } else { consumes }
            .iter()
            .map(|media_type| (media_type.clone(), json!({"schema": schema, "encoding": lists})))
            .collect();
        let required = body.is_none_or(|body| body.get("required") == Some(&Value::Bool(true)));
        operation.insert("requestBody".to_owned(), json!({"required": required, "content": content}));
    }
    operation.insert("parameters".to_owned(), others.iter().map(parameter).collect());
    for response in operation.get_mut("responses").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
    {
        if let Some(response) = response.as_object_mut()
            && let Some(schema) = response.remove("schema")
        {
            let content: Map<String, Value> =
                produces.iter().map(|name| (name.clone(), json!({"schema": schema}))).collect();
            response.insert("content".to_owned(), Value::Object(content));
        }
    }
}

fn name_of(parameter: &Value) -> String {
    parameter.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn is_multi(parameter: &Value) -> bool {
    parameter.get("collectionFormat").is_some_and(|format| format == "multi")
}

/// The fields of a form as the schema of a body.
fn form_schema(form: &[Value]) -> Value {
    let properties: Map<String, Value> = form
        .iter()
        .map(|parameter| {
            let mut schema = schema_of(parameter);
            if let (Some(description), Some(members)) = (parameter.get("description"), schema.as_object_mut()) {
                members.insert("description".to_owned(), description.clone());
            }
            (name_of(parameter), schema)
        })
        .collect();
    let required = form.iter().filter(|parameter| parameter.get("required") == Some(&Value::Bool(true)));
    json!({"type": "object", "properties": properties, "required": required.map(name_of).collect::<Vec<_>>()})
}

/// The schema that a parameter has in 2.0 next to its name.
fn schema_of(parameter: &Value) -> Value {
    let members = parameter.as_object().into_iter().flatten();
    let own = members.filter(|(key, _)| !OF_PARAMETER.contains(&key.as_str()));
    let mut schema: Map<String, Value> = own.map(|(key, value)| (key.clone(), value.clone())).collect();
    if schema.get("type").is_some_and(|kind| kind == "file") {
        schema = Map::from_iter([("type".to_owned(), json!("string")), ("format".to_owned(), json!("binary"))]);
    }
    Value::Object(schema)
}

fn parameter(parameter: &Value) -> Value {
    // A reference that leads nowhere is told where parameters are read.
    if parameter.get("$ref").is_some() {
        return parameter.clone();
    }
    let mut upgraded = Map::new();
    for key in ["name", "in", "description", "required"] {
        if let Some(value) = parameter.get(key) {
            upgraded.insert(key.to_owned(), value.clone());
        }
    }
    let (style, explode) = match parameter.get("collectionFormat").and_then(Value::as_str).unwrap_or("csv") {
        "ssv" => ("spaceDelimited", false),
        "pipes" => ("pipeDelimited", false),
        "multi" => ("form", true),
        _ => ("form", false),
    };
    upgraded.insert("style".to_owned(), json!(style));
    upgraded.insert("explode".to_owned(), json!(explode));
    upgraded.insert("schema".to_owned(), schema_of(parameter));
    Value::Object(upgraded)
}

/// A security scheme of 3.0.
fn scheme_of(mut scheme: Value) -> Value {
    let text = |name: &str| scheme.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match text("type").as_str() {
        "basic" => json!({"type": "http", "scheme": "basic"}),
        "oauth2" => {
            let flow = match text("flow").as_str() {
                "accessCode" => "authorizationCode".to_owned(),
                "application" => "clientCredentials".to_owned(),
                other => other.to_owned(),
            };
            if let Some(members) = scheme.as_object_mut() {
                members.remove("type");
            }
            json!({"type": "oauth2", "flows": {flow: scheme}})
        }
        _ => scheme,
    }
}
