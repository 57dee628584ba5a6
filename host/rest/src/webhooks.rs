//! The secrets that a tenant's webhooks are signed with.

use std::sync::Arc;

use hyper::Response;
use serde_json::json;

use body::Body;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::idempotency;
use endpoint::records::{NewSecretRecord, SecretDeletedRecord, SecretRecord, SecretsRecord};
use endpoint::route::HttpCall;
use gateway::Gateway;
use problem::{self, Problem, webhook_problem};
use webhooks::NewSecret;

/// POST /webhooks/secrets: makes a secret, and shows it this once.
pub async fn create_secret(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let tenant = tenant(&caller)?.to_owned();
    let gateway = Arc::clone(call.gateway);
    let Some(key) = idempotency::key_in_headers(&call.head.headers)? else {
        return create_now(&gateway, &tenant).await;
    };
    let running = {
        let gateway = Arc::clone(&gateway);
        async move { create_now(&gateway, &tenant).await }
    };
    let request: [&[u8]; 3] = [b"POST", b"/webhooks/secrets", caller.maker()];
    Box::pin(idempotency::answer_idempotently(&gateway, &caller, key, &request, running)).await
}

async fn create_now(gateway: &Gateway, tenant: &str) -> Result<Response<Body>, Problem> {
    let made = gateway.webhooks.create_secret(tenant).await;
    let NewSecret { record, secret } = made.map_err(|error| webhook_problem(&error))?;
    let created = NewSecretRecord { id: &record.id, secret: secret.shown(), created_at: record.created_at.into() };
    Ok(private_answer(&json!(created)))
}

/// GET /webhooks/secrets: the valid secrets, without the secrets themselves.
pub async fn list_secrets(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let listed = call.gateway.webhooks.secrets(tenant(&caller)?).await;
    let secrets = listed.map_err(|error| webhook_problem(&error))?;
    Ok(private_answer(&json!(SecretsRecord { secrets: secrets.iter().map(SecretRecord::from).collect() })))
}

/// DELETE /webhooks/secrets/{secret_id}.
pub async fn delete_secret(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let id = call.arguments.secret_id;
    let deleted = call.gateway.webhooks.delete_secret(tenant(&caller)?, id).await;
    if deleted.map_err(|error| webhook_problem(&error))? {
        return Ok(private_answer(&json!(SecretDeletedRecord { deleted: true })));
    }
    Err(problem::UNKNOWN_WEBHOOK_SECRET
        .with_detail(format!("There is no valid secret `{id}`; GET /webhooks/secrets lists the valid ones.")))
}

/// The tenant of a caller that may act for every user of it. Secrets belong to the tenant, so that
/// a token of one user must not change them.
fn tenant(caller: &AuthorizedCaller) -> Result<&str, Problem> {
    if caller.subject().is_empty() {
        return Ok(caller.tenant());
    }
    Err(problem::TENANT_TOKEN_REQUIRED.with_detail(
        "Webhook secrets belong to the tenant, and this token is bound to a user. Use an API key without a subject.",
    ))
}
