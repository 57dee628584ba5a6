//! The routes of tool sets: GET and POST /mcp-sets, GET and DELETE /mcp-sets/{set}.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use serde_json::json;

use body::Body;
use config::Config;
use contract::words::{nearest, shortened};
use endpoint::allowed_names::unknown_names;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::{parse_record, read_json_body};
use endpoint::idempotency;
use endpoint::page;
use endpoint::records::{NewToolSetBody, ToolSetDeletedRecord, ToolSetPageRecord, ToolSetRecord};
use endpoint::route::HttpCall;
use gateway::Gateway;
use mcp::ToolSet;
use problem::{self, Problem, store_problem, violations_problem};
use schema::Violation;
use store::{NewToolSet, StoreError, StoredToolSet};

/// The most names that are compared with an unknown one.
const MAX_COMPARED: u32 = 200;

/// GET /mcp-sets: a page of the tenant's tool sets.
pub async fn list_sets(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let (limit, after) = page::read_place::<String>(call.head.uri.query().unwrap_or_default())?;
    let found = call.gateway.store.tool_sets(caller.tenant(), after.as_deref().unwrap_or_default(), limit + 1).await;
    let mut found = found.map_err(|error| unavailable(&error))?;
    let next_cursor = page::next_cursor(&mut found, limit, |set| set.name.clone());
    let sets = found.into_iter().map(|set| record(&call.gateway.config, set)).collect::<Result<_, _>>()?;
    Ok(private_answer(&json!(ToolSetPageRecord { sets, next_cursor })))
}

/// GET /mcp-sets/{set}.
pub async fn get_set(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let name = call.arguments.set;
    let found = call.gateway.store.tool_set(caller.tenant(), name).await.map_err(|error| unavailable(&error))?;
    match found {
        Some(set) => Ok(private_answer(&json!(record(&call.gateway.config, set)?))),
        None => Err(unknown_set(call.gateway, &caller, name).await),
    }
}

/// POST /mcp-sets: makes a tool set.
pub async fn create_set(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    require_tenant(&caller)?;
    let HttpCall { gateway, head, body, .. } = call;
    let body = read_json_body(&head.headers, body, gateway).await?;
    let Some(key) = idempotency::key_in_headers(&head.headers)? else {
        return create_now(gateway, &caller, body).await;
    };
    let request: [&[u8]; 3] = [b"POST", b"/mcp-sets", &body];
    let running = {
        let (gateway, caller, body) = (Arc::clone(gateway), caller.clone(), body.clone());
        async move { create_now(&gateway, &caller, body).await }
    };
    Box::pin(idempotency::answer_idempotently(gateway, &caller, key, &request, running)).await
}

async fn create_now(gateway: &Gateway, caller: &AuthorizedCaller, body: Bytes) -> Result<Response<Body>, Problem> {
    let (name, set) = parse_record::<NewToolSetBody>(&body).await?.into_parts();
    check_pinned(&set)?;
    caller.require_set(&set)?;
    check_names(gateway, &set)?;
    let new = NewToolSet { tenant: caller.tenant().to_owned(), name: name.clone(), definition: json!(set).to_string() };
    let added = match gateway.store.add_tool_set(new).await {
        Ok(added) => added,
        Err(StoreError::Duplicate) => {
            return Err(problem::TOOL_SET_EXISTS.with_detail(format!(
                "There is a tool set `{name}`; choose another name, or delete it first with DELETE /mcp-sets/{name}."
            )));
        }
        Err(error) => return Err(unavailable(&error)),
    };
    let mut response = private_answer(&json!(record(&gateway.config, added)?));
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Requires that each pinned operation can be in the set.
fn check_pinned(set: &ToolSet) -> Result<(), Problem> {
    let is_allowed = |pinned: &String| {
        let connector = pinned.split('/').next().unwrap_or_default();
        set.allow.iter().any(|allowed| allowed == pinned || allowed == connector)
    };
    let outside = set.pinned.iter().enumerate().filter(|(_, pinned)| !is_allowed(pinned));
    let violations: Vec<Violation> = outside
        .map(|(number, _)| Violation {
            pointer: format!("/pinned/{number}"),
            detail: "Must be an operation that `allow` names, alone or with its connector.".to_owned(),
        })
        .collect();
    if violations.is_empty() { Ok(()) } else { Err(violations_problem(violations)) }
}

/// Requires that what the set names is live.
fn check_names(gateway: &Gateway, set: &ToolSet) -> Result<(), Problem> {
    let mut unknown = unknown_names(gateway, "allow", &set.allow);
    unknown.extend(unknown_names(gateway, "pinned", &set.pinned));
    if unknown.is_empty() { Ok(()) } else { Err(violations_problem(unknown)) }
}

/// DELETE /mcp-sets/{set}.
pub async fn delete_set(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    require_tenant(&caller)?;
    let name = call.arguments.set;
    caller.require_set(&find_set(call.gateway, &caller, name).await?)?;
    let deleted = call.gateway.store.delete_tool_set(caller.tenant(), name).await;
    match deleted.map_err(|error| unavailable(&error))? {
        true => Ok(private_answer(&json!(ToolSetDeletedRecord { name: name.to_owned(), deleted: true }))),
        false => Err(unknown_set(call.gateway, &caller, name).await),
    }
}

/// Finds the definition of a tool set of the caller's tenant.
///
/// # Errors
/// 404 if there is none of this name, and 503 if the store fails.
pub(super) async fn find_set(gateway: &Gateway, caller: &AuthorizedCaller, name: &str) -> Result<ToolSet, Problem> {
    let found = gateway.store.tool_set(caller.tenant(), name).await.map_err(|error| unavailable(&error))?;
    match found {
        Some(set) => definition(&set),
        None => Err(unknown_set(gateway, caller, name).await),
    }
}

fn definition(set: &StoredToolSet) -> Result<ToolSet, Problem> {
    serde_json::from_str(&set.definition).map_err(|error| {
        tracing::error!(%error, set = set.name, "the definition of a tool set is not understood");
        problem::INTERNAL
            .with_detail("The tool set was made by a version of the gateway that this one does not understand.")
    })
}

fn record(config: &Config, stored: StoredToolSet) -> Result<ToolSetRecord, Problem> {
    let set = definition(&stored)?;
    Ok(ToolSetRecord::of(stored, set, config.public_url.as_str().trim_end_matches('/')))
}

async fn unknown_set(gateway: &Gateway, caller: &AuthorizedCaller, name: &str) -> Problem {
    let known = gateway.store.tool_sets(caller.tenant(), "", MAX_COMPARED).await.unwrap_or_default();
    let shown = shortened(name);
    problem::UNKNOWN_TOOL_SET.with_detail(match nearest(name, known.iter().map(|set| set.name.as_str())) {
        Some(nearest) => format!("There is no tool set `{shown}`; did you mean `{nearest}`?"),
        None => format!("There is no tool set `{shown}`; GET /mcp-sets lists them."),
    })
}

/// Tool sets belong to the tenant, so that a token of one user must not change them.
fn require_tenant(caller: &AuthorizedCaller) -> Result<(), Problem> {
    if caller.subject().is_empty() {
        return Ok(());
    }
    Err(problem::TENANT_TOKEN_REQUIRED.with_detail(
        "Tool sets belong to the tenant, and this token is bound to a user. Use an API key without a subject.",
    ))
}

fn unavailable(error: &StoreError) -> Problem {
    match error {
        StoreError::TooManyToolSets { limit } => problem::TOO_MANY_TOOL_SETS.with_detail(format!(
            "The tenant has {limit} tool sets, which is the limit. Delete some with DELETE /mcp-sets/{{set}}."
        )),
        error => store_problem(error, "The tool sets cannot be read or written now; try again."),
    }
}
