//! The lifecycle of integrations: the same routes for every connector.

use serde_json::{Map, Value, json};

use super::components::parameter_references;
use super::gateway::{ok, or};
use super::problems::{REQUEST_ID, headers};
use super::schemas::reference;
use crate::api::integrations::confirmation;

/// Members of POST /connectors/{connector}/integrations.
pub(in crate::api) fn begin() -> Value {
    let mut members = ok(
        "The URL to send the user to; or the integration, if the user need not be sent anywhere.",
        json!({"oneOf": [reference("AuthorizationBegun"), reference("Integration")]}),
    );
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("AuthorizationInit"),
        "example": {"auth_type": "oauth2", "callback_url": "http://localhost:3000/connected"},
    }}});
    members["parameters"] = parameter_references(&["IdempotencyKey"]);
    members["responses"]["200"]["headers"] =
        headers([("X-Request-Id", "RequestId"), ("Idempotent-Replayed", "IdempotentReplayed")]);
    or(members, &["409", "424", "429", "4XX", "502", "504"])
}

/// Members of a route that answers with an integration.
pub(in crate::api) fn integration() -> Value {
    ok("The integration.", reference("Integration"))
}

/// Members of POST /connectors/{connector}/integrations/{user_identifier}/confirm.
pub(in crate::api) fn confirm() -> Value {
    let mut members = ok("The integration, which is active now.", reference("Integration"));
    members["requestBody"] =
        json!({"required": true, "content": {"application/json": {"schema": reference("Confirmation")}}});
    or(members, &["409", "429"])
}

/// Members of DELETE /connectors/{connector}/integrations/{user_identifier}.
pub(in crate::api) fn remove() -> Value {
    ok("The integration is deleted.", reference("IntegrationDeleted"))
}

/// Members of GET /integrations.
pub(in crate::api) fn list() -> Value {
    let mut members =
        ok("A page of integrations, in the order of connectors and user identifiers.", reference("IntegrationPage"));
    members["parameters"] = json!([
        {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}},
        {"name": "cursor", "in": "query", "schema": {"type": "string"}, "description": "The `next_cursor` of the page before."},
        {"name": "connector", "in": "query", "schema": {"type": "string"}, "description": "Only accounts of this connector."},
        {"name": "status", "in": "query", "schema": reference("IntegrationStatus")},
    ]);
    or(members, &["422"])
}

/// Members of GET /connectors/{connector}/integration-exists.
pub(in crate::api) fn exists() -> Value {
    let mut members = or(ok("The answer.", reference("IntegrationExists")), &["422"]);
    members["parameters"] = parameter_references(&["UserIdentifier"]);
    members
}

/// Members of GET /connectors/{connector}/success-authorize-callback.
pub(in crate::api) fn callback() -> Value {
    let parameter = |name: &str, description: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}, "description": description});
    json!({
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

/// Members of GET /connectors/{connector}/auth-schema.
pub(in crate::api) fn auth_schema() -> Value {
    ok("The auth types, each with the JSON Schema of its body.", reference("AuthSchema"))
}

/// Schemas that the routes refer to.
pub(super) fn schemas() -> Map<String, Value> {
    let text = || json!({"type": "string"});
    let time = || json!({"type": "string", "format": "date-time"});
    let maybe_time =
        |description: &str| json!({"type": ["string", "null"], "format": "date-time", "description": description});
    let mut schemas = Map::new();
    schemas.insert(
        "Integration".to_owned(),
        json!({
            "type": "object",
            "description": "An account that a user has connected. It never holds a credential.",
            "required": [
                "connector", "user_identifier", "auth_type", "status", "selected", "account", "scopes", "created_at",
                "updated_at", "expires_at", "last_refreshed_at", "next_refresh_at", "reason",
            ],
            "properties": {
                "connector": text(),
                "user_identifier": text(),
                "auth_type": reference("AuthType"),
                "status": reference("IntegrationStatus"),
                "selected": {"type": "boolean"},
                "account": reference("Account"),
                "scopes": {"type": "array", "items": text(), "description": "The scopes that the user permitted."},
                "created_at": time(),
                "updated_at": time(),
                "expires_at": maybe_time("The expiry of the access token. The gateway refreshes the token before."),
                "last_refreshed_at": maybe_time("The time of the last refresh."),
                "next_refresh_at": maybe_time("The time of the next refresh."),
                "reason": {"anyOf": [reference("IntegrationReason"), {"type": "null"}]},
            },
        }),
    );
    schemas.insert("AuthorizationInit".to_owned(), json!({
        "type": "object", "required": ["auth_type"],
        "description": "GET …/auth-schema has the exact schema for a connector.",
        "properties": {
            "auth_type": reference("AuthType"),
            "callback_url": {
                "type": ["string", "null"], "format": "uri",
                "description": "For oauth2: the URL that the user is sent to in the end, with `status=success` or `status=error` in the query.",
            },
            "user_identifier": {
                "type": ["string", "null"],
                "description": "The name of the integration. The default is the account's email address or id at the service.",
            },
            "replace": {
                "type": ["boolean", "null"],
                "description": "For oauth2: true if another account may replace the one that is connected under `user_identifier`.",
            },
            "confirm": {
                "type": ["boolean", "null"],
                "description": "For oauth2: true if the account is used only after POST …/integrations/{user_identifier}/confirm. The `callback_url` gets `status=pending` and a `completion` for that.",
            },
            "credentials": {
                "type": "object", "writeOnly": true, "description": "For api_key: the key that the user has from the service.",
            },
        },
    }));
    schemas.insert("AuthorizationBegun".to_owned(), json!({
        "type": "object", "required": ["auth_type", "authorization_url", "state", "expires_at"],
        "properties": {
            "auth_type": {"type": "string", "const": "oauth2"},
            "authorization_url": {"type": "string", "format": "uri", "description": "Send the user's browser to this URL."},
            "state": {"type": "string", "description": "Comes back with the user, once."},
            "expires_at": time(),
        },
    }));
    schemas.insert("Confirmation".to_owned(), confirmation());
    schemas.extend(parts().map(|(name, schema)| (name.to_owned(), schema)));
    schemas
}

/// Parts of these schemas, and small answers.
fn parts() -> [(&'static str, Value); 9] {
    let text = || json!({"type": "string"});
    let maybe = || json!({"type": ["string", "null"]});
    let auth_type = json!({
        "type": "object", "required": ["auth_type", "schema"],
        "properties": {
            "auth_type": reference("AuthType"),
            "schema": {"type": "object", "description": "JSON Schema of the body of POST …/integrations."},
            "authorization_url": maybe(),
            "token_url": maybe(),
            "scopes": {"type": "array", "items": text()},
            "pkce": {"type": ["string", "null"], "description": "`S256`, or null without PKCE."},
            "redirect_uri": {"type": "string", "description": "Register exactly this URL with the provider."},
        },
    });
    [
        ("AuthType", json!({"type": "string", "enum": ["oauth2", "api_key", "none"]})),
        ("IntegrationStatus", json!({"type": "string", "enum": ["active", "expired", "revoked"]})),
        (
            "Account",
            json!({
                "type": "object", "description": "The user's account at the service, as far as the service tells.",
                "properties": {"id": maybe(), "email": maybe(), "name": maybe()},
            }),
        ),
        (
            "IntegrationReason",
            json!({
                "type": "object", "required": ["owner", "detail"],
                "description": "Why the integration does not work, and who must act.",
                "properties": {"owner": {"type": "string", "enum": ["user", "operator", "provider"]}, "detail": text()},
            }),
        ),
        (
            "IntegrationDeleted",
            json!({
                "type": "object", "required": ["deleted", "revoked"],
                "properties": {
                    "deleted": {"type": "boolean", "const": true},
                    "revoked": {"type": "boolean", "description": "`true` if the service has revoked the access."},
                },
            }),
        ),
        (
            "IntegrationPage",
            json!({
                "type": "object", "required": ["integrations", "next_cursor"],
                "properties": {
                    "integrations": {"type": "array", "items": reference("Integration")},
                    "next_cursor": {"type": ["string", "null"], "description": "The `cursor` of the next page; null on the last page."},
                },
            }),
        ),
        (
            "IntegrationExists",
            json!({
                "type": "object", "required": ["exists", "required", "user_identifier"],
                "properties": {
                    "exists": {"type": "boolean"},
                    "required": {"type": "boolean", "description": "`true` if the connector's operations need an integration."},
                    "user_identifier": {
                        "type": ["string", "null"],
                        "description": "The integration that an operation would run on; null if it could not choose one.",
                    },
                },
            }),
        ),
        ("AuthTypeSchema", auth_type),
        (
            "AuthSchema",
            json!({
                "type": "object", "required": ["connector", "required", "auth_types"],
                "properties": {
                    "connector": text(),
                    "required": {"type": "boolean"},
                    "auth_types": {"type": "array", "items": reference("AuthTypeSchema")},
                },
            }),
        ),
    ]
}
