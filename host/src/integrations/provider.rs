//! The provider of a connector, with the registration that the connector may use.

use std::borrow::Cow;

use super::Integrations;
use crate::oauth::{NotConfigured, Provider};
use crate::registry::Connector;
use contract::Oauth2;

impl Integrations {
    /// The provider that a connector's scheme describes.
    ///
    /// # Errors
    /// When the operator has not said all that is needed to be its client.
    pub(super) fn provider(&self, connector: &Connector, scheme: &Oauth2) -> Result<Provider, NotConfigured> {
        let scheme = trusted(scheme, connector.is_shipped());
        Provider::new(&connector.name(), &scheme, &self.config, connector.recipients(), self.egress.clone())
    }
}

/// A registration that is made for a provider serves the connectors that were built with the gateway. Any other could name a
/// provider to be handed its client secret, so it gets a registration under its own identifier only.
fn trusted(scheme: &Oauth2, is_shipped: bool) -> Cow<'_, Oauth2> {
    if is_shipped { Cow::Borrowed(scheme) } else { Cow::Owned(Oauth2 { provider: String::new(), ..scheme.clone() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, OauthClient};
    use crate::oauth::{self, Recipients};
    use egress::{Egress, Settings};

    fn scheme() -> Oauth2 {
        Oauth2 { provider: "google".to_owned(), ..oauth::tests::scheme() }
    }

    fn missing(registered: &str, is_shipped: bool) -> Vec<String> {
        let client = OauthClient { client_id: "id".to_owned(), client_secret: None };
        let config = Config { oauth_clients: [(registered.to_owned(), client)].into(), ..Config::default() };
        let scheme = scheme();
        let egress = Egress::new(&Settings::default()).unwrap();
        let made = Provider::new("calendar", &trusted(&scheme, is_shipped), &config, &Recipients::OfManifest, egress);
        made.err().map(|error| error.missing).unwrap_or_default()
    }

    #[test]
    fn a_providers_registration_is_for_shipped_connectors_only() {
        assert!(missing("google", true).is_empty());
        assert_eq!(
            missing("google", false),
            ["oauth_clients.calendar.client_id", "oauth_clients.calendar.client_secret"]
        );
    }

    #[test]
    fn a_registration_of_its_own_is_for_any_connector() {
        assert!(missing("calendar", true).is_empty());
        assert!(missing("calendar", false).is_empty());
    }
}
