//! The address of one request, as a URL and in the forms that an HTTP client takes.

use std::sync::Arc;

use hyper::Uri;
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use url::{Position, Url};

use super::error::EgressError;

/// The address of a request. Most addresses are a path below a base URL. They are made without
/// parsing a URL.
#[derive(Clone)]
pub(super) enum Location {
    /// A path at the origin of an upstream.
    AtOrigin { origin: Arc<Origin>, path: PathAndQuery },
    /// Any other URL.
    Elsewhere(Url),
}

/// Scheme, host and port of an upstream, parsed once.
pub(super) struct Origin {
    /// The base URL. It has no query and no fragment.
    pub(super) url: Url,
    scheme: Scheme,
    authority: Authority,
}

impl Origin {
    /// `None` if HTTP cannot carry a part of the URL.
    pub(super) fn new(url: Url) -> Option<Self> {
        let parts = Uri::try_from(url.as_str()).ok()?.into_parts();
        Some(Self { url, scheme: parts.scheme?, authority: parts.authority? })
    }
}

impl Location {
    /// The URL.
    pub(super) fn url(&self) -> Url {
        match self {
            Self::AtOrigin { origin, path } => {
                let mut url = origin.url.clone();
                url.set_path(path.path());
                url.set_query(path.query());
                url
            }
            Self::Elsewhere(url) => url.clone(),
        }
    }

    /// The address as a client takes it.
    ///
    /// # Errors
    /// `InvalidRequest` if HTTP cannot carry it.
    pub(super) fn uri(&self) -> Result<Uri, EgressError> {
        let uri = match self {
            Self::AtOrigin { origin, path } => Uri::builder()
                .scheme(origin.scheme.clone())
                // Not a clone: its bytes would be shared by the connections of all cores.
                .authority(origin.authority.as_str())
                .path_and_query(path.clone())
                .build()
                .ok(),
            Self::Elsewhere(url) => Uri::try_from(url.as_str()).ok(),
        };
        uri.ok_or_else(|| EgressError::invalid("the address has a part that HTTP cannot carry"))
    }

    /// The path and the query, as a client takes them.
    ///
    /// # Errors
    /// As [`Location::uri`].
    pub(super) fn path(&self) -> Result<Uri, EgressError> {
        match self {
            Self::AtOrigin { path, .. } => Ok(path.clone().into()),
            Self::Elsewhere(_) => Ok(self.uri()?.path_and_query().cloned().map(Uri::from).unwrap_or_default()),
        }
    }

    /// The length of the part of the path that every request to the upstream has. 0 if that is
    /// not known.
    pub(super) fn base(&self) -> usize {
        match self {
            Self::AtOrigin { origin, .. } => origin.url.path().trim_end_matches('/').len(),
            Self::Elsewhere(_) => 0,
        }
    }

    /// Scheme, host and port. Locations with the same ones can share a connection.
    pub(super) fn origin(&self) -> &str {
        match self {
            Self::AtOrigin { origin, .. } => &origin.url[..Position::BeforePath],
            Self::Elsewhere(url) => &url[..Position::BeforePath],
        }
    }

    /// The host, and the port if it is not the default one of the scheme.
    pub(super) fn authority(&self) -> &str {
        match self {
            Self::AtOrigin { origin, .. } => &origin.url[Position::BeforeHost..Position::AfterPort],
            Self::Elsewhere(url) => &url[Position::BeforeHost..Position::AfterPort],
        }
    }

    /// The host, for messages.
    pub(super) fn host(&self) -> &str {
        match self {
            Self::AtOrigin { origin, .. } => &origin.url,
            Self::Elsewhere(url) => url,
        }
        .host_str()
        .unwrap_or("the upstream")
    }
}

/// Returns `true` if a URL has this path or query unchanged. A URL encodes or interprets some
/// characters of other texts.
pub(super) fn is_plain(path_and_query: &str) -> bool {
    path_and_query.bytes().all(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'-' | b'.'
                    | b'_'
                    | b'~'
                    | b'!'
                    | b'$'
                    | b'&'
                    | b'('
                    | b')'
                    | b'*'
                    | b'+'
                    | b','
                    | b';'
                    | b'='
                    | b':'
                    | b'@'
                    | b'/'
                    | b'%'
                    | b'?'
            )
    })
}
