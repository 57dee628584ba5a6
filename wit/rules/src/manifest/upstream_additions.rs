//! The declarations of a connector about its upstreams: the parts of accounts'
//! addresses, and the sites of upstreams.

use std::collections::HashSet;

use super::violations::Violations;
use super::{Auth, Manifest, shorten};
use crate::account_address::{PartForm, authority, fill, is_below, is_in_host, names, names_in_host, part_name, site};
use crate::limit::{ADDRESS_PARTS, TITLE_BYTES};
use crate::{Broken, ensure, pointer, text};

/// The declarations of a connector about its upstreams.
#[derive(Clone, Debug, Default)]
pub struct UpstreamAdditions<'a> {
    /// The parts of accounts' addresses.
    pub parts: Vec<Part<'a>>,
    /// The sites of upstreams, by the names of the upstreams.
    pub sites: Vec<(&'a str, &'a str)>,
}

/// A part of an account's address.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The name, which URLs have in braces.
    pub name: &'a str,
    /// The name for people.
    pub title: &'a str,
    /// The characters of a value.
    pub form: PartForm,
    /// Maximum number of characters of a value.
    pub max_length: u32,
    /// The source of the value.
    pub source: PartSource<'a>,
}

/// The source of the value of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartSource<'a> {
    /// The user gives it.
    User,
    /// It is at this JSON Pointer of an answer about the account.
    Account(&'a str),
}

impl<'a> UpstreamAdditions<'a> {
    fn part(&self, name: &str) -> Option<&Part<'a>> {
        self.parts.iter().find(|part| part.name == name)
    }

    fn site(&self, upstream: &str) -> Option<&'a str> {
        self.sites.iter().find(|(known, _)| *known == upstream).map(|(_, site)| *site)
    }

    /// The URL as it is for some account, so that the rules for URLs can be applied to it.
    /// `upstream` is the name of the upstream, or `None` for a URL of the auth scheme.
    ///
    /// # Errors
    /// The rule for parts that the URL breaks.
    pub fn example_url(&self, url: &str, upstream: Option<&str>) -> Result<String, Broken> {
        let sites: Vec<&str> = match upstream {
            Some(upstream) => self.site(upstream).into_iter().collect(),
            None => self.sites.iter().map(|(_, site)| *site).collect(),
        };
        let host = sites.first().map(|site| format!("a.{site}")).unwrap_or_default();
        let value = |name: &str| {
            Some(match self.part(name)?.form {
                PartForm::Label | PartForm::Segment => "a",
                PartForm::Host => host.as_str(),
            })
        };
        let example = fill(url, value)
            .map_err(|name| format!("there is no part `{}` of the account's address; declare it", shorten(&name)))?;
        if !is_in_host(url) {
            let of_path = names(url).filter_map(|name| self.part(name));
            let is_segment = of_path.into_iter().all(|part| part.form != PartForm::Host);
            ensure(is_segment, "a part of the form `host` is the whole host of the URL")?;
            return Ok(example);
        }
        for part in names_in_host(url).filter_map(|name| self.part(name)) {
            ensure(part.form != PartForm::Segment, "a part of a host has the form `label` or `host`")?;
            let is_whole = authority(url) == format!("{{{}}}", part.name);
            ensure(part.form != PartForm::Host || is_whole, "a part of the form `host` is the whole host of the URL")?;
        }
        ensure(
            !sites.is_empty(),
            "its host has a part of the account's address, so the upstream has a site: the domain that the hosts of all \
             accounts are below",
        )?;
        ensure(
            sites.iter().any(|site| is_below(authority(&example), site)),
            "its host is below the declared site, and has no port",
        )?;
        ensure(example.starts_with("https://"), "a URL whose host has a part of the account's address is `https`")?;
        Ok(example)
    }
}

pub(super) fn check(manifest: &Manifest<'_>, found: &mut Violations) {
    let UpstreamAdditions { parts, sites } = &manifest.upstream_additions;
    if parts.len() > ADDRESS_PARTS {
        found.add("parts of the address", Err(format!("at most {ADDRESS_PARTS}; there are {}", parts.len()).into()));
    }
    let (from_user, used) = used_names(manifest);
    let mut seen = HashSet::new();
    for part in parts {
        let label = format!("part `{}` of the address", shorten(part.name));
        found.add(label.as_str(), part_name(part.name));
        found.add(label.as_str(), ensure(seen.insert(part.name), "the name is there twice"));
        let is_upstream = manifest.upstreams.iter().any(|upstream| upstream.name == part.name);
        found.add(label.as_str(), ensure(!is_upstream, "an upstream has this name, and base URLs have both in braces"));
        found.add(label.as_str(), ensure((1..=TITLE_BYTES).contains(&part.title.len()), "a title has 1 to 256 bytes"));
        found.add(label.as_str(), text::line(part.title));
        let length = (1..=part.form.most()).contains(&part.max_length);
        found.add(label.as_str(), ensure(length, "its maximum length is 1 to 253, and at most 63 for a label"));
        found.add(label.as_str(), ensure(used.contains(part.name), "no URL of the connector has it"));
        if let PartSource::Account(at) = part.source {
            found.add(label.as_str(), pointer::check(at));
            found.add(label.as_str(), check_source(manifest));
            found.add(
                &label,
                ensure(
                    !from_user.contains(part.name),
                    "a URL of the auth scheme has it, and the service tells it only after the authorization; the user gives \
                     such a part",
                ),
            );
        }
    }
    if !parts.is_empty() {
        let has_accounts = !matches!(manifest.auth, Auth::None);
        found.add("parts of the address", ensure(has_accounts, "users without accounts have no addresses"));
    }
    let mut seen = HashSet::new();
    for (upstream, domain) in sites {
        let label = format!("site `{}` of upstream `{}`", shorten(domain), shorten(upstream));
        found.add(label.as_str(), site(domain));
        found.add(label.as_str(), ensure(seen.insert(upstream), "the upstream has a site already"));
        let known = manifest.upstreams.iter().find(|known| known.name == *upstream);
        let has_part = known.map(|known| is_in_host(known.base_url));
        found.add(label.as_str(), ensure(known.is_some(), "there is no such upstream"));
        found.add(
            label.as_str(),
            ensure(has_part != Some(false), "the host of the upstream has no part of the account's address"),
        );
    }
}

/// The parts in URLs of the auth scheme, and those in any URL.
fn used_names<'a>(manifest: &Manifest<'a>) -> (HashSet<&'a str>, HashSet<&'a str>) {
    let of_scheme: HashSet<&str> = match &manifest.auth {
        Auth::Oauth2(scheme) => {
            [Some(scheme.authorization_url), Some(scheme.token_url), scheme.refresh_url, scheme.revocation_url]
                .into_iter()
                .flatten()
                .flat_map(names)
                .collect()
        }
        Auth::None | Auth::ApiKey(_) => HashSet::new(),
    };
    let mut used: HashSet<&str> = manifest.upstreams.iter().flat_map(|upstream| names(upstream.base_url)).collect();
    used.extend(&of_scheme);
    (of_scheme, used)
}

/// The gateway must have an operation whose answer has the value.
fn check_source(manifest: &Manifest<'_>) -> Result<(), Broken> {
    ensure(
        manifest.auth.account_operation().is_some(),
        "its value is in the answer of an operation, which the auth scheme names in `identity` or `check`",
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::{manifest, oauth2, upstream};
    use super::*;
    use crate::manifest;
    use crate::manifest::Oauth2;

    fn part(name: &str, form: PartForm) -> Part<'_> {
        Part { name, title: "Name of the account", form, max_length: 20, source: PartSource::User }
    }

    /// A manifest of a service whose customers have subdomains.
    fn with_subdomains() -> Manifest<'static> {
        Manifest {
            auth: Auth::Oauth2(oauth2()),
            upstreams: vec![upstream("api", "https://{sub}.acme.example/v1"), upstream("me", "{api}/me")],
            upstream_additions: UpstreamAdditions {
                parts: vec![part("sub", PartForm::Label)],
                sites: vec![("api", "acme.example")],
            },
            ..manifest()
        }
    }

    #[track_caller]
    fn only(change: impl FnOnce(&mut Manifest<'static>), words: &str) {
        let mut manifest = with_subdomains();
        change(&mut manifest);
        let found: Vec<String> = manifest::check(&manifest).iter().map(ToString::to_string).collect();
        assert!(found.iter().any(|violation| violation.contains(words)), "{found:?}");
    }

    #[test]
    fn urls_may_have_parts_in_host_and_path() {
        assert_eq!(manifest::check(&with_subdomains()), []);
        let mut in_path = with_subdomains();
        in_path.upstreams = vec![upstream("api", "https://api.acme.example/ex/{cloud}/rest")];
        in_path.upstream_additions = UpstreamAdditions {
            parts: vec![Part { source: PartSource::Account("/0/id"), ..part("cloud", PartForm::Segment) }],
            sites: Vec::new(),
        };
        assert_eq!(manifest::check(&in_path), []);
        let mut in_scheme = with_subdomains();
        let scheme = Oauth2 { authorization_url: "https://{sub}.acme.example/authorize", ..oauth2() };
        in_scheme.auth = Auth::Oauth2(scheme);
        assert_eq!(manifest::check(&in_scheme), []);
        let mut whole = with_subdomains();
        whole.upstreams[0].base_url = "https://{sub}/v1";
        whole.upstream_additions.parts[0].form = PartForm::Host;
        assert_eq!(manifest::check(&whole), []);
    }

    #[test]
    fn each_mistake_with_parts_and_sites_is_found() {
        fn of<'a>(manifest: &'a mut Manifest<'static>) -> &'a mut UpstreamAdditions<'static> {
            &mut manifest.upstream_additions
        }
        only(|manifest| of(manifest).parts.clear(), "there is no part `sub`");
        only(|manifest| of(manifest).sites.clear(), "the upstream has a site");
        only(|manifest| of(manifest).sites[0].1 = "other.example", "below the declared site");
        only(|manifest| of(manifest).sites[0].1 = "example", "at least two labels");
        only(|manifest| of(manifest).sites[0].0 = "ap", "there is no such upstream");
        only(|manifest| of(manifest).sites.push(("me", "acme.example")), "has no part");
        only(|manifest| of(manifest).sites.push(("api", "acme.example")), "has a site already");
        only(|manifest| of(manifest).parts.push(part("sub", PartForm::Label)), "there twice");
        only(|manifest| of(manifest).parts.push(part("other", PartForm::Label)), "no URL of the connector has it");
        only(|manifest| of(manifest).parts.push(part("me", PartForm::Label)), "an upstream has this name");
        only(|manifest| of(manifest).parts[0].max_length = 64, "at most 63");
        only(|manifest| of(manifest).parts[0].title = "", "1 to 256 bytes");
        only(|manifest| of(manifest).parts[0].form = PartForm::Segment, "form `label` or `host`");
        only(|manifest| of(manifest).parts[0].form = PartForm::Host, "the whole host");
        only(|manifest| of(manifest).parts[0].source = PartSource::Account("id"), "JSON Pointer");
        only(|manifest| manifest.auth = Auth::None, "no addresses");
        only(|manifest| manifest.upstreams[0].base_url = "http://{sub}.acme.example", "is `https`");
        only(|manifest| manifest.upstreams[0].base_url = "https://{sub}.acme.example:8443", "no port");
        only(|manifest| manifest.upstreams[0].base_url = "https://acme.example/{sub", "percent-encoded");
        let late = |manifest: &mut Manifest<'static>| {
            of(manifest).parts[0].source = PartSource::Account("/id");
            manifest.auth =
                Auth::Oauth2(Oauth2 { authorization_url: "https://{sub}.acme.example/authorize", ..oauth2() });
        };
        only(late, "the user gives such a part");
    }
}
