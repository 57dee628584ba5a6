//! The routes of agent sessions.

use serde_json::{Value, json};

use super::gateway::{describe_created, with_problems};
use super::schemas::reference;

/// Members of POST /agent-sessions.
pub(crate) fn describe_create() -> Value {
    let mut members = describe_created("The session.", reference("AgentSession"));
    members["description"] = "The token can do no more than the token that makes it, and is for the address in `url` alone (and the \
        same with `/readonly` at the end): at every other route it is 403 `not-allowed`. It ends at `expires_at`, when it is \
        deleted, and when the API key that made it is revoked."
        .into();
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("NewAgentSessionBody"),
        "example": {"subject": "ann", "allow": ["calendar", "mail/search"], "effects": ["read"], "expires_in_s": 900},
    }}});
    with_problems(members, &["409", "429", "507"])
}
