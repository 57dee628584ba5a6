//! The lifecycle of integrations: the same routes for every connector.

use serde_json::{Map, Value, json};

/// The paths, by `{connector}`.
pub(super) fn paths() -> Map<String, Value> {
    let connector = json!({
        "name": "connector", "in": "path", "required": true, "schema": {"type": "string"},
        "description": "Identifier of a live connector; GET /connectors lists them.",
    });
    let user_identifier = json!({
        "name": "user_identifier", "in": "path", "required": true, "schema": {"type": "string"},
        "description": "The integration's identifier, percent-encoded.",
    });
    let record = || ok("The integration.", reference("Integration"));
    let mut paths = Map::new();
    let mut add = |path: &str, parameters: &[&Value], methods: Value| {
        let mut item = methods;
        if !parameters.is_empty() {
            item["parameters"] = json!(parameters);
        }
        paths.insert(path.to_owned(), item);
    };
    add(
        "/integrations",
        &[],
        json!({"get": operation("list", "All accounts that the caller's user has connected.", ok(
            "The integrations, oldest first within a connector.",
            json!({
                "type": "object", "required": ["integrations"],
                "properties": {"integrations": {"type": "array", "items": reference("Integration")}},
            }),
        ))}),
    );
    add("/connectors/{connector}/integrations", &[&connector], json!({"post": begin()}));
    add(
        "/connectors/{connector}/integrations/{user_identifier}",
        &[&connector, &user_identifier],
        json!({
            "get": operation("get", "One integration.", record()),
            "post": operation("select", "Makes it the one that operations run on where none is named.", record()),
            "delete": operation("remove", "Gives the access back to the service as well as it can be, and deletes it in any case.", ok(
                "It is deleted.",
                json!({
                    "type": "object", "required": ["deleted", "revoked"],
                    "properties": {
                        "deleted": {"const": true},
                        "revoked": {"type": "boolean", "description": "Whether the service has taken the access back."},
                    },
                }),
            )),
        }),
    );
    let mut exists = operation(
        "exists",
        "Whether the caller's user has connected an account.",
        ok(
            "Whether there is one.",
            json!({
                "type": "object", "required": ["exists", "required", "user_identifier"],
                "properties": {
                    "exists": {"type": "boolean"},
                    "required": {"type": "boolean", "description": "Whether the connector's operations need one."},
                    "user_identifier": {
                        "type": ["string", "null"],
                        "description": "The one that an operation would run on; null where it would not know.",
                    },
                },
            }),
        ),
    );
    exists["parameters"] = json!([{"$ref": "#/components/parameters/UserIdentifier"}]);
    add("/connectors/{connector}/integration-exists", &[&connector], json!({"get": exists}));
    add(
        "/connectors/{connector}/auth-schema",
        &[&connector],
        json!({
            "get": operation("auth_schema", "How users of the connector authenticate, and what the body of POST …/integrations is.",
                ok("The ways, each with the JSON Schema of its body.", auth_schema())),
        }),
    );
    add("/connectors/{connector}/success-authorize-callback", &[&connector], json!({"get": callback()}));
    paths
}

/// Schemas that the paths refer to.
pub(super) fn schemas() -> Map<String, Value> {
    let text = || json!({"type": "string"});
    let maybe = || json!({"type": ["string", "null"]});
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
                "auth_type": {"enum": ["oauth2", "api_key", "none"]},
                "status": {"enum": ["active", "expired", "revoked"]},
                "selected": {"type": "boolean"},
                "account": {
                    "type": "object", "description": "Who the user is at the service, as far as it says.",
                    "properties": {"id": maybe(), "email": maybe(), "name": maybe()},
                },
                "scopes": {"type": "array", "items": text(), "description": "What the user permitted."},
                "created_at": time(),
                "updated_at": time(),
                "expires_at": maybe_time("When the present credential is no longer good; it is renewed before."),
                "last_refreshed_at": maybe_time("When the credential was last renewed."),
                "next_refresh_at": maybe_time("When it is to be renewed next."),
                "reason": {
                    "type": ["object", "null"], "description": "Why it is not well, and who must act.",
                    "required": ["owner", "detail"],
                    "properties": {"owner": {"enum": ["user", "operator", "provider"]}, "detail": text()},
                },
            },
        }),
    );
    schemas.insert("AuthorizationInit".to_owned(), json!({
        "type": "object", "required": ["auth_type"],
        "description": "What each connector takes exactly is at GET …/auth-schema.",
        "properties": {
            "auth_type": {"enum": ["oauth2", "api_key", "none"]},
            "callback_url": {
                "type": ["string", "null"], "format": "uri",
                "description": "For oauth2: where the user is sent to in the end, with `status=success` or `status=error` in the query.",
            },
            "user_identifier": {
                "type": ["string", "null"],
                "description": "What to call the account; without it, its email address or id at the service.",
            },
            "credentials": {
                "type": "object", "writeOnly": true, "description": "For api_key: what the user has from the service.",
            },
        },
    }));
    schemas.insert("AuthorizationBegun".to_owned(), json!({
        "type": "object", "required": ["auth_type", "authorization_url", "state", "expires_at"],
        "properties": {
            "auth_type": {"const": "oauth2"},
            "authorization_url": {"type": "string", "format": "uri", "description": "Where to send the user's browser."},
            "state": {"type": "string", "description": "Comes back once, with the user."},
            "expires_at": time(),
        },
    }));
    schemas
}

/// The answer of an operation whose connector's users need an account, when there is none to run on.
pub(super) fn account_needed() -> Value {
    json!({
        "description": "The user must act: `integration-required`, `selection-required` (with `candidates`) or \
            `reauthorization-required`; `action` says what to call.",
        "content": {"application/problem+json": {"schema": {
            "allOf": [reference("Problem")],
            "type": "object",
            "properties": {
                "action": {
                    "type": "object", "required": ["method", "path"],
                    "properties": {"method": {"type": "string"}, "path": {"type": "string"}},
                },
                "candidates": {"type": "array", "items": {"type": "string"}},
                "user_identifier": {"type": "string"},
            },
        }}},
    })
}

fn begin() -> Value {
    let mut begin = operation(
        "begin",
        "Connects an account: starts an authorization, or takes the user's key.",
        ok(
            "Where to send the user; or the integration, where the user need not be sent anywhere.",
            json!({"oneOf": [reference("AuthorizationBegun"), reference("Integration")]}),
        ),
    );
    begin["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("AuthorizationInit"),
        "example": {"auth_type": "oauth2", "callback_url": "http://localhost:3000/connected"},
    }}});
    begin["responses"]["422"] = json!({"$ref": "#/components/responses/ValidationError"});
    begin
}

fn callback() -> Value {
    let parameter = |name: &str, description: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}, "description": description});
    json!({
        "operationId": "integrations.callback", "tags": ["integrations"], "security": [],
        "summary": "Where the provider sends the user's browser back to.",
        "parameters": [
            parameter("state", "As the authorization URL held it; good once, for ten minutes."),
            parameter("code", "What the provider gives for tokens."),
            parameter("error", "Why it gives none."),
        ],
        "responses": {
            "302": {
                "description": "To the `callback_url`, with `status=success&connector=…&user_identifier=…` or `status=error&error=…`.",
                "headers": {"Location": {"schema": {"type": "string", "format": "uri"}}},
            },
            "400": {
                "description": "A page that says why nobody is sent anywhere: the state is unknown, used or expired.",
                "content": {"text/html": {"schema": {"type": "string"}}},
            },
        },
    })
}

fn auth_schema() -> Value {
    json!({
        "type": "object", "required": ["connector", "required", "auth_types"],
        "properties": {
            "connector": {"type": "string"},
            "required": {"type": "boolean"},
            "auth_types": {"type": "array", "items": {
                "type": "object", "required": ["auth_type", "schema"],
                "properties": {
                    "auth_type": {"enum": ["oauth2", "api_key", "none"]},
                    "schema": {"type": "object", "description": "JSON Schema of the body of POST …/integrations."},
                    "authorization_url": {"type": ["string", "null"]},
                    "token_url": {"type": ["string", "null"]},
                    "scopes": {"type": "array", "items": {"type": "string"}},
                    "pkce": {"enum": ["S256", null]},
                    "redirect_uri": {"type": "string", "description": "To be registered with the provider, exactly so."},
                },
            }},
        },
    })
}

fn operation(id: &str, summary: &str, responses: Value) -> Value {
    json!({
        "operationId": format!("integrations.{id}"), "tags": ["integrations"], "summary": summary,
        "description": "Needs the scope `integrate`.", "responses": responses,
    })
}

fn ok(description: &str, schema: Value) -> Value {
    json!({
        "200": {"description": description, "content": {"application/json": {"schema": schema}}},
        "default": {"$ref": "#/components/responses/Problem"},
    })
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}
