//! The routes of tool sets.

use serde_json::{Value, json};

use super::gateway::{describe_created, with_problems};
use super::schemas::reference;

/// Members of POST /mcp-sets.
pub(crate) fn describe_create() -> Value {
    let mut members = describe_created("The tool set.", reference("ToolSet"));
    members["description"] = "Agents use it at `POST /mcp/sets/{set}`, and at the same address with `/readonly` \
        (Model Context Protocol). The limits of the agent's key hold in addition. The token must not be bound to a user."
        .into();
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("NewToolSetBody"),
        "example": {"name": "support", "allow": ["calendar", "mail/search"], "confirm": true},
    }}});
    with_problems(members, &["409", "429", "507"])
}
