//! A refused call of an operation in words, which name the arguments of its tool.
//!
//! The pipeline names the members of the operation. A tool may give a member another name, and it
//! lacks members that are for applications. A model must not be told to use those.

use serde_json::{Value, json};

use super::result;
use super::tool_call::ToolCall;
use contract_rules::pointer;
use mcp::Tool;
use mcp::input_schema::{Extra, InputSchema};
use problem::Problem;
use schema::Fields;

/// A member of the envelope that is no argument of a tool. The gateway accepts it.
const RESPONSE_FILTERS: &str = "response_filters";

/// A problem of a call in words.
pub(super) fn of_call(call: &ToolCall<'_>, tool: &Tool, problem: &Problem) -> String {
    let mut document = problem.document(call.request_id);
    let connector = call.exchange.gateway.registry.get(&tool.connector);
    let operation = connector.as_ref().and_then(|connector| connector.operation(&tool.operation));
    if let (Some(errors), Some(operation)) = (document["errors"].as_array_mut(), operation) {
        let schema = InputSchema::of(operation, Extra { has_account: false, confirm: tool.confirm_argument });
        let members = operation.input_schema();
        let is_member = |name: &str| {
            members["properties"].get(name).is_some() || operation.manifest.envelope && name == RESPONSE_FILTERS
        };
        errors.iter_mut().for_each(|error| name_arguments(error, &schema, &is_member));
    }
    result::in_words(&document, problem.retry_after_s())
}

/// Names the arguments of a tool in a violation. `is_member` says if the operation has a member.
fn name_arguments(error: &mut Value, schema: &InputSchema, is_member: &dyn Fn(&str) -> bool) {
    let fields = Fields::of(&schema.document);
    let at = error["pointer"].as_str().unwrap_or_default().to_owned();
    let Some(rest) = at.strip_prefix('/') else { return };
    let (first, below) = rest.split_once('/').map_or((rest, None), |(first, below)| (first, Some(below)));
    let member = first.replace("~1", "/").replace("~0", "~");
    if let Some((argument, _)) = schema.renamed.iter().find(|(_, renamed)| *renamed == member) {
        let below = below.map(|below| format!("/{below}")).unwrap_or_default();
        error["pointer"] = json!(format!("{}{below}", pointer::of(argument)));
    } else if below.is_none() && !fields.has(&member) && !is_member(&member) {
        error["detail"] = json!(fields.unknown(&member, "describe_operations"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_names_the_arguments_of_the_tool() {
        let schema = InputSchema {
            document: json!({"properties": {
                "_top": {"type": "integer"},
                "path": {"type": "string"},
                "query": {"type": "object", "properties": {"page": {"type": "string"}}},
            }}),
            renamed: vec![("_top".to_owned(), "$top".to_owned())],
            structures: Vec::new(),
        };
        let named = |pointer: &str, detail: &str| {
            let mut error = json!({"pointer": pointer, "detail": detail});
            name_arguments(&mut error, &schema, &|name: &str| name == "waiting");
            (error["pointer"].as_str().unwrap().to_owned(), error["detail"].as_str().unwrap().to_owned())
        };
        assert_eq!(named("/$top", "Must be an integer.").0, "/_top");
        assert_eq!(named("/$top/0", "x").0, "/_top/0");
        let all = "`pat` is not a field here; the fields are waiting, path, response_filters.";
        assert_eq!(named("/pat", all).1, "`pat` is not a field here; did you mean `path`?");
        assert!(named("/zzz", all).1.ends_with("the fields are _top, path, query."));
        assert!(named("/page", all).1.contains("belongs into `query`"));
        for (pointer, detail) in
            [("/path", "Must be a string."), ("/waiting", "Must be a boolean."), ("/query/x", "x"), ("", "x")]
        {
            assert_eq!(named(pointer, detail), (pointer.to_owned(), detail.to_owned()));
        }
    }
}
