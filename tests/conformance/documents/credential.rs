//! The credential of a request, by the security schemes of the document.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use support::Seen;

use super::project::{Project, Row};
use super::world::{KEY, NAME};
use crate::specifications::Method;

/// Removes a key in the query, which is not one of the operation's parameters.
pub(super) fn remove(document: &Value, method: &Method, request: &mut Value) {
    let schemes = document["components"]["securitySchemes"].as_object().into_iter().flatten();
    for name in schemes.filter(|(_, scheme)| scheme["in"] == "query").filter_map(|(_, scheme)| scheme["name"].as_str())
    {
        if method.part("query", name).is_none() {
            request["query"].as_object_mut().map(|query| query.shift_remove(name));
        }
    }
}

/// A sentence if a request has none of the credentials that the document demands for its operation.
/// A requirement of several schemes, or of a scheme that the table does not have, is left out by
/// the command for the whole document.
pub(super) fn missing(project: &Project, row: &Row, request: &Seen) -> Option<String> {
    if project.auth == "None" {
        return None;
    }
    let (method, path) = row.title().split_once(' ').map(|(method, path)| (method.to_lowercase(), path.to_owned()))?;
    let document = &project.document;
    let own = &document["paths"][&path][&method]["security"];
    let requirements = if own.is_null() { &document["security"] } else { own };
    let requirements: Vec<&Map<String, Value>> =
        requirements.as_array().into_iter().flatten().filter_map(Value::as_object).collect();
    let scheme = |name: &str| &document["components"]["securitySchemes"][name];
    let is_chosen = |name: &String| is_of_table(scheme(name), &project.auth);
    let possible: Vec<_> = requirements.iter().filter(|one| !one.is_empty() && one.keys().all(is_chosen)).collect();
    let is_met = |one: &&&Map<String, Value>| one.keys().all(|name| has(scheme(name), request));
    let is_demanded = !possible.is_empty() && !requirements.iter().any(|one| one.is_empty());
    (is_demanded && !possible.iter().any(is_met)).then(|| format!("none of {requirements:?} is in the request"))
}

/// Returns `true` for the scheme of a table's statement `auth`.
fn is_of_table(scheme: &Value, auth: &str) -> bool {
    let name = &scheme["name"];
    match (scheme["type"].as_str(), scheme["in"].as_str(), scheme["scheme"].as_str()) {
        (Some("oauth2"), ..) => auth.starts_with("OAuth2") && scheme["flows"]["authorizationCode"].is_object(),
        (Some("apiKey"), Some("header"), _) => auth.contains(&format!("Header {{ name: {name}, prefix: \"\" }}")),
        (Some("apiKey"), Some("query"), _) => auth.contains(&format!("Query({name})")),
        (Some("http"), _, Some("basic")) => auth.contains("KeyPlacement::Basic"),
        (Some("http"), _, Some("bearer")) => auth.contains("prefix: \"Bearer \""),
        _ => false,
    }
}

fn has(scheme: &Value, request: &Seen) -> bool {
    let name = scheme["name"].as_str().unwrap_or_default();
    let authorization = request.header("authorization");
    match (scheme["type"].as_str(), scheme["in"].as_str(), scheme["scheme"].as_str()) {
        (Some("apiKey"), Some("header"), _) => request.header(&name.to_lowercase()) == KEY,
        (Some("apiKey"), Some("query"), _) => request.parameter(name).as_deref() == Some(KEY),
        (Some("http"), _, Some("basic")) => {
            authorization == format!("Basic {}", STANDARD.encode(format!("{NAME}:{KEY}")))
        }
        (Some("http"), _, Some("bearer")) => authorization == format!("Bearer {KEY}"),
        (Some("oauth2"), ..) => authorization.starts_with("Bearer "),
        _ => false,
    }
}
