//! The types of events that an agent may use.

use super::*;

fn names(agent: &Agent) -> Vec<String> {
    let listed = result(&agent.send("events/list", json!({})));
    listed["events"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_extension_is_announced_to_clients_of_every_revision() {
    let world = world();
    let capabilities = |discovered: &Value| {
        assert_eq!(discovered["capabilities"]["events"], json!({}), "{discovered}");
        assert_eq!(discovered["capabilities"]["extensions"]["io.modelcontextprotocol/events"], json!({}));
    };
    capabilities(&result(&agent(&world).send("server/discover", json!({}))));
    let begun = json!({"protocolVersion": super::super::WITH_INITIALIZE, "capabilities": {}});
    capabilities(&result(&with_initialize(&world.client(), "/mcp", None, "initialize", begun)));
    let listed = with_initialize(&world.client(), "/mcp", None, "events/list", json!({}));
    assert!(result(&listed)["events"].as_array().unwrap().len() > 4, "{}", listed.text());
}

#[test]
fn a_type_has_its_schemas_and_says_that_its_texts_are_untrusted() {
    let world = world();
    let listed = result(&agent(&world).send("events/list", json!({})));
    assert_eq!((&listed["resultType"], &listed["cacheScope"]), (&json!("complete"), &json!("private")));
    let find =
        |listed: &Value| listed["events"].as_array().unwrap().iter().find(|of| of["name"] == CHANGE).cloned().unwrap();
    let change = find(&listed);
    let description = change["description"].as_str().unwrap();
    assert!(
        description.starts_with("A file in a folder has changed. ") && description.contains("untrusted"),
        "{description}"
    );
    assert_eq!(change["delivery"], json!(["poll", "webhook"]));
    let properties =
        |of: &Value| of["inputSchema"]["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        (properties(&change), &change["inputSchema"]["required"]),
        (vec!["folder".to_owned()], &json!(["folder"]))
    );
    assert_eq!(change["payloadSchema"]["properties"]["name"]["type"], "string");
    for name in ["ada", "bob"] {
        crate::integrations::connect(&world.client(), "notified", name);
    }
    let several = find(&result(&agent(&world).send("events/list", json!({}))));
    assert_eq!(properties(&several), ["folder", "account"]);
    let page = agent(&world).send("events/list", json!({"cursor": "1"}));
    assert_eq!(code(&page, 200), -32602);
}

#[test]
fn a_list_has_what_the_address_the_key_and_the_set_leave() {
    let world = world();
    let of_connector =
        ["change", "item", "limited", "mail", "message", "post", "renewed"].map(|kind| format!("notified.{kind}"));
    let all = names(&agent(&world));
    assert_eq!(all.len(), 11, "{all:?}");
    assert!(all.contains(&"gateway.integration_expired".to_owned()));
    assert_eq!(names(&Agent::new(&world.client(), "/mcp/readonly")), all, "an event changes nothing");
    assert_eq!(names(&Agent::new(&world.client(), "/mcp/notified")), of_connector);
    let arguments = ["keys", "create", "--name", "limited", "--tenant", "default", "--allow", "notified/change"];
    let key = world.gateway.home().run_ok(&arguments);
    let limited = world.gateway.anonymous().with_key(key.trim_end());
    assert_eq!(names(&Agent::new(&limited, "/mcp")), [CHANGE]);
    let made = world.client().post("/mcp-sets", json!({"name": "mails", "allow": ["notified/mail", "notified/me"]}));
    assert_eq!(made.status, 201, "{}", made.text());
    let of_set = Agent::new(&world.client(), "/mcp/sets/mails");
    assert_eq!(names(&of_set), ["notified.mail"]);
    let outside = of_set.send("events/poll", plans(json!({})));
    assert_eq!((code(&outside, 200), &outside.json()["error"]["data"]), (-32011, &json!({"kind": "event"})));
}
