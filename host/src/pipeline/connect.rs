//! An account is connected: what takes running one of the connector's own operations, to learn whose account it is or whether a
//! key is good.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use secrecy::SecretString;
use serde_json::Value;

use super::{Behalf, Error, Parts, Request, run};
use crate::integrations::{AccountSecret, Finish, IntegrationError, Key};
use crate::registry::Connector;
use contract::{ApiKey, AuthScheme, Identity};
use egress::Credential;
use store::{Account, Authorization, Holder, Integration, StoreError};

/// An answer that says who somebody is has some kilobytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Why a key was not taken.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It cannot stand where the service wants it.
    #[error("{0}")]
    Unfit(String),
    /// It could not be tried, or the service refuses it.
    #[error(transparent)]
    Check(Error),
    /// The gateway's own parts failed.
    #[error(transparent)]
    Failed(#[from] IntegrationError),
}

/// Completes an authorization: exchanges the code, finds out whose account it is, and stores both.
pub async fn complete(
    parts: Parts<'_>,
    authorization: &Authorization,
    code: SecretString,
    request_id: &Arc<str>,
) -> Finish {
    let Authorization { holder, user_identifier, .. } = authorization;
    let connector = parts.registry.get(&holder.connector);
    let scheme = connector.as_ref().map(|connector| (connector, &connector.manifest().auth));
    let Some((connector, AuthScheme::Oauth2(scheme))) = scheme else {
        return Finish::failed("connector_changed");
    };
    let secret = match parts.integrations.exchange(authorization, connector, scheme, code).await {
        Ok(secret) => secret,
        Err(finish) => return finish,
    };
    let account = match &scheme.identity {
        None => Account::default(),
        Some(identity) => match identify(parts, connector, identity, &secret, request_id).await {
            Ok(account) => account,
            Err(error) => {
                tracing::warn!(connector = holder.connector, %error, "whose account it is cannot be found out");
                if user_identifier.is_none() {
                    return Finish::failed("identity_unavailable");
                }
                Account::default()
            }
        },
    };
    match parts.integrations.connect(holder, user_identifier.as_deref(), account, &secret).await {
        Ok(Integration { user_identifier, .. }) => Finish::Connected { user_identifier },
        Err(IntegrationError::Store(StoreError::TooManyIntegrations { .. })) => Finish::failed("too_many_integrations"),
        Err(error) => {
            tracing::error!(connector = holder.connector, %error, "an account is not connected");
            Finish::failed("internal_error")
        }
    }
}

/// Connects an account by a key, which is tried first where the manifest says how.
///
/// # Errors
/// When the service refuses the key, it cannot be tried, or it cannot be stored.
pub async fn with_key(
    parts: Parts<'_>,
    connector: &Arc<Connector>,
    scheme: &ApiKey,
    key: Key,
    holder: &Holder,
    user_identifier: Option<&str>,
    request_id: &Arc<str>,
) -> Result<Integration, KeyError> {
    let credential = key.credential(&scheme.placement).map_err(|error| KeyError::Unfit(error.to_string()))?;
    if let Some(operation) = &scheme.check {
        ask(parts, connector, operation, credential, request_id).await.map_err(KeyError::Check)?;
    }
    let secret = AccountSecret::ApiKey(key, scheme.placement.clone());
    Ok(parts.integrations.connect(holder, user_identifier, Account::default(), &secret).await?)
}

/// Asks the service whose account it is.
async fn identify(
    parts: Parts<'_>,
    connector: &Arc<Connector>,
    identity: &Identity,
    secret: &AccountSecret,
    request_id: &Arc<str>,
) -> Result<Account, Error> {
    let Some(credential) = secret.credential()? else { return Ok(Account::default()) };
    let answer = ask(parts, connector, &identity.operation, credential, request_id).await?;
    let answer: Value = serde_json::from_slice(&answer)
        .map_err(|error| Error::NotUnderstood(format!("what the service says of the account is no JSON: {error}")))?;
    let account = Account {
        id: text_at(&answer, Some(&identity.id)),
        email: text_at(&answer, identity.email.as_ref()),
        name: text_at(&answer, identity.name.as_ref()),
    };
    if account.id.is_none() && account.email.is_none() {
        return Err(Error::NotUnderstood("what the service says of the account has neither id nor email".to_owned()));
    }
    Ok(account)
}

/// A name or a number at a JSON Pointer.
fn text_at(answer: &Value, pointer: Option<&String>) -> Option<String> {
    match answer.pointer(pointer?)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Runs an operation without input, with a credential that belongs to no integration yet.
async fn ask(
    parts: Parts<'_>,
    connector: &Arc<Connector>,
    operation: &str,
    credential: Credential,
    request_id: &Arc<str>,
) -> Result<Bytes, Error> {
    // The manifest was checked to have it.
    let operation = connector
        .operation(operation)
        .ok_or_else(|| Error::ConnectorFault(format!("the connector has no operation `{operation}`")))?;
    let request = Request { id: request_id, behalf: Behalf::Candidate(credential), body: b"{}", accept: None };
    let answer = run(parts, connector, operation, request).await?;
    let body = Limited::new(answer.body, MAX_ANSWER_BYTES).collect().await;
    let body = body.map_err(|error| Error::NotUnderstood(format!("the service's answer cannot be read: {error}")))?;
    Ok(body.to_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_account_is_named_by_text_or_a_number() {
        let answer = json!({"id": 42, "user": {"email": "a@example.com", "name": ""}, "list": []});
        let at = |pointer: &str| text_at(&answer, Some(&pointer.to_owned()));
        assert_eq!(at("/id").as_deref(), Some("42"));
        assert_eq!(at("/user/email").as_deref(), Some("a@example.com"));
        assert_eq!([at("/user/name"), at("/list"), at("/none"), text_at(&answer, None)], [None, None, None, None]);
    }
}
