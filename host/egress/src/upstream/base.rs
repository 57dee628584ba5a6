//! The base URL of an upstream: its form, and the grant of its host.

use std::sync::Arc;

use hyper::http::uri::PathAndQuery;
use url::{Host, Url};

use super::super::address::{self, ForbiddenAddress};
use super::super::credential::SecretField;
use super::super::error::EgressError;
use super::super::host::HostPattern;
use super::super::location::{Location, Origin};

/// The base URL of an upstream.
#[derive(Clone)]
pub(super) struct Base {
    pub(super) origin: Arc<Origin>,
    /// The path without a slash at its end. The path of a request is appended to it.
    path: String,
    /// The error of every request, if the host is not granted or is a forbidden address.
    pub(super) refusal: Option<EgressError>,
}

/// Parses a base URL.
pub(super) fn base_url(text: &str) -> Result<Url, EgressError> {
    let url = Url::parse(text).map_err(|error| wrong_base(&format!("is not a URL: {error}")))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(wrong_base("must begin with https:// or http://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong_base("must not contain a user or password"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong_base("must not have a query or fragment"));
    }
    Ok(url)
}

fn wrong_base(why: &str) -> EgressError {
    EgressError::invalid(format!("the base URL of an upstream {why}"))
}

/// The error of every request to a base URL, if its host is not granted by name or is a forbidden
/// address.
pub(super) fn refusal(
    url: &Url,
    granted: &[HostPattern],
    grant_command: &str,
    allow_private: bool,
) -> Option<EgressError> {
    if granted.iter().any(|entry| entry.is_exactly(url)) {
        return literal(url, allow_private).err();
    }
    let host = url.host_str().unwrap_or_default();
    let advice = how_to_grant(grant_command, url);
    Some(EgressError::denied(format!("the host {host} was not granted to this connector{advice}")))
}

impl Base {
    pub(super) fn new(url: Url, refusal: Option<EgressError>) -> Result<Self, EgressError> {
        let path = url.path().trim_end_matches('/').to_owned();
        let origin = Origin::new(url).ok_or_else(|| wrong_base("has a part that HTTP cannot carry"))?;
        Ok(Self { origin: Arc::new(origin), path, refusal })
    }

    /// The address of a path that is written as a URL writes it.
    pub(super) fn at_origin(&self, path: &str) -> Result<Location, EgressError> {
        let path = PathAndQuery::try_from([&self.path, path].concat())
            .map_err(|_| EgressError::invalid("the path has a character that HTTP cannot carry"))?;
        Ok(Location::AtOrigin { origin: Arc::clone(&self.origin), path })
    }

    /// The address of any path, as a URL encodes it.
    pub(super) fn encoded(&self, path: &str, parameter: Option<SecretField<'_>>) -> Result<Location, EgressError> {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        // Starts from the parsed base URL, so that scheme, host and port are not parsed again.
        let mut url = self.origin.url.clone();
        if !path.is_empty() {
            url.set_path(&format!("{}{path}", self.path));
        }
        url.set_query(query);
        if let Some(parameter) = parameter {
            parameter.append_to(&mut url.query_pairs_mut());
        }
        if !url.path().starts_with(&self.path) {
            return Err(EgressError::invalid("the path does not make a URL below the upstream's base URL"));
        }
        Ok(Location::Elsewhere(url))
    }
}

/// The end of the message that a host is not granted: what the operator can do.
pub(super) fn how_to_grant(command: &str, url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match (command, url.port()) {
        ("", _) => String::new(),
        (_, None) => format!("; the operator can grant it with `{command} {host}`"),
        (_, Some(port)) => format!("; the operator can grant it with `{command} {host}:{port}`"),
    }
}

/// Checks a host that is an IP address. The resolver checks names only.
pub(super) fn literal(url: &Url, allow_private: bool) -> Result<(), EgressError> {
    if allow_private {
        return Ok(());
    }
    let checked = match url.host() {
        Some(Host::Ipv4(address)) => address::check_public(address.into()),
        Some(Host::Ipv6(address)) => address::check_public(address.into()),
        Some(Host::Domain(_)) | None => Ok(()),
    };
    checked.map_err(|forbidden| forbidden.denial(url.host_str().unwrap_or_default()))
}

impl ForbiddenAddress {
    /// The error for callers. It does not contain the address that a name was resolved to, because
    /// callers must not learn the structure of a private network.
    pub(in super::super) fn denial(&self, host: &str) -> EgressError {
        EgressError::denied(format!(
            "{host} leads to a {} address; the operator can allow it with `allow_private_network`",
            self.class
        ))
    }
}
