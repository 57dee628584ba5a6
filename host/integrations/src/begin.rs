//! The start of an authorization: stores what the callback needs, and returns the provider's URL.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::ExposeSecret;
use url::Url;

use super::exchange::state_hash;
use super::{BeginError, Destination, IntegrationError, Integrations, Way};
use config::Config;
use contract::{AuthScheme, Oauth2};
use oauth::{NotConfigured, Provider, TenantClient, no_authorization_url};
use registry::Connector;
use store::{AccountAddress, Authorization, Holder, KeyId, Labels};

/// Time that a user has to come back from the provider.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// An authorization that was started.
pub struct StartedAuthorization {
    /// The provider's page that the user must open.
    pub authorization_url: Url,
    /// The provider returns it with the user. It completes the authorization once, for any
    /// browser that shows it.
    pub state: String,
    /// After this time the authorization cannot be completed.
    pub expires_at: SystemTime,
}

/// The page that a user comes back to at the end of an authorization.
pub enum ReturnTo {
    /// A page of the application.
    Application(Destination),
    /// The page of the link with this id. Only the browser that has the link completes the
    /// authorization.
    Link(String),
}

/// The options of a caller who begins an authorization.
pub struct AuthorizationOptions {
    /// The name of the integration. `None` for the name of the account at the service.
    pub user_identifier: Option<String>,
    /// `true` if another account may replace the one behind the identifier.
    pub replaces: bool,
    /// `true` if the grant is used only after the caller has confirmed it.
    pub confirms: bool,
    /// The labels of the integration. `None` keeps the labels of an integration that is overwritten.
    pub labels: Option<Labels>,
    /// The parts of the account's address that the caller gave, which the connector accepts.
    pub address: AccountAddress,
    /// The page that the user comes back to at the end.
    pub return_to: ReturnTo,
    /// The API key of the caller. `None` for a JWT or a link.
    pub key_id: Option<KeyId>,
}

impl Integrations {
    /// Starts an authorization and stores what the callback needs.
    ///
    /// # Errors
    /// If the operator has not registered the gateway with the provider, or if the store or the
    /// vault fails.
    pub async fn begin(
        &self,
        holder: &Holder,
        connector: &Connector,
        scheme: &Oauth2,
        options: AuthorizationOptions,
    ) -> Result<StartedAuthorization, BeginError> {
        let client = self.client_for_new(&holder.tenant, connector, scheme).await?;
        let redirect_url = client.as_ref().and_then(|client| client.redirect_url.clone());
        let redirect_uri = redirect_url.unwrap_or_else(|| redirect_uri(&self.config, &holder.connector));
        let provider = self.configured_provider(connector, scheme, client, &options.address)?;
        let state = random_secret()?;
        let page = provider.authorization_url(&redirect_uri, &state);
        let (authorization_url, verifier) =
            page.ok_or_else(|| self.with_redirect_uri(no_authorization_url(connector.name())))?;
        let AuthorizationOptions { user_identifier, replaces, confirms, labels, address, return_to, key_id } = options;
        let context = holder.verifier_context(user_identifier.as_deref());
        let verifier = match verifier {
            None => None,
            Some(verifier) => {
                let verifier = verifier.expose_secret().as_bytes();
                Some(self.vault.seal(&context, verifier).await.map_err(IntegrationError::from)?)
            }
        };
        let (callback_url, connect_link) = match return_to {
            ReturnTo::Application(destination) => (destination.into(), None),
            ReturnTo::Link(id) => (String::new(), Some(id)),
        };
        let expires_at = self.store.database().now().await.map_err(IntegrationError::from)? + LIFETIME;
        let authorization = Authorization {
            hash: state_hash(&state),
            holder: holder.clone(),
            user_identifier,
            replaces,
            confirms,
            callback_url,
            connect_link,
            redirect_uri,
            verifier,
            labels,
            address,
            key_id,
            oauth_client: provider.client_of_tenant().map(str::to_owned),
            expires_at,
        };
        self.store.authorizations().save(authorization).await.map_err(IntegrationError::from)?;
        Ok(StartedAuthorization { authorization_url, state, expires_at: expires_at.into() })
    }

    /// The provider, if the operator has set every URL and granted every host that users of the
    /// connector need.
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
    fn with_redirect_uri(&self, error: NotConfigured) -> NotConfigured {
        NotConfigured { redirect_uri: Some(redirect_uri(&self.config, &error.connector)), ..error }
    }

    /// The settings that the operator must make before a user of the tenant can connect an account.
    /// `None` if users can connect one.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn missing_setup(
        &self,
        tenant: &str,
        connector: &Connector,
    ) -> Result<Option<NotConfigured>, IntegrationError> {
        let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else { return Ok(None) };
        // An account that brings its own credentials needs no client of the gateway.
        if Way::of(connector, &self.config).iter().any(|way| matches!(way, Way::Grant(_))) {
            return Ok(None);
        }
        let client = self.client_for_new(tenant, connector, scheme).await?;
        let address = connector.example_address(&AccountAddress::new());
        Ok(self.configured_provider(connector, scheme, client, &address).err())
    }
}

/// The URL that a provider sends users back to. The operator registers exactly this text with the
/// provider.
pub(crate) fn redirect_uri(config: &Config, connector: &str) -> String {
    format!("{}/connectors/{connector}/success-authorize-callback", config.public_url.as_str().trim_end_matches('/'))
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
    fn the_redirect_uri_is_below_the_public_url() {
        let config = Config { public_url: Url::parse("https://gateway.example/base/").unwrap(), ..Config::default() };
        let expected = "https://gateway.example/base/connectors/calendar/success-authorize-callback";
        assert_eq!(redirect_uri(&config, "calendar"), expected);
    }

    #[test]
    fn states_are_256_bits_and_differ() {
        let (one, other) = (random_secret().unwrap(), random_secret().unwrap());
        assert_eq!(one.len(), 43);
        assert_ne!(one, other);
    }
}
