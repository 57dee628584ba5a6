//! The routes of applications, which make links and look at them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use serde_json::json;

use body::Body;
use contract::AuthScheme;
use contract::words::nearest;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::{parse_record, read_json_body};
use endpoint::idempotency;
use endpoint::records::{
    ConnectLinkCreatedRecord, ConnectLinkInit, ConnectLinkRecord, LinkDeletedRecord, LinkedConnectorRecord,
};
use endpoint::route::HttpCall;
use gateway::Gateway;
use integrations::{Destination, random_secret};
use problem::{self, Problem, integration_problem, invalid, store_problem};
use store::digest::sha256;
use store::{ConnectLink, LinkEnd, NewConnectLink, StoreError};

/// Seconds for which a link can be used, if its maker does not say.
const DEFAULT_LIFETIME_S: u64 = 900;

/// POST /connect-links: makes a link, and shows its URL this once.
pub async fn create_link(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, .. } = call;
    let body = read_json_body(&head.headers, body, gateway).await?;
    let Some(key) = idempotency::key_in_headers(&head.headers)? else {
        return create_now(gateway, &caller, body).await;
    };
    let request: [&[u8]; 4] = [b"POST", b"/connect-links", &body, caller.maker()];
    let running = {
        let (gateway, caller, body) = (Arc::clone(gateway), caller.clone(), body.clone());
        async move { create_now(&gateway, &caller, body).await }
    };
    Box::pin(idempotency::answer_idempotently(gateway, &caller, key, &request, running)).await
}

async fn create_now(gateway: &Gateway, caller: &AuthorizedCaller, body: Bytes) -> Result<Response<Body>, Problem> {
    let init: ConnectLinkInit = parse_record(&body).await?;
    let record = make_link(gateway, caller, init).await?;
    let mut response = private_answer(&json!(record));
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Makes a link.
///
/// # Errors
/// 422 for an unknown connector, for connectors that all work without an account, and for a wrong
/// `callback_url`. 429 if the tenant has too many links, and 503 if the store fails.
pub async fn make_link(
    gateway: &Gateway,
    caller: &AuthorizedCaller,
    init: ConnectLinkInit,
) -> Result<ConnectLinkCreatedRecord, Problem> {
    let ConnectLinkInit { connectors, user_identifier, callback_url, labels, expires_in_s } = init;
    for (number, connector) in connectors.iter().enumerate() {
        if gateway.registry.get(connector).is_none() {
            return Err(unknown_connector(gateway, number, connector));
        }
    }
    if connectors.iter().all(|connector| needs_no_account(gateway, connector)) {
        let detail = "Each of these connectors works without an account, so the page could connect nothing. Call \
                      them without a link.";
        return Err(invalid("/connectors", detail.to_owned()));
    }
    if let Some(url) = &callback_url {
        Destination::check(url, &gateway.config).map_err(|detail| invalid("/callback_url", detail))?;
    }
    let token = random_secret().map_err(|error| integration_problem(&error))?;
    let new = NewConnectLink {
        id: store::new_link_id().map_err(|error| links_unavailable(&error))?,
        hash: sha256(token.as_bytes()),
        tenant: caller.tenant().to_owned(),
        subject: caller.subject().to_owned(),
        connectors,
        user_identifier,
        callback_url,
        labels,
        key_id: caller.key_id().cloned(),
        lifetime: Duration::from_secs(expires_in_s.unwrap_or(DEFAULT_LIFETIME_S)),
    };
    let link = gateway.store.connect_links().add(new).await.map_err(|error| links_unavailable(&error))?;
    let root = gateway.config.public_url.as_str().trim_end_matches('/');
    Ok(ConnectLinkCreatedRecord {
        id: link.id,
        url: format!("{root}/connect/{token}"),
        expires_at: link.expires_at.into(),
    })
}

fn unknown_connector(gateway: &Gateway, number: usize, connector: &str) -> Problem {
    let live = gateway.registry.live();
    let hint = nearest(connector, live.keys().map(String::as_str));
    let hint = hint.map(|name| format!(" Did you mean `{name}`?")).unwrap_or_default();
    invalid(&format!("/connectors/{number}"), format!("There is no such connector.{hint}"))
}

/// GET /connect-links/{link_id}.
pub async fn get_link(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let link = find(&call, &caller).await?;
    Ok(private_answer(&json!(link_record(call.gateway, &link))))
}

/// A link as its maker and operators see it.
pub fn link_record(gateway: &Gateway, link: &ConnectLink) -> ConnectLinkRecord {
    let connectors: Vec<_> = link.connectors.iter().map(|connector| linked(gateway, link, connector)).collect();
    let state = match link.end {
        Some(LinkEnd::Done) => "done",
        None if connectors.iter().all(|connector| connector.connected) => "done",
        Some(LinkEnd::Deleted) => "expired",
        None if link.has_expired => "expired",
        None => "open",
    };
    ConnectLinkRecord { id: link.id.clone(), state, expires_at: link.expires_at.into(), connectors }
}

fn linked(gateway: &Gateway, link: &ConnectLink, connector: &str) -> LinkedConnectorRecord {
    let account = link.account(connector).map(str::to_owned);
    LinkedConnectorRecord {
        connector: connector.to_owned(),
        connected: account.is_some() || needs_no_account(gateway, connector),
        user_identifier: account,
    }
}

/// Returns `true` if the connector is live and works without an account.
fn needs_no_account(gateway: &Gateway, connector: &str) -> bool {
    gateway.registry.get(connector).is_some_and(|live| matches!(live.manifest().auth, AuthScheme::None))
}

/// DELETE /connect-links/{link_id}: ends the link.
pub async fn delete_link(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let link = find(&call, &caller).await?;
    let deleted = call.gateway.store.connect_links().end(&link.id, LinkEnd::Deleted).await;
    let deleted = deleted.map_err(|error| links_unavailable(&error))?;
    Ok(private_answer(&json!(LinkDeletedRecord { deleted })))
}

/// The link that the path names, if it is the caller's.
async fn find(call: &HttpCall<'_>, caller: &AuthorizedCaller) -> Result<ConnectLink, Problem> {
    let id = call.arguments.link_id;
    let found = call.gateway.store.connect_links().get(id).await.map_err(|error| links_unavailable(&error))?;
    let own = found.filter(|link| link.tenant == caller.tenant() && link.subject == caller.subject());
    own.ok_or_else(|| {
        problem::UNKNOWN_LINK.with_detail(format!(
            "There is no link `{id}`. Links are removed a week after their end; POST /connect-links makes one."
        ))
    })
}

/// The problem of a failure of the store.
pub fn links_unavailable(error: &StoreError) -> Problem {
    match error {
        StoreError::TooManyLinks { limit } => problem::TOO_MANY_LINKS
            .with_detail(format!(
                "The tenant has {limit} links that can be used, which is the limit. Delete some with DELETE \
                 /connect-links/{{link_id}}, or wait until some expire."
            ))
            .retry_after(60),
        error => store_problem(error, "The links cannot be read or written now; try again."),
    }
}
