//! The secret of a connected account: OAuth tokens, an API key, or no secret at all.

use std::time::SystemTime;

use secrecy::SecretSlice;

use super::freshness::due_at;
use super::key::Key;
use super::key_form::KeyUse;
use super::{IntegrationError, Integrations};
use contract::{AuthScheme, Signature};
use egress::{Credential, EgressError, is_too_short};
use oauth::{AccountGrant, Tokens};
use store::digest::sha256_of_secret;
use store::{Account, AuthType, Details, GrantType, Integration, Sealed, Status};

/// The SHA-256 of a secret, by which the secret is recognised.
pub(super) type SecretDigest = [u8; 32];

/// The digest of a secret that is about to be sealed, or was unsealed.
pub(super) fn digest_of(secret: &SecretSlice<u8>) -> SecretDigest {
    sha256_of_secret(secret)
}

/// The secret of a connected account. The store keeps it sealed.
pub enum AccountSecret {
    /// OAuth 2 tokens.
    OAuth2 {
        /// The access token and the refresh token.
        tokens: Tokens,
        /// The scopes that were requested. They apply if the provider did not name the granted
        /// ones.
        scopes: Vec<String>,
        /// The time of the request for the tokens. The lifetime is counted from this time, which
        /// is earlier than their issue.
        since: SystemTime,
        /// The id of the tenant's OAuth client that issued the tokens. `None` for the client of
        /// the configuration.
        client: Option<String>,
    },
    /// A key, and its use in requests to the service.
    ApiKey(Key, KeyUse),
    /// The service needs no secret.
    None,
}

impl AccountSecret {
    /// The kind of authentication that the secret is for.
    pub fn auth_type(&self) -> AuthType {
        match self {
            Self::OAuth2 { .. } => AuthType::OAuth2,
            Self::ApiKey(..) => AuthType::ApiKey,
            Self::None => AuthType::None,
        }
    }

    /// The credential that requests to the service carry, or `None` if the service needs no
    /// credential.
    ///
    /// # Errors
    /// If the secret contains characters that a request cannot carry.
    pub fn credential(&self) -> Result<Option<Credential>, EgressError> {
        Ok(match self {
            Self::OAuth2 { tokens, .. } => Some(Credential::bearer(tokens.access_token.clone())?),
            Self::ApiKey(key, usage) => Some(key.credential(usage)?),
            Self::None => None,
        })
    }

    /// Returns `true` if requests carry a secret that is too short to be masked in responses.
    pub fn is_too_short(&self) -> bool {
        match self {
            Self::OAuth2 { tokens, .. } => is_too_short(&tokens.access_token),
            Self::ApiKey(key, _) => key.too_short().is_some(),
            Self::None => false,
        }
    }

    /// The kind of credentials from which the tokens are made. `None` if the user authorized, or if
    /// there are no tokens.
    pub(super) fn grant_type(&self) -> Option<GrantType> {
        match self {
            Self::OAuth2 { tokens, .. } => tokens.grant.as_ref().map(AccountGrant::grant_type),
            Self::ApiKey(..) | Self::None => None,
        }
    }

    /// The id of the tenant's OAuth client that issued the tokens.
    pub(super) fn client_of_tenant(&self) -> Option<&str> {
        match self {
            Self::OAuth2 { client, .. } => client.as_deref(),
            Self::ApiKey(..) | Self::None => None,
        }
    }

    /// The bytes to seal, or `None` if there is no secret.
    pub(super) fn to_bytes(&self) -> Option<SecretSlice<u8>> {
        match self {
            Self::OAuth2 { tokens, .. } => Some(tokens.to_bytes()),
            Self::ApiKey(key, _) => Some(key.to_bytes()),
            Self::None => None,
        }
    }

    /// The stored details of an account that was just connected with this secret.
    pub(super) fn details(&self, account: Account, sealed: Option<Sealed>) -> Details {
        let details = Details {
            status: Status::Active,
            reason: None,
            account,
            scopes: Vec::new(),
            expires_at: None,
            last_refreshed_at: None,
            next_refresh_at: None,
            refresh_failing_since: None,
            secret: sealed,
        };
        match self {
            Self::OAuth2 { tokens, scopes, since, .. } => Details {
                scopes: tokens.scopes.clone().unwrap_or_else(|| scopes.clone()),
                expires_at: tokens.expires_in.and_then(|lifetime| since.checked_add(lifetime)),
                next_refresh_at: due_at(*since, tokens.expires_in).filter(|_| tokens.are_renewable()),
                ..details
            },
            Self::ApiKey(..) | Self::None => details,
        }
    }
}

/// The store's name for a connector's auth scheme.
pub fn auth_type(scheme: &AuthScheme) -> AuthType {
    match scheme {
        AuthScheme::Oauth2(_) => AuthType::OAuth2,
        AuthScheme::ApiKey(_) => AuthType::ApiKey,
        AuthScheme::None => AuthType::None,
    }
}

impl Integrations {
    /// Unseals the secret of an integration, in the form that the connector's scheme expects.
    /// `signature` is the connector's declaration of signed requests.
    ///
    /// # Errors
    /// If there is no secret of that form, or it cannot be unsealed.
    pub(super) async fn account_secret(
        &self,
        integration: &Integration,
        scheme: &AuthScheme,
        signature: Option<&Signature>,
    ) -> Result<AccountSecret, IntegrationError> {
        let missing =
            || IntegrationError::Secret("the integration has no secret for the connector's scheme".to_owned());
        let bytes = self.secret_bytes(integration).await?.ok_or_else(missing)?;
        Ok(match scheme {
            AuthScheme::Oauth2(_) => AccountSecret::OAuth2 {
                tokens: Tokens::from_bytes(&bytes)?,
                scopes: integration.details.scopes.clone(),
                since: integration.updated_at,
                client: integration.oauth_client.clone(),
            },
            AuthScheme::ApiKey(key) => {
                let usage = KeyUse::of(key, signature, &integration.details.account.address);
                AccountSecret::ApiKey(Key::from_sealed(&bytes)?, usage)
            }
            AuthScheme::None => return Err(missing()),
        })
    }

    /// Unseals the bytes of an integration's secret. Returns `None` if it has no secret.
    pub(super) async fn secret_bytes(
        &self,
        integration: &Integration,
    ) -> Result<Option<SecretSlice<u8>>, IntegrationError> {
        let Some(sealed) = &integration.details.secret else { return Ok(None) };
        let context = integration.holder.secret_context(&integration.user_identifier);
        Ok(Some(self.vault.unseal(&context, sealed).await?))
    }

    /// Returns whether an integration's secret has this digest.
    pub(super) async fn holds_secret(
        &self,
        integration: &Integration,
        digest: &SecretDigest,
    ) -> Result<bool, IntegrationError> {
        Ok(self.secret_bytes(integration).await?.is_some_and(|held| digest_of(&held) == *digest))
    }
}
