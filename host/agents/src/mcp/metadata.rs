//! The place where clients get tokens for `/mcp`: the metadata of a protected resource (RFC 9728).

use hyper::Response;
use serde_json::json;

use auth::Scope;
use body::Body;
use config::Config;
use endpoint::answer::json_answer;
use endpoint::route::HttpCall;
use problem::Problem;

/// The path of the metadata, in front of the path of the resource.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// GET /.well-known/oauth-protected-resource{path}.
pub async fn get_metadata(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let config = &call.gateway.config;
    let path = call.head.uri.path().strip_prefix(WELL_KNOWN).unwrap_or_default();
    let issuers: Vec<&str> = config.jwt_issuers.values().map(|issuer| issuer.issuer.as_str()).collect();
    Ok(json_answer(&json!({
        "resource": format!("{}{path}", root(config)),
        "authorization_servers": issuers,
        "scopes_supported": [Scope::Operate.name(), Scope::Integrate.name()],
        "bearer_methods_supported": ["header"],
        "resource_name": "Connector Gateway",
    })))
}

/// The URL of the metadata for a path of `/mcp`.
pub fn url(config: &Config, path: &str) -> String {
    format!("{}{WELL_KNOWN}{path}", root(config))
}

fn root(config: &Config) -> &str {
    config.public_url.as_str().trim_end_matches('/')
}
