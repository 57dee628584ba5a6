//! Addresses that an upstream gave in a response.

use std::sync::Arc;

use url::Url;

use super::credential::Credential;
use super::error::EgressError;
use super::upstream::Upstream;
use contract_rules::limit::PATH_BYTES;
use contract_rules::path::has_control_character;

/// An address from a response of an upstream. Only [`Upstream::link`] makes one, so a connector
/// cannot make one up.
#[derive(Clone, Debug)]
pub struct Link {
    upstream: Arc<str>,
    url: Url,
    /// The address as the response gave it.
    original: Box<str>,
    /// `true` if a response of the upstream itself contained the address. An address that another
    /// place chose must not carry the credential, although it may be at the upstream's own origin.
    from_own: bool,
}

impl Link {
    /// The URL, if the link came from this upstream.
    ///
    /// # Errors
    /// `InvalidRequest` if it came from another upstream.
    pub(super) fn url(&self, upstream: &Upstream) -> Result<&Url, EgressError> {
        if *self.upstream == *upstream.name() {
            return Ok(&self.url);
        }
        Err(EgressError::invalid(format!(
            "the link is from a response of `{}`, and the request is for `{}`: send it to the upstream it is from",
            self.upstream,
            upstream.name()
        )))
    }

    /// The address as the response gave it.
    pub fn address(&self) -> &str {
        &self.original
    }

    /// The link without the right to carry the credential. For a response that is not the upstream's
    /// own (`is_own` of [`Response`](super::Response)), also if it is from the origin of the upstream:
    /// another place has then chosen its address, or it is outside of the base URL.
    #[must_use]
    pub fn of_another_place(self) -> Self {
        Self { from_own: false, ..self }
    }

    /// Returns `true` if a response of the upstream contained the address, and the address is at its
    /// origin. A request to the link may then carry the credential.
    pub fn is_own(&self, upstream: &Upstream) -> bool {
        self.from_own && upstream.owns(&self.url)
    }
}

impl Upstream {
    /// The link to an address that a response from `response_url` contained. A relative address is
    /// resolved against that URL. `credential` is the credential of the user, which an address at
    /// another origin must not contain.
    ///
    /// A request to the link carries the credential only if `response_url` and the address are at
    /// the origin of the upstream. See also [`Link::of_another_place`].
    ///
    /// The scheme must be `https`. `http` is accepted if the upstream itself has it or may be in a
    /// private network.
    ///
    /// # Errors
    /// `BadResponse` for a text that is not such an address, `Denied` for a host that links may not
    /// lead to.
    pub fn link(
        &self,
        response_url: &Url,
        address: &str,
        credential: Option<&Credential>,
    ) -> Result<Link, EgressError> {
        let bad = |what: &str| EgressError::BadResponse {
            upstream: self.name().to_owned(),
            detail: format!("a link in it is {what}"),
        };
        if address.is_empty() || address.len() > PATH_BYTES {
            return Err(bad("empty or longer than 16 KiB"));
        }
        let url = resolve(response_url, address, self.allows_http()).map_err(bad)?;
        self.permit(&url, "has a link to")?;
        if !self.owns(&url) && credential.is_some_and(|credential| credential.is_in(&url)) {
            return Err(bad("an address at another origin that contains the user's credential"));
        }
        Ok(Link { upstream: self.shared_name(), url, original: address.into(), from_own: self.owns(response_url) })
    }
}

/// An address from a response, as an absolute URL without fragment.
///
/// # Errors
/// A phrase for an address that is not an http or https URL, has a user or an encoded control
/// character in its path, or is http although `http` is not allowed.
pub(super) fn resolve(base: &Url, address: &str, http: bool) -> Result<Url, &'static str> {
    let mut url = base.join(address).map_err(|_| "something that is not a URL")?;
    match url.scheme() {
        "https" => {}
        "http" if http => {}
        "http" => return Err("an http URL, although the upstream uses https"),
        _ => return Err("a URL that is neither https nor http"),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a URL with a user in it");
    }
    if has_control_character(url.path()) {
        return Err("a URL with a control character in its path");
    }
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests;
