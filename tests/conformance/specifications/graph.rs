//! Microsoft Graph, whose `OpenAPI` documents are neither complete nor current. Its schema in CSDL
//! has the members and parameters that they lack, and its documentation has further forms of the
//! addresses that they contain.

use serde_json::{Map, Value, json};

use super::method::Method;
use super::template::Template;

/// Beginnings of paths, each with the beginning that leads to the same resource.
const SAME_RESOURCE: [(&str, &str); 1] = [
    // The drive of a site is a drive as any other.
    ("/sites/{site_id}/drive/", "/drives/{drive-id}/"),
];

/// Paths that address a resource by its place, each with the path that addresses it by its
/// identifier.
const BY_PLACE: [(&str, &str); 2] = [
    (
        "/drives/{drive_id}/items/{parent_item_id}:/{file_name}:/content",
        "/drives/{drive-id}/items/{driveItem-id}/content",
    ),
    ("/sites/{hostname}:/{server_relative_path}", "/sites/{site-id}"),
];

/// Parameters that the documentation has and the documents lack, each with the path of its method.
const FURTHER_PARAMETERS: [(&str, &str); 1] = [("/sites", "search")];

/// The method at a path of the catalogue, from the one that the documents describe; `None` if there
/// is no such method.
pub(super) fn method(
    methods: &[Method],
    verb: &str,
    path: &str,
    spans_segments: impl Fn(&str) -> bool,
) -> Option<Method> {
    let by_place = BY_PLACE.iter().find(|(place, _)| *place == path).map(|(_, same)| (*same).to_owned());
    let same_resource =
        || SAME_RESOURCE.iter().find_map(|(beginning, same)| Some(format!("{same}{}", path.strip_prefix(beginning)?)));
    let described = by_place.or_else(same_resource).unwrap_or_else(|| path.to_owned());
    let shape = |text: &str| {
        let placeholders = text.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
        placeholders.collect::<Vec<_>>().join("{}")
    };
    let named = |method: &&Method| {
        method.names.iter().any(|name| {
            name.split_once(' ').is_some_and(|(found, path)| found == verb && shape(path) == shape(&described))
        })
    };
    let mut method = methods.iter().find(named)?.clone();
    method.url = Template::parse(&format!("graph.microsoft.com/v1.0{path}"), spans_segments);
    // The placeholders have the catalogue's names now.
    let schemas = method.url.placeholders().map(|(name, is_quoted)| {
        let pattern = if is_quoted { "^([^']|'')+$" } else { "^.+$" };
        (name.to_owned(), json!({"type": "string", "pattern": pattern}))
    });
    method.request["properties"]["path"] = json!({"type": "object", "properties": schemas.collect::<Map<_, _>>()});
    for (_, name) in FURTHER_PARAMETERS.iter().filter(|(further, _)| *further == path) {
        method.request["properties"]["query"]["properties"][name] = json!({"type": "string"});
    }
    Some(method)
}

/// Adds to an `OpenAPI` document what only the current schema has.
pub(super) fn complete(document: &mut Value, current: &Value) {
    let known: Vec<String> = document["components"]["schemas"].as_object().unwrap().keys().cloned().collect();
    complete_types(document, current, &known);
    complete_actions(document, current, &known);
}

/// Adds the members of types. `known` are the names of the document's types.
fn complete_types(document: &mut Value, current: &Value, known: &[String]) {
    for (name, described) in current["types"].as_object().unwrap() {
        let Some(schema) = document["components"]["schemas"].get_mut(name) else { continue };
        let Some(members) = own_members(schema) else { continue };
        let properties = described["properties"].as_object().into_iter().flatten();
        let properties = properties.map(|(name, property)| (name, &property["type"]));
        for (name, edm) in properties.chain(described["navigation"].as_object().into_iter().flatten()) {
            members.entry(name).or_insert_with(|| schema_of(edm.as_str().unwrap_or_default(), known));
        }
    }
}

/// Adds the parameters of actions, which are members of their bodies.
fn complete_actions(document: &mut Value, current: &Value, known: &[String]) {
    let operations = current["operations"].as_array().unwrap();
    let actions: Vec<&Value> = operations.iter().filter(|operation| operation["kind"] == "action").collect();
    let bodies = document["components"]["requestBodies"].clone();
    for (path, item) in document["paths"].as_object_mut().unwrap() {
        let name = path.rsplit('/').next().unwrap_or_default();
        let parameters = actions.iter().filter(|action| action["name"] == name);
        let parameters: Vec<&Map<String, Value>> = parameters.filter_map(|one| one["parameters"].as_object()).collect();
        if parameters.is_empty() {
            continue;
        }
        let Some(body) = item.pointer_mut("/post/requestBody") else { continue };
        if let Some(name) = body["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
            *body = bodies[name].clone();
        }
        let Some(schema) = body.pointer_mut("/content/application~1json/schema") else { continue };
        let Some(members) = own_members(schema) else { continue };
        // Several types may have an action of this name. Those without a parameter that the
        // document has are others.
        let fitting = parameters.into_iter().filter(|one| members.keys().all(|name| one.contains_key(name)));
        for (name, edm) in fitting.collect::<Vec<_>>().into_iter().flatten() {
            members.entry(name).or_insert_with(|| schema_of(edm.as_str().unwrap_or_default(), known));
        }
        // The service takes the names in either case. Its documentation writes them with a small
        // first letter.
        *members = std::mem::take(members).into_iter().map(|(name, schema)| (small_first(&name), schema)).collect();
    }
}

/// The members that a schema describes itself, in addition to the inherited ones.
fn own_members(schema: &mut Value) -> Option<&mut Map<String, Value>> {
    let own = match schema
        .get("allOf")
        .and_then(Value::as_array)
        .and_then(|all| all.iter().position(|one| one["properties"].is_object()))
    {
        Some(index) => &mut schema["allOf"][index],
        None => schema,
    };
    own.get_mut("properties")?.as_object_mut()
}

/// The `OpenAPI` schema of a type of CSDL.
fn schema_of(edm: &str, known: &[String]) -> Value {
    if let Some(item) = edm.strip_prefix("Collection(").and_then(|rest| rest.strip_suffix(')')) {
        return json!({"type": "array", "items": schema_of(item, known)});
    }
    match edm {
        "Edm.Boolean" => json!({"type": "boolean", "nullable": true}),
        "Edm.Int16" | "Edm.Int32" | "Edm.Int64" => json!({"type": "integer", "nullable": true}),
        "Edm.Double" => json!({"type": "number", "nullable": true}),
        "Edm.DateTimeOffset" => json!({"type": "string", "format": "date-time", "nullable": true}),
        edm if edm.starts_with("Edm.") => json!({"type": "string", "nullable": true}),
        edm if known.iter().any(|name| name == edm) => json!({"$ref": format!("#/components/schemas/{edm}")}),
        _ => json!({"type": "object"}),
    }
}

fn small_first(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map(|first| first.to_ascii_lowercase().to_string() + characters.as_str()).unwrap_or_default()
}
