//! The hosts that a connector's OAuth scheme sends users and secrets to.

use std::collections::BTreeSet;

use url::Url;

use super::grant_form::host_of;
use crate::config::Oauth;
use crate::oauth::{Recipients, site};
use contract::{Oauth2, Revocation};

/// Checks that authorization codes, tokens and the client secret go to the site at which users
/// authorize (the same registrable domain), or to a host that the operator granted. A mistake in a
/// manifest must not send them to another party.
///
/// # Errors
/// A sentence that names the URL at another site, and how the operator can allow it.
pub(super) fn check(scheme: &Oauth2, set: &Oauth, is_granted: impl Fn(&str) -> bool) -> Result<(), String> {
    let Some(authorization) = set.authorization_url.clone().or_else(|| parse(&scheme.authorization_url)) else {
        return Ok(());
    };
    for (name, url) in of_manifest(scheme, set) {
        let host = url.host_str().unwrap_or_default();
        if site(&url) != site(&authorization) && !is_granted(host) {
            return Err(format!(
                "oauth2.{name} is at {host}, and users authorize at {}, which is another site; \
                 if this is right, add the module with `--grant {host}`",
                authorization.host_str().unwrap_or_default()
            ));
        }
    }
    Ok(())
}

/// The hosts that would receive users or secrets and that the operator has not approved. It is not
/// enough that users authorize at the same site, because only the manifest says so.
pub(super) fn missing(scheme: &Oauth2, set: &Oauth, recipients: &Recipients) -> BTreeSet<String> {
    of_manifest(scheme, set).filter(|(_, url)| !recipients.include(url)).map(|(_, url)| host_of(&url)).collect()
}

/// The hosts of these URLs, with their ports and without.
pub(super) fn named(scheme: &Oauth2, set: &Oauth) -> BTreeSet<String> {
    let forms = |(_, url): (_, Url)| [host_of(&url), url.host_str().unwrap_or_default().to_owned()];
    of_manifest(scheme, set).flat_map(forms).collect()
}

/// The URLs of the manifest that receive users or secrets, by name, without those that the operator
/// has replaced.
fn of_manifest(scheme: &Oauth2, set: &Oauth) -> impl Iterator<Item = (&'static str, Url)> {
    let revocation = scheme.revocation.as_ref().map(|revocation| match revocation {
        Revocation::Form(url) | Revocation::Bearer(url) | Revocation::Delete(url) => url.as_str(),
    });
    let addresses = [
        ("authorization-url", Some(scheme.authorization_url.as_str()).filter(|_| set.authorization_url.is_none())),
        ("token-url", Some(scheme.token_url.as_str()).filter(|_| set.token_url.is_none())),
        ("refresh-url", scheme.refresh_url.as_deref().filter(|_| set.token_url.is_none())),
        ("revocation", revocation.filter(|_| set.revocation_url.is_none() && !set.replaces_provider())),
    ];
    addresses.into_iter().filter_map(|(name, url)| Some((name, parse(url?)?)))
}

fn parse(url: &str) -> Option<Url> {
    Url::parse(&url.replace("{client_id}", "x")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config, oauth};

    fn scheme(authorization_url: &str, token_url: &str) -> Oauth2 {
        Oauth2 {
            authorization_url: authorization_url.to_owned(),
            token_url: token_url.to_owned(),
            ..oauth::tests::scheme()
        }
    }

    #[test]
    fn hosts_of_one_site_trust_one_another() {
        let scheme = scheme("https://accounts.acme.co.uk/authorize", "https://api.acme.co.uk/token");
        assert!(check(&scheme, &Oauth::default(), |_| false).is_ok());
    }

    #[test]
    fn another_site_is_refused_unless_the_operator_grants_it() {
        let scheme = scheme("https://acme.co.uk/authorize", "https://other.co.uk/token");
        let refusal = check(&scheme, &Oauth::default(), |_| false).unwrap_err();
        assert!(refusal.contains("oauth2.token-url is at other.co.uk"), "{refusal}");
        assert!(check(&scheme, &Oauth::default(), |host| host == "other.co.uk").is_ok());
        let set = Oauth { token_url: Url::parse("https://third.example/token").ok(), ..Oauth::default() };
        assert!(check(&scheme, &set, |_| false).is_ok());
    }

    #[test]
    fn a_revocation_elsewhere_is_refused_too() {
        let mut scheme = scheme("https://acme.example/authorize", "https://acme.example/token");
        scheme.revocation = Some(Revocation::Delete("https://thief.invalid/{client_id}/grant".to_owned()));
        assert!(check(&scheme, &Oauth::default(), |_| false).is_err());
    }

    #[test]
    fn hosts_without_approval_are_missing_even_if_users_authorize_there() {
        let mut scheme = scheme("https://thief.example/authorize", "https://thief.example:8443/token");
        scheme.refresh_url = Some("https://refresh.thief.example/token".to_owned());
        let missing = |set: &Oauth, granted: &[&str]| {
            let granted: Vec<_> = granted.iter().map(|host| (*host).to_owned()).collect();
            let set = config::Connector { oauth: set.clone(), ..config::Connector::default() };
            let hosts = super::missing(&scheme, &set.oauth, &Recipients::vouched_for(&granted, &set));
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
        assert!(super::missing(&scheme, &Oauth::default(), &Recipients::OfManifest).is_empty());
    }
}
