//! The lifecycle of integrations: the same routes for every connector.

use serde_json::{Value, json};

use super::components::parameter_references;
use super::gateway::{describe_answer, with_problems};
use super::problems::{OF_SERVICE, REQUEST_ID, headers};
use super::schemas::reference;

/// Members of POST /connectors/{connector}/integrations.
pub(crate) fn describe_begin() -> Value {
    let mut members = describe_answer(
        "The URL to send the user to, or the code to show to the user; or the integration, if the user need not be sent anywhere.",
        json!({"oneOf": [reference("AuthorizationBegun"), reference("DeviceAuthorization"), reference("Integration")]}),
    );
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("AuthorizationInit"),
        "example": {"auth_type": "oauth2", "callback_url": "http://localhost:3000/connected"},
    }}});
    members["parameters"] = parameter_references(&["IdempotencyKey"]);
    members["responses"]["200"]["headers"] =
        headers([("X-Request-Id", "RequestId"), ("Idempotent-Replayed", "IdempotentReplayed")]);
    with_problems(members, &["409", "424", "429", OF_SERVICE, "502", "504", "507"])
}

/// Members of a route that answers with an integration.
pub(crate) fn describe_integration() -> Value {
    describe_answer("The integration.", reference("Integration"))
}

/// Members of POST /connectors/{connector}/integrations/{user_identifier}/confirm.
pub(crate) fn describe_confirm() -> Value {
    let mut members = describe_answer("The integration, which is active now.", reference("Integration"));
    members["requestBody"] =
        json!({"required": true, "content": {"application/json": {"schema": reference("Confirmation")}}});
    with_problems(members, &["409", "429"])
}

/// Members of PATCH /connectors/{connector}/integrations/{user_identifier}.
pub(crate) fn describe_change() -> Value {
    let mut members = describe_integration();
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("IntegrationChange"), "example": {"labels": {"team": "blue"}},
    }}});
    with_problems(members, &["507"])
}

/// Members of GET /connectors/{connector}/integration-exists.
pub(crate) fn describe_exists() -> Value {
    let mut members = with_problems(describe_answer("The answer.", reference("IntegrationExists")), &["422"]);
    members["parameters"] = parameter_references(&["UserIdentifier"]);
    members
}

/// Members of GET /connectors/{connector}/success-authorize-callback.
pub(crate) fn describe_callback() -> Value {
    let parameter = |name: &str, description: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}, "description": description});
    json!({
        "description": "Needs no key. Applications do not call it: they register it at the provider as the redirect URI.",
        "parameters": [
            parameter("state", "The `state` of the authorization URL; accepted once, for ten minutes."),
            parameter("code", "The code that the provider exchanges for tokens."),
            parameter("error", "The reason why the provider gives no code."),
        ],
        "responses": {
            "302": {
                "description": "To the `callback_url`, with `status=success&connector=…&user_identifier=…`, `status=pending` and a `completion`, or `status=error&error=…`.",
                "headers": headers([REQUEST_ID, ("Location", "Location")]),
            },
            "400": {
                "description": "A page that says why the user is not sent on: the state is unknown, used or expired.",
                "headers": headers([REQUEST_ID]), "content": {"text/html": {"schema": {"type": "string"}}},
            },
            "503": {
                "description": "A page that says that this cannot be completed now.",
                "headers": headers([REQUEST_ID]), "content": {"text/html": {"schema": {"type": "string"}}},
            },
            "409": {
                "description": "A page that says that the user has consented with another account than the connected one.",
                "headers": headers([REQUEST_ID]), "content": {"text/html": {"schema": {"type": "string"}}},
            },
        },
    })
}
