//! The descriptions of arguments: how many are missing, and what the descriptions of operations
//! say.

use serde_json::{Value, json};
use support::{Setup, description};

use super::Agent;

/// The most members of operations without a description. Only lower it.
const CEILING: usize = 1;

#[test]
fn few_members_of_shipped_operations_have_no_description() {
    let gateway = Setup::new().every_shipped().start();
    let document = gateway.client().get("/openapi.json").ok();
    assert!(description::operations(&document).count() > 200);
    let found = description::undescribed(&document);
    assert!(found.len() <= CEILING, "{} of {CEILING}: {found:#?}", found.len());
}

#[test]
fn operations_are_described_with_the_example_of_their_manifest() {
    let gateway = Setup::new().every_shipped().start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    let names = ["code_hosting__list_issues", "code_hosting__search_issues", "office_mail__list_messages"];
    let described: Value = serde_json::from_str(&agent.text("describe_operations", json!({"names": names}))).unwrap();
    assert_eq!(described[0]["example"]["owner"], "octocat", "{described}");
    // A call of a tool waits anyway.
    assert_eq!((&described[1]["example"]["state"], described[1]["example"].get("waiting")), (&json!("open"), None));
    assert_eq!(described[2]["example"]["query"]["$top"], 25);
}

#[test]
fn lists_of_issues_and_mail_say_which_fields_are_usual() {
    let gateway = Setup::new().every_shipped().start();
    let client = gateway.client();
    for connector in ["code_hosting", "workspace_mail", "office_mail"] {
        let tools = Agent::new(&client, &format!("/mcp/{connector}")).tools();
        let is_list = |tool: &&Value| {
            let name = tool["name"].as_str().unwrap();
            name != "list_accounts" && ["list", "search"].iter().any(|word| name.contains(word))
        };
        let lists: Vec<&Value> = tools.iter().filter(is_list).collect();
        assert!(lists.len() >= 4, "{connector}: {lists:?}");
        for list in lists {
            assert!(list["description"].as_str().unwrap().contains("Usual `response_fields`: `"), "{list}");
        }
    }
}
