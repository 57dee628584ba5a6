//! The OAuth client of a connector's provider.

use std::borrow::Cow;

use secrecy::ExposeSecret;
use thiserror::Error;
use url::Url;

use super::{IntegrationError, Integrations};
use config::{Config, OauthClient};
use contract::{AuthAdditions, AuthScheme, Oauth2};
use egress::Egress;
use oauth::{AccountProvider, NotConfigured, Provider, Recipients, TenantClient};
use registry::Connector;
use store::{AccountAddress, NewOauthClient, TenantOauthClient};

/// The party that issues the tokens of a connector's accounts.
pub(super) struct Issuer {
    pub(super) auth: AuthScheme,
    pub(super) provider: Provider,
}

/// The connector whose accounts bring the credentials from which their tokens are made.
pub(super) struct AccountIssuer {
    pub(super) connector: String,
    pub(super) auth: AuthScheme,
    pub(super) additions: AuthAdditions,
    pub(super) recipients: Recipients,
    /// The base URL of the upstream that answers with tokens of installations.
    pub(super) upstream: Option<Url>,
}

impl AccountIssuer {
    /// The issuer of a live connector. `None` if the connector does not use OAuth 2.
    pub(super) fn of(connector: &Connector) -> Option<Self> {
        let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else { return None };
        let scheme = permitted_scheme(scheme, connector.is_shipped()).into_owned();
        let additions = connector.auth_additions().clone();
        let upstream = additions.app_installation.as_ref().and_then(|app| connector.upstreams().get(&app.upstream));
        Some(Self {
            connector: connector.name().to_string(),
            auth: AuthScheme::Oauth2(scheme),
            recipients: connector.recipients().clone(),
            upstream: upstream.and_then(|upstream| upstream.base_url()).cloned(),
            additions,
        })
    }

    /// The provider of the accounts' tokens. `None` if the connector does not use OAuth 2.
    pub(super) fn provider<'a>(&'a self, config: &'a Config, egress: &'a Egress) -> Option<AccountProvider<'a>> {
        let AuthScheme::Oauth2(scheme) = &self.auth else { return None };
        Some(AccountProvider {
            connector: &self.connector,
            scheme,
            additions: &self.additions,
            config,
            recipients: &self.recipients,
            egress,
            upstream: self.upstream.as_ref(),
        })
    }
}

/// Why a connector's accounts have no issuer.
pub(super) enum NoIssuer {
    /// A sentence for the operator.
    NotConfigured(String),
    /// The tenant's client that the account was connected with was deleted.
    ClientDeleted,
    /// The gateway itself failed.
    Failed(IntegrationError),
}

/// The user must act if the tenant's client was deleted, because tokens belong to one client.
pub(super) const CLIENT_DELETED: &str =
    "The OAuth client that the account was connected with was deleted. The user must connect the account again.";

/// The client of a tenant, or why it cannot be used.
#[derive(Debug, Error)]
pub(super) enum NoClient {
    #[error("the OAuth client that the account was connected with was deleted")]
    Deleted,
    #[error(transparent)]
    Failed(#[from] IntegrationError),
}

impl Integrations {
    /// The issuer of the tokens of accounts that bring their credentials. `None` if the connector is
    /// not live or does not use OAuth 2.
    pub(super) fn account_issuer(&self, connector: &str) -> Option<AccountIssuer> {
        AccountIssuer::of(&*self.registry.get(connector)?)
    }

    /// The issuer of the tokens of a connector's account that has this address and was connected
    /// with this client of the tenant.
    ///
    /// # Errors
    /// See [`NoIssuer`].
    pub(super) async fn issuer(
        &self,
        connector: &str,
        client: Option<&str>,
        address: &AccountAddress,
    ) -> Result<Issuer, NoIssuer> {
        #[cfg(feature = "simulation")]
        if let Some(issuer) = self.simulated_issuer(connector) {
            return Ok(issuer);
        }
        let not_configured = |text: &str| NoIssuer::NotConfigured(text.to_owned());
        let Some(connector) = self.registry.get(connector) else {
            return Err(not_configured("The connector is not installed."));
        };
        let auth = connector.manifest().auth.clone();
        let AuthScheme::Oauth2(scheme) = &auth else {
            return Err(not_configured("The connector no longer uses OAuth 2."));
        };
        let client = match self.client_by_id(client).await {
            Ok(client) => client,
            Err(NoClient::Deleted) => return Err(NoIssuer::ClientDeleted),
            Err(NoClient::Failed(error)) => return Err(NoIssuer::Failed(error)),
        };
        let provider = self.provider(&connector, scheme, client, address);
        let provider = provider.map_err(|error| NoIssuer::NotConfigured(format!("{error}.")))?;
        Ok(Issuer { auth, provider })
    }

    /// The provider that a connector's scheme describes, as an account with this address has it.
    ///
    /// # Errors
    /// If settings that the provider needs are missing.
    pub(super) fn provider(
        &self,
        connector: &Connector,
        scheme: &Oauth2,
        client: Option<TenantClient>,
        address: &AccountAddress,
    ) -> Result<Provider, NotConfigured> {
        let scheme = connector.scheme_at(scheme, address);
        let scheme = permitted_scheme(&scheme, connector.is_shipped());
        Provider::new(
            connector.name(),
            &scheme,
            connector.auth_additions(),
            &self.config,
            connector.recipients(),
            self.egress.clone(),
            client,
        )
    }

    /// The client of a tenant for new authorizations. `None` for the configuration's.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub(super) async fn client_for_new(
        &self,
        tenant: &str,
        connector: &Connector,
        scheme: &Oauth2,
    ) -> Result<Option<TenantClient>, IntegrationError> {
        let scheme = permitted_scheme(scheme, connector.is_shipped());
        let names: Vec<&str> =
            [&**connector.name(), scheme.provider.as_str()].into_iter().filter(|name| !name.is_empty()).collect();
        match self.store.oauth_clients().get(tenant, &names).await? {
            Some(found) => self.unsealed(found).await.map(Some),
            None => Ok(None),
        }
    }

    /// The client of a tenant that an authorization or an integration remembers. `None` for the
    /// configuration's.
    ///
    /// # Errors
    /// If it was deleted, or if the store or the vault fails.
    pub(super) async fn client_by_id(&self, id: Option<&str>) -> Result<Option<TenantClient>, NoClient> {
        let Some(id) = id else { return Ok(None) };
        let found =
            self.store.oauth_clients().by_id(id).await.map_err(IntegrationError::from)?.ok_or(NoClient::Deleted)?;
        Ok(Some(self.unsealed(found).await?))
    }

    async fn unsealed(&self, found: TenantOauthClient) -> Result<TenantClient, IntegrationError> {
        let TenantOauthClient { id, client, .. } = found;
        let NewOauthClient { tenant, name, client_id, secret, scopes, redirect_url } = client;
        let client_secret = match secret {
            None => None,
            Some(sealed) => {
                let bytes = self.vault.unseal(&TenantOauthClient::context(&tenant, &name), &sealed).await?;
                let text = str::from_utf8(bytes.expose_secret());
                Some(text.map_err(|_| IntegrationError::Secret("it is not UTF-8".to_owned()))?.into())
            }
        };
        Ok(TenantClient { id, client: OauthClient { client_id, client_secret }, scopes, redirect_url })
    }
}

/// The scheme, without the provider's name if the connector is foreign.
///
/// A registration under a provider's name is only for shipped connectors. A foreign connector could
/// name a provider to receive its client secret, so it needs a registration under its own
/// identifier.
fn permitted_scheme(scheme: &Oauth2, is_shipped: bool) -> Cow<'_, Oauth2> {
    if is_shipped { Cow::Borrowed(scheme) } else { Cow::Owned(Oauth2 { provider: String::new(), ..scheme.clone() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egress::Settings;

    /// The keys that are missing for the connector `calendar` of the provider `acme`.
    fn missing(registered: &str, is_shipped: bool) -> Vec<String> {
        let client = OauthClient { client_id: "id".to_owned(), client_secret: None };
        let config = Config { oauth_clients: [(registered.to_owned(), client.into())].into(), ..Config::default() };
        let scheme = Oauth2 { provider: "acme".to_owned(), ..contract::sample::scheme() };
        let scheme = permitted_scheme(&scheme, is_shipped);
        let egress = Egress::new(&Settings::default()).unwrap();
        let provider = Provider::new(
            "calendar",
            &scheme,
            &AuthAdditions::default(),
            &config,
            &Recipients::OfManifest,
            egress,
            None,
        );
        provider.err().map(|error| error.missing).unwrap_or_default()
    }

    #[test]
    fn a_providers_registration_is_for_shipped_connectors_only() {
        assert!(missing("acme", true).is_empty());
        assert_eq!(
            missing("acme", false),
            ["oauth_clients.calendar.client_id", "oauth_clients.calendar.client_secret"]
        );
    }

    #[test]
    fn a_registration_under_the_connectors_identifier_is_for_any_connector() {
        assert!(missing("calendar", true).is_empty());
        assert!(missing("calendar", false).is_empty());
    }
}
