//! Connecting an account. Operations of the connector tell whose account it is, and if an API key
//! is good.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use secrecy::SecretString;
use serde_json::Value;
use tokio::time::Instant;

use super::{Accept, Call, Error, RunAs, Services, run};
use crate::calls::Recording;
use crate::integrations::{AccountSecret, AuthorizationResult, IntegrationError, Key, Named};
use crate::registry::Connector;
use crate::telemetry::Trace;
use contract::identity::{lost_pointers, text_at};
use contract::{ApiKey, AuthScheme, Identity};
use egress::{Credential, SHORTEST_SECRET};
use store::{Account, Authorization, Holder, Integration, StoreError};

/// The largest answer about an account. Such an answer has some kilobytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Why an API key was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The key has characters that cannot be sent to the service.
    #[error("{0}")]
    NotSendable(String),
    /// The service refused the key, or the key could not be tried.
    #[error(transparent)]
    Check(Error),
    /// The store or the vault failed.
    #[error(transparent)]
    Failed(#[from] IntegrationError),
}

/// Completes an authorization: exchanges the code, asks whose account it is, and stores account and
/// tokens. The deadline is counted from `arrived`, the arrival of the user's browser.
pub async fn complete(
    services: Services<'_>,
    authorization: &Authorization,
    code: SecretString,
    arrived: Instant,
) -> AuthorizationResult {
    let Authorization { holder, user_identifier, .. } = authorization;
    let connector = services.registry.get(&holder.connector);
    let scheme = connector.as_ref().map(|connector| (connector, &connector.manifest().auth));
    let Some((connector, AuthScheme::Oauth2(scheme))) = scheme else {
        return AuthorizationResult::failed("connector_changed");
    };
    let secret = match services.integrations.exchange_code(authorization, connector, scheme, code).await {
        Ok(secret) => secret,
        Err(result) => return result,
    };
    if secret.is_too_short() {
        tracing::warn!("the access token has fewer than {SHORTEST_SECRET} bytes, so it cannot be masked in responses");
        return AuthorizationResult::failed("answer_not_understood");
    }
    let account = match &scheme.identity {
        None => Account::default(),
        Some(identity) => match identify(services, connector, identity, &holder.tenant, &secret, arrived).await {
            Ok(account) => account,
            Err(error) => {
                tracing::warn!(%error, "the service does not say whose account was connected");
                if user_identifier.is_none() {
                    return AuthorizationResult::failed("identity_unavailable");
                }
                Account::default()
            }
        },
    };
    match services.integrations.conclude(authorization, account, &secret).await {
        Ok(result) => result,
        Err(IntegrationError::Store(StoreError::TooManyIntegrations { .. })) => {
            AuthorizationResult::failed("too_many_integrations")
        }
        Err(error) => {
            let Holder { tenant, connector, .. } = holder;
            tracing::debug!(tenant, connector, user_identifier, %error, "the account could not be stored");
            error.log("an account could not be stored");
            AuthorizationResult::failed("internal_error")
        }
    }
}

/// Connects an account by an API key. If the manifest names an operation that checks the key, the
/// key is tried first. The deadline is counted from `arrived`, the arrival of the call.
///
/// # Errors
/// If the service refuses the key, or the key cannot be tried or stored.
pub async fn with_key(
    services: Services<'_>,
    connector: &Arc<Connector>,
    scheme: &ApiKey,
    key: Key,
    integration: Named<'_>,
    arrived: Instant,
) -> Result<Integration, KeyError> {
    let Named { holder, user_identifier, labels } = integration;
    let credential = key.credential(&scheme.placement).map_err(|error| KeyError::NotSendable(error.to_string()))?;
    if let Some(operation) = &scheme.check {
        ask(services, connector, operation, &holder.tenant, credential, arrived).await.map_err(KeyError::Check)?;
    }
    let secret = AccountSecret::ApiKey(key, scheme.placement.clone());
    Ok(services.integrations.connect(holder, user_identifier, labels.cloned(), Account::default(), &secret).await?)
}

/// Asks the service whose account it is.
async fn identify(
    services: Services<'_>,
    connector: &Arc<Connector>,
    identity: &Identity,
    tenant: &str,
    secret: &AccountSecret,
    arrived: Instant,
) -> Result<Account, Error> {
    let Some(credential) = secret.credential()? else { return Ok(Account::default()) };
    let answer = ask(services, connector, &identity.operation, tenant, credential, arrived).await?;
    let parsed: Result<Value, _> = compute::run(answer.len(), || serde_json::from_slice(&answer)).await;
    let answer = parsed.map_err(|error| {
        Error::NotUnderstood(format!("the service's answer about the account is not JSON: {error}"))
    })?;
    let text_at = |pointer: Option<&String>| text_at(&answer, pointer?);
    let account = Account {
        id: text_at(Some(&identity.id)),
        email: text_at(identity.email.as_ref()),
        name: text_at(identity.name.as_ref()),
    };
    let lost = lost_pointers(identity, &answer).join("; ");
    if account.id.is_none() && account.email.is_none() {
        let mut detail = "the service's answer about the account has neither an id nor an email address".to_owned();
        if !lost.is_empty() {
            detail.push_str(&format!(": {lost}"));
        }
        return Err(Error::NotUnderstood(detail));
    }
    if !lost.is_empty() {
        tracing::warn!(
            connector = &**connector.name(),
            "the account is connected without a part of its identity: {lost}"
        );
    }
    Ok(account)
}

/// Runs an operation without input, with the credential of an account that is being connected.
async fn ask(
    services: Services<'_>,
    connector: &Arc<Connector>,
    operation: &str,
    tenant: &str,
    credential: Credential,
    arrived: Instant,
) -> Result<Bytes, Error> {
    // A manifest that names a missing operation was refused when the module was loaded.
    let operation = connector
        .operation(operation)
        .ok_or_else(|| Error::ConnectorFault(format!("the connector has no operation `{operation}`")))?;
    let call = Call {
        connector,
        operation,
        run_as: RunAs::NewAccount { tenant, credential },
        body: b"{}",
        accept: Accept::Named(None),
        range: None,
        deadline: arrived + connector.timeout(),
        background: None,
        trace: Trace::default(),
        recording: Recording::default(),
    };
    let answer = run(services, &call).await?;
    let body = Limited::new(answer.body, MAX_ANSWER_BYTES).collect().await;
    let body = body.map_err(|error| Error::NotUnderstood(format!("the service's answer cannot be read: {error}")))?;
    Ok(body.to_bytes())
}
