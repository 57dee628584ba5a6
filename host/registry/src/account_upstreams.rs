//! The upstreams of a connector as an account has them: base URLs with parts of the account's
//! address.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Connector;
use super::reach::Upstreams;
use contract::{Additions, Address, AddressPart, AuthScheme, Oauth2, PartForm, Revocation, fill_url};
use contract_rules::account_address::{is_below, names};
use egress::EgressError;

/// A base URL that differs from account to account.
#[derive(Debug)]
pub(super) struct Template {
    /// The name of the upstream.
    pub(super) upstream: String,
    /// The URL with the names of parts in braces.
    pub(super) base_url: String,
    /// The domain that the host of every account is below, if the host has a part.
    pub(super) site: Option<String>,
}

/// The base URLs that differ from account to account, and the parts of addresses that they need.
#[derive(Debug, Default)]
pub(super) struct AccountUpstreams {
    templates: Vec<Template>,
    parts: Vec<AddressPart>,
}

/// A part of an address that has no value, or a value that the connector refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedPart {
    /// The name of the part.
    pub name: String,
    /// A sentence that says what the value must be.
    pub detail: String,
}

impl AccountUpstreams {
    /// `scheme_urls` are the URLs of the auth scheme that the operator has not replaced. Parts that
    /// only replaced URLs have are not needed, except the region of signatures.
    pub(super) fn new(templates: Vec<Template>, additions: &Additions, scheme_urls: &[&str]) -> Self {
        let urls = templates.iter().map(|template| template.base_url.as_str()).chain(scheme_urls.iter().copied());
        let needed: BTreeSet<&str> = urls.flat_map(names).chain(additions.auth.region_part()).collect();
        let parts = additions.upstreams.parts.iter();
        let parts = parts.filter(|part| needed.contains(part.name.as_str())).cloned().collect();
        Self { templates, parts }
    }
}

impl Connector {
    /// The parts that the address of each account has. Empty for most connectors.
    pub fn address_parts(&self) -> &[AddressPart] {
        &self.account_upstreams.parts
    }

    /// The upstreams as an account has them. An upstream whose base URL has a part that the address
    /// lacks has no base URL.
    ///
    /// # Errors
    /// `InvalidRequest` if the host of an account's URL is not below the declared site.
    pub fn upstreams_at(&self, address: &Address) -> Result<Arc<Upstreams>, EgressError> {
        let templates = &self.account_upstreams.templates;
        if templates.is_empty() {
            return Ok(Arc::clone(self.upstreams()));
        }
        let mut upstreams = Upstreams::clone(self.upstreams());
        for Template { upstream, base_url, site } in templates {
            if let (Ok(base_url), Some(upstream)) = (fill_url(base_url, address), upstreams.get_mut(upstream)) {
                *upstream = upstream.at(&base_url, site.as_deref())?;
            }
        }
        Ok(Arc::new(upstreams))
    }

    /// Checks that an address has all parts, and that the connector accepts their values.
    ///
    /// # Errors
    /// The first part that has no value, or a value that is refused.
    pub fn check_address(&self, address: &Address) -> Result<(), RefusedPart> {
        self.check_parts(address, true)
    }

    /// As [`Connector::check_address`], for the parts that the user gives.
    ///
    /// # Errors
    /// As [`Connector::check_address`].
    pub fn check_address_of_user(&self, address: &Address) -> Result<(), RefusedPart> {
        self.check_parts(address, false)
    }

    /// An address of an account that does not exist, for calls whose requests are answered from a
    /// recording. It has the parts of `known`.
    pub fn example_address(&self, known: &Address) -> Address {
        let site = self.additions().upstreams.sites.first().map(|(_, site)| site.as_str()).unwrap_or_default();
        let example = |part: &AddressPart| match part.form {
            PartForm::Label | PartForm::Segment => "example".to_owned(),
            PartForm::Host => format!("example.{site}"),
        };
        let value = |part: &AddressPart| known.get(&part.name).cloned().unwrap_or_else(|| example(part));
        self.address_parts().iter().map(|part| (part.name.clone(), value(part))).collect()
    }

    fn check_parts(&self, address: &Address, all: bool) -> Result<(), RefusedPart> {
        for part in self.address_parts().iter().filter(|part| all || part.is_from_user()) {
            let refused = |detail: String| Err(RefusedPart { name: part.name.clone(), detail });
            match address.get(&part.name) {
                None => return refused(format!("The account has no `{}` ({}).", part.name, part.title)),
                Some(value) if !part.accepts(value) => {
                    let (words, most) = (part.form.words(), part.max_length);
                    return refused(format!("Must have {words}: at most {most} characters."));
                }
                Some(_) => {}
            }
        }
        // A part that is the whole host could lead anywhere. A label is before a site in the URL.
        let sites = &self.additions().upstreams.sites;
        for part in self.address_parts().iter().filter(|part| part.form == PartForm::Host) {
            let is_of_site = |value: &String| sites.iter().any(|(_, site)| is_below(value, site));
            if address.get(&part.name).is_some_and(|value| !is_of_site(value)) {
                let sites: Vec<&str> = sites.iter().map(|(_, site)| site.as_str()).collect();
                let detail = format!("Must be a host below `{}`.", sites.join("` or `"));
                return Err(RefusedPart { name: part.name.clone(), detail });
            }
        }
        Ok(())
    }

    /// The auth scheme as an account has it. Parts that the address lacks are left in its URLs.
    pub fn scheme_at(&self, scheme: &Oauth2, address: &Address) -> Oauth2 {
        let mut scheme = scheme.clone();
        if self.address_parts().is_empty() {
            return scheme;
        }
        let revocation = scheme.revocation.as_mut().map(|revocation| match revocation {
            Revocation::Form(url) | Revocation::Bearer(url) | Revocation::Delete(url) => url,
        });
        let urls = [Some(&mut scheme.authorization_url), Some(&mut scheme.token_url), scheme.refresh_url.as_mut()];
        for url in urls.into_iter().chain([revocation]).flatten() {
            if let Ok(filled) = fill_url(url, address) {
                *url = filled;
            }
        }
        scheme
    }
}

/// The URLs of an auth scheme that the operator has not replaced.
pub(super) fn scheme_urls<'a>(auth: &'a AuthScheme, set: &config::Oauth) -> Vec<&'a str> {
    let AuthScheme::Oauth2(scheme) = auth else { return Vec::new() };
    // A device authorization URL has no parts.
    super::token_hosts::unreplaced(scheme, None, set).into_iter().map(|(_, url)| url).collect()
}
