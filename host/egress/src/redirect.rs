//! Where a request goes on after a redirect, if it may.

use hyper::header::LOCATION;
use hyper::{Method, StatusCode};
use secrecy::ExposeSecret;
use url::Url;

use super::credential::Credential;
use super::error::EgressError;
use super::request::Request;
use super::upstream::Upstream;

/// Followed for one request.
pub(super) const MAX_REDIRECTS: u32 = 3;

/// One station of a request.
pub(super) struct Hop {
    pub(super) method: Method,
    /// None for the first: the request's own path.
    pub(super) url: Option<Url>,
    /// At the upstream's own origin, without having left it since. Only then does the credential go along: a request that was
    /// sent back by another origin carries what that origin put into its address.
    pub(super) home: bool,
    pub(super) with_body: bool,
}

impl Hop {
    pub(super) fn first(request: &Request) -> Self {
        Self { method: request.method.clone(), url: None, home: true, with_body: true }
    }

    /// The next station, none when `answer` is no redirect.
    ///
    /// # Errors
    /// `BadRedirect` or `Denied`, when the redirect must not be followed.
    pub(super) fn next(
        &self,
        upstream: &Upstream,
        credential: Option<&Credential>,
        answer: &reqwest::Response,
    ) -> Result<Option<Self>, EgressError> {
        if !upstream.follows_redirects || !is_redirect(answer.status()) {
            return Ok(None);
        }
        let Some(location) = answer.headers().get(LOCATION) else { return Ok(None) };
        let bad = |detail: &str| EgressError::BadRedirect { detail: format!("`{}` {detail}", upstream.name()) };
        let mut url = std::str::from_utf8(location.as_bytes())
            .ok()
            .and_then(|location| answer.url().join(location).ok())
            .ok_or_else(|| bad("redirects to something that is not a URL"))?;
        match url.scheme() {
            "https" => {}
            "http" if answer.url().scheme() == "http" => {}
            "http" => return Err(bad("redirects from https to http")),
            _ => return Err(bad("redirects to something other than https or http")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad("redirects to a URL with a user in it"));
        }
        upstream.permit_redirect(&url)?;
        url.set_fragment(None);

        let home = self.home && upstream.owns(&url);
        if home {
            add_query(&mut url, credential);
        } else if credential.is_some_and(|credential| credential.is_in(&url)) {
            return Err(bad("redirects to another origin with the user's credential in the URL"));
        }
        let to_get = match answer.status() {
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            _ => false,
        };
        Ok(Some(Self {
            method: if to_get { Method::GET } else { self.method.clone() },
            url: Some(url),
            home,
            with_body: self.with_body && !to_get,
        }))
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

/// A credential in the query is lost in a redirect unless the upstream repeats it.
fn add_query(url: &mut Url, credential: Option<&Credential>) {
    if let Some((name, value)) = credential.and_then(Credential::query_parameter)
        && !url.query_pairs().any(|(present, _)| present == name)
    {
        url.query_pairs_mut().append_pair(name, value.expose_secret());
    }
}

#[cfg(test)]
mod tests;
