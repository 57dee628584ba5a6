//! Webhooks, and the secrets that they are signed with.

use serde_json::{Value, json};

use super::gateway::ok;
use crate::webhooks::EventKind;

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

/// The webhooks that the gateway sends: the member `webhooks` of the document.
pub(super) fn messages() -> Value {
    let names: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.name()).collect();
    let event = json!({
        "type": "object", "required": ["type", "timestamp", "data"],
        "properties": {
            "type": {"enum": names},
            "timestamp": time(),
            "data": {"type": "object", "description": "The integration or the connector, and why it changed."},
        },
    });
    json!({
        "job": {"post": message(
            "webhooks.job",
            "Tells each of a call's `callback_urls` of the end of its job, with the job's record without `callbacks`.",
            &json!({"$ref": "#/components/schemas/Job"}),
        )},
        "event": {"post": message("webhooks.event", "Tells the operator's `callbacks.events_url` of a change.", &event)},
    })
}

/// The Operation Object of a webhook.
fn message(id: &str, summary: &str, schema: &Value) -> Value {
    let header = |name: &str, kind: &str, description: &str| {
        json!({
            "name": name, "in": "header", "required": true, "schema": {"type": kind}, "description": description,
        })
    };
    json!({
        "operationId": id,
        "tags": ["gateway"],
        "summary": summary,
        "description": "Signed after Standard Webhooks. Tried again until the receiver answers 2xx or 410.",
        "security": [],
        "parameters": [
            header("webhook-id", "string", "The same on every attempt."),
            header("webhook-timestamp", "integer", "The time of the attempt, in seconds since 1970."),
            header("webhook-signature", "string", "A signature `v1,…` for each valid secret, separated by spaces."),
        ],
        "requestBody": {"required": true, "content": {"application/json": {"schema": schema}}},
        "responses": {
            "2XX": {"description": "The webhook is received."},
            "410": {"description": "The receiver wants no further attempt."},
        },
    })
}

fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}
