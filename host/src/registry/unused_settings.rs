//! Warns of sections of the configuration whose connector or provider does not exist.
//!
//! They are no errors, because the module may be added later. But an unknown name is often
//! misspelt.

use std::collections::BTreeSet;

use super::Registry;
use crate::config::Config;
use contract::AuthScheme;
use contract::words::nearest;

impl Registry {
    /// Logs each section that no live connector uses.
    pub fn warn_of_unused_settings(&self) {
        let live = self.live();
        let connectors: Vec<String> = live.values().map(|connector| connector.name().to_string()).collect();
        let providers: Vec<String> = live
            .values()
            .filter_map(|connector| match &connector.manifest().auth {
                AuthScheme::Oauth2(scheme) => Some(scheme.provider.clone()).filter(|provider| !provider.is_empty()),
                AuthScheme::ApiKey(_) | AuthScheme::None => None,
            })
            .collect();
        for Unused { section, nearest } in unused(&self.config, &connectors, &providers) {
            tracing::warn!(section, nearest, "no connector uses this section of the configuration; check its name");
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Unused {
    section: String,
    /// The section that was probably meant.
    nearest: Option<String>,
}

fn unused(config: &Config, connectors: &[String], providers: &[String]) -> Vec<Unused> {
    let of_connectors = find("connectors", config.connectors.keys(), connectors.iter());
    let clients: BTreeSet<&String> = config.oauth_clients.keys().chain(config.oauth_apps.keys()).collect();
    let of_clients = find("oauth_clients", clients.into_iter(), connectors.iter().chain(providers));
    of_connectors.into_iter().chain(of_clients).collect()
}

fn find<'a>(
    table: &str,
    names: impl Iterator<Item = &'a String>,
    known: impl Iterator<Item = &'a String> + Clone,
) -> Vec<Unused> {
    names
        .filter(|name| !known.clone().any(|known| known == *name))
        .map(|name| Unused {
            section: format!("[{table}.{name}]"),
            nearest: nearest(name, known.clone().map(String::as_str)).map(|nearest| format!("[{table}.{nearest}]")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Connector, OauthClient};

    #[test]
    fn sections_that_no_connector_uses_are_found_with_the_nearest_name() {
        let client = || OauthClient { client_id: "id".to_owned(), client_secret: None };
        let config = Config {
            connectors: ["account", "acount"].map(|name| (name.to_owned(), Connector::default())).into(),
            oauth_clients: ["acme", "account", "other"].map(|name| (name.to_owned(), client())).into(),
            ..Config::default()
        };
        let found = unused(&config, &["account".to_owned()], &["acme".to_owned()]);
        let expected = [("[connectors.acount]", Some("[connectors.account]")), ("[oauth_clients.other]", None)];
        let expected = expected
            .map(|(section, nearest)| Unused { section: section.to_owned(), nearest: nearest.map(str::to_owned) });
        assert_eq!(found, expected);
    }
}
