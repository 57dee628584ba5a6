//! Connecting an account: the stages that all ways have in common (`integrations::Way`).
//!
//! Operations of the connector tell whose account it is, and if an API key is good.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use secrecy::SecretString;
use serde_json::Value;
use tokio::time::Instant;

use super::{Accept, Call, Error, RunAs, Services, run};
use calls::Recording;
use contract::identity::{lost_pointers, text_at};
use contract::{AddressPart, AuthScheme, Identity, PartSource};
use egress::{Credential, SHORTEST_SECRET};
use integrations::{
    AccountSecret, AuthorizationResult, BeginError, Begun, ConnectRequest, DeviceStep, IntegrationError, Way,
    is_identifier,
};
use registry::{Connector, RefusedPart};
use store::{Account, AccountAddress, Authorization, Holder, Integration, StateHash, StoreError, without_zero_bytes};
use telemetry::Trace;

/// The largest answer about an account. Such an answer has some kilobytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The longest name of an account that is stored. A longer one is cut, since it is only shown.
const MAX_NAME_CHARACTERS: usize = 256;

/// Why an account has no identity.
const NO_IDENTITY: &str = "the service's answer about the account has neither an id nor an email address in one line of at most 256 characters";

/// Why no account is connected.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The way gave no secret and no authorization.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The service refused the key, or the key could not be tried.
    #[error(transparent)]
    Check(Error),
}

impl From<IntegrationError> for ConnectError {
    fn from(error: IntegrationError) -> Self {
        Self::Begin(error.into())
    }
}

/// Begins to connect an account, and connects it if the user has nothing more to do. `credentials`
/// is JSON, as the form of the way has it. The deadline is counted from `arrived`, the arrival of
/// the call.
///
/// # Errors
/// See [`ConnectError`].
pub async fn begin(
    services: Services<'_>,
    connector: &Arc<Connector>,
    way: Way<'_>,
    request: &ConnectRequest,
    credentials: &[u8],
    arrived: Instant,
) -> Result<Begun<Integration>, ConnectError> {
    let (secret, account) = match services.integrations.begin(connector, way, request, credentials).await? {
        Begun::Done(obtained) => obtained,
        Begun::Page(started) => return Ok(Begun::Page(started)),
        Begun::Code(started) => return Ok(Begun::Code(started)),
    };
    let account = match account {
        Some(account) => account,
        None => {
            let tenant = &request.holder.tenant;
            let identified = identify(services, connector, tenant, &request.address, &secret, arrived).await;
            identified.map_err(ConnectError::Check)?
        }
    };
    if let Err(RefusedPart { name, .. }) = connector.check_address(&account.address) {
        let detail = format!("the service's answer about the account has no `{name}` that the connector accepts");
        return Err(ConnectError::Check(Error::NotUnderstood(detail)));
    }
    Ok(Begun::Done(services.integrations.connect_as_requested(request, account, &secret).await?))
}

/// Completes an authorization whose user came back with a code. The deadline is counted from
/// `arrived`, the arrival of the user's browser.
pub async fn complete(
    services: Services<'_>,
    authorization: &Authorization,
    code: SecretString,
    arrived: Instant,
) -> AuthorizationResult {
    match services.integrations.exchange_code(authorization, code).await {
        Ok(secret) => conclude(services, authorization, &secret, arrived).await,
        Err(result) => result,
    }
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
    let result = conclude(services, &poll.authorization, &secret, Instant::now()).await;
    services.integrations.end_device(&poll, &result).await;
    Some((poll.authorization, result))
}

/// Ends an authorization whose tokens the gateway has: asks whose account it is, and stores the
/// account and the tokens.
async fn conclude(
    services: Services<'_>,
    authorization: &Authorization,
    secret: &AccountSecret,
    arrived: Instant,
) -> AuthorizationResult {
    let Authorization { holder, user_identifier, address, .. } = authorization;
    let connector = services.registry.get(&holder.connector);
    let Some(connector) = connector.filter(|live| matches!(live.manifest().auth, AuthScheme::Oauth2(_))) else {
        return AuthorizationResult::failed("connector_changed");
    };
    let unknown = || Account { address: address.clone(), ..Account::default() };
    if secret.is_too_short() {
        tracing::warn!("the access token has fewer than {SHORTEST_SECRET} bytes, so it cannot be masked in responses");
        services.integrations.revoke_unused(holder, &unknown(), secret).await;
        return AuthorizationResult::failed("answer_not_understood");
    }
    let account = match identify(services, &connector, &holder.tenant, address, secret, arrived).await {
        Ok(account) => account,
        Err(error) => {
            tracing::warn!(%error, "the service does not say whose account was connected");
            if user_identifier.is_none() {
                let failed = AuthorizationResult::failed_because("identity_unavailable", error);
                services.integrations.revoke_unused(holder, &unknown(), secret).await;
                return failed;
            }
            unknown()
        }
    };
    if let Err(RefusedPart { name, .. }) = connector.check_address(&account.address) {
        let part = name.as_str();
        tracing::warn!(
            part,
            "the address of the account that was connected has no such part that the connector accepts"
        );
        services.integrations.revoke_unused(holder, &account, secret).await;
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

/// Asks the service whose account it is, or if the key is good. `known` has the parts of the
/// address that the user gave. A connector without an operation for the question is not asked.
async fn identify(
    services: Services<'_>,
    connector: &Arc<Connector>,
    tenant: &str,
    known: &AccountAddress,
    secret: &AccountSecret,
    arrived: Instant,
) -> Result<Account, Error> {
    let mut account = Account { address: known.clone(), ..Account::default() };
    let auth = &connector.manifest().auth;
    let Some(operation) = auth.account_operation() else { return Ok(account) };
    let identity = match auth {
        AuthScheme::Oauth2(scheme) => scheme.identity.as_ref(),
        AuthScheme::ApiKey(_) | AuthScheme::None => None,
    };
    let Some(credential) = secret.credential()? else { return Ok(account) };
    let asked = NewAccount { tenant, credential, address: known };
    let answer = ask(services, connector, operation, asked, arrived).await?;
    // Without an identity, the answer may be of any form, unless it has a part of the address.
    if identity.is_none() && connector.address_parts().iter().all(AddressPart::is_from_user) {
        return Ok(account);
    }
    let answer = parsed(&answer).await?;
    add_parts(&mut account.address, connector, &answer);
    match identity {
        Some(identity) => named(account, connector, identity, &answer),
        None => Ok(account),
    }
}

/// The account with the identity that the service's answer has, in the texts that are stored.
fn named(account: Account, connector: &Connector, identity: &Identity, answer: &Value) -> Result<Account, Error> {
    let text_at = |pointer: Option<&String>| {
        text_at(answer, pointer?).map(|text| without_zero_bytes(text.trim())).filter(|text| !text.is_empty())
    };
    // They name the integration, and the database looks for them.
    let name_at = |pointer: Option<&String>| text_at(pointer).filter(|text| is_identifier(text));
    let account = Account {
        id: name_at(Some(&identity.id)),
        email: name_at(identity.email.as_ref()),
        name: text_at(identity.name.as_ref()).map(|name| name.chars().take(MAX_NAME_CHARACTERS).collect()),
        ..account
    };
    let lost = lost_pointers(identity, answer).join("; ");
    if account.id.is_none() && account.email.is_none() {
        let mut detail = NO_IDENTITY.to_owned();
        if !lost.is_empty() {
            detail.push_str(&format!("; {lost}"));
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
