//! GET /connectors: the live connectors, and the modules that were refused.

use std::sync::Arc;

use hyper::Response;
use serde_json::json;

use auth::Scope;
use body::Body;
use contract::words::{nearest, shortened};
use endpoint::answer::{tagged_answer, tagged_text};
use endpoint::authorize::AuthorizedCaller;
use endpoint::records::{ConnectorsRecord, RefusedRecord};
use endpoint::route::HttpCall;
use gateway::Gateway;
use problem::{self, Problem};
use registry::{Connector, Registry};

/// Answers the list.
pub async fn list_connectors(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let document = connectors_record(&call.gateway.registry, caller.may(Scope::Admin));
    let document = tagged_text(json!(document).to_string());
    Ok(tagged_answer(&call.head.headers, &document))
}

/// The live connectors and the refused files. The reasons of refusals are for admins.
pub fn connectors_record(registry: &Registry, with_reasons: bool) -> ConnectorsRecord {
    let live = registry.live();
    let mut connectors: Vec<_> = live.values().collect();
    connectors.sort_by_key(|connector| &connector.manifest().identifier);
    ConnectorsRecord {
        connectors: connectors.into_iter().map(|connector| (&**connector).into()).collect(),
        refused: registry.refused().iter().map(|refused| RefusedRecord::of_refused(refused, with_reasons)).collect(),
    }
}

/// The live connector of this identifier.
///
/// # Errors
/// 404 if there is no such connector. The problem names the nearest one.
pub fn live_connector(gateway: &Gateway, identifier: &str) -> Result<Arc<Connector>, Problem> {
    gateway.registry.get(identifier).ok_or_else(|| unknown_connector(gateway, identifier))
}

/// The problem of an identifier that no live connector has.
pub fn unknown_connector(gateway: &Gateway, identifier: &str) -> Problem {
    if gateway.registry.may_become_live(identifier) {
        let identifier = shortened(identifier);
        return problem::STARTING.with_detail(format!("`{identifier}` is not loaded yet; try again.")).retry_after(1);
    }
    let live = gateway.registry.live();
    let nearest = nearest(identifier, live.keys().map(String::as_str));
    let identifier = shortened(identifier);
    problem::UNKNOWN_CONNECTOR.with_detail(match nearest {
        Some(known) => format!("There is no connector `{identifier}`; did you mean `{known}`?"),
        None => format!("There is no connector `{identifier}`; GET /connectors lists them."),
    })
}
