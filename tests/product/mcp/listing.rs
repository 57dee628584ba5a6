//! The lists of tools: their form and their size.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use support::{Setup, module};

use super::Agent;

/// A token has about four characters.
fn tokens(tools: &[Value]) -> usize {
    json!(tools).to_string().len() / 4
}

#[test]
fn the_lists_of_every_shipped_connector_are_small_and_take_the_strictest_client() {
    let gateway = Setup::new().every_shipped().start();
    let client = gateway.client();
    for connector in module::shipped_names() {
        let tools = Agent::new(&client, &format!("/mcp/{connector}")).tools();
        assert!(tokens(&tools) < 10_000, "{connector}: {}", tokens(&tools));
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert!(names.is_sorted(), "{names:?}");
        for tool in &tools {
            check_tool(&connector, tool);
        }
    }
    let tools = Agent::new(&client, "/mcp").tools();
    assert!(tokens(&tools) < 2000, "{}", tokens(&tools));
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = [
        "call_destructive",
        "call_read",
        "call_write",
        "cancel_job",
        "connect_account",
        "describe_operations",
        "get_job",
        "list_accounts",
        "search_operations",
    ];
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    tools.iter().for_each(|tool| check_tool("the gateway", tool));
    // Without changes, none of the calls writes.
    let readonly = Agent::new(&client, "/mcp/readonly").names();
    assert!(!readonly.iter().any(|name| name == "call_write" || name == "call_destructive"), "{readonly:?}");
}

#[test]
fn an_operation_that_a_trigger_names_is_no_tool_and_is_not_found() {
    let gateway = Setup::new().module("liar", module::liar("trigger")).start();
    let client = gateway.client();
    let names = Agent::new(&client, "/mcp/liar").names();
    assert!(names.iter().any(|name| name.contains("version_at_once")), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("words")), "{names:?}");
    let found = Agent::new(&client, "/mcp").call("search_operations", json!({"query": "words read"})).text();
    assert!(!found.contains("words_read"), "{found}");
}

/// The names of the two operations begin alike, and so do the digits of their hashes.
#[test]
fn no_two_tools_have_the_same_name() {
    let operations = ["006065", "008334"].map(|number| format!("{}{number}_list", "a".repeat(34)));
    let row = |path: &String| format!("[operations.{path}]\nrequest = \"GET api /a\"\ndoc = \"A list.\"\n");
    let rows = operations.each_ref().map(row);
    let head = "identifier = \"shop\"\nversion = \"1.0.0\"\ntitle = \"Shop\"\ndoc = \"Orders of a shop.\"\n\
                license = \"Apache-2.0\"\nauth = \"none\"\n[upstreams]\napi = \"https://shop.invalid\"\n";
    let home = Setup::new().prepare();
    let [file, packed] = ["connector.toml", "shop.wasm"].map(|name| home.config().with_file_name(name));
    fs::write(&file, head.to_owned() + &rows.concat()).unwrap();
    home.run_ok(&["connectors", "pack", file.to_str().unwrap(), "--output", packed.to_str().unwrap()]);
    let gateway = Setup::new().module("shop", fs::read(&packed).unwrap()).start();
    let names = Agent::new(&gateway.client(), "/mcp").names();
    assert!(names.len() >= operations.len(), "{names:?}");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
}

/// The rules of the strictest known client.
fn check_tool(of: &str, tool: &Value) {
    let is_name = |name: &str, dot: bool| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || dot && byte == b'.';
        (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
    };
    let name = tool["name"].as_str().unwrap();
    assert!(is_name(name, false), "{of}: {name}");
    for member in ["title", "description"] {
        assert!(tool[member].as_str().is_some_and(|text| !text.is_empty()), "{of}/{name}: {member}");
    }
    for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
        assert!(tool["annotations"][hint].is_boolean(), "{of}/{name}: {hint}");
    }
    let schema = &tool["inputSchema"];
    assert_eq!(schema["type"], "object", "{of}/{name}");
    for key in ["oneOf", "anyOf", "allOf", "not", "enum"] {
        assert!(schema.get(key).is_none(), "{of}/{name}: {key}");
    }
    assert!(!schema.to_string().contains("\"$ref\""), "{of}/{name}");
    check_schema(&format!("{of}/{name}"), schema);
    let properties = schema["properties"].as_object().unwrap();
    assert!(properties.keys().all(|property| is_name(property, true)), "{of}/{name}: {properties:?}");
    for required in schema["required"].as_array().into_iter().flatten() {
        assert!(properties.contains_key(required.as_str().unwrap()), "{of}/{name}: {required}");
    }
    assert!(
        !["response_filters", "waiting", "callback_urls"].iter().any(|hidden| properties.contains_key(*hidden)),
        "{of}/{name}"
    );
}

/// Rules that hold for each part of a schema: strict clients leave out a tool of which a part
/// breaks one, and some leave out all tools then.
fn check_schema(at: &str, schema: &Value) {
    let object = schema.as_object().unwrap_or_else(|| panic!("{at}: {schema}"));
    let is_of_type = |name: &str| match &schema["type"] {
        Value::Array(names) => names.iter().any(|each| each == name),
        only => only == name,
    };
    assert!(
        !is_of_type("array") || object.contains_key("items") || object.contains_key("prefixItems"),
        "{at}: {schema}"
    );
    if let Some(values) = object.get("enum") {
        assert!(values.as_array().is_some_and(|values| !values.is_empty()), "{at}: {schema}");
    }
    if let (Some(properties), Some(required)) = (schema["properties"].as_object(), schema["required"].as_array()) {
        assert!(required.iter().all(|name| properties.contains_key(name.as_str().unwrap())), "{at}: {schema}");
    }
    for (name, part) in schema["properties"].as_object().into_iter().flatten() {
        check_schema(&format!("{at}/{name}"), part);
    }
    for key in ["items", "not", "additionalProperties"] {
        if let Some(part) = object.get(key).filter(|part| !part.is_boolean()) {
            check_schema(&format!("{at}/{key}"), part);
        }
    }
    for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for part in schema[key].as_array().into_iter().flatten() {
            check_schema(&format!("{at}/{key}"), part);
        }
    }
}

#[test]
fn a_tool_says_what_its_operation_does() {
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new().module("account", module::account(&described)).start();
    let client = gateway.client();
    let tools = Agent::new(&client, "/mcp").tools();
    let find = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    let (read, write) = (find("account__forward"), find("account__change"));
    assert_eq!(
        (&read["annotations"]["readOnlyHint"], &write["annotations"]["readOnlyHint"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(read["description"], "Forward.");
    let properties = read["inputSchema"]["properties"].as_object().unwrap();
    assert!(properties.contains_key("response_fields") && !properties.contains_key("account"), "{properties:?}");
    // Nobody needs an account here.
    assert!(!tools.iter().any(|tool| tool["name"] == "connect_account"));
    let of_connector = Agent::new(&client, "/mcp/account").names();
    assert!(of_connector.contains(&"forward".to_owned()), "{of_connector:?}");
}

#[test]
fn tools_whose_results_may_be_long_tell_claude_code_how_long() {
    let described = json!({"identifier": "account", "auth": "none"});
    for (config, size) in
        [("", 62_464), ("direct_tools = 0\nmax_result_kb = 1", 2048), ("max_result_kb = 10240", 500_000)]
    {
        let setup = Setup::new().module("account", module::account(&described)).config(&format!("[mcp]\n{config}"));
        let gateway = setup.start();
        let tools = Agent::new(&gateway.client(), "/mcp").tools();
        assert!(tools.iter().any(|tool| tool["name"] == "cancel_job"), "{tools:?}");
        for tool in tools {
            let name = tool["name"].as_str().unwrap();
            let is_long =
                ["account__", "call_", "describe_operations", "get_job"].iter().any(|of| name.starts_with(of));
            let expected = is_long.then(|| json!({"anthropic/maxResultSizeChars": size}));
            assert_eq!(tool.get("_meta"), expected.as_ref(), "{config}: {tool}");
        }
    }
}

#[test]
fn a_list_follows_the_connectors_that_are_live() {
    let gateway =
        Setup::new().module("account", module::account(&json!({"identifier": "account", "auth": "none"}))).start();
    let agent = Agent::new(&gateway.client(), "/mcp");
    assert!(agent.names().iter().all(|name| !name.starts_with("other__")));
    gateway.home().put("other", &module::account(&json!({"identifier": "other", "auth": "none"})));
    support::wait_for("the tools of the other connector", || {
        agent.names().iter().any(|name| name.starts_with("other__")).then_some(())
    });
}
