//! Warns of sections of the configuration whose connector or provider does not exist.
//!
//! They are no errors, because the module may be added later. But an unknown name is often
//! misspelt.

use std::collections::{BTreeMap, BTreeSet};

use super::Registry;
use super::provider_names::provider_of;
use config::Config;
use contract::AuthScheme;
use contract::words::nearest;

impl Registry {
    /// Logs each section that no live connector uses.
    pub fn warn_of_unused_settings(&self) {
        let mut names = Names::default();
        for connector in self.live().values() {
            names.connectors.insert(connector.name().to_string());
            names.providers.extend(provider_of(connector).filter(|name| !name.is_empty()).map(str::to_owned));
            if let AuthScheme::Oauth2(scheme) = &connector.manifest().auth {
                names.named_by.insert(scheme.provider.clone(), connector.name().to_string());
            }
        }
        for Unused { section, nearest, reason } in unused(&self.config, &names) {
            tracing::warn!(section, nearest, "{reason}");
        }
    }
}

/// The names that sections may have.
#[derive(Debug, Default)]
struct Names {
    connectors: BTreeSet<String>,
    /// The providers of connectors that came with the gateway. Other connectors do not use the
    /// client of their provider.
    providers: BTreeSet<String>,
    /// All providers, each with a connector that names it.
    named_by: BTreeMap<String, String>,
}

const UNKNOWN: &str = "no connector uses this section of the configuration; check its name";

const OF_PROVIDER: &str = "no connector uses this section of the configuration: only connectors that came with the gateway use the \
     OAuth client of their provider; give the section the identifier of the connector";

#[derive(Debug, PartialEq, Eq)]
struct Unused {
    section: String,
    /// The section that was probably meant.
    nearest: Option<String>,
    reason: &'static str,
}

fn unused(config: &Config, names: &Names) -> Vec<Unused> {
    let Names { connectors, providers, named_by } = names;
    let unknown = |table: &str, name: &String, known: &BTreeSet<String>| Unused {
        section: format!("[{table}.{name}]"),
        nearest: nearest(name, known.iter().map(String::as_str)).map(|nearest| format!("[{table}.{nearest}]")),
        reason: UNKNOWN,
    };
    let of_connectors = config.connectors.keys().filter(|name| !connectors.contains(*name));
    let of_connectors = of_connectors.map(|name| unknown("connectors", name, connectors));
    let known = connectors | providers;
    let clients = config.oauth_clients.keys().filter(|name| !known.contains(*name));
    let of_clients = clients.map(|name| match named_by.get(name) {
        Some(connector) => Unused {
            section: format!("[oauth_clients.{name}]"),
            nearest: Some(format!("[oauth_clients.{connector}]")),
            reason: OF_PROVIDER,
        },
        None => unknown("oauth_clients", name, &known),
    });
    of_connectors.chain(of_clients).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::{Connector, OauthClient};

    #[test]
    fn sections_that_no_connector_uses_are_found_with_the_nearest_name() {
        let client = || OauthClient { client_id: "id".to_owned(), client_secret: None };
        let config = Config {
            connectors: ["account", "acount"].map(|name| (name.to_owned(), Connector::default())).into(),
            oauth_clients: ["acme", "account", "lexica", "other"].map(|name| (name.to_owned(), client().into())).into(),
            ..Config::default()
        };
        let names = Names {
            connectors: ["account", "dictionary"].map(str::to_owned).into(),
            providers: ["acme".to_owned()].into(),
            named_by: [("acme", "account"), ("lexica", "dictionary")].map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
        };
        let expected = [
            ("[connectors.acount]", Some("[connectors.account]"), UNKNOWN),
            ("[oauth_clients.lexica]", Some("[oauth_clients.dictionary]"), OF_PROVIDER),
            ("[oauth_clients.other]", None, UNKNOWN),
        ];
        let expected = expected.map(|(section, nearest, reason)| Unused {
            section: section.to_owned(),
            nearest: nearest.map(str::to_owned),
            reason,
        });
        assert_eq!(unused(&config, &names), expected);
    }
}
