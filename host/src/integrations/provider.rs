//! The OAuth client of a connector's provider.

use std::borrow::Cow;

use super::Integrations;
use crate::oauth::{NotConfigured, Provider};
use crate::registry::Connector;
use contract::{AuthScheme, Oauth2};

/// The party that issues the tokens of a connector's accounts.
pub(super) struct Issuer {
    pub(super) auth: AuthScheme,
    pub(super) provider: Provider,
}

impl Integrations {
    /// The issuer of the tokens of a connector's accounts.
    ///
    /// # Errors
    /// A sentence for the operator, if there is none.
    pub(super) fn issuer(&self, connector: &str) -> Result<Issuer, String> {
        #[cfg(test)]
        if let Some(issuer) = self.simulated_issuer(connector) {
            return Ok(issuer);
        }
        let Some(connector) = self.registry.get(connector) else {
            return Err("The connector is not installed.".to_owned());
        };
        let auth = connector.manifest().auth.clone();
        let AuthScheme::Oauth2(scheme) = &auth else {
            return Err("The connector no longer uses OAuth 2.".to_owned());
        };
        let provider = self.provider(&connector, scheme).map_err(|error| format!("{error}."))?;
        Ok(Issuer { auth, provider })
    }

    /// The provider that a connector's scheme describes.
    ///
    /// # Errors
    /// If settings that the provider needs are missing.
    pub(super) fn provider(&self, connector: &Connector, scheme: &Oauth2) -> Result<Provider, NotConfigured> {
        let scheme = permitted_scheme(scheme, connector.is_shipped());
        Provider::new(connector.name(), &scheme, &self.config, connector.recipients(), self.egress.clone())
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
    use crate::config::{Config, OauthClient};
    use crate::oauth::{self, Recipients};
    use egress::{Egress, Settings};

    /// The keys that are missing for the connector `calendar` of the provider `acme`.
    fn missing(registered: &str, is_shipped: bool) -> Vec<String> {
        let client = OauthClient { client_id: "id".to_owned(), client_secret: None };
        let config = Config { oauth_clients: [(registered.to_owned(), client)].into(), ..Config::default() };
        let scheme = Oauth2 { provider: "acme".to_owned(), ..oauth::tests::scheme() };
        let scheme = permitted_scheme(&scheme, is_shipped);
        let egress = Egress::new(&Settings::default()).unwrap();
        let provider = Provider::new("calendar", &scheme, &config, &Recipients::OfManifest, egress);
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
