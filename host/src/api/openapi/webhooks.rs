//! The secrets that webhooks are signed with.

use serde_json::{Value, json};

use super::gateway::ok;

/// Members of POST /webhooks/secrets.
pub(in crate::api) fn create() -> Value {
    let schema = json!({
        "type": "object", "required": ["id", "secret", "created_at"],
        "properties": {
            "id": {"type": "string"},
            "secret": {
                "type": "string", "pattern": "^whsec_[A-Za-z0-9+/]+=*$",
                "description": "The secret of Standard Webhooks: `whsec_`, and the key in base64. It is shown only here.",
            },
            "created_at": time(),
        },
    });
    let mut members = ok("The new secret.", schema);
    members["description"] = "The secret before stays valid for 24 hours; older ones end.".into();
    members
}

/// Members of GET /webhooks/secrets.
pub(in crate::api) fn list() -> Value {
    let secret = json!({
        "type": "object", "required": ["id", "created_at", "expires_at"],
        "properties": {
            "id": {"type": "string"},
            "created_at": time(),
            "expires_at": {
                "type": ["string", "null"], "format": "date-time", "description": "Null for the current secret.",
            },
        },
    });
    let schema = json!({
        "type": "object", "required": ["secrets"],
        "properties": {"secrets": {"type": "array", "items": secret, "maxItems": 2}},
    });
    ok("The valid secrets, the current one first.", schema)
}

/// Members of DELETE /webhooks/secrets/{secret_id}.
pub(in crate::api) fn delete() -> Value {
    let schema = json!({"type": "object", "required": ["deleted"], "properties": {"deleted": {"const": true}}});
    ok("Nothing is signed with the secret any more.", schema)
}

fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}
