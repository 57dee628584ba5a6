//! The declarations of a connector about its upstreams, in addition to the manifest.

use std::collections::BTreeMap;

pub use contract_rules::account_address::PartForm;
use contract_rules::account_address::{fill, names};
use contract_rules::address::below;
use contract_rules::manifest as rules;

/// The address of an account: the values of its parts, by their names.
pub type Address = BTreeMap<String, String>;

/// The declarations of a connector about its upstreams, in addition to the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamAdditions {
    /// The parts of accounts' addresses, in the order of their declaration.
    pub parts: Vec<AddressPart>,
    /// The upstream and the domain that the hosts of all accounts are below.
    pub sites: Vec<(String, String)>,
}

/// A part of an account's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressPart {
    /// The name, which URLs have in braces.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// The characters of a value.
    pub form: PartForm,
    /// Maximum number of characters of a value.
    pub max_length: u32,
    /// The source of the value.
    pub source: PartSource,
}

/// The source of the value of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartSource {
    /// The user gives it.
    User,
    /// It is at this JSON Pointer of an answer about the account.
    Account(String),
}

impl AddressPart {
    /// Returns `true` if the part can have this value.
    pub fn accepts(&self, value: &str) -> bool {
        value.len() <= self.max_length as usize && self.form.accepts(value)
    }

    /// Returns `true` if the user gives the value.
    pub fn is_from_user(&self) -> bool {
        self.source == PartSource::User
    }
}

impl UpstreamAdditions {
    /// The domain that the hosts of an upstream are below. An upstream whose base URL is below
    /// another upstream has the site of that one.
    pub fn site<'a>(&'a self, upstream: &str, base_url: &str) -> Option<&'a str> {
        let name = below(base_url).map_or(upstream, |(name, _)| name);
        self.sites.iter().find(|(known, _)| known == name).map(|(_, site)| site.as_str())
    }

    pub(crate) fn view(&self) -> rules::UpstreamAdditions<'_> {
        rules::UpstreamAdditions {
            parts: self.parts.iter().map(view_of_part).collect(),
            sites: self.sites.iter().map(|(upstream, site)| (upstream.as_str(), site.as_str())).collect(),
        }
    }
}

fn view_of_part(part: &AddressPart) -> rules::Part<'_> {
    let AddressPart { name, title, form, max_length, source } = part;
    rules::Part {
        name,
        title,
        form: *form,
        max_length: *max_length,
        source: match source {
            PartSource::User => rules::PartSource::User,
            PartSource::Account(pointer) => rules::PartSource::Account(pointer),
        },
    }
}

/// A URL whose parts have the values of an address.
///
/// # Errors
/// The name of the first part without a value.
pub fn fill_url(url: &str, address: &Address) -> Result<String, String> {
    fill(url, |name| address.get(name).map(String::as_str))
}

/// Returns `true` if a URL has parts of accounts' addresses.
pub fn has_parts(url: &str) -> bool {
    names(url).next().is_some()
}
