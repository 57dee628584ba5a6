//! The routes of agent sessions: POST /agent-sessions, DELETE /agent-sessions/{session_id}.
//!
//! A session is a bearer token for one address of agents. It can do no more than its maker.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use serde_json::json;

use super::tool_sets;
use auth::{Limits, Scope, make_session_token};
use body::Body;
use contract_rules::text::is_hidden;
use endpoint::allowed_names::unknown_names;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::{HIDDEN, parse_record, read_json_body};
use endpoint::idempotency;
use endpoint::records::{AgentSessionCreatedRecord, AgentSessionDeletedRecord, NewAgentSessionBody};
use endpoint::route::HttpCall;
use gateway::Gateway;
use problem::{self, Problem, store_problem, violations_problem};
use schema::Violation;
use store::{KeyId, NewAgentSession, StoreError};

/// Seconds for which a session can be used, if its maker does not say.
const DEFAULT_LIFETIME_S: u64 = 3600;

/// The scopes that the tools of agents use: they call operations, and make links to the page on
/// which a user connects accounts.
const SCOPES: [Scope; 2] = [Scope::Operate, Scope::Integrate];

/// POST /agent-sessions: makes a session, and shows its token this once.
pub async fn create_session(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, .. } = call;
    let body = read_json_body(&head.headers, body, gateway).await?;
    let Some(key) = idempotency::key_in_headers(&head.headers)? else {
        return create_now(gateway, &caller, body).await;
    };
    let request: [&[u8]; 4] = [b"POST", b"/agent-sessions", &body, caller.maker()];
    let running = {
        let (gateway, caller, body) = (Arc::clone(gateway), caller.clone(), body.clone());
        async move { create_now(&gateway, &caller, body).await }
    };
    Box::pin(idempotency::answer_idempotently(gateway, &caller, key, &request, running)).await
}

async fn create_now(gateway: &Gateway, caller: &AuthorizedCaller, body: Bytes) -> Result<Response<Body>, Problem> {
    let wanted: NewAgentSessionBody = parse_record(&body).await?;
    check(gateway, caller, &wanted).await?;
    let NewAgentSessionBody { subject, user_identifier, set, allow, effects, confirm, expires_in_s } = wanted;
    let own = caller.subject();
    if !own.is_empty() && subject.as_deref().is_some_and(|subject| subject != own) {
        return Err(problem::NOT_ALLOWED.with_detail(format!(
            "This token is bound to the user `{own}`, so it makes no session of another user. Leave `subject` out, or use an \
             API key without a subject."
        )));
    }
    let effects: Option<Vec<String>> = effects.map(|effects| effects.into_iter().map(|effect| effect.0).collect());
    let limits = Limits::narrowed(caller.limits(), allow.as_deref(), effects.as_deref());
    if limits.as_ref().is_some_and(Limits::are_empty) {
        return Err(problem::NOT_ALLOWED.with_detail(
            "The limits of this key admit none of what `allow` and `effects` name, so the session could call nothing. Name what \
             the key may call, or use another key.",
        ));
    }
    let (allow, effects) = limits.map(|limits| limits.to_texts()).unwrap_or_default();
    let made = make_session_token().map_err(|error| problem::INTERNAL.with_detail(format!("{error}.")))?;
    let (id, hash, token) = made;
    let new = NewAgentSession {
        id,
        hash,
        tenant: caller.tenant().to_owned(),
        subject: subject.or_else(|| Some(own.to_owned()).filter(|own| !own.is_empty())),
        account: user_identifier,
        set: set.clone(),
        scopes: caller.scopes_among(&SCOPES),
        allow,
        effects,
        confirm: confirm.unwrap_or_default() || caller.confirms(),
        maker: caller.key_id().cloned(),
        lifetime: Duration::from_secs(expires_in_s.unwrap_or(DEFAULT_LIFETIME_S)),
        ends_by: caller.token_ends_at(),
    };
    let added = gateway.store.agent_sessions().add(new).await.map_err(|error| unavailable(&error))?;
    let session = added.ok_or_else(|| {
        problem::UNAUTHENTICATED.with_detail("The token was revoked or has expired a moment ago. Use another one.")
    })?;
    let root = gateway.config.public_url.as_str().trim_end_matches('/');
    let url = match &set {
        Some(set) => format!("{root}/mcp/sets/{set}"),
        None => format!("{root}/mcp"),
    };
    let mut response = private_answer(&json!(AgentSessionCreatedRecord {
        id: session.id.0,
        token: token.shown(),
        url,
        expires_at: session.expires_at.into(),
    }));
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Requires that the parts of a session are there: its tool set, and what `allow` names.
async fn check(gateway: &Gateway, caller: &AuthorizedCaller, wanted: &NewAgentSessionBody) -> Result<(), Problem> {
    let NewAgentSessionBody { subject, user_identifier, set, allow, .. } = wanted;
    let mut violations = Vec::new();
    let mut add = |pointer: &str, detail: String| violations.push(Violation { pointer: pointer.to_owned(), detail });
    for (pointer, text) in [("/subject", subject), ("/user_identifier", user_identifier)] {
        if text.as_ref().is_some_and(|text| text.contains(is_hidden)) {
            add(pointer, HIDDEN.to_owned());
        }
    }
    if let Some(name) = set {
        match tool_sets::find_set(gateway, caller, name).await {
            Ok(found) => match (&found.account, user_identifier) {
                (Some(fixed), Some(named)) if fixed != named => add(
                    "/user_identifier",
                    format!("The tool set uses the account `{fixed}`; name this one, or leave the member out."),
                ),
                _ => {}
            },
            Err(problem) if problem.name() == "unknown-tool-set" => add("/set", problem.detail().to_owned()),
            Err(problem) => return Err(problem),
        }
    }
    violations.extend(unknown_names(gateway, "allow", allow.as_deref().unwrap_or_default()));
    if violations.is_empty() { Ok(()) } else { Err(violations_problem(violations)) }
}

/// DELETE /agent-sessions/{session_id}: ends the session. Every gateway that reaches the database
/// refuses its token within two seconds.
pub async fn delete_session(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let id = KeyId(call.arguments.session_id.to_owned());
    let subject = Some(caller.subject()).filter(|subject| !subject.is_empty());
    let ended = call.gateway.store.agent_sessions().end(caller.tenant(), subject, &id).await;
    if !ended.map_err(|error| unavailable(&error))? {
        return Err(problem::UNKNOWN_AGENT_SESSION.with_detail(format!(
            "There is no agent session `{id}` that can be used: it has expired or was deleted, or it belongs to someone else."
        )));
    }
    call.gateway.authenticator.note_change().await;
    Ok(private_answer(&json!(AgentSessionDeletedRecord { id: id.0, deleted: true })))
}

fn unavailable(error: &StoreError) -> Problem {
    match error {
        StoreError::TooManyAgentSessions { limit } => problem::TOO_MANY_AGENT_SESSIONS.with_detail(format!(
            "The tenant has {limit} agent sessions, which is the limit. Delete some with DELETE /agent-sessions/{{session_id}}, or \
             let them expire earlier."
        )),
        error => store_problem(error, "The agent sessions cannot be read or written now; try again."),
    }
}
