//! The dialects of models and clients: the parts of a tool that each refuses. Every tool must keep
//! to all of them, because a client may leave out a tool for one part, and some providers refuse
//! the whole request.

use serde_json::{Value, json};
use support::{Setup, module};

use super::Agent;

/// The name that the documentation gives the gateway in the settings of clients.
const SERVER: &str = "connectors";

/// The part of a tool that a rule is about.
enum Part {
    /// The whole tool.
    Tool(fn(&Value) -> bool),
    /// The schema of the arguments.
    Arguments(fn(&Value) -> bool),
    /// Each schema: the one of the arguments, and each in it.
    Schema(fn(&Value) -> bool),
}

/// A rule of a client.
struct Rule {
    /// The client or the provider.
    of: &'static str,
    says: &'static str,
    source: &'static str,
    /// Returns `true` if the part keeps the rule.
    holds: Part,
    /// A tool that breaks the rule.
    broken: fn() -> Value,
}

const RULES: &[Rule] = &[
    Rule {
        of: "Gemini",
        says: "`type` is one name",
        source: "https://github.com/github/copilot-cli/issues/4623",
        holds: Part::Schema(|schema| schema["type"].is_string()),
        broken: || with_argument(json!({"type": ["string", "null"]})),
    },
    Rule {
        of: "Gemini",
        says: "a schema is no boolean",
        source: "https://github.com/github/copilot-cli/issues/4623",
        holds: Part::Schema(Value::is_object),
        broken: || with_argument(json!(true)),
    },
    Rule {
        of: "Gemini",
        says: "a list has `items`",
        source: "https://github.com/t8y2/dbx/issues/6233",
        holds: Part::Schema(|schema| schema["type"] != "array" || schema["items"].is_object()),
        broken: || with_argument(json!({"type": "array"})),
    },
    Rule {
        of: "Gemini",
        says: "`enum` is for strings alone, and none is empty or null",
        source: "https://github.com/Draculabo/AntigravityManager/pull/260",
        holds: Part::Schema(|schema| {
            let is_taken = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
            schema.get("enum").is_none_or(|values| {
                schema["type"] == "string" && values.as_array().is_some_and(|values| values.iter().all(is_taken))
            })
        }),
        broken: || with_argument(json!({"type": "string", "enum": ["a", null]})),
    },
    Rule {
        of: "Gemini",
        says: "`format` is `enum` or `date-time`",
        source: "https://github.com/google-gemini/gemini-cli/issues/3178",
        holds: Part::Schema(|schema| schema.get("format").is_none_or(|format| format == "date-time")),
        broken: || with_argument(json!({"type": "string", "format": "uri"})),
    },
    Rule {
        of: "Gemini",
        says: "`properties` and `required` are for objects alone",
        source: "https://github.com/anomalyco/opencode/issues/11889",
        holds: Part::Schema(|schema| {
            schema["type"] == "object" || schema.get("properties").is_none() && schema.get("required").is_none()
        }),
        broken: || with_argument(json!({"type": "string", "properties": {}})),
    },
    Rule {
        of: "Gemini",
        says: "a required property is declared",
        source: "https://github.com/vercel/ai/pull/11319",
        holds: Part::Schema(|schema| {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            required.into_iter().all(|name| schema["properties"].get(name).is_some())
        }),
        broken: || with_argument(json!({"type": "object", "required": ["a"]})),
    },
    Rule {
        of: "Vertex AI",
        says: "a name begins with a letter or `_`",
        source: "https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration",
        holds: Part::Tool(|tool| name(tool).starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')),
        broken: || with_name("2fa"),
    },
    Rule {
        of: "Gemini, and OpenAI with `strict`",
        says: "there is no `oneOf`, `allOf`, `not` and `if`, and no rule for members by pattern",
        source: "https://docs.rs/crate/ultron-ai/1.0.2/source/src/constrained.rs",
        holds: Part::Schema(|schema| {
            let refused = [
                "oneOf",
                "anyOf",
                "allOf",
                "not",
                "if",
                "then",
                "else",
                "const",
                "prefixItems",
                "contains",
                "propertyNames",
                "patternProperties",
                "dependentSchemas",
                "dependentRequired",
                "dependencies",
                "unevaluatedProperties",
                "unevaluatedItems",
                "$defs",
                "definitions",
                "$schema",
                "$id",
            ];
            !refused.iter().any(|key| schema.get(key).is_some())
        }),
        broken: || with_argument(json!({"type": "string", "oneOf": [{"const": "a"}]})),
    },
    Rule {
        of: "OpenAI with `strict`",
        says: "there is no `default`, and no length of a string",
        source: "https://platform.openai.com/docs/guides/structured-outputs/supported-schemas",
        holds: Part::Schema(|schema| ["default", "minLength", "maxLength"].iter().all(|key| schema.get(key).is_none())),
        broken: || with_argument(json!({"type": "integer", "default": 1})),
    },
    // Gemini takes it in `parametersJsonSchema` and not in `parameters`. Clients that write the
    // latter remove it, since most servers send it.
    Rule {
        of: "OpenAI with `strict`",
        says: "`additionalProperties` is nothing but `false`",
        source: "https://docs.merge.dev/merge-gateway/capabilities/structured-outputs",
        holds: Part::Schema(|schema| schema.get("additionalProperties").is_none_or(|further| further == false)),
        broken: || with_argument(json!({"type": "object", "additionalProperties": {"type": "string"}})),
    },
    Rule {
        of: "OpenAI",
        says: "a description of a tool has at most 1024 characters",
        source: "https://github.com/janwilmake/openapi-mcp-server/issues/23",
        holds: Part::Tool(|tool| {
            tool["description"].as_str().is_some_and(|text| (1..=1024).contains(&text.chars().count()))
        }),
        broken: || json!({"name": "a", "description": "x".repeat(1025), "inputSchema": {"type": "object", "properties": {}}}),
    },
    Rule {
        of: "OpenAI, Anthropic and Bedrock",
        says: "a name has letters, digits, `_` and `-`",
        source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html",
        holds: Part::Tool(|tool| {
            !name(tool).is_empty()
                && name(tool).bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        }),
        broken: || with_name("a.b"),
    },
    Rule {
        of: "Claude Code",
        says: "a name has at most 64 characters with `mcp__SERVER__` before it",
        source: "https://github.com/anthropics/claude-code/issues/22276",
        holds: Part::Tool(|tool| format!("mcp__{SERVER}__{}", name(tool)).len() <= 64),
        broken: || with_name(&"a".repeat(48)),
    },
    Rule {
        of: "Cursor",
        says: "a name has at most 60 characters with the name of the server and a separator",
        source: "https://github.com/PostHog/posthog/pull/51483",
        holds: Part::Tool(|tool| format!("{SERVER}-{}", name(tool)).len() <= 60),
        broken: || with_name(&"a".repeat(50)),
    },
    Rule {
        of: "Anthropic",
        says: "the schema is an object without `oneOf`, `anyOf` and `allOf` at the top",
        source: "https://github.com/anthropics/claude-code/issues/40075",
        holds: Part::Arguments(|schema| {
            schema["type"] == "object" && ["oneOf", "anyOf", "allOf"].iter().all(|key| schema.get(key).is_none())
        }),
        broken: || json!({"name": "a", "description": "a", "inputSchema": {"type": "object", "properties": {}, "anyOf": []}}),
    },
    Rule {
        of: "Anthropic",
        says: "there is no `$ref`",
        source: "https://platform.claude.com/docs/en/managed-agents/self-hosted-sandboxes",
        holds: Part::Schema(|schema| schema.get("$ref").is_none()),
        broken: || with_argument(json!({"type": "string", "$ref": "#/$defs/a"})),
    },
    Rule {
        of: "Anthropic",
        says: "the names of arguments have 1 to 64 letters, digits, `_`, `.` and `-`",
        source: "https://platform.claude.com/docs/en/managed-agents/self-hosted-sandboxes",
        holds: Part::Arguments(|schema| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
            let is_name = |name: &String| (1..=64).contains(&name.len()) && name.bytes().all(is_plain);
            schema["properties"].as_object().is_some_and(|properties| properties.keys().all(is_name))
        }),
        broken: || json!({"name": "a", "description": "a", "inputSchema": {"type": "object", "properties": {"$a": {"type": "string"}}}}),
    },
    Rule {
        of: "Anthropic with `strict`",
        says: "there are no limits of numbers and lists",
        source: "https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations",
        holds: Part::Schema(|schema| {
            let refused = [
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum",
                "multipleOf",
                "minItems",
                "maxItems",
                "uniqueItems",
            ];
            refused.iter().all(|key| schema.get(key).is_none())
        }),
        broken: || with_argument(json!({"type": "integer", "minimum": 1})),
    },
    Rule {
        of: "Visual Studio Code",
        says: "a list has `items`",
        source: "https://github.com/microsoft/vscode/issues/246119",
        holds: Part::Schema(|schema| schema["type"] != "array" || schema["items"].is_object()),
        broken: || with_argument(json!({"type": "array"})),
    },
];

fn name(tool: &Value) -> &str {
    tool["name"].as_str().unwrap_or_default()
}

fn with_name(name: &str) -> Value {
    json!({"name": name, "description": "a", "inputSchema": {"type": "object", "properties": {}}})
}

fn with_argument(schema: Value) -> Value {
    json!({"name": "a", "description": "a", "inputSchema": {"type": "object", "properties": {"a": schema}}})
}

/// Each schema below this one, and this one itself, with its place.
fn schemas<'a>(at: String, schema: &'a Value, found: &mut Vec<(String, &'a Value)>) {
    for (name, part) in schema["properties"].as_object().into_iter().flatten() {
        schemas(format!("{at}/{name}"), part, found);
    }
    if let Some(items) = schema.get("items") {
        schemas(format!("{at}/items"), items, found);
    }
    found.push((at, schema));
}

/// The rules that a tool breaks, with the place.
fn broken_rules(tool: &Value) -> Vec<String> {
    let arguments = &tool["inputSchema"];
    let mut all = Vec::new();
    schemas(name(tool).to_owned(), arguments, &mut all);
    let mut broken = Vec::new();
    for rule in RULES {
        let mut note = |at: &str, part: &Value| {
            let Rule { of, says, source, .. } = rule;
            broken.push(format!("{at}: {of}: {says} ({source}): {part}"));
        };
        match rule.holds {
            Part::Tool(holds) if !holds(tool) => note(name(tool), tool),
            Part::Arguments(holds) if !holds(arguments) => note(name(tool), arguments),
            Part::Schema(holds) => all.iter().filter(|(_, part)| !holds(part)).for_each(|(at, part)| note(at, part)),
            _ => {}
        }
    }
    broken
}

#[test]
fn every_tool_keeps_the_rules_of_every_client() {
    let gateway = Setup::new().every_shipped().config("[mcp]\ndirect_tools = 1000").start();
    let client = gateway.client();
    let searched = json!({"name": "all", "allow": module::shipped_names(), "mode": "search", "confirm": true});
    assert_eq!(client.post("/mcp-sets", searched).status, 201);
    let mut tools = Agent::new(&client, "/mcp").tools();
    assert!(tools.len() > 250, "{}", tools.len());
    tools.extend(Agent::new(&client, "/mcp/sets/all").tools());
    for connector in module::shipped_names() {
        tools.extend(Agent::new(&client, &format!("/mcp/{connector}")).tools());
    }
    assert!(tools.iter().any(|tool| name(tool) == "call_destructive"));
    let broken: Vec<String> = tools.iter().flat_map(broken_rules).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_tool_that_breaks_a_rule_is_found() {
    for rule in RULES {
        let broken = broken_rules(&(rule.broken)());
        assert!(broken.iter().any(|broken| broken.contains(rule.says)), "{}: {}: {broken:?}", rule.of, rule.says);
    }
}

#[test]
fn what_a_schema_does_not_say_is_said_in_its_description_and_still_holds() {
    let gateway = Setup::new().shipped("code_hosting").start();
    let agent = Agent::new(&gateway.client(), "/mcp/code_hosting");
    let tools = agent.tools();
    let list = tools.iter().find(|tool| name(tool) == "list_issues").unwrap();
    let page = &list["inputSchema"]["properties"]["per_page"];
    assert_eq!(page["type"], "integer");
    assert!(page["description"].as_str().is_some_and(|text| text.contains("1 to 100; default 30")), "{page}");
    let refused = agent.refusal("list_issues", json!({"owner": "a", "repo": "b", "per_page": 101}));
    assert!(refused.contains("/per_page: Must be at most 100"), "{refused}");
}
