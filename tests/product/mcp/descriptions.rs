//! The descriptions of arguments: how many are missing, and what the descriptions of operations
//! say.

use serde_json::{Value, json};
use support::{Setup, description};

use super::Agent;

/// The most members of operations without a description. Only lower it.
const CEILING: usize = 5;

#[test]
fn few_members_of_shipped_operations_have_no_description() {
    let gateway = Setup::new().every_shipped().start();
    let document = gateway.client().get("/openapi.json").ok();
    assert!(description::operations(&document).count() > 200);
    let found = description::undescribed(&document);
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
