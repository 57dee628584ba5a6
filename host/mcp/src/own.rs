//! The tools of the gateway itself. They come in addition to the tools of operations.

use serde_json::{Value, json};

use super::dialect;
use super::input_schema::{CONFIRM, confirm_schema};
use contract::Effect;

/// A tool of the gateway itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// Finds operations by words.
    SearchOperations,
    /// Shows the schemas of operations.
    DescribeOperations,
    /// Calls an operation with this effect.
    Call(Effect),
    /// Lets the user connect an account.
    ConnectAccount,
    /// The accounts of the user.
    ListAccounts,
    /// The state of a background operation, and its result.
    GetJob,
    /// Cancels a background operation.
    CancelJob,
}

/// The operations in an answer of `search_operations`, if the call does not say how many.
pub const DEFAULT_FOUND: usize = 10;

/// The most operations in an answer of `search_operations`.
pub const MAX_FOUND: usize = 50;

/// The most operations that one call of `describe_operations` describes.
pub const MAX_DESCRIBED: usize = 20;

impl Own {
    /// Every tool, in the order of lists.
    pub const ALL: [Self; 9] = [
        Self::SearchOperations,
        Self::DescribeOperations,
        Self::Call(Effect::Read),
        Self::Call(Effect::Write),
        Self::Call(Effect::Destructive),
        Self::ConnectAccount,
        Self::ListAccounts,
        Self::GetJob,
        Self::CancelJob,
    ];

    /// The name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::SearchOperations => "search_operations",
            Self::DescribeOperations => "describe_operations",
            Self::Call(effect) => call_name(effect),
            Self::ConnectAccount => "connect_account",
            Self::ListAccounts => "list_accounts",
            Self::GetJob => "get_job",
            Self::CancelJob => "cancel_job",
        }
    }

    /// Its entry in a list of tools. With `confirms`, destructive operations ask first.
    pub fn document(self, confirms: bool) -> Value {
        let Tool { title, description, arguments, effect } = self.tool(confirms);
        let mut annotations = annotations(effect);
        // Only a call of an operation reaches a service.
        annotations["openWorldHint"] = matches!(self, Self::Call(_)).into();
        json!({
            "name": self.name(),
            "title": title,
            "description": description,
            "inputSchema": dialect::simplified(&arguments),
            "annotations": annotations,
        })
    }

    /// Returns `true` if its results have answers or schemas of operations, which may be long.
    pub fn has_long_results(self) -> bool {
        matches!(self, Self::DescribeOperations | Self::Call(_) | Self::GetJob)
    }

    /// The schema that validates its arguments.
    pub fn schema(self) -> Value {
        self.tool(true).arguments
    }

    fn tool(self, confirms: bool) -> Tool {
        match self {
            Self::SearchOperations => Tool {
                title: "Search operations",
                description: "Finds operations in the words of a task: a verb and an object. Answers one line each: \
                              the name, what it does, its effect, and whether an account is connected."
                    .to_owned(),
                arguments: search_arguments(),
                effect: Effect::Read,
            },
            Self::DescribeOperations => Tool {
                title: "Describe operations",
                description: "Answers the description, the schema of the arguments with an example, and the members \
                              of the answer of operations. Read it before you call one."
                    .to_owned(),
                arguments: describe_arguments(),
                effect: Effect::Read,
            },
            Self::Call(effect) => Tool {
                title: call_title(effect),
                description: format!("Calls an operation with the effect `{}`, and answers its result.", effect.name()),
                arguments: call_arguments(confirms && effect == Effect::Destructive),
                effect,
            },
            Self::ConnectAccount => Tool {
                title: "Connect an account",
                description: "Makes a link for the user, who connects an account of a connector there.".to_owned(),
                arguments: object(json!({"connector": text("The first part of an operation's name.")}), &["connector"]),
                effect: Effect::Write,
            },
            Self::ListAccounts => Tool {
                title: "List accounts",
                description: "The accounts that the user has connected, with their state.".to_owned(),
                arguments: object(json!({"connector": text("Only accounts of this connector.")}), &[]),
                effect: Effect::Read,
            },
            Self::GetJob => Tool {
                title: "Get a job",
                description: "The state of an operation that runs in the background, and its result once it has ended."
                    .to_owned(),
                arguments: job_arguments(),
                effect: Effect::Read,
            },
            Self::CancelJob => Tool {
                title: "Cancel a job",
                description: "Ends an operation that runs in the background.".to_owned(),
                arguments: job_arguments(),
                effect: Effect::Write,
            },
        }
    }
}

/// A tool, as its entry in a list shows it.
struct Tool {
    title: &'static str,
    description: String,
    /// The schema of the arguments.
    arguments: Value,
    effect: Effect,
}

fn search_arguments() -> Value {
    let properties = json!({
        "query": text("A verb and an object, such as \"reply to a mail\" or \"list issues\"."),
        "connector": text("Only operations of this connector."),
        "effect": {"type": "string", "enum": ["read", "write", "destructive"], "description": "Only operations with this effect."},
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_FOUND, "default": DEFAULT_FOUND, "description": "How many."},
    });
    object(properties, &["query"])
}

fn describe_arguments() -> Value {
    let properties = json!({
        "names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_DESCRIBED,
            "description": "Names from search_operations."},
    });
    object(properties, &["names"])
}

/// The arguments of a tool that calls operations. With `confirms`, the caller may confirm the call.
fn call_arguments(confirms: bool) -> Value {
    let mut properties = json!({
        "operation": text("The name from search_operations."),
        "arguments": {"type": "object", "description": "As describe_operations says."},
        "account": text("One of list_accounts, if several are connected."),
    });
    if confirms {
        properties[CONFIRM] = confirm_schema();
    }
    object(properties, &["operation"])
}

fn job_arguments() -> Value {
    object(json!({"job_id": text("The id that the call answered.")}), &["job_id"])
}

/// The schema of an object with these properties alone.
fn object(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// The schema of a text.
fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn call_title(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "Call an operation that reads",
        Effect::Write => "Call an operation that writes",
        Effect::Destructive => "Call an operation that destroys",
    }
}

/// The tool that calls operations with an effect.
pub fn call_name(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "call_read",
        Effect::Write => "call_write",
        Effect::Destructive => "call_destructive",
    }
}

/// The annotations of a tool with an effect. A write may add something each time, so none but a
/// read says that it may be repeated.
pub fn annotations(effect: Effect) -> Value {
    let is_read = effect == Effect::Read;
    json!({
        "readOnlyHint": is_read,
        "destructiveHint": effect == Effect::Destructive,
        "idempotentHint": is_read,
        "openWorldHint": true,
    })
}
