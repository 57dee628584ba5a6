//! A connector that tells the truth about itself and then breaks every limit and rule there is, one an operation.
//!
//! Each function answers only if the gateway let it, so what a test sees is what the gateway did about it.

mod answers;
mod hoard;
mod network;
mod resources;
mod state;

use serde_json::Value;

use self::bindings::gateway::connector::manifest::{AuthScheme, Effect, Operation, Upstream};
use self::bindings::gateway::connector::outcome::{Fault, Outcome};
use self::bindings::{Guest, Manifest};

#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated from the contract")]
mod bindings {
    wit_bindgen::generate!({ path: "../../../wit", world: "connector", generate_all });

    use super::Hostile;
    export!(Hostile);
}

type Answer = Result<Outcome, Fault>;

/// Path, whether the manifest calls it immediate, and what it does.
type Row = (&'static str, bool, fn(&Value) -> Answer);

const OPERATIONS: &[Row] = &[
    ("endless_loop", false, resources::endless_loop),
    ("endless_loop_at_once", true, resources::endless_loop),
    ("grow_memory", false, resources::grow_memory),
    ("deep_recursion", false, resources::deep_recursion),
    ("panic", false, resources::panic),
    ("huge_reply", false, resources::huge_reply),
    ("huge_log", false, resources::huge_log),
    ("many_documents", false, resources::many_documents),
    ("hoard_documents", false, hoard::documents),
    ("hoard_documents_at_once", true, hoard::documents),
    ("hoard_children", false, hoard::children),
    ("hoard_bodies", false, hoard::bodies),
    ("parse_without_end", false, hoard::parse_without_end),
    ("deep_pointer", false, hoard::deep_pointer),
    ("call", false, network::call),
    ("call_at_once", true, network::call),
    ("forward", true, network::forward),
    ("many_requests", false, network::many_requests),
    ("many_in_parallel", false, network::many_in_parallel),
    ("read_body", false, network::read_body),
    ("keep_state", false, state::keep_state),
    ("keep_state_at_once", true, state::keep_state),
    ("storage", false, state::storage),
    ("setting", true, state::setting),
    ("document", true, state::document),
    ("bad_json_reply", false, answers::bad_json_reply),
    ("fault", true, answers::fault),
    ("file", false, answers::file),
];

struct Hostile;

impl Guest for Hostile {
    fn describe() -> Manifest {
        let upstream = |name: &str, base_url: &str| Upstream {
            name: name.to_owned(),
            base_url: base_url.to_owned(),
            redirect_hosts: vec!["elsewhere.example".to_owned()],
            pacing: None,
        };
        Manifest {
            identifier: "hostile".to_owned(),
            version: "1.0.0".to_owned(),
            title: "Hostile".to_owned(),
            description: String::new(),
            auth: AuthScheme::None,
            upstreams: vec![upstream("api", "http://api.example"), upstream("other", "http://other.example")],
            rate_limits: Vec::new(),
            operations: OPERATIONS.iter().map(|(path, immediate, _)| operation(path, *immediate)).collect(),
        }
    }

    fn invoke(operation: String, input: String) -> Answer {
        let Some((_, _, run)) = OPERATIONS.iter().find(|(path, _, _)| *path == operation) else {
            return Err(Fault::Failed(format!("there is no `{operation}`")));
        };
        let input = serde_json::from_str(&input).map_err(|error| Fault::Failed(error.to_string()))?;
        run(&input)
    }
}

fn operation(path: &str, immediate: bool) -> Operation {
    Operation {
        path: path.to_owned(),
        summary: path.replace('_', " "),
        description: String::new(),
        input_schema: r#"{"type": "object", "additionalProperties": true}"#.to_owned(),
        example: None,
        envelope: true,
        effect: Effect::Read,
        background: false,
        immediate,
        rate_limit: None,
    }
}

/// A member of the input that is text, or nothing.
fn text<'a>(input: &'a Value, name: &str) -> &'a str {
    input[name].as_str().unwrap_or_default()
}

fn reply(document: &Value) -> Answer {
    Ok(Outcome::Reply(document.to_string()))
}
