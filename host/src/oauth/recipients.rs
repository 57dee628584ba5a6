//! Who may be sent codes, tokens and a client's secret.

use std::collections::BTreeSet;

use url::{Host, Url};

use crate::config;

/// Who may be sent a connector's secrets.
///
/// A manifest is its author's word, and the next version of it may name another place; so a stranger's is not enough.
#[derive(Clone, Debug)]
pub enum Recipients {
    /// Whomever the manifest names: it came with the gateway.
    OfManifest,
    /// The sites that the operator vouches for.
    Sites(BTreeSet<String>),
}

impl Recipients {
    /// The sites of the hosts that are granted to a connector, and of every address that the operator set for it.
    pub fn vouched_for(grants: &[String], set: &config::Connector) -> Self {
        let oauth = &set.oauth;
        let of_oauth = [&oauth.authorization_url, &oauth.token_url, &oauth.revocation_url, &oauth.userinfo_url];
        let addresses = set.upstreams.values().chain(of_oauth.into_iter().flatten());
        let granted = grants.iter().filter_map(|host| Url::parse(&format!("https://{host}/")).ok());
        Self::Sites(granted.chain(addresses.cloned()).map(|url| site(&url).to_owned()).collect())
    }

    /// Whether secrets may be sent to this URL.
    pub fn include(&self, url: &Url) -> bool {
        match self {
            Self::OfManifest => true,
            Self::Sites(sites) => sites.contains(site(url)),
        }
    }
}

/// The registrable domain of a URL; the whole host where it has none.
pub fn site(url: &Url) -> &str {
    match url.host() {
        Some(Host::Domain(name)) => psl::domain_str(name).unwrap_or(name),
        _ => url.host_str().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(upstream: &str, authorization_url: &str) -> config::Connector {
        let mut set = config::Connector::default();
        set.upstreams.extend(Url::parse(upstream).ok().map(|url| ("api".to_owned(), url)));
        set.oauth.authorization_url = Url::parse(authorization_url).ok();
        set
    }

    #[test]
    fn the_operator_vouches_for_sites_by_granting_a_host_and_by_setting_an_address() {
        let granted = ["api.acme.co.uk".to_owned(), "10.0.0.1:8443".to_owned()];
        let recipients = Recipients::vouched_for(&granted, &set("http://hr.intern/api", "https://id.corp.example/a"));
        for url in [
            "https://api.acme.co.uk/token",
            "https://accounts.acme.co.uk/token",
            "https://10.0.0.1/token",
            "http://hr.intern/oauth/token",
            "https://login.corp.example/token",
        ] {
            assert!(recipients.include(&Url::parse(url).unwrap()), "{url}");
        }
        for url in [
            "https://other.co.uk/token",
            "https://acme.co.uk.thief.example/token",
            "https://thiefacme.co.uk/token",
            "https://10.0.0.2/token",
            "https://example/token",
        ] {
            assert!(!recipients.include(&Url::parse(url).unwrap()), "{url}");
        }
    }

    #[test]
    fn neighbours_on_a_shared_domain_do_not_vouch_for_one_another() {
        let recipients = Recipients::vouched_for(&["ada.github.io".to_owned()], &set("", ""));
        assert!(!recipients.include(&Url::parse("https://thief.github.io/token").unwrap()));
    }

    #[test]
    fn nobody_is_vouched_for_where_the_operator_said_nothing() {
        let recipients = Recipients::vouched_for(&[], &set("", ""));
        assert!(!recipients.include(&Url::parse("https://acme.example/token").unwrap()));
        assert!(Recipients::OfManifest.include(&Url::parse("https://acme.example/token").unwrap()));
    }
}
