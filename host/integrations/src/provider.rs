//! The OAuth client of a connector's provider.

use std::borrow::Cow;

use thiserror::Error;
use url::Url;

use super::{IntegrationError, Integrations};
use config::{Config, OauthClient};
use contract::{AuthAdditions, AuthScheme, Oauth2};
use egress::Egress;
use oauth::{AccountProvider, NotConfigured, Provider, Recipients, TenantClient};
use registry::Connector;
use store::{AccountAddress, Integration, NewOauthClient, TenantOauthClient};

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
#[derive(Debug, Error)]
pub(super) enum NoIssuer {
    /// The connector was removed, or has another auth scheme than before.
    #[error("{0}")]
    Changed(&'static str),
    #[error(transparent)]
    NotConfigured(#[from] NotConfigured),
    /// The tenant's client that the account was connected with was deleted.
    #[error("the OAuth client that the account was connected with was deleted")]
    ClientDeleted,
    /// The gateway itself failed.
    #[error(transparent)]
    Failed(#[from] IntegrationError),
}

/// The user must act if the tenant's client was deleted, because tokens belong to one client.
pub(super) const CLIENT_DELETED: &str =
    "The OAuth client that the account was connected with was deleted. The user must connect the account again.";

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
        let connector = self.registry.get(connector).ok_or(NoIssuer::Changed("the connector is not installed"))?;
        let auth = connector.manifest().auth.clone();
        let AuthScheme::Oauth2(scheme) = &auth else {
            return Err(NoIssuer::Changed("the connector no longer uses OAuth 2"));
        };
        let client = self.client_by_id(client).await?;
        let provider = self.provider(&connector, scheme, client, address)?;
        Ok(Issuer { auth, provider })
    }

    /// The issuer of the tokens of an integration whose user authorized.
    ///
    /// # Errors
    /// See [`NoIssuer`].
    pub(super) async fn issuer_of(&self, integration: &Integration) -> Result<Issuer, NoIssuer> {
        let Integration { holder, oauth_client, details, .. } = integration;
        self.issuer(&holder.connector, oauth_client.as_deref(), &details.account.address).await
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

    /// The provider, if the operator has set every URL and granted every host that users of the
    /// connector need.
    ///
    /// # Errors
    /// The settings and the hosts that are missing.
    pub(super) fn configured_provider(
        &self,
        connector: &Connector,
        scheme: &Oauth2,
        client: Option<TenantClient>,
        address: &AccountAddress,
    ) -> Result<Provider, NotConfigured> {
        let name = connector.name();
        let configured = &self.config.connector(name).upstreams;
        let upstreams = &connector.manifest().upstreams;
        let unset: Vec<_> = upstreams
            .iter()
            .filter(|upstream| upstream.base_url.is_empty() && !configured.contains_key(&upstream.name))
            .map(|upstream| format!("connectors.{name}.upstreams.{}", upstream.name))
            .collect();
        let ungranted = connector.missing_token_hosts();
        let missing = match self.provider(connector, scheme, client, address) {
            Ok(provider) if unset.is_empty() && ungranted.is_empty() => return Ok(provider),
            Ok(_) => unset,
            Err(error) => error.missing.into_iter().chain(unset).collect(),
        };
        let error = NotConfigured { connector: name.to_string(), missing, ungranted, redirect_uri: None };
        Err(self.with_redirect_uri(error))
    }

    /// The error of a provider that users visit.
    pub(super) fn with_redirect_uri(&self, error: NotConfigured) -> NotConfigured {
        NotConfigured { redirect_uri: Some(redirect_uri(&self.config, &error.connector)), ..error }
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
    async fn client_by_id(&self, id: Option<&str>) -> Result<Option<TenantClient>, NoIssuer> {
        let Some(id) = id else { return Ok(None) };
        let found = self.store.oauth_clients().by_id(id).await.map_err(IntegrationError::from)?;
        let found = found.ok_or(NoIssuer::ClientDeleted)?;
        Ok(Some(self.unsealed(found).await?))
    }

    async fn unsealed(&self, found: TenantOauthClient) -> Result<TenantClient, IntegrationError> {
        let TenantOauthClient { id, client, .. } = found;
        let NewOauthClient { tenant, name, client_id, secret, scopes, redirect_url } = client;
        let client_secret = match secret {
            None => None,
            Some(sealed) => {
                let text = self.vault.unseal_text(&TenantOauthClient::context(&tenant, &name), &sealed).await?;
                Some(text.map_err(|_| IntegrationError::Secret("it is not UTF-8".to_owned()))?)
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

/// The URL that a provider sends users back to. The operator registers exactly this text with the
/// provider.
pub(super) fn redirect_uri(config: &Config, connector: &str) -> String {
    format!("{}/connectors/{connector}/success-authorize-callback", config.public_url.as_str().trim_end_matches('/'))
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

    #[test]
    fn the_redirect_uri_is_below_the_public_url() {
        let config = Config { public_url: Url::parse("https://gateway.example/base/").unwrap(), ..Config::default() };
        let expected = "https://gateway.example/base/connectors/calendar/success-authorize-callback";
        assert_eq!(redirect_uri(&config, "calendar"), expected);
    }
}
