//! Webhooks, and the secrets that they are signed with.

use serde_json::{Value, json};

use super::components::parameter_references;
use super::gateway::{describe_answer, with_problems};
use super::problems;
use super::schemas::reference;

/// Members of POST /webhooks/secrets.
pub(crate) fn describe_create() -> Value {
    let mut members = describe_answer("The new secret.", reference("NewWebhookSecret"));
    members["parameters"] = parameter_references(&["IdempotencyKey"]);
    members["responses"]["200"]["headers"] =
        problems::headers([problems::REQUEST_ID, ("Idempotent-Replayed", "IdempotentReplayed")]);
    let mut members = with_problems(members, &["409", "422", "507"]);
    members["description"] = "The previous secret stays valid for 24 hours; older ones end.".into();
    members
}

/// The webhooks that the gateway sends: the member `webhooks` of the document.
pub(super) fn messages() -> Value {
    json!({
        "job": {"post": message(
            "webhooks.job",
            "Tells each of a call's `callback_urls` of the end of its job, with the job's record without `callbacks`.",
            &reference("Job"),
        )},
        "trigger": {"post": message(
            "webhooks.trigger",
            "Tells the `urls` of a trigger of an event. `webhook-id` is the id of the event.",
            &reference("TriggerMessage"),
        )},
        "event": {"post": message("webhooks.event", "Tells the operator's `callbacks.events_url` of a change.", &reference("Event"))},
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
        // Tools make a client of each tag. The gateway takes no calls of webhooks.
        "tags": ["messages"],
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
