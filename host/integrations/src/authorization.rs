//! An authorization, which waits for the decision of its user at the provider.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::SecretString;

use super::provider::{Issuer, NoIssuer};
use super::{AccountSecret, AuthorizationResult, ConnectRequest, IntegrationError, Integrations};
use oauth::{Provider, Tokens};
use store::digest::sha256;
use store::{Authorization, DatabaseTime, StateHash};

/// The result of an authorization whose key was revoked, or whose link was deleted or finished.
pub(super) const WITHDRAWN: &str = "withdrawn";

/// The part of a new authorization that its way decides.
pub(super) struct NewAuthorization<'a> {
    /// Identifies the authorization. The store has its hash.
    pub(super) id: &'a str,
    /// The secret that the token request needs, if it needs one.
    pub(super) verifier: Option<&'a SecretString>,
    /// The gateway's URL, to which the provider sends the user. Empty if no browser comes back.
    pub(super) redirect_uri: String,
    /// The time in which the user must decide.
    pub(super) life: Duration,
    /// The time between two requests to the provider. `None` if a browser comes back.
    pub(super) poll_interval: Option<Duration>,
}

impl Integrations {
    /// Stores what the gateway needs when the user has decided. Returns the time at which the
    /// authorization expires.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub(super) async fn save_authorization(
        &self,
        request: &ConnectRequest,
        provider: &Provider,
        new: NewAuthorization<'_>,
    ) -> Result<DatabaseTime, IntegrationError> {
        let NewAuthorization { id, verifier, redirect_uri, life, poll_interval } = new;
        let context = request.holder.verifier_context(request.user_identifier.as_deref());
        let verifier = match verifier {
            None => None,
            Some(verifier) => Some(self.vault.seal(&context, verifier).await?),
        };
        let expires_at = self.store.database().now().await? + life;
        let authorization = Authorization {
            hash: state_hash(id),
            holder: request.holder.clone(),
            user_identifier: request.user_identifier.clone(),
            replaces: request.replaces,
            confirms: request.confirms,
            callback_url: request.destination.clone().map(String::from).unwrap_or_default(),
            connect_link: request.connect_link.clone(),
            redirect_uri,
            verifier,
            labels: request.labels.clone(),
            address: request.address.clone(),
            key_id: request.key_id.clone(),
            oauth_client: provider.client_of_tenant().map(str::to_owned),
            expires_at,
        };
        self.store.authorizations().save(authorization, poll_interval).await?;
        Ok(expires_at)
    }

    /// The provider at which an authorization was begun.
    ///
    /// # Errors
    /// The failed result of the authorization.
    pub(super) async fn provider_of(&self, authorization: &Authorization) -> Result<Provider, AuthorizationResult> {
        let Authorization { holder, oauth_client, address, .. } = authorization;
        let connector = holder.connector.as_str();
        let code = match self.issuer(connector, oauth_client.as_deref(), address).await {
            Ok(Issuer { provider, .. }) => return Ok(provider),
            Err(NoIssuer::Changed(_)) => "connector_changed",
            Err(error @ (NoIssuer::NotConfigured(_) | NoIssuer::ClientDeleted)) => {
                tracing::warn!(connector, %error, "an authorization cannot be completed");
                "not_configured"
            }
            Err(NoIssuer::Failed(error)) => {
                error.log("an authorization cannot be completed");
                "internal_error"
            }
        };
        Err(AuthorizationResult::failed(code))
    }

    /// The secret that the token request of an authorization needs, if it needs one.
    ///
    /// # Errors
    /// The failed result of the authorization.
    pub(super) async fn verifier_of(
        &self,
        authorization: &Authorization,
    ) -> Result<Option<SecretString>, AuthorizationResult> {
        let Authorization { holder, user_identifier, verifier, .. } = authorization;
        let Some(sealed) = verifier else { return Ok(None) };
        let unsealed = async {
            let context = holder.verifier_context(user_identifier.as_deref());
            let text = self.vault.unseal_text(&context, sealed).await?;
            text.map_err(|_| IntegrationError::Secret("it is not UTF-8".to_owned()))
        };
        unsealed.await.map(Some).map_err(|error: IntegrationError| {
            error.log("the PKCE verifier or the device code of an authorization cannot be unsealed");
            AuthorizationResult::failed("internal_error")
        })
    }
}

/// The secret of an account whose user has authorized. `since` is the time of the token request.
pub(super) fn secret_of_user(provider: &Provider, tokens: Tokens, since: SystemTime) -> AccountSecret {
    let client = provider.client_of_tenant().map(str::to_owned);
    AccountSecret::OAuth2 { tokens, scopes: provider.scopes().to_vec(), since, client }
}

/// The stored form of a `state`. Looking it up may take a time that depends on the hash. That
/// does not help an attacker, who cannot control the hash of a chosen state.
pub(super) fn state_hash(state: &str) -> StateHash {
    sha256(state.as_bytes())
}

/// 256 random bits in characters that need no escape in a URL.
///
/// # Errors
/// If the operating system provides no random numbers.
pub fn random_secret() -> Result<String, IntegrationError> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| IntegrationError::NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_256_bits_and_differ() {
        let (one, other) = (random_secret().unwrap(), random_secret().unwrap());
        assert_eq!(one.len(), 43);
        assert_ne!(one, other);
    }
}
