//! The routes of API keys: GET and POST /admin/keys, GET and DELETE /admin/keys/{key_id}.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use serde_json::json;

use auth::{Scopes, make_key};
use body::Body;
use contract_rules::text::is_hidden;
use endpoint::allowed_names::unknown_names;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::HIDDEN;
use endpoint::body::{parse_record, read_json_body};
use endpoint::idempotency;
use endpoint::lists::{Field, Filter, List, Parse, filter, put, read};
use endpoint::page;
use endpoint::records::{CreatedKeyRecord, KeyPageRecord, KeyRecord, KeyRevokedRecord, NewKey};
use endpoint::route::HttpCall;
use gateway::Gateway;
use problem::{self, Problem, store_problem, violations_problem};
use schema::Violation;
use store::{ApiKey, KeyFilter, KeyId, KeyRevocation, KeyStatus, StoreError};

/// The tenant of a key whose maker names no tenant.
const DEFAULT_TENANT: &str = "default";

/// The list of keys.
pub struct Keys;

impl List for Keys {
    type Query = KeyFilter;

    const FILTERS: &'static [Filter<KeyFilter>] = &[
        filter("name", "Only keys with this name.").text(|filter| &mut filter.name),
        filter("tenant", "Only keys of this tenant.").text(|filter| &mut filter.tenant),
        filter("subject", "Only keys of this user. Empty for those without a user.").text(|filter| &mut filter.subject),
        filter("status", "Only keys in this state.").one_of(
            || KeyStatus::ALL.map(KeyStatus::name).into(),
            |filter, name| filter.status = KeyStatus::ALL.into_iter().find(|status| status.name() == name),
        ),
        filter(
            "prefix",
            "Only keys that begin with this text. The gateway keeps the first 8 characters of a key, and no more.",
        )
        .rare()
        .text(|filter| &mut filter.prefix),
        filter("expires_before", "Only keys whose time ends before this one.")
            .rare()
            .time(|filter| &mut filter.expires_before),
    ];

    const LIMIT: Field<KeyFilter, u32> = |filter| &mut filter.limit;
    const CURSOR: Parse<KeyFilter> = |filter, cursor| put(&mut filter.before, page::cursor_in_time(cursor));
}

/// GET /admin/keys: a page of all keys, the newest first. Revoked ones are among them.
pub async fn list_keys(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let filter = read::<Keys>(call.head.uri.query().unwrap_or_default())?;
    let limit = filter.limit;
    let found = call.gateway.store.keys().page(KeyFilter { limit: limit + 1, ..filter }).await;
    let mut found = found.map_err(unavailable)?;
    let next_cursor = page::next_cursor(&mut found, limit, |key| page::place_in_time(key.created_at, key.id.0.clone()));
    let keys = found.into_iter().map(KeyRecord::from).collect();
    Ok(private_answer(&json!(KeyPageRecord { keys, next_cursor })))
}

/// GET /admin/keys/{key_id}.
pub async fn get_key(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let key = find_key(call.gateway, call.arguments.key_id).await?;
    Ok(private_answer(&json!(KeyRecord::from(key))))
}

/// POST /admin/keys: makes a key, and shows it this once.
pub async fn create_key(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, .. } = call;
    let body = read_json_body(&head.headers, body, gateway).await?;
    let Some(key) = idempotency::key_in_headers(&head.headers)? else { return create_now(gateway, body).await };
    let request: [&[u8]; 4] = [b"POST", b"/admin/keys", &body, caller.maker()];
    let running = {
        let (gateway, body) = (Arc::clone(gateway), body.clone());
        async move { create_now(&gateway, body).await }
    };
    Box::pin(idempotency::answer_idempotently(gateway, &caller, key, &request, running)).await
}

async fn create_now(gateway: &Gateway, body: Bytes) -> Result<Response<Body>, Problem> {
    let NewKey { name, tenant, subject, scopes, allow, effects, confirm, expires_at } = parse_record(&body).await?;
    let mut violations = Vec::new();
    for (member, text) in [("name", Some(&name)), ("tenant", tenant.as_ref()), ("subject", subject.as_ref())] {
        if text.is_some_and(|text| text.contains(is_hidden)) {
            violations.push(Violation { pointer: format!("/{member}"), detail: HIDDEN.to_owned() });
        }
    }
    violations.extend(unknown_names(gateway, "allow", allow.as_deref().unwrap_or_default()));
    let expires_at = expires_at.as_deref().map(future_time).transpose().unwrap_or_else(|detail| {
        violations.push(Violation { pointer: "/expires_at".to_owned(), detail });
        None
    });
    if !violations.is_empty() {
        return Err(violations_problem(violations));
    }
    let tenant = tenant.as_deref().unwrap_or(DEFAULT_TENANT);
    let scopes = Scopes::parse(&scopes.iter().map(|scope| scope.0.as_str()).collect::<Vec<_>>().join(" "));
    let made = make_key(&name, tenant, subject.as_deref(), scopes);
    let (mut stored, key) = made.map_err(|error| problem::INTERNAL.with_detail(format!("{error}.")))?;
    stored.allow = allow.map(|allow| json!(allow).to_string());
    stored.effects =
        effects.map(|effects| effects.iter().map(|effect| effect.0.as_str()).collect::<Vec<_>>().join(" "));
    stored.confirm = confirm.unwrap_or_default();
    stored.expires_at = expires_at;
    let id = stored.id.clone();
    gateway.store.keys().create(stored).await.map_err(unavailable)?;
    gateway.authenticator.note_change().await;
    // The key is made. Sent again, the call would make another one.
    let record = KeyRecord::from(find_key(gateway, &id.0).await.map_err(Problem::of_unknown_outcome)?);
    let mut response = private_answer(&json!(CreatedKeyRecord { record, key: key.shown() }));
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

fn future_time(text: &str) -> Result<SystemTime, String> {
    let time = page::time(text)?;
    if time > clock::now() { Ok(time) } else { Err("Must be in the future.".to_owned()) }
}

/// DELETE /admin/keys/{key_id}: revokes the key. This gateway refuses it at once, and every other
/// one that reaches the database within two seconds.
pub async fn revoke_key(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let id = KeyId(call.arguments.key_id.to_owned());
    let revocation = call.gateway.store.keys().revoke(&id).await.map_err(unavailable)?;
    call.gateway.authenticator.note_change().await;
    match revocation {
        KeyRevocation::Revoked(_) | KeyRevocation::AlreadyRevoked(_) => {
            Ok(private_answer(&json!(KeyRevokedRecord { id: id.0, revoked: true })))
        }
        KeyRevocation::Unknown => Err(unknown_key(&id.0)),
    }
}

async fn find_key(gateway: &Gateway, id: &str) -> Result<ApiKey, Problem> {
    let found = gateway.store.keys().get(&KeyId(id.to_owned())).await.map_err(unavailable)?;
    found.ok_or_else(|| unknown_key(id))
}

fn unknown_key(id: &str) -> Problem {
    problem::UNKNOWN_KEY.with_detail(format!("There is no key with the id `{id}`; GET /admin/keys lists them."))
}

fn unavailable(error: StoreError) -> Problem {
    store_problem(&error, "The API keys cannot be read or written now; try again.")
}
