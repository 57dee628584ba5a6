//! The steps of a request: the first one, and one more for each redirect.

use hyper::header::{HeaderMap, LOCATION};
use hyper::{Method, StatusCode};
use url::Url;

use super::credential::Credential;
use super::error::EgressError;
use super::link::resolve;
use super::location::Location;
use super::request::{Request, Target};
use super::upstream::{Upstream, same_origin};

/// Maximum number of redirects that one request follows.
pub(super) const MAX_REDIRECTS: u32 = 3;

/// One step of a request.
pub(super) struct Hop {
    pub(super) method: Method,
    pub(super) location: Location,
    /// `true` if the request is at the origin that it was made for, and has not left it before.
    /// Only then does it have all its headers.
    pub(super) at_origin: bool,
    /// `true` if the request is where the upstream's requests go, and has not left this place before:
    /// the first address, and redirects to the base URL and below it. Only then does it carry the
    /// credential: if another place sent the request back, that place chose the address.
    pub(super) at_upstream: bool,
}

impl Hop {
    /// # Errors
    /// `InvalidRequest` for a link of another upstream, and the errors of [`Upstream::target`].
    pub(super) fn first(upstream: &Upstream, request: &Request) -> Result<Self, EgressError> {
        let credential = request.carried_as_made(upstream);
        let (location, at_upstream) = match &request.target {
            Target::Path(path) => (upstream.locate(path, credential.and_then(Credential::query_parameter))?, true),
            Target::Link(link) => {
                let mut url = link.url(upstream)?.clone();
                add_query(&mut url, credential);
                (Location::Elsewhere(url), link.is_own(upstream))
            }
        };
        Ok(Self { method: request.method.clone(), location, at_origin: true, at_upstream })
    }

    /// The next step; `None` if the response is not a redirect.
    ///
    /// # Errors
    /// `BadRedirect`, `BadResponse` or `Denied` if the redirect must not be followed.
    pub(super) fn next_hop(
        &self,
        upstream: &Upstream,
        request: &Request,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<Option<Self>, EgressError> {
        if !upstream.follows_redirects || !is_redirect(status) {
            return Ok(None);
        }
        let Some(location) = headers.get(LOCATION) else { return Ok(None) };
        if turns_into_get(&self.method, status) {
            let detail = format!(
                "it responds to {} with {status}, which would turn the request into GET; it is not followed",
                self.method
            );
            return Err(EgressError::BadResponse { upstream: upstream.name().to_owned(), detail });
        }
        let bad =
            |what: &str| EgressError::BadRedirect { detail: format!("`{}` redirects to {what}", upstream.name()) };
        let location = std::str::from_utf8(location.as_bytes()).map_err(|_| bad("something that is not text"))?;
        let current = self.location.url();
        let mut url = resolve(&current, location, current.scheme() == "http").map_err(bad)?;
        upstream.permit(&url, "redirects to")?;

        // Other paths of the origin may belong to someone else, as with a path for each customer.
        let at_upstream = self.at_upstream && upstream.is_base_of(&url);
        if at_upstream {
            add_query(&mut url, request.carried_as_made(upstream));
        } else if request.credential.as_ref().is_some_and(|credential| credential.is_in(&url)) {
            return Err(bad("a place outside of its base URL, with the user's credential in the address"));
        }
        Ok(Some(Self {
            method: self.method.clone(),
            at_origin: self.at_origin && same_origin(&current, &url),
            location: Location::Elsewhere(url),
            at_upstream,
        }))
    }
}

/// Returns `true` if following the redirect would send a GET in place of a request that changes
/// data (RFC 9110, section 15.4). The response to the GET would say nothing about the change.
fn turns_into_get(method: &Method, status: StatusCode) -> bool {
    match status {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method == Method::POST,
        StatusCode::SEE_OTHER => !matches!(*method, Method::GET | Method::HEAD),
        _ => false,
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    )
}

/// Adds a credential that is for the query, unless the URL already has a parameter of its name.
/// Upstreams leave the parameter out of addresses that they give.
fn add_query(url: &mut Url, credential: Option<&Credential>) {
    if let Some(parameter) = credential.and_then(Credential::query_parameter)
        && !url.query_pairs().any(|(present, _)| present == parameter.name)
    {
        parameter.append_to(&mut url.query_pairs_mut());
    }
}

#[cfg(test)]
mod tests;
