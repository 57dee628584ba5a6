//! A connector with an honest manifest, whose operations break every limit and rule of the
//! contract. Each operation breaks one.
//!
//! An operation answers only if the gateway let it do so. The answer tells the test how the gateway
//! reacted.

mod answers;
mod hoard;
mod network;
mod resources;
mod state;

use serde_json::{Map, Value, json};

use self::bindings::gateway::connector::manifest::{
    Answer as AnswerKind, AuthScheme, CredentialUse, Effect, Imprint, Operation, Setting, Upstream,
};
use self::bindings::gateway::connector::outcome::{Fault, Outcome};
use self::bindings::{Guest, Manifest};

#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated from the contract")]
mod bindings {
    wit_bindgen::generate!({ path: "../../../wit", world: "connector", generate_all });

    use super::Hostile;
    export!(Hostile);
}

type Answer = Result<Outcome, Fault>;

/// An operation.
struct Row {
    path: &'static str,
    immediate: bool,
    answer: AnswerKind,
    effect: Effect,
    run: fn(&Value) -> Answer,
}

/// An operation that answers JSON or a file.
const fn row(path: &'static str, run: fn(&Value) -> Answer) -> Row {
    Row { path, immediate: false, answer: AnswerKind::Any, effect: Effect::Read, run }
}

const fn immediate(path: &'static str, run: fn(&Value) -> Answer) -> Row {
    Row { immediate: true, ..row(path, run) }
}

const fn writing(row: Row) -> Row {
    Row { effect: Effect::Write, ..row }
}

const fn json_only(row: Row) -> Row {
    Row { answer: AnswerKind::Json, ..row }
}

const fn file_only(row: Row) -> Row {
    Row { answer: AnswerKind::File, ..row }
}

const OPERATIONS: &[Row] = &[
    row("endless_loop", resources::endless_loop),
    immediate("endless_loop_at_once", resources::endless_loop),
    row("grow_memory", resources::grow_memory),
    row("catch_refused_memory", resources::catch_refused_memory),
    immediate("catch_refused_memory_at_once", resources::catch_refused_memory),
    row("deep_recursion", resources::deep_recursion),
    row("panic", resources::panic),
    row("huge_reply", resources::huge_reply),
    row("huge_log", resources::huge_log),
    row("many_documents", resources::many_documents),
    row("hoard_documents", hoard::documents),
    immediate("hoard_documents_at_once", hoard::documents),
    row("hoard_children", hoard::children),
    row("hoard_bodies", hoard::bodies),
    row("hoard_forms", hoard::forms),
    immediate("form_at_once", network::form),
    row("form", network::form),
    row("parse_without_end", hoard::parse_without_end),
    row("deep_pointer", hoard::deep_pointer),
    immediate("deep_pointer_at_once", hoard::deep_pointer),
    row("call", network::call),
    immediate("call_at_once", network::call),
    row("follow", network::follow),
    row("forward_link", network::forward_link),
    row("send_steps", network::send_steps),
    writing(row("write_steps", network::send_steps)),
    writing(immediate("write", network::forward)),
    writing(json_only(immediate("write_json", network::forward))),
    immediate("forward", network::forward),
    json_only(immediate("forward_json", network::forward)),
    file_only(immediate("forward_file", network::forward)),
    row("many_requests", network::many_requests),
    row("many_in_parallel", network::many_in_parallel),
    row("hoard_responses", network::hoard_responses),
    row("read_body", network::read_body),
    row("keep_state", state::keep_state),
    immediate("keep_state_at_once", state::keep_state),
    row("storage", state::storage),
    immediate("setting", state::setting),
    row("sleep", state::sleep),
    immediate("sleep_at_once", state::sleep),
    immediate("random", state::random),
    immediate("document", state::document),
    row("bad_json_reply", answers::bad_json_reply),
    immediate("fault", answers::fault),
    row("file", answers::file),
    json_only(row("file_as_json", answers::file)),
    file_only(row("json_as_file", answers::json)),
];

/// Members of the input of all operations. Each function says which it uses.
const MEMBERS: &[&str] = &[
    "as_fault",
    "body",
    "bytes",
    "content_type",
    "count",
    "depth",
    "detail",
    "file_name",
    "form",
    "header",
    "headers",
    "items",
    "json",
    "keep",
    "key",
    "kind",
    "lines",
    "max_bytes",
    "members",
    "message",
    "milliseconds",
    "method",
    "named",
    "parts",
    "path",
    "pointer",
    "reply",
    "status",
    "steps",
    "text",
    "through",
    "upstream",
];

/// Settings with the type that their values have. `fallback` is the only one with a default.
const SETTINGS: &[(&str, &str, Option<&str>)] = &[
    ("organization", r#"{"type": "string"}"#, None),
    ("limit", r#"{"type": "integer", "minimum": 1}"#, None),
    ("on", r#"{"type": "boolean"}"#, None),
    ("list", r#"{"type": "array"}"#, None),
    ("table", r#"{"type": "object"}"#, None),
    ("fallback", r#"{"type": "string"}"#, Some(r#""by default""#)),
];

struct Hostile;

impl Guest for Hostile {
    fn describe() -> Manifest {
        let upstream = |name: &str, base_url: &str| Upstream {
            name: name.to_owned(),
            base_url: base_url.to_owned(),
            credential: CredentialUse::None,
            link_hosts: vec!["elsewhere.example".to_owned()],
            pacing: None,
        };
        Manifest {
            identifier: "hostile".to_owned(),
            version: "1.0.0".to_owned(),
            title: "Hostile".to_owned(),
            description: String::new(),
            imprint: Imprint { license: "Apache-2.0".to_owned(), homepage: None, author: None, icon: None },
            auth: AuthScheme::None,
            upstreams: vec![upstream("api", "http://api.example"), upstream("other", "http://other.example")],
            rate_limits: Vec::new(),
            settings: SETTINGS.iter().map(|(name, schema, default)| setting(name, schema, *default)).collect(),
            operations: OPERATIONS.iter().map(operation).collect(),
        }
    }

    fn invoke(operation: String, input: String) -> Answer {
        let Some(row) = OPERATIONS.iter().find(|row| row.path == operation) else {
            return Err(Fault::Failed(format!("there is no `{operation}`")));
        };
        let input = serde_json::from_str(&input).map_err(|error| Fault::Failed(error.to_string()))?;
        (row.run)(&input)
    }
}

fn setting(name: &str, schema: &str, default: Option<&str>) -> Setting {
    Setting {
        name: name.to_owned(),
        schema: schema.to_owned(),
        default: default.map(str::to_owned),
        documentation: String::new(),
    }
}

fn operation(row: &Row) -> Operation {
    let properties: Map<String, Value> = MEMBERS.iter().map(|name| ((*name).to_owned(), json!(true))).collect();
    Operation {
        path: row.path.to_owned(),
        summary: row.path.replace('_', " "),
        description: String::new(),
        input_schema: json!({"type": "object", "additionalProperties": false, "properties": properties}).to_string(),
        example: None,
        envelope: true,
        effect: row.effect,
        answer: row.answer,
        answer_schema: None,
        answer_example: None,
        pagination: None,
        background: false,
        immediate: row.immediate,
        rate_limit: None,
    }
}

/// A member of the input that is text. Empty if there is no such member.
fn text<'a>(input: &'a Value, name: &str) -> &'a str {
    input[name].as_str().unwrap_or_default()
}

fn reply(document: &Value) -> Answer {
    Ok(Outcome::Reply(document.to_string()))
}
