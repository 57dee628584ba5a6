//! The addresses that a connector needs, and the OAuth client that it lacks, for operators.

use url::Url;

use super::Connector;
use config::Config;
use contract::AuthScheme;
use oauth::token_urls;

/// An address that requests of a connector go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The upstream, or the part of the OAuth provider.
    pub name: String,
    /// The base URL of the upstream, or the URL of the provider.
    pub url: Url,
    /// `true` if it may be at a loopback or private address.
    pub allows_private_network: bool,
}

impl Connector {
    /// The addresses of its upstreams and of its token endpoints. Addresses that were not granted
    /// are left out, because the gateway does not call them.
    pub fn endpoints(&self, config: &Config) -> Vec<Endpoint> {
        let missing = self.missing_hosts();
        let mut names: Vec<&String> = self.upstreams().keys().collect();
        names.sort_unstable();
        let of_upstreams = names.into_iter().filter_map(|name| {
            let upstream = self.upstreams().get(name)?;
            let url = upstream.base_url()?.clone();
            let allows_private_network = upstream.allows_private_network();
            Some(Endpoint { name: format!("upstream `{name}`"), url, allows_private_network })
        });
        let settings = config.connector(self.name());
        let of_provider = match &self.manifest().auth {
            AuthScheme::Oauth2(scheme) => token_urls(scheme, settings),
            AuthScheme::ApiKey(_) | AuthScheme::None => Vec::new(),
        };
        let of_provider = of_provider.into_iter().filter(|url| self.recipients().include(url)).map(|url| Endpoint {
            name: "token endpoint".to_owned(),
            url,
            allows_private_network: settings.allow_private_network,
        });
        let is_granted = |endpoint: &Endpoint| !missing.contains(&super::grant_form::host_of(&endpoint.url).as_str());
        of_upstreams.chain(of_provider).filter(is_granted).collect()
    }

    /// The section of the configuration with the OAuth client that the connector lacks. `None` if
    /// it has one, or needs none.
    pub fn lacking_oauth_client(&self, config: &Config) -> Option<String> {
        let AuthScheme::Oauth2(scheme) = &self.manifest().auth else { return None };
        // A registration under the name of a provider is for shipped connectors only.
        let provider = if self.is_shipped() { scheme.provider.as_str() } else { "" };
        if config.oauth_client(self.name(), provider).is_some() {
            return None;
        }
        let name = if provider.is_empty() { self.name() } else { provider };
        Some(format!("[oauth_clients.{name}]"))
    }
}
