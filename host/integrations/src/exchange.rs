//! The second half of an authorization, when the provider returns the user: the `state`
//! identifies the authorization, and the code is exchanged for tokens.

use std::fmt::Display;

use secrecy::{ExposeSecret, SecretString};

use super::provider::NoClient;
use super::{AccountSecret, AuthorizationResult, IntegrationError, Integrations};
use contract::{AuthScheme, Oauth2};
use oauth::Provider;
use registry::Connector;
use store::digest::sha256;
use store::{AccountAddress, Authorization, Sealed, StateHash, TakenAuthorization};

/// Why a `state` leads to no authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAuthorization {
    /// The gateway never issued it, or so long ago that it was forgotten.
    Unknown,
    /// It was used before.
    Used,
    /// Its ten minutes have passed.
    Expired,
    /// It was issued for another connector, whose callback can still use it.
    OtherConnector,
}

/// The stored form of a `state`. Looking it up may take a time that depends on the hash. That
/// does not help an attacker, who cannot control the hash of a chosen state.
pub(super) fn state_hash(state: &str) -> StateHash {
    sha256(state.as_bytes())
}

impl Integrations {
    /// Takes the authorization that belongs to a `state`. Each can be taken once.
    ///
    /// # Errors
    /// The outer error says that the store failed, the inner one that there is no such
    /// authorization.
    pub async fn take_authorization(
        &self,
        connector: &str,
        state: &str,
    ) -> Result<Result<Authorization, NoAuthorization>, IntegrationError> {
        Ok(match self.store.authorizations().take(connector, &state_hash(state)).await? {
            TakenAuthorization::Fresh(authorization) => Ok(*authorization),
            TakenAuthorization::OtherConnector => Err(NoAuthorization::OtherConnector),
            TakenAuthorization::Used => Err(NoAuthorization::Used),
            TakenAuthorization::Expired => Err(NoAuthorization::Expired),
            TakenAuthorization::Unknown => Err(NoAuthorization::Unknown),
        })
    }

    /// Checks that a user comes back from the provider of the authorization, if the provider says its
    /// name `issuer` (RFC 9207). Otherwise a code of one provider could be sent to another one.
    ///
    /// # Errors
    /// The failed result of the authorization.
    pub async fn check_issuer(&self, authorization: &Authorization, issuer: &str) -> Result<(), AuthorizationResult> {
        let Authorization { holder, oauth_client, address, .. } = authorization;
        let changed = || AuthorizationResult::failed("connector_changed");
        let connector = self.registry.get(&holder.connector).ok_or_else(changed)?;
        let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else { return Err(changed()) };
        let provider = self.provider_of_authorization(&connector, scheme, oauth_client.as_deref(), address).await?;
        if provider.is_issuer(issuer) {
            return Ok(());
        }
        tracing::warn!(
            connector = holder.connector,
            "the user came back from another provider than the one of the authorization URL, as its `iss` says"
        );
        Err(AuthorizationResult::failed("other_issuer"))
    }

    /// Exchanges the code for tokens.
    ///
    /// # Errors
    /// The failed result of the authorization.
    pub async fn exchange_code(
        &self,
        authorization: &Authorization,
        connector: &Connector,
        scheme: &Oauth2,
        code: SecretString,
    ) -> Result<AccountSecret, AuthorizationResult> {
        let Authorization { holder, user_identifier, redirect_uri, oauth_client, .. } = authorization;
        let client = oauth_client.as_deref();
        let provider = self.provider_of_authorization(connector, scheme, client, &authorization.address).await?;
        let connector = holder.connector.as_str();
        let verifier = match &authorization.verifier {
            None => None,
            Some(sealed) => {
                let context = holder.verifier_context(user_identifier.as_deref());
                Some(self.unseal_text(&context, sealed).await.map_err(|error| {
                    error.log("the PKCE verifier of an authorization cannot be unsealed");
                    AuthorizationResult::failed("internal_error")
                })?)
            }
        };
        let since = clock::now();
        let tokens = provider.exchange(code, verifier, redirect_uri).await.map_err(|error| {
            tracing::warn!(connector, %error, "an authorization code cannot be exchanged");
            AuthorizationResult::from(&error)
        })?;
        let client = provider.client_of_tenant().map(str::to_owned);
        Ok(AccountSecret::OAuth2 { tokens, scopes: provider.scopes().to_vec(), since, client })
    }

    /// The provider at which an authorization was begun with this client of the tenant.
    ///
    /// # Errors
    /// The failed result of the authorization.
    pub(super) async fn provider_of_authorization(
        &self,
        connector: &Connector,
        scheme: &Oauth2,
        client: Option<&str>,
        address: &AccountAddress,
    ) -> Result<Provider, AuthorizationResult> {
        let name = connector.name();
        let not_exchanged = |error: &dyn Display, code| {
            tracing::warn!(connector = &**name, %error, "an authorization code cannot be exchanged");
            AuthorizationResult::failed(code)
        };
        match self.client_by_id(client).await.map(|client| self.provider(connector, scheme, client, address)) {
            Ok(Ok(provider)) => Ok(provider),
            Ok(Err(error)) => Err(not_exchanged(&error, "not_configured")),
            Err(error @ NoClient::Deleted) => Err(not_exchanged(&error, "not_configured")),
            Err(NoClient::Failed(error)) => {
                error.log("an authorization code cannot be exchanged");
                Err(AuthorizationResult::failed("internal_error"))
            }
        }
    }

    pub(super) async fn unseal_text(
        &self,
        context: &[&str],
        sealed: &Sealed,
    ) -> Result<SecretString, IntegrationError> {
        let bytes = self.vault.unseal(context, sealed).await?;
        let text = std::str::from_utf8(bytes.expose_secret())
            .map_err(|_| IntegrationError::Secret("it is not UTF-8".to_owned()))?;
        Ok(text.into())
    }
}
