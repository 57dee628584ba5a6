//! The account brings credentials from which the gateway gets its access tokens, again and again.
//!
//! The kinds of credentials differ in their forms here, and in their token requests
//! (`oauth::AccountGrant`). The rest of the way is the same for all of them.

use super::request::{ConnectRequest, Obtained};
use super::{app_installation, client_credentials, service_account};
use crate::credentials_form::CredentialsForm;
use crate::provider::AccountIssuer;
use crate::{AccountSecret, BeginError, IntegrationError, Integrations};
use contract::AuthAdditions;
use oauth::{AccountGrant, NotConfigured, TokenError, Tokens};
use registry::Connector;
use store::{Account, GrantType};

/// The kinds of credentials that a connector takes.
pub(crate) fn grant_types(additions: &AuthAdditions) -> impl Iterator<Item = GrantType> {
    let AuthAdditions { client_credentials, service_account, app_installation, .. } = additions;
    let client_credentials = client_credentials.then_some(GrantType::ClientCredentials);
    let service_account = service_account.as_ref().map(|_| GrantType::ServiceAccount);
    let app_installation = app_installation.as_ref().map(|_| GrantType::AppInstallation);
    [client_credentials, service_account, app_installation].into_iter().flatten()
}

impl CredentialsForm {
    /// The form of the credentials of a kind.
    pub fn of(grant_type: GrantType, additions: &AuthAdditions) -> Self {
        match grant_type {
            GrantType::ClientCredentials => client_credentials::form(),
            GrantType::ServiceAccount => service_account::form(additions.service_account.as_ref()),
            GrantType::AppInstallation => app_installation::form(),
        }
    }
}

impl Integrations {
    /// Gets an access token with the credentials of a request. The provider's consent to give a
    /// token is the test of the credentials.
    ///
    /// # Errors
    /// If there is no token that requests can carry.
    pub(super) async fn fetch_tokens(
        &self,
        connector: &Connector,
        grant_type: GrantType,
        request: &ConnectRequest,
        credentials: &[u8],
    ) -> Result<Obtained, BeginError> {
        let refused = |pointer: &str, detail: String| BeginError::Credentials { pointer: pointer.to_owned(), detail };
        let grant = AccountGrant::from_json(grant_type, credentials)
            .map_err(|_| refused("", "Must hold the members that the schema names.".to_owned()))?;
        let no_tokens = || IntegrationError::Secret("the connector does not use OAuth 2".to_owned());
        let issuer = AccountIssuer::of(connector).ok_or_else(no_tokens)?;
        let provider = issuer.provider(&self.config, &self.egress).ok_or_else(no_tokens)?;
        let source = provider.source(&grant)?;
        source.check().map_err(|unusable| refused(unusable.pointer, unusable.detail))?;
        let ungranted = connector.missing_token_hosts();
        if !ungranted.is_empty() {
            let connector = connector.name().to_string();
            return Err(NotConfigured { connector, missing: Vec::new(), ungranted, redirect_uri: None }.into());
        }
        let since = clock::now();
        let tokens = source.fetch().await.map_err(|error| match error {
            TokenError::Refused { error, description } => {
                let description = description.map(|text| format!(" ({text})")).unwrap_or_default();
                refused("", format!("The service refuses these: {error}{description}. Check them and send them again."))
            }
            error => error.into(),
        })?;
        let scopes = source.scopes().to_vec();
        let account = Account { address: request.address.clone(), ..account_of(&grant) };
        let tokens = Tokens { grant: Some(grant.clone()), ..tokens };
        let secret = AccountSecret::OAuth2 { tokens, scopes, since, client: None };
        if secret.is_too_short() {
            return Err(BeginError::UnusableToken("it is too short to be masked in responses".to_owned()));
        }
        if let Err(error) = secret.credential() {
            return Err(BeginError::UnusableToken(error.to_string()));
        }
        Ok((secret, Some(account)))
    }
}

/// The account as its credentials name it. The service is not asked: an operation that names a user
/// often needs a user's own authorization.
fn account_of(grant: &AccountGrant) -> Account {
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
