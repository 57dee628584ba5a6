//! Connects an account that brings the credentials from which the gateway gets its access tokens.

use std::sync::Arc;

use thiserror::Error;

use super::provider::AccountIssuer;
use super::{AccountSecret, IntegrationError, Integrations, Named};
use oauth::{AccountGrant, NotConfigured, TokenError, Tokens, UnusableGrant};
use registry::Connector;
use store::{Account, Integration};

/// Why an account is not connected.
#[derive(Debug, Error)]
pub enum GrantError {
    /// The gateway cannot use the credentials.
    #[error("the credentials cannot be used: {}", .0.detail)]
    Unusable(UnusableGrant),
    /// Settings or grants for the provider are missing.
    #[error(transparent)]
    NotConfigured(#[from] NotConfigured),
    /// The provider gave no token.
    #[error(transparent)]
    Provider(#[from] TokenError),
    /// The access token cannot be sent, or not be masked in responses.
    #[error("the provider's access token cannot be used: {0}")]
    UnusableToken(String),
    /// The store or the vault failed.
    #[error(transparent)]
    Failed(#[from] IntegrationError),
}

impl Integrations {
    /// Gets an access token with the credentials of an account, and connects the account. The
    /// provider's consent to give a token is the test of the credentials.
    ///
    /// # Errors
    /// If there is no token, or the account cannot be stored.
    pub async fn connect_with_grant(
        self: &Arc<Self>,
        connector: &Connector,
        grant: AccountGrant,
        named: Named<'_>,
    ) -> Result<Integration, GrantError> {
        let Named { holder, user_identifier, labels, address, connect_link } = named;
        let no_tokens = || IntegrationError::Secret("the connector does not use OAuth 2".to_owned());
        let issuer = AccountIssuer::of(connector).ok_or_else(no_tokens)?;
        let provider = issuer.provider(&self.config, &self.egress).ok_or_else(no_tokens)?;
        let source = provider.source(&grant)?;
        source.check().map_err(GrantError::Unusable)?;
        let ungranted = connector.missing_token_hosts();
        if !ungranted.is_empty() {
            let connector = connector.name().to_string();
            return Err(NotConfigured { connector, missing: Vec::new(), ungranted, redirect_uri: None }.into());
        }
        let since = clock::now();
        let tokens = source.fetch().await?;
        let scopes = source.scopes().to_vec();
        let account = Account { address: address.clone(), ..account_of(&grant) };
        let secret = AccountSecret::OAuth2 {
            tokens: Tokens { grant: Some(grant.clone()), ..tokens },
            scopes,
            since,
            client: None,
        };
        if secret.is_too_short() {
            return Err(GrantError::UnusableToken("it is too short to be masked in responses".to_owned()));
        }
        if let Err(error) = secret.credential() {
            return Err(GrantError::UnusableToken(error.to_string()));
        }
        self.check_link(connect_link).await?;
        Ok(self.connect(holder, user_identifier, labels.cloned(), account, &secret).await?)
    }
}

/// The account as its credentials name it. The service is not asked: an operation that names a user
/// often needs a user's own authorization.
pub(super) fn account_of(grant: &AccountGrant) -> Account {
    match grant {
        AccountGrant::ClientCredentials { client, .. } => {
            Account { id: Some(client.client_id.clone()), ..Account::default() }
        }
        AccountGrant::ServiceAccount { key, subject, .. } => {
            Account { email: Some(subject.as_ref().unwrap_or(&key.client_email).clone()), ..Account::default() }
        }
        AccountGrant::AppInstallation { installation_id, .. } => {
            Account { id: Some(installation_id.clone()), ..Account::default() }
        }
    }
}
