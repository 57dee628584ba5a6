//! Operations as tools of agents, at /mcp. This file has the clients that the tests share, each
//! other file one subject.

mod abuse;
mod answers;
mod calling;
mod clients;
mod confirming;
mod connecting;
mod descriptions;
mod dialects;
mod errors;
mod files;
mod jobs;
mod listening;
mod listing;
mod protocol;
mod searching;
mod service_events;
mod sessions;
mod sets;
mod snippets;
mod zero_bytes;

use serde_json::{Value, json};
use support::client::Call;
use support::{Answer, Client};

/// The newest revision.
const STATELESS: &str = "2026-07-28";

/// The newest revision with `initialize`.
const WITH_INITIALIZE: &str = "2025-11-25";

/// A client of the newest revision.
pub(crate) struct Agent {
    client: Client,
    path: String,
    capabilities: Value,
}

impl Agent {
    pub(crate) fn new(client: &Client, path: &str) -> Self {
        Self { client: client.clone(), path: path.to_owned(), capabilities: json!({}) }
    }

    /// Declares what the client can do.
    fn with(self, capabilities: Value) -> Self {
        Self { capabilities, ..self }
    }

    /// A request with everything that the revision wants.
    fn request(&self, method: &str, mut params: Value) -> Call {
        params["_meta"] = json!({});
        self.request_with_meta(method, params)
    }

    /// The same, with `_meta` of the caller.
    fn request_with_meta(&self, method: &str, mut params: Value) -> Call {
        let meta = params["_meta"].as_object_mut().unwrap();
        meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), STATELESS.into());
        meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), json!({"name": "test", "version": "1"}));
        meta.insert("io.modelcontextprotocol/clientCapabilities".to_owned(), self.capabilities.clone());
        let call = self
            .client
            .request("POST", &self.path)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", STATELESS)
            .header("mcp-method", method);
        let call = match params["name"].as_str() {
            Some(name) => call.header("mcp-name", name),
            None => call,
        };
        call.json(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    }

    fn send(&self, method: &str, params: Value) -> Answer {
        self.request(method, params).send()
    }

    /// The tools of the list.
    #[track_caller]
    fn tools(&self) -> Vec<Value> {
        let listed = result(&self.send("tools/list", json!({})));
        listed["tools"].as_array().expect("a list of tools").clone()
    }

    #[track_caller]
    fn names(&self) -> Vec<String> {
        self.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The text of a result that is no error.
    #[track_caller]
    pub(crate) fn text(&self, tool: &str, arguments: Value) -> String {
        let result = result(&self.call(tool, arguments));
        assert_eq!(result.get("isError"), None, "{result}");
        text_of(&result)
    }

    /// The text of a result that is an error.
    #[track_caller]
    fn refusal(&self, tool: &str, arguments: Value) -> String {
        let result = result(&self.call(tool, arguments));
        assert_eq!(result["isError"], true, "{result}");
        text_of(&result)
    }
}

/// The result in an answer.
#[track_caller]
fn result(answer: &Answer) -> Value {
    let message = answer.ok();
    assert_eq!((&message["jsonrpc"], &message["id"]), (&json!("2.0"), &json!(1)), "{message}");
    message.get("result").unwrap_or_else(|| panic!("no result: {message}")).clone()
}

/// The code of the error in an answer with this status.
#[track_caller]
fn code(answer: &Answer, status: u16) -> i64 {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "application/json");
    answer.json()["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {}", answer.text()))
}

/// The first text of a result.
#[track_caller]
fn text_of(result: &Value) -> String {
    assert_eq!(result["content"][0]["type"], "text", "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// A request of a client that begins with `initialize`.
fn with_initialize(client: &Client, path: &str, session: Option<&str>, method: &str, params: Value) -> Answer {
    let mut call = client.request("POST", path).header("accept", "application/json, text/event-stream");
    if method != "initialize" {
        call = call.header("mcp-protocol-version", WITH_INITIALIZE);
    }
    if let Some(session) = session {
        call = call.header("mcp-session-id", session);
    }
    call.json(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).send()
}
