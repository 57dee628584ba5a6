//! The operator's routes.
//!
//! - [`audit`]: every change by a person, a key or a file
//! - [`calls`]: records of calls
//! - [`connect_links`]: links to the page on which users connect accounts, of all tenants
//! - [`fleet`]: the gateways, and the connectors that each of them serves
//! - [`hook_requests`]: requests of services
//! - [`import`]: accounts of other systems
//! - [`inboxes`]: inboxes of applications, and their secrets
//! - [`install`]: a module that an operator sends
//! - [`integrations`]: accounts of all tenants
//! - [`jobs`]: jobs of all tenants
//! - [`keys`]: API keys
//! - [`settings`]: the settings, the findings and the samples of the gateway that answers
//! - [`tenants`]: tenants and their OAuth clients
//! - [`triggers`]: triggers of all tenants
//! - [`usage`]: what tenants have called on each day
//! - [`webhooks`]: webhooks of all tenants
//!
//! The routes that show, remove and roll back a connector, and the routes of grants and of the
//! history, are here.

mod audit;
mod calls;
mod connect_links;
mod fleet;
mod hook_requests;
mod import;
mod inboxes;
mod install;
mod integrations;
mod jobs;
mod keys;
mod settings;
mod tenants;
mod triggers;
mod usage;
mod webhooks;

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use hyper::Response;
use serde_json::json;
use tracing::Instrument;

pub use self::audit::list_audit;
pub use self::audit::{Audit, audit_page};
pub use self::calls::Calls;
pub use self::calls::{get_call, list_calls, problem_names};
pub use self::connect_links::AnyConnectLinks;
pub use self::connect_links::list_connect_links;
pub use self::fleet::{ServiceConnectorFilter, ServiceConnectors};
pub use self::fleet::{list_gateways, list_service_connectors};
pub use self::hook_requests::HookRequests;
pub use self::hook_requests::list_hook_requests;
pub use self::import::import_integrations;
pub use self::inboxes::{add_secret, create_inbox, delete_inbox, delete_secret, get_inbox, list_inboxes};
pub use self::install::{SIGNATURE, install_connector};
pub use self::integrations::AnyIntegrations;
pub use self::integrations::{get_integration, list_integrations, remove_integration, renew_integration};
pub use self::jobs::AnyJobs;
pub use self::jobs::{cancel_job, get_job, list_jobs};
pub use self::keys::{Keys, create_key, get_key, list_keys, revoke_key};
pub use self::settings::{get_findings, get_samples, get_settings};
pub use self::tenants::{delete_oauth_client, get_oauth_client, list_oauth_clients, list_tenants, set_oauth_client};
pub use self::triggers::{get_trigger, list_triggers, remove_trigger, resubscribe_trigger};
pub use self::usage::Usage;
pub use self::usage::list_usage;
pub use self::webhooks::AnyWebhooks;
pub use self::webhooks::{list_webhooks, resend_webhook};
pub use rest::triggers::AnyTriggers;

use body::Body;
use contract::words::sentence;
use endpoint::answer::json_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::page;
use endpoint::records::{
    ChangeRecord, ConnectorRecord, GrantRecord, GrantsRecord, HistoryRecord, RemovedRecord, VersionRecord,
    VersionsRecord,
};
use endpoint::route::HttpCall;
use gateway::Gateway;
use problem::{self, Problem};
use registry::{Actor, ChangeError, HostGrant, Registry, Removed, StoredVersion, Swapped, is_grant};
use rest::connectors::live_connector;

/// Number of changes in the history that a caller gets without asking for more.
const DEFAULT_CHANGES: u32 = 100;

/// The most changes of the history in one answer.
const MAX_CHANGES: u32 = 1000;

/// GET /admin/connectors/{connector}: the connector that this gateway serves, as GET /connectors
/// lists it.
pub async fn get_connector(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let connector = live_connector(call.gateway, call.arguments.connector)?;
    Ok(json_answer(&json!(ConnectorRecord::from(&*connector))))
}

/// DELETE /admin/connectors/{connector}: calls in progress end on it.
pub async fn remove_connector(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let connector = call.arguments.connector;
    let replaces = fleet::generation_in_headers(&call.head.headers)?;
    let mut wait = None;
    problem::read_query(query_of(&call), &["wait"], |_, value| {
        wait = Some(fleet::parse_wait(value)?);
        Ok(())
    })?;
    let (registry, identifier, by) = change_context(&call, &caller).await?;
    let removing = async move { registry.remove(&identifier, replaces, &by).await };
    let Removed { generation, live } = make_change(call.gateway, removing).await?;
    let gateways = fleet::wait_for_gateways(call.gateway, connector, generation, wait).await;
    // The connector is removed.
    let gateways = gateways.map_err(Problem::of_unknown_outcome)?;
    let digest = live.map(|live| live.digest().to_owned());
    Ok(json_answer(&json!(RemovedRecord { connector, removed: true, generation, digest, gateways })))
}

/// POST /admin/connectors/{connector}/rollback: swaps in the previous version, or the one that
/// `?to=…` names.
pub async fn roll_back_connector(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let replaces = fleet::generation_in_headers(&call.head.headers)?;
    let (mut to, mut wait) = (None, None);
    problem::read_query(query_of(&call), &["to", "wait"], |name, value| {
        match name {
            "to" => to = Some(value.to_owned()),
            _ => wait = Some(fleet::parse_wait(value)?),
        }
        Ok(())
    })?;
    let (registry, identifier, by) = change_context(&call, &caller).await?;
    let rolling_back = async move { registry.rollback(&identifier, to.as_deref(), replaces, &by).await };
    let Swapped { live, generation } = make_change(call.gateway, rolling_back).await?;
    let record = fleet::changed_record(call.gateway, &live, generation, wait).await;
    // The other version is live. Sent again, the call would roll back once more.
    Ok(json_answer(&json!(record.map_err(Problem::of_unknown_outcome)?)))
}

/// GET /admin/connectors/{connector}/versions: the stored versions, the newest first.
pub async fn list_versions(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let (limit, after) = page::read_place(query_of(&call))?;
    let mut stored = call.gateway.registry.stored_versions(call.arguments.connector).await.map_err(change_problem)?;
    // A shipped version and a foreign one may have the same digest.
    let place = |stored: &StoredVersion| {
        let nanos = stored.live_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        (Reverse(u64::try_from(nanos).unwrap_or(u64::MAX)), stored.digest.clone(), stored.is_shipped)
    };
    stored.sort_by_key(place);
    let next_cursor = page::cut(&mut stored, limit, after.as_ref(), place);
    let versions = stored.iter().map(VersionRecord::from).collect();
    Ok(json_answer(&json!(VersionsRecord { versions, next_cursor })))
}

/// GET /admin/connectors/{connector}/history, and GET /admin/history for all connectors: the last
/// changes, the newest first.
pub async fn list_history(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let mut limit = DEFAULT_CHANGES;
    problem::read_query(query_of(&call), &["limit"], |_, value| {
        let number = value.parse().ok().filter(|number| (1..=MAX_CHANGES).contains(number));
        limit = number.ok_or_else(|| format!("Must be a whole number from 1 to {MAX_CHANGES}."))?;
        Ok(())
    })?;
    let connector = Some(call.arguments.connector).filter(|connector| !connector.is_empty());
    let changes = call.gateway.registry.history(connector, limit).await.map_err(change_problem)?;
    let changes = changes.into_iter().map(ChangeRecord::from).collect();
    Ok(json_answer(&json!(HistoryRecord { changes })))
}

/// GET /admin/grants: the hosts of the connectors that need grants.
pub async fn list_all_grants(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    grants_page(&call, None).await
}

/// GET /admin/connectors/{connector}/grants: the hosts of one connector.
pub async fn list_grants(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    grants_page(&call, Some(call.arguments.connector)).await
}

/// A page of the hosts of one connector, or of all of them.
async fn grants_page(call: &HttpCall<'_>, connector: Option<&str>) -> Result<Response<Body>, Problem> {
    let (limit, after) = page::read_place(query_of(call))?;
    let mut grants = call.gateway.registry.host_grants(connector).await.map_err(change_problem)?;
    let place = |grant: &HostGrant| (grant.connector.clone(), grant.host.clone());
    let next_cursor = page::cut(&mut grants, limit, after.as_ref(), place);
    let grants = grants.iter().map(GrantRecord::from).collect();
    Ok(json_answer(&json!(GrantsRecord { grants, next_cursor })))
}

/// POST /admin/connectors/{connector}/grants?host=…: lets it reach hosts too.
pub async fn grant_hosts(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let hosts = hosts_in_query(&call)?;
    let (registry, identifier, by) = change_context(&call, &caller).await?;
    let granted = make_change(call.gateway, async move { registry.grant(&identifier, &hosts, &by).await }).await?;
    grants_answer(call.gateway.registry.hosts_of(&granted).await.map_err(ChangeError::Store))
}

/// DELETE /admin/connectors/{connector}/grants?host=…: lets it no longer reach hosts.
pub async fn revoke_hosts(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let hosts = hosts_in_query(&call)?;
    let (registry, identifier, by) = change_context(&call, &caller).await?;
    make_change(call.gateway, async move { registry.revoke(&identifier, &hosts, &by).await }).await?;
    let registry = &call.gateway.registry;
    match registry.get(call.arguments.connector) {
        Some(live) => grants_answer(registry.hosts_of(&live).await.map_err(ChangeError::Store)),
        None => grants_answer(Ok(Vec::new())),
    }
}

/// All hosts of a connector, as a change of its grants answers with them. The change was made, also
/// if they cannot be read.
fn grants_answer(grants: Result<Vec<HostGrant>, ChangeError>) -> Result<Response<Body>, Problem> {
    let grants = grants.map_err(|error| change_problem(error.after_change()))?.iter().map(GrantRecord::from).collect();
    Ok(json_answer(&json!(GrantsRecord { grants, next_cursor: None })))
}

/// The hosts in the query of a route.
fn hosts_in_query(call: &HttpCall<'_>) -> Result<Vec<String>, Problem> {
    let mut hosts = Vec::new();
    problem::read_query(query_of(call), &["host*"], |_, value| {
        hosts.push(parse_host(value)?);
        Ok(())
    })?;
    if hosts.is_empty() {
        return Err(problem::invalid("/host", "This route needs a host, as in ?host=api.example.com.".to_owned()));
    }
    Ok(hosts)
}

/// A host in a query. The error is the sentence of the same mistake in a command.
fn parse_host(value: &str) -> Result<String, String> {
    let host = value.to_owned();
    if is_grant(value) { Ok(host) } else { Err(sentence(&ChangeError::InvalidHost(host).to_string())) }
}

fn query_of<'a>(call: &'a HttpCall<'_>) -> &'a str {
    call.head.uri.query().unwrap_or_default()
}

/// The registry, the identifier of the connector that a call changes, and the caller as the history
/// names it.
async fn change_context(
    call: &HttpCall<'_>,
    caller: &AuthorizedCaller,
) -> Result<(Arc<Registry>, String, Actor), Problem> {
    let by = actor_of(call.gateway, caller).await?;
    Ok((Arc::clone(&call.gateway.registry), call.arguments.connector.to_owned(), by))
}

/// Makes a change, on other threads than those that serve callers: it compiles schemas, and writes
/// files. It runs to its end even if the operator disconnects.
async fn make_change<T: Send + 'static>(
    gateway: &Gateway,
    making: impl Future<Output = Result<T, ChangeError>> + Send + 'static,
) -> Result<T, Problem> {
    let made = gateway.background.spawn(store::inherit_acting(making).in_current_span()).await;
    made.map_err(|_| interrupted())?.map_err(change_problem)
}

/// The problem of a change that broke off. Any part of it may have been made.
fn interrupted() -> Problem {
    let detail = "The change was interrupted; GET /connectors says what is live.";
    problem::INTERNAL.with_detail(detail).of_unknown_outcome()
}

/// The caller, as the history names it.
async fn actor_of(gateway: &Gateway, caller: &AuthorizedCaller) -> Result<Actor, Problem> {
    if let Some(person) = caller.person() {
        return Ok(Actor::Person { name: person.to_owned() });
    }
    let Some(id) = caller.key_id() else {
        let subject = Some(caller.subject()).filter(|subject| !subject.is_empty());
        return Ok(Actor::Token { tenant: caller.tenant().to_owned(), subject: subject.map(str::to_owned) });
    };
    let key = gateway.store.keys().get(id).await.map_err(|error| change_problem(ChangeError::Store(error)))?;
    let name = key.map(|key| key.name).unwrap_or_default();
    Ok(Actor::ApiKey { id: id.to_string(), name })
}

/// The problem of a change that was not made, or not to its end. Its detail is the error's own
/// text.
fn change_problem(error: ChangeError) -> Problem {
    let detail = sentence(&error.to_string());
    match error {
        ChangeError::AfterChange(error) => {
            let problem = change_problem(*error).of_unknown_outcome();
            problem.and("The change was made before this failed, or a part of it; GET /connectors says what is live.")
        }
        ChangeError::Refused(_) => problem::MODULE_REFUSED.with_detail(detail),
        ChangeError::NotNow(_) => problem::BUSY.with_detail(detail).retry_after(1),
        ChangeError::AsksForMore { more, .. } => problem::MODULE_REFUSED
            .with_detail(detail)
            .and("If `asks_for` is right, send the module with ?accept=true.")
            .with("asks_for", more),
        ChangeError::Unknown(_) => problem::UNKNOWN_CONNECTOR.with_detail(detail).and("GET /connectors lists them."),
        ChangeError::NoSuchVersion { .. } | ChangeError::NoEarlierVersion(_) => {
            problem::NO_EARLIER_VERSION.with_detail(detail)
        }
        ChangeError::Shipped(_) | ChangeError::NeedsNoGrants(_) => problem::SHIPPED.with_detail(detail),
        ChangeError::InvalidHost(_) | ChangeError::UnnamedHost { .. } | ChangeError::NotGranted { .. } => {
            problem::BAD_REQUEST.with_detail(detail)
        }
        ChangeError::ChangedMeanwhile { generation, .. } => {
            problem::CHANGED_MEANWHILE.with_detail(detail).with("generation", generation)
        }
        ChangeError::Io(_) => problem::INTERNAL.with_detail(detail),
        ChangeError::Store(error) => {
            problem::store_problem(&error, "The grants cannot be read or written now; try again.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idempotency_key_of_a_change_that_broke_off_is_not_given_back() {
        let problem = interrupted();
        assert!(!problem.did_nothing());
        assert_eq!(problem.document("1")["outcome"], "unknown");
    }

    #[test]
    fn a_change_whose_end_failed_is_not_told_as_one_that_was_not_made() {
        let failed = || ChangeError::Store(store::StoreError::Closed);
        assert!(change_problem(failed()).did_nothing());
        for problem in [change_problem(failed().after_change()), grants_answer(Err(failed())).err().unwrap()] {
            assert!(!problem.did_nothing());
            assert_eq!(problem.document("1")["outcome"], "unknown");
        }
    }
}
