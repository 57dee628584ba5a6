//! The auth scheme of the document. Members that the document leaves out have the values of a
//! provider that follows the standard.

use serde_json::Value;

use crate::bindings::gateway::connector::manifest::{
    ApiKey, AuthScheme, ClientAuthentication, Identity, KeyHeader, KeyPlacement, Oauth2, Revocation,
};
use crate::text;

/// The scheme that the document names in `auth`.
pub(crate) fn of(service: &Value) -> AuthScheme {
    match text(service, "auth") {
        "oauth2" => AuthScheme::Oauth2(oauth2(service)),
        "api_key" => AuthScheme::ApiKey(ApiKey {
            placement: match text(service, "placement") {
                "query" => KeyPlacement::Query("api_key".to_owned()),
                "basic" => KeyPlacement::Basic,
                "signature" => {
                    KeyPlacement::Header(KeyHeader { name: "Authorization".to_owned(), prefix: String::new() })
                }
                _ => KeyPlacement::Header(KeyHeader { name: "X-Api-Key".to_owned(), prefix: "Key ".to_owned() }),
            },
            form_field: (text(service, "placement") != "signature").then(|| form_field(service)),
            check: service["check"].as_str().map(str::to_owned),
        }),
        _ => AuthScheme::None,
    }
}

fn oauth2(service: &Value) -> Oauth2 {
    let or = |name: &str, default: &str| service[name].as_str().unwrap_or(default).to_owned();
    Oauth2 {
        provider: or("provider", "example"),
        authorization_url: or("authorization_url", "https://accounts.example/authorize"),
        token_url: or("token_url", "https://accounts.example/token"),
        refresh_url: service["refresh_url"].as_str().map(str::to_owned),
        revocation: service["revocation_url"].as_str().map(|url| revocation(text(service, "revocation"), url)),
        scopes: texts(&service["scopes"]),
        scope_separator: or("scope_separator", " "),
        scope_parameter: or("scope_parameter", "scope"),
        authorization_parameters: pairs(&service["authorization_parameters"]),
        token_parameters: pairs(&service["token_parameters"]),
        pkce: service["pkce"].as_bool().unwrap_or(true),
        client_authentication: match text(service, "client_authentication") {
            "basic" => ClientAuthentication::Basic,
            _ => ClientAuthentication::Body,
        },
        token_pointer: or("token_pointer", ""),
        default_lifetime_seconds: service["default_lifetime_s"].as_u64().and_then(|seconds| seconds.try_into().ok()),
        form_field: Some(form_field(service)),
        revokes_replaced_grants: service["revokes_replaced_grants"].as_bool().unwrap_or(true),
        identity: (service["identity"] != false).then(|| Identity {
            operation: "whoami".to_owned(),
            id: "/id".to_owned(),
            email: Some("/email".to_owned()),
            name: Some("/name".to_owned()),
        }),
    }
}

/// The form field for the credential in requests to the upstream `form`.
fn form_field(service: &Value) -> String {
    service["form_field"].as_str().unwrap_or("token").to_owned()
}

fn revocation(form: &str, url: &str) -> Revocation {
    match form {
        "bearer" => Revocation::Bearer(url.to_owned()),
        "delete" => Revocation::Delete(url.to_owned()),
        _ => Revocation::Form(url.to_owned()),
    }
}

pub(crate) fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(crate) fn pairs(list: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list.as_array().into_iter().flatten().map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}
