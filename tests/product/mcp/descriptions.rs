//! The descriptions of arguments: how many are missing, and what the descriptions of operations
//! say.

use serde_json::{Value, json};
use support::Setup;

use super::Agent;

/// The most members of operations without a description. Only lower it.
const CEILING: usize = 5;

/// Members that the gateway adds to operations.
const OF_GATEWAY: [&str; 4] = ["response_fields", "response_filters", "waiting", "callback_urls"];

/// Returns `true` for a parameter of the service's query, which the member `query` describes.
fn is_entry(schema: &Value) -> bool {
    let types = schema["type"].as_array().map(Vec::as_slice).unwrap_or_default();
    schema["enum"].is_array() && schema.get("type").is_none()
        || ["boolean", "array"].iter().all(|name| types.contains(&json!(name)))
}

/// The schema that a schema of a document refers to, or the schema itself.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let referred = schema["$ref"].as_str().and_then(|name| document.pointer(name.strip_prefix('#')?));
    referred.unwrap_or(schema)
}

/// Collects the places of the members without a description.
fn undescribed(document: &Value, at: &str, schema: &Value, found: &mut Vec<String>) {
    let schema = resolved(document, schema);
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{at}/{name}");
        let referred = resolved(document, member);
        if OF_GATEWAY.contains(&name.as_str()) || is_entry(referred) {
            continue;
        }
        let has_description = |schema: &Value| schema["description"].as_str().is_some_and(|text| !text.is_empty());
        if !has_description(member) && !has_description(referred) {
            found.push(place.clone());
        }
        undescribed(document, &place, referred, found);
    }
    if schema["items"].is_object() {
        undescribed(document, &format!("{at}/items"), &schema["items"], found);
    }
}

#[test]
fn few_members_of_shipped_operations_have_no_description() {
    let gateway = Setup::new().every_shipped().start();
    let document = gateway.client().get("/openapi.json").ok();
    let (mut found, mut operations) = (Vec::new(), 0);
    for (path, item) in document["paths"].as_object().unwrap() {
        if path.starts_with("/connectors/") && item["post"]["tags"][0] == *path.split('/').nth(2).unwrap() {
            let schema = &item["post"]["requestBody"]["content"]["application/json"]["schema"];
            undescribed(&document, path, schema, &mut found);
            operations += 1;
        }
    }
    assert!(operations > 200, "{operations}");
    assert!(found.len() <= CEILING, "{} of {CEILING}: {found:#?}", found.len());
}

#[test]
fn operations_are_described_with_the_example_of_their_manifest_and_usual_fields() {
    let gateway = Setup::new().every_shipped().start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let names = ["code_hosting__list_issues", "code_hosting__search_issues", "office_mail__list_messages"];
    let described: Value = serde_json::from_str(&agent.text("describe_operations", json!({"names": names}))).unwrap();
    assert_eq!(described[0]["example"]["owner"], "octocat", "{described}");
    // A call of a tool waits anyway.
    assert_eq!((&described[1]["example"]["state"], described[1]["example"].get("waiting")), (&json!("open"), None));
    assert_eq!(described[2]["example"]["query"]["$top"], 25);
    for operation in described.as_array().unwrap() {
        assert!(operation["description"].as_str().unwrap().contains("Usual `response_fields`"), "{operation}");
    }
}
