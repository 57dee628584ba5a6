//! The sites that may receive authorization codes, tokens and client secrets.

use std::collections::BTreeSet;

use url::{Host, Url};

use contract_rules::account_address::is_below;

/// The sites that may receive a connector's secrets.
///
/// The author of a connector writes its manifest, and the next version may name another host. So
/// the manifest of a foreign connector does not decide which sites receive secrets.
#[derive(Clone, Debug)]
pub enum Recipients {
    /// Every URL of the manifest. Only for shipped connectors.
    OfManifest,
    /// The sites that the operator approved.
    Sites {
        /// Registrable domains.
        registrable: BTreeSet<String>,
        /// Domains of services that give each account a host, which the operator granted with a
        /// wildcard. The hosts below them are approved.
        of_accounts: BTreeSet<String>,
    },
}

impl Recipients {
    /// The sites of the hosts that are granted to a connector, and of every URL in its settings.
    /// `account_sites` has the upstreams whose hosts differ from account to account, with their
    /// sites.
    pub fn vouched_for(grants: &[String], settings: &config::Connector, account_sites: &[(String, String)]) -> Self {
        let oauth = &settings.oauth;
        let of_oauth = [
            &oauth.authorization_url,
            &oauth.token_url,
            &oauth.device_authorization_url,
            &oauth.revocation_url,
            &oauth.userinfo_url,
        ];
        let urls = settings.upstreams.values().chain(of_oauth.into_iter().flatten());
        // A wildcard covers the hosts of many owners, so it does not approve the site. It approves the
        // hosts of accounts, which users name themselves.
        let of_accounts = account_sites.iter().map(|(_, site)| site);
        let of_accounts = of_accounts.filter(|site| grants.contains(&format!("*.{site}"))).cloned().collect();
        let hosts = grants.iter().filter(|host| !host.starts_with("*."));
        let granted = hosts.filter_map(|host| Url::parse(&format!("https://{host}/")).ok());
        let registrable = granted.chain(urls.cloned()).map(|url| site(&url).to_owned()).collect();
        Self::Sites { registrable, of_accounts }
    }

    /// Returns `true` if secrets may be sent to this URL.
    pub fn include(&self, url: &Url) -> bool {
        match self {
            Self::OfManifest => true,
            Self::Sites { registrable, of_accounts } => {
                let host = url.host_str().unwrap_or_default();
                registrable.contains(site(url)) || of_accounts.iter().any(|site| is_below(host, site))
            }
        }
    }
}

/// The registrable domain of a URL, or its host if it has no registrable domain.
pub fn site(url: &Url) -> &str {
    match url.host() {
        Some(Host::Domain(name)) => contract::site::registrable(name).unwrap_or(name),
        _ => url.host_str().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(upstream: &str, authorization_url: &str) -> config::Connector {
        let mut settings = config::Connector::default();
        settings.upstreams.extend(Url::parse(upstream).ok().map(|url| ("api".to_owned(), url)));
        settings.oauth.authorization_url = Url::parse(authorization_url).ok();
        settings
    }

    #[test]
    fn the_operator_approves_sites_by_granting_a_host_and_by_setting_a_url() {
        let granted = ["api.acme.co.uk".to_owned(), "10.0.0.1:8443".to_owned()];
        let recipients =
            Recipients::vouched_for(&granted, &settings("http://people.intern/api", "https://id.corp.example/a"), &[]);
        for url in [
            "https://api.acme.co.uk/token",
            "https://accounts.acme.co.uk/token",
            "https://10.0.0.1/token",
            "http://people.intern/oauth/token",
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
    fn a_grant_for_one_user_of_a_shared_domain_is_none_for_its_neighbours() {
        let recipients = Recipients::vouched_for(&["ada.netlify.app".to_owned()], &settings("", ""), &[]);
        assert!(!recipients.include(&Url::parse("https://thief.netlify.app/token").unwrap()));
    }

    #[test]
    fn a_wildcard_grant_approves_no_site() {
        let recipients = Recipients::vouched_for(&["*.acme.co.uk".to_owned()], &settings("", ""), &[]);
        assert!(!recipients.include(&Url::parse("https://api.acme.co.uk/token").unwrap()));
    }

    #[test]
    fn a_wildcard_grant_approves_the_hosts_of_accounts() {
        let sites = [("api".to_owned(), "netlify.app".to_owned())];
        let grants = ["*.netlify.app".to_owned(), "*.acme.co.uk".to_owned()];
        let recipients = Recipients::vouched_for(&grants, &settings("", ""), &sites);
        assert!(recipients.include(&Url::parse("https://acme.netlify.app/token").unwrap()));
        for url in ["https://api.acme.co.uk/token", "https://netlify.app/token", "https://evilnetlify.app/token"] {
            assert!(!recipients.include(&Url::parse(url).unwrap()), "{url}");
        }
        let ungranted = Recipients::vouched_for(&[], &settings("", ""), &sites);
        assert!(!ungranted.include(&Url::parse("https://acme.netlify.app/token").unwrap()));
    }

    #[test]
    fn without_grants_and_settings_no_site_is_a_recipient() {
        let recipients = Recipients::vouched_for(&[], &settings("", ""), &[]);
        assert!(!recipients.include(&Url::parse("https://acme.example/token").unwrap()));
        assert!(Recipients::OfManifest.include(&Url::parse("https://acme.example/token").unwrap()));
    }
}
