//! The hosts that a connector's OAuth scheme sends users and secrets to.

use std::collections::BTreeSet;

use url::Url;

use super::grant_form::host_of;
use config::Oauth;
use contract::{Additions, DeviceCode, Oauth2, PartForm, Revocation, UpstreamAdditions, fill_url};
use contract_rules::account_address::{is_below, is_in_host, names};
use oauth::{Recipients, site};

/// Checks that codes, tokens and the client secret go to the site at which users authorize (the
/// same registrable domain), or to a host that the operator granted. A mistake in a manifest must
/// not send them to another party. Without an authorization URL, the device authorization URL names
/// the site.
///
/// # Errors
/// A sentence that names the URL at another site, and how the operator can allow it.
pub(super) fn check(
    scheme: &Oauth2,
    additions: &Additions,
    set: &Oauth,
    is_granted: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let of_scheme = || parse(&scheme.authorization_url, &additions.upstreams);
    let device = || Url::parse(&additions.auth.device_code.as_ref()?.device_authorization_url).ok();
    let of_device = || set.device_authorization_url.clone().or_else(device);
    let Some(authorization) = set.authorization_url.clone().or_else(of_scheme).or_else(of_device) else {
        return Ok(());
    };
    for (name, _, url) in of_manifest(scheme, additions, set) {
        let host = url.host_str().unwrap_or_default();
        if site(&url) != site(&authorization) && !is_granted(host) {
            return Err(format!(
                "{name} is at {host}, and users authorize at {}, which is another site; \
                 if this is right, add the module with `--grant {host}`",
                authorization.host_str().unwrap_or_default()
            ));
        }
    }
    Ok(())
}

/// The hosts that would receive users or secrets and that the operator has not approved. It is not
/// enough that users authorize at the same site, because only the manifest says so.
pub(super) fn missing(
    scheme: &Oauth2,
    additions: &Additions,
    set: &Oauth,
    recipients: &Recipients,
) -> BTreeSet<String> {
    of_manifest(scheme, additions, set)
        .filter(|(_, _, url)| !recipients.include(url))
        .map(|(_, text, url)| wildcard(text, &url, &additions.upstreams).unwrap_or_else(|| host_of(&url)))
        .collect()
}

/// The hosts of these URLs, with their ports and without.
pub(super) fn named(scheme: &Oauth2, additions: &Additions, set: &Oauth) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (_, text, url) in of_manifest(scheme, additions, set) {
        match wildcard(text, &url, &additions.upstreams) {
            Some(wildcard) => named.extend([wildcard]),
            None => named.extend([host_of(&url), url.host_str().unwrap_or_default().to_owned()]),
        }
    }
    named
}

/// The grant for the hosts of all accounts, if the host of a URL differs from account to account.
fn wildcard(text: &str, url: &Url, additions: &UpstreamAdditions) -> Option<String> {
    let host = url.host_str().filter(|_| is_in_host(text))?;
    let site = additions.sites.iter().find(|(_, site)| is_below(host, site));
    site.map(|(_, site)| format!("*.{site}"))
}

/// The URLs of the manifest that receive users or secrets, by name, without those that the operator
/// has replaced. Each is given as the manifest has it, and as it is for some account.
fn of_manifest<'a>(
    scheme: &'a Oauth2,
    additions: &'a Additions,
    set: &Oauth,
) -> impl Iterator<Item = (&'static str, &'a str, Url)> {
    let urls = unreplaced(scheme, additions.auth.device_code.as_ref(), set).into_iter();
    urls.filter_map(|(name, url)| Some((name, url, parse(url, &additions.upstreams)?)))
}

/// The URLs of the manifest that the operator has not replaced, by name.
pub(super) fn unreplaced<'a>(
    scheme: &'a Oauth2,
    device: Option<&'a DeviceCode>,
    set: &Oauth,
) -> Vec<(&'static str, &'a str)> {
    let device = device.map(|device| device.device_authorization_url.as_str());
    let revocation = scheme.revocation.as_ref().map(|revocation| match revocation {
        Revocation::Form(url) | Revocation::Bearer(url) | Revocation::Delete(url) => url.as_str(),
    });
    let addresses = [
        (
            "oauth2.authorization-url",
            Some(scheme.authorization_url.as_str()).filter(|_| set.authorization_url.is_none()),
        ),
        ("oauth2.token-url", Some(scheme.token_url.as_str()).filter(|_| set.token_url.is_none())),
        ("oauth2.refresh-url", scheme.refresh_url.as_deref().filter(|_| set.token_url.is_none())),
        ("oauth2.revocation", revocation.filter(|_| set.revocation_url.is_none() && !set.replaces_provider())),
        (
            "device-authorization-url",
            device.filter(|_| set.device_authorization_url.is_none() && !set.replaces_provider()),
        ),
    ];
    addresses.into_iter().filter_map(|(name, url)| Some((name, url?))).collect()
}

/// A URL of the manifest as it is for some account and some client.
fn parse(url: &str, additions: &UpstreamAdditions) -> Option<Url> {
    let value = |name: &str| {
        let part = additions.parts.iter().find(|part| part.name == name)?;
        let site = additions.sites.first().map(|(_, site)| site.as_str()).unwrap_or_default();
        Some(match part.form {
            PartForm::Label | PartForm::Segment => "a".to_owned(),
            PartForm::Host => format!("a.{site}"),
        })
    };
    let address = names(url).filter_map(|name| Some((name.to_owned(), value(name)?))).collect();
    Url::parse(&fill_url(url, &address).ok()?.replace("{client_id}", "x")).ok()
}

#[cfg(test)]
mod tests {
    use contract::{AddressPart, PartSource};

    use super::*;

    const NO_PARTS: Additions = Additions {
        auth: contract::AuthAdditions {
            client_credentials: false,
            service_account: None,
            app_installation: None,
            device_code: None,
            signature: None,
            ended_codes: Vec::new(),
        },
        upstreams: UpstreamAdditions { parts: Vec::new(), sites: Vec::new() },
        rows: Vec::new(),
        pages: Vec::new(),
        inboxes: Vec::new(),
        triggers: Vec::new(),
    };

    /// A connector that declares the device authorization grant.
    fn with_device(url: &str) -> Additions {
        let mut additions = NO_PARTS;
        additions.auth.device_code = Some(DeviceCode { device_authorization_url: url.to_owned() });
        additions
    }

    #[test]
    fn a_device_authorization_url_at_another_site_is_refused() {
        let code = scheme("https://acme.example/authorize", "https://acme.example/token");
        let own = with_device("https://login.acme.example/device");
        assert_eq!(check(&code, &own, &Oauth::default(), |_| false), Ok(()));
        let elsewhere = with_device("https://thief.example/device");
        let refusal = check(&code, &elsewhere, &Oauth::default(), |_| false).unwrap_err();
        assert!(refusal.contains("device-authorization-url is at thief.example"), "{refusal}");
        assert!(check(&code, &elsewhere, &Oauth::default(), |host| host == "thief.example").is_ok());
        assert!(named(&code, &elsewhere, &Oauth::default()).contains("thief.example"));
        let missing = super::missing(
            &code,
            &own,
            &Oauth::default(),
            &Recipients::vouched_for(&[], &config::Connector::default(), &[]),
        );
        assert!(missing.contains("login.acme.example"), "{missing:?}");
        // The operator has replaced the provider.
        let set = Oauth { token_url: Url::parse("https://own.example/token").ok(), ..Oauth::default() };
        assert_eq!(check(&code, &elsewhere, &set, |_| false), Ok(()));

        let without_page = scheme("", "https://acme.example/token");
        assert_eq!(check(&without_page, &own, &Oauth::default(), |_| false), Ok(()));
        let refusal = check(&without_page, &elsewhere, &Oauth::default(), |_| false).unwrap_err();
        assert!(refusal.contains("oauth2.token-url is at acme.example"), "{refusal}");
    }

    #[test]
    fn hosts_of_accounts_need_the_grant_of_their_site() {
        let upstreams = UpstreamAdditions {
            parts: vec![AddressPart {
                name: "shop".to_owned(),
                title: "Shop".to_owned(),
                form: PartForm::Label,
                max_length: 63,
                source: PartSource::User,
            }],
            sites: vec![("api".to_owned(), "netlify.app".to_owned())],
        };
        let additions = Additions { upstreams, ..NO_PARTS };
        let scheme =
            scheme("https://{shop}.netlify.app/admin/oauth/authorize", "https://{shop}.netlify.app/admin/token");
        let set = Oauth::default();
        assert_eq!(check(&scheme, &additions, &set, |_| false), Ok(()));
        let sites = ["*.netlify.app".to_owned()];
        assert_eq!(named(&scheme, &additions, &set), sites.clone().into());
        let config = config::Connector::default();
        let recipients = |granted: &[String]| Recipients::vouched_for(granted, &config, &additions.upstreams.sites);
        assert_eq!(super::missing(&scheme, &additions, &set, &recipients(&[])), sites.clone().into());
        assert!(super::missing(&scheme, &additions, &set, &recipients(&sites)).is_empty());
    }

    fn scheme(authorization_url: &str, token_url: &str) -> Oauth2 {
        Oauth2 {
            authorization_url: authorization_url.to_owned(),
            token_url: token_url.to_owned(),
            ..contract::sample::scheme()
        }
    }

    #[test]
    fn hosts_of_one_site_trust_one_another() {
        let scheme = scheme("https://accounts.acme.co.uk/authorize", "https://api.acme.co.uk/token");
        assert!(check(&scheme, &NO_PARTS, &Oauth::default(), |_| false).is_ok());
    }

    #[test]
    fn another_site_is_refused_unless_the_operator_grants_it() {
        let scheme = scheme("https://acme.co.uk/authorize", "https://other.co.uk/token");
        let refusal = check(&scheme, &NO_PARTS, &Oauth::default(), |_| false).unwrap_err();
        assert!(refusal.contains("oauth2.token-url is at other.co.uk"), "{refusal}");
        assert!(check(&scheme, &NO_PARTS, &Oauth::default(), |host| host == "other.co.uk").is_ok());
        let set = Oauth { token_url: Url::parse("https://third.example/token").ok(), ..Oauth::default() };
        assert!(check(&scheme, &NO_PARTS, &set, |_| false).is_ok());
    }

    #[test]
    fn a_revocation_elsewhere_is_refused_too() {
        let mut scheme = scheme("https://acme.example/authorize", "https://acme.example/token");
        scheme.revocation = Some(Revocation::Delete("https://thief.invalid/{client_id}/grant".to_owned()));
        assert!(check(&scheme, &NO_PARTS, &Oauth::default(), |_| false).is_err());
    }

    #[test]
    fn hosts_without_approval_are_missing_even_if_users_authorize_there() {
        let mut scheme = scheme("https://thief.example/authorize", "https://thief.example:8443/token");
        scheme.refresh_url = Some("https://refresh.thief.example/token".to_owned());
        let missing = |set: &Oauth, granted: &[&str]| {
            let granted: Vec<_> = granted.iter().map(|host| (*host).to_owned()).collect();
            let set = config::Connector { oauth: set.clone(), ..config::Connector::default() };
            let hosts = super::missing(&scheme, &NO_PARTS, &set.oauth, &Recipients::vouched_for(&granted, &set, &[]));
            hosts.into_iter().collect::<Vec<_>>()
        };
        let all = ["refresh.thief.example", "thief.example", "thief.example:8443"];
        assert_eq!(missing(&Oauth::default(), &[]), all);
        assert_eq!(missing(&Oauth::default(), &["api.acme.example"]), all);
        assert!(missing(&Oauth::default(), &["api.thief.example"]).is_empty());
        let set = Oauth { token_url: Url::parse("https://acme.example/token").ok(), ..Oauth::default() };
        assert_eq!(missing(&set, &[]), ["thief.example"], "users are sent there");
        let set = Oauth { authorization_url: Url::parse("https://acme.example/authorize").ok(), ..set };
        assert!(missing(&set, &[]).is_empty(), "the operator's URLs replace all");
        assert!(super::missing(&scheme, &NO_PARTS, &Oauth::default(), &Recipients::OfManifest).is_empty());
    }
}
