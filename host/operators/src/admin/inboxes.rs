//! The operator's routes of inboxes that serve a whole application, and of their secrets.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde_json::json;

use body::Body;
use contract::trigger_types::InboxScope;
use contract::words::nearest;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::{parse_record, read_json_body};
use endpoint::records::{
    InboxDeletedRecord, InboxPageRecord, InboxSecretDeletedRecord, NewInboxBody, NewInboxSecretBody,
};
use endpoint::route::HttpCall;
use endpoint::{idempotency, page};
use gateway::Gateway;
use problem::{self, Problem, invalid};
use rest::triggers::trigger_problem;
use triggers::InboxRecord;

/// GET /admin/inboxes: a page of the inboxes, in the order of their ids.
pub async fn list_inboxes(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let (limit, after) = page::read_place::<String>(call.head.uri.query().unwrap_or_default())?;
    let mut inboxes = call.gateway.triggers.inboxes().await.map_err(trigger_problem)?;
    let next_cursor = page::cut(&mut inboxes, limit, after.as_ref(), |inbox: &InboxRecord| inbox.id.clone());
    Ok(private_answer(&json!(InboxPageRecord { inboxes, next_cursor })))
}

/// GET /admin/inboxes/{inbox_id}.
pub async fn get_inbox(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.inbox_id;
    let found = call.gateway.triggers.inbox(id).await.map_err(trigger_problem)?;
    Ok(private_answer(&json!(found.ok_or_else(|| unknown_inbox(id))?)))
}

/// POST /admin/inboxes: makes an inbox, with an address for the service.
pub async fn create_inbox(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, .. } = call;
    let body = read_json_body(&head.headers, body, gateway).await?;
    let Some(key) = idempotency::key_in_headers(&head.headers)? else { return create_now(gateway, &body).await };
    let request: [&[u8]; 3] = [b"POST", b"/admin/inboxes", &body];
    let running = {
        let (gateway, body) = (Arc::clone(gateway), body.clone());
        async move { create_now(&gateway, &body).await }
    };
    Box::pin(idempotency::answer_idempotently(gateway, &caller, key, &request, running)).await
}

async fn create_now(gateway: &Gateway, body: &Bytes) -> Result<Response<Body>, Problem> {
    let NewInboxBody { connector, inbox, tenant } = parse_record(body).await?;
    check_declared(gateway, &connector, &inbox)?;
    let made = gateway.triggers.add_inbox(&connector, &inbox, tenant.as_deref().unwrap_or_default()).await;
    Ok(created(&made.map_err(trigger_problem)?))
}

/// Requires that a live connector declares the inbox, so that the problem can name the nearest one.
fn check_declared(gateway: &Gateway, connector: &str, inbox: &str) -> Result<(), Problem> {
    let hint = |nearest: Option<&str>| nearest.map(|name| format!(" Did you mean `{name}`?")).unwrap_or_default();
    let Some(live) = gateway.registry.get(connector) else {
        let live = gateway.registry.live();
        let hint = hint(nearest(connector, live.keys().map(String::as_str)));
        return Err(invalid("/connector", format!("There is no such connector.{hint}")));
    };
    // The gateway makes the others itself, with their subscriptions.
    let of_application = live.additions().inboxes.iter().filter(|declared| declared.scope == InboxScope::Application);
    let declared = of_application.map(|declared| declared.name.as_str());
    if declared.clone().any(|name| name == inbox) {
        return Ok(());
    }
    let detail = format!("`{connector}` has no such inbox of an application.{}", hint(nearest(inbox, declared)));
    Err(invalid("/inbox", detail))
}

/// DELETE /admin/inboxes/{inbox_id}: what the service sends to its address is 404 from then on.
pub async fn delete_inbox(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = call.arguments.inbox_id;
    match call.gateway.triggers.delete_inbox(id).await.map_err(trigger_problem)? {
        true => Ok(private_answer(&json!(InboxDeletedRecord { deleted: true }))),
        false => Err(unknown_inbox(id)),
    }
}

/// POST /admin/inboxes/{inbox_id}/secrets: gives it a secret of the service.
pub async fn add_secret(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, arguments, .. } = call;
    let id = arguments.inbox_id;
    let body = read_json_body(&head.headers, body, gateway).await?;
    let Some(key) = idempotency::key_in_headers(&head.headers)? else { return add_now(gateway, id, &body).await };
    let path = format!("/admin/inboxes/{id}/secrets");
    let request: [&[u8]; 3] = [b"POST", path.as_bytes(), &body];
    let running = {
        let (gateway, id, body) = (Arc::clone(gateway), id.to_owned(), body.clone());
        async move { add_now(&gateway, &id, &body).await }
    };
    Box::pin(idempotency::answer_idempotently(gateway, &caller, key, &request, running)).await
}

async fn add_now(gateway: &Gateway, id: &str, body: &Bytes) -> Result<Response<Body>, Problem> {
    let NewInboxSecretBody { secret } = parse_record(body).await?;
    let added = gateway.triggers.add_secret(id, &secret).await.map_err(trigger_problem)?;
    Ok(created(&added.ok_or_else(|| unknown_inbox(id))?))
}

/// DELETE /admin/inboxes/{inbox_id}/secrets/{inbox_secret_id}.
pub async fn delete_secret(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let (id, secret) = (call.arguments.inbox_id, call.arguments.inbox_secret_id);
    if call.gateway.triggers.delete_secret(id, secret).await.map_err(trigger_problem)? {
        return Ok(private_answer(&json!(InboxSecretDeletedRecord { deleted: true })));
    }
    call.gateway.triggers.inbox(id).await.map_err(trigger_problem)?.ok_or_else(|| unknown_inbox(id))?;
    Err(problem::UNKNOWN_INBOX_SECRET
        .with_detail(format!("The inbox has no secret `{secret}`; GET /admin/inboxes/{id} lists its secrets.")))
}

fn created(record: &impl Serialize) -> Response<Body> {
    let mut answer = private_answer(&json!(record));
    *answer.status_mut() = StatusCode::CREATED;
    answer
}

fn unknown_inbox(id: &str) -> Problem {
    problem::UNKNOWN_INBOX.with_detail(format!("There is no inbox `{id}`; GET /admin/inboxes lists them."))
}
