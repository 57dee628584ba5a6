//! Connecting an account. Operations of the connector tell whose account it is, and if an API key
//! is good.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use secrecy::SecretString;
use serde_json::Value;
use tokio::time::Instant;

use super::{Accept, Call, Error, RunAs, Services, run};
use calls::Recording;
use contract::identity::{lost_pointers, text_at};
use contract::{ApiKey, AuthScheme, Identity, Oauth2, PartSource};
use egress::{Credential, SHORTEST_SECRET};
use integrations::{AccountSecret, AuthorizationResult, DeviceStep, IntegrationError, Key, KeyUse, Named};
use registry::{Connector, RefusedPart};
use store::{Account, AccountAddress, Authorization, Holder, Integration, StateHash, StoreError};
use telemetry::Trace;

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
    let connector = services.registry.get(&authorization.holder.connector);
    let scheme = connector.as_ref().map(|connector| (connector, &connector.manifest().auth));
    let Some((connector, AuthScheme::Oauth2(scheme))) = scheme else {
        return AuthorizationResult::failed("connector_changed");
    };
    let secret = match services.integrations.exchange_code(authorization, connector, scheme, code).await {
        Ok(secret) => secret,
        Err(result) => return result,
    };
    conclude(services, authorization, connector, scheme, &secret, arrived).await
}

/// Asks the provider about an authorization by a device code, unless another gateway does. If the
/// user has consented, the account is connected. Returns the authorization with its result if it
/// has ended.
pub async fn ask_about_device(
    services: Services<'_>,
    hash: &StateHash,
) -> Option<(Authorization, AuthorizationResult)> {
    let (poll, secret) = match services.integrations.ask_about_device(hash).await {
        DeviceStep::Wait => return None,
        DeviceStep::Failed(poll, result) => return Some((poll.authorization, result)),
        DeviceStep::Granted(poll, secret) => (poll, secret),
    };
    let authorization = &poll.authorization;
    let connector = services.registry.get(&authorization.holder.connector);
    let scheme = connector.as_ref().map(|connector| (connector, &connector.manifest().auth));
    let result = match scheme {
        Some((connector, AuthScheme::Oauth2(scheme))) => {
            conclude(services, authorization, connector, scheme, &secret, Instant::now()).await
        }
        _ => AuthorizationResult::failed("connector_changed"),
    };
    services.integrations.end_device(&poll, &result).await;
    Some((poll.authorization, result))
}

/// Ends an authorization whose tokens the gateway has: asks whose account it is, and stores the
/// account and the tokens.
async fn conclude(
    services: Services<'_>,
    authorization: &Authorization,
    connector: &Arc<Connector>,
    scheme: &Oauth2,
    secret: &AccountSecret,
    arrived: Instant,
) -> AuthorizationResult {
    let Authorization { holder, user_identifier, .. } = authorization;
    if secret.is_too_short() {
        tracing::warn!("the access token has fewer than {SHORTEST_SECRET} bytes, so it cannot be masked in responses");
        return AuthorizationResult::failed("answer_not_understood");
    }
    let known = Account { address: authorization.address.clone(), ..Account::default() };
    let account = match &scheme.identity {
        None => known,
        Some(identity) => {
            match identify(services, connector, identity, &holder.tenant, secret, &known, arrived).await {
                Ok(account) => account,
                Err(error) => {
                    tracing::warn!(%error, "the service does not say whose account was connected");
                    if user_identifier.is_none() {
                        return AuthorizationResult::failed_because("identity_unavailable", error);
                    }
                    known
                }
            }
        }
    };
    if let Err(RefusedPart { name, .. }) = connector.check_address(&account.address) {
        let part = name.as_str();
        tracing::warn!(
            part,
            "the address of the account that was connected has no such part that the connector accepts"
        );
        services.integrations.revoke_unused(holder, &account.address, secret).await;
        return AuthorizationResult::failed("address_unavailable");
    }
    match services.integrations.conclude(authorization, account, secret).await {
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
    let Named { holder, user_identifier, labels, address, connect_link } = integration;
    let signature = connector.auth_additions().signature.as_ref();
    let usage = KeyUse::of(scheme, signature, address);
    let credential = key.credential(&usage).map_err(|error| KeyError::NotSendable(error.to_string()))?;
    let mut account = Account { address: address.clone(), ..Account::default() };
    if let Some(operation) = &scheme.check {
        let asked = NewAccount { tenant: &holder.tenant, credential, address };
        let answer = ask(services, connector, operation, asked, arrived).await.map_err(KeyError::Check)?;
        // Only the address is taken from the answer, which may be of any form.
        if connector.address_parts().iter().any(|part| !part.is_from_user()) {
            let answer = parsed(&answer).await.map_err(KeyError::Check)?;
            add_parts(&mut account.address, connector, &answer);
        }
    }
    if let Err(RefusedPart { name, .. }) = connector.check_address(&account.address) {
        let detail = format!("the service's answer about the account has no `{name}` that the connector accepts");
        return Err(KeyError::Check(Error::NotUnderstood(detail)));
    }
    services.integrations.check_link(connect_link).await?;
    let secret = AccountSecret::ApiKey(key, usage);
    Ok(services.integrations.connect(holder, user_identifier, labels.cloned(), account, &secret).await?)
}

/// Asks the service whose account it is. `known` has the parts of the address that the user gave.
async fn identify(
    services: Services<'_>,
    connector: &Arc<Connector>,
    identity: &Identity,
    tenant: &str,
    secret: &AccountSecret,
    known: &Account,
    arrived: Instant,
) -> Result<Account, Error> {
    let Some(credential) = secret.credential()? else { return Ok(known.clone()) };
    let asked = NewAccount { tenant, credential, address: &known.address };
    let answer = parsed(&ask(services, connector, &identity.operation, asked, arrived).await?).await?;
    let mut address = known.address.clone();
    add_parts(&mut address, connector, &answer);
    let text_at = |pointer: Option<&String>| text_at(&answer, pointer?);
    let account = Account {
        address,
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

/// Adds the parts of the address that the service's answer about the account has.
fn add_parts(address: &mut AccountAddress, connector: &Connector, answer: &Value) {
    for part in connector.address_parts() {
        if let PartSource::Account(pointer) = &part.source
            && let Some(value) = text_at(answer, pointer)
        {
            address.insert(part.name.clone(), value);
        }
    }
}

async fn parsed(answer: &Bytes) -> Result<Value, Error> {
    let parsed: Result<Value, _> = compute::run(answer.len(), || serde_json::from_slice(answer)).await;
    parsed.map_err(|error| Error::NotUnderstood(format!("the service's answer about the account is not JSON: {error}")))
}

/// An account that is being connected.
struct NewAccount<'a> {
    tenant: &'a str,
    credential: Credential,
    /// The parts of its address that are known yet.
    address: &'a AccountAddress,
}

/// Runs an operation without input, as an account that is being connected.
async fn ask(
    services: Services<'_>,
    connector: &Arc<Connector>,
    operation: &str,
    asked: NewAccount<'_>,
    arrived: Instant,
) -> Result<Bytes, Error> {
    let NewAccount { tenant, credential, address } = asked;
    // A manifest that names a missing operation was refused when the module was loaded.
    let operation = connector
        .operation(operation)
        .ok_or_else(|| Error::ConnectorFault(format!("the connector has no operation `{operation}`")))?;
    let call = Call {
        connector,
        operation,
        run_as: RunAs::NewAccount { tenant, credential, address },
        body: b"{}",
        accept: Accept::Named(None),
        range: None,
        deadline: arrived + connector.timeout(),
        background: None,
        hook: None,
        gives_way: false,
        trace: Trace::default(),
        recording: &Recording::default(),
    };
    let answer = run(services, &call).await?;
    let body = Limited::new(answer.body, MAX_ANSWER_BYTES).collect().await;
    let body = body.map_err(|error| Error::NotUnderstood(format!("the service's answer cannot be read: {error}")))?;
    Ok(body.to_bytes())
}
