//! GET /connectors: the live connectors, and the modules that were refused.

use std::sync::Arc;

use hyper::Response;
use serde_json::{Value, json};

use super::answer::{tagged, with_tag};
use super::authorize::AuthorizedCaller;
use super::openapi::pagination;
use super::problem::{self, Problem};
use super::route::HttpCall;
use crate::auth::Scope;
use crate::gateway::Gateway;
use crate::pipeline::body::Body;
use crate::registry::{Connector, Refused, Service};
use contract::words::{nearest, shortened};

/// Answers the list.
pub(super) async fn list(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let registry = &call.gateway.registry;
    let live = registry.live();
    let mut connectors: Vec<_> = live.values().collect();
    connectors.sort_by_key(|connector| &connector.manifest().identifier);
    let connectors: Vec<Value> = connectors.into_iter().map(|connector| record(connector)).collect();
    let is_admin = caller.may(Scope::Admin);
    let refused: Vec<Value> = registry.refused().iter().map(|refused| refusal(refused, is_admin)).collect();
    let document = with_tag(json!({"connectors": connectors, "refused": refused}).to_string());
    Ok(tagged(call.request.headers(), &document))
}

/// The live connector of this identifier.
///
/// # Errors
/// 404 if there is no such connector. The problem names the nearest one.
pub(super) fn live(gateway: &Gateway, identifier: &str) -> Result<Arc<Connector>, Problem> {
    gateway.registry.get(identifier).ok_or_else(|| unknown(gateway, identifier))
}

/// The problem of an identifier that no live connector has.
pub(super) fn unknown(gateway: &Gateway, identifier: &str) -> Problem {
    let file = format!("{identifier}.wasm");
    if gateway.registry.missing().is_some_and(|missing| missing.contains(&file)) {
        return problem::STARTING.because(format!("`{identifier}` is not loaded yet; try again.")).retry_after(1);
    }
    let live = gateway.registry.live();
    let nearest = nearest(identifier, live.keys().map(String::as_str));
    let identifier = shortened(identifier);
    problem::UNKNOWN_CONNECTOR.because(match nearest {
        Some(known) => format!("There is no connector `{identifier}`; did you mean `{known}`?"),
        None => format!("There is no connector `{identifier}`; GET /connectors lists them."),
    })
}

/// One connector, as callers and operators see it.
pub(super) fn record(connector: &Connector) -> Value {
    let manifest = connector.manifest();
    let auth = manifest.auth.name();
    let operations: Vec<Value> = connector
        .operations()
        .map(|operation| {
            let manifest = &operation.manifest;
            let mut record =
                json!({"path": manifest.path, "summary": manifest.summary, "effect": manifest.effect.name()});
            if let Some(pages) = &manifest.pagination {
                record["x-pagination"] = pagination(pages);
            }
            record
        })
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

/// A refused file. The reason has texts of the module and of the configuration, which are for admins only.
fn refusal(refused: &Refused, with_reason: bool) -> Value {
    const SHORT: &str = "it is not accepted; a key with the scope `admin` sees the reason";
    json!({
        "file": refused.file,
        "sha256": refused.digest,
        "reason": if with_reason { &refused.reason } else { SHORT },
        "refused_at": humantime::format_rfc3339_millis(refused.at).to_string(),
        "serving": refused.serving,
    })
}
