//! The configurations of clients on the page about agents.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::{Setup, module};

use super::result;

/// A client of the page.
struct Expected {
    name: &'static str,
    /// The object of servers in its file.
    servers: &'static str,
    /// The members of a server, the one with the URL first.
    members: &'static [&'static str],
    /// The way in which the client is given the key.
    key: &'static str,
}

const KEY: &str = "Bearer cgw_YOUR_KEY";

const CLIENTS: [Expected; 6] = [
    Expected { name: "Claude Code", servers: "mcpServers", members: &["url", "type", "headers"], key: KEY },
    Expected { name: "Cursor", servers: "mcpServers", members: &["url", "headers"], key: KEY },
    Expected {
        name: "Visual Studio Code",
        servers: "servers",
        members: &["url", "type", "headers"],
        key: "Bearer ${input:gateway-key}",
    },
    Expected { name: "Zed", servers: "context_servers", members: &["url", "headers"], key: KEY },
    Expected { name: "Gemini CLI", servers: "mcpServers", members: &["httpUrl", "headers"], key: KEY },
    Expected { name: "Codex", servers: "mcp_servers", members: &["url", "bearer_token_env_var"], key: "GATEWAY_KEY" },
];

/// Each snippet of the page that configures a client: the client's name, and the document.
fn snippets(page: &str) -> Vec<(String, Value)> {
    let start = page.find("## Add the gateway to a client").unwrap();
    let section = page[start..].split("\n## ").next().unwrap();
    let parts = section.split("\n**").skip(1);
    parts
        .map(|part| {
            let (name, rest) = part.split_once("**").unwrap();
            let (language, rest) = rest.split_once("```").unwrap().1.split_once('\n').unwrap();
            let text = rest.split("```").next().unwrap();
            let document = match language {
                "json" => serde_json::from_str(text).unwrap(),
                "toml" => toml::from_str(text).unwrap(),
                other => panic!("{name}: {other}"),
            };
            (name.to_owned(), document)
        })
        .collect()
}

#[test]
fn each_configuration_on_the_page_is_of_its_client_and_reaches_the_tools() {
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new().module("account", module::account(&described)).start();
    let page = std::fs::read_to_string(module::root().join("host/docs/agents.md")).unwrap();
    let snippets = snippets(&page);
    let names: Vec<&str> = snippets.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, CLIENTS.map(|client| client.name));
    for ((name, document), Expected { servers, members, key, .. }) in snippets.iter().zip(CLIENTS) {
        let server = &document[servers]["connectors"];
        let found: BTreeSet<&str> = server.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(found, members.iter().copied().collect(), "{name}");
        if let Some(transport) = server.get("type") {
            assert_eq!(transport, "http", "{name}");
        }
        let header = match server.get("bearer_token_env_var") {
            Some(variable) => {
                assert_eq!(variable, key, "{name}");
                KEY.to_owned()
            }
            None => {
                assert_eq!(server["headers"], json!({"Authorization": key}), "{name}");
                let asked = document["inputs"][0]["id"].as_str().unwrap_or("-");
                key.replace(&format!("${{input:{asked}}}"), "cgw_YOUR_KEY")
            }
        };
        let header = header.replace("cgw_YOUR_KEY", gateway.client().key());
        let path = server[members[0]].as_str().unwrap().strip_prefix("http://127.0.0.1:8080").unwrap();
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        let call = gateway.anonymous().request("POST", path).header("authorization", &header);
        assert!(!result(&call.json(&list).send())["tools"].as_array().unwrap().is_empty(), "{name}");
    }
}
