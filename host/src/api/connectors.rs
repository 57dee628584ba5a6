//! GET /connectors: what is live, what was refused, and why.

use hyper::body::Incoming;
use hyper::{Request, Response};
use serde_json::{Value, json};

use super::authorize;
use super::problem::Problem;
use super::system::json_answer;
use crate::gateway::Gateway;
use crate::pipeline::body::Body;
use crate::registry::{Connector, Refused, Service};
use contract::AuthScheme;

/// Answers the list.
pub(super) async fn list(gateway: &Gateway, request: &Request<Incoming>) -> Result<Response<Body>, Problem> {
    authorize(gateway, request, None).await?;
    let live = gateway.registry.live();
    let mut connectors: Vec<_> = live.values().collect();
    connectors.sort_by_key(|connector| &connector.manifest().identifier);
    let connectors: Vec<Value> = connectors.into_iter().map(|connector| record(connector)).collect();
    let refused: Vec<Value> = gateway.registry.refused().iter().map(refusal).collect();
    Ok(json_answer(&json!({"connectors": connectors, "refused": refused})))
}

/// One connector, as callers and operators see it.
pub(super) fn record(connector: &Connector) -> Value {
    let manifest = connector.manifest();
    let auth = match &manifest.auth {
        AuthScheme::None => "none",
        AuthScheme::Oauth2(_) => "oauth2",
        AuthScheme::ApiKey(_) => "api_key",
    };
    let operations: Vec<Value> = connector
        .operations()
        .map(|operation| json!({"path": operation.manifest.path, "summary": operation.manifest.summary}))
        .collect();
    let upstreams: Vec<Value> = connector.services().iter().map(upstream).collect();
    let imprint = &manifest.imprint;
    json!({
        "connector": manifest.identifier,
        "title": manifest.title,
        "version": manifest.version,
        "sha256": connector.digest(),
        "shipped": connector.is_shipped(),
        "live_since": humantime::format_rfc3339_millis(connector.live_since()).to_string(),
        "auth_type": auth,
        "hosts": {"granted": connector.granted_hosts(), "missing": connector.missing_hosts()},
        "upstreams": upstreams,
        "imprint": {"license": imprint.license, "homepage": imprint.homepage, "author": imprint.author},
        "operations": operations,
    })
}

/// One service that a connector calls, with the place of the user's credential in requests to it.
fn upstream(service: &Service) -> Value {
    let credential = service.credential.as_ref().map(|place| json!({"in": place.part, "name": place.name}));
    json!({"name": service.name, "host": service.host, "link_hosts": service.link_hosts, "credential": credential})
}

fn refusal(refused: &Refused) -> Value {
    json!({
        "file": refused.file,
        "sha256": refused.digest,
        "reason": refused.reason,
        "refused_at": humantime::format_rfc3339_millis(refused.at).to_string(),
        "serving": refused.serving,
    })
}
