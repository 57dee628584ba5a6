//! A service that may be called: its address, the granted hosts, its use of the credential, and the
//! pacing of its calls.

use std::sync::Arc;

use hyper::http::uri::PathAndQuery;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Notify;
use url::{Host, Url};

use super::address::{self, ForbiddenAddress};
use super::error::EgressError;
use super::form_field::FormField;
use super::host::HostPattern;
use super::location::{Location, Origin, is_plain};
use super::pacing::{PacedQueue, Pacer, Pacing};
use contract_rules::limit::PATH_BYTES;
use contract_rules::path;

/// The settings of an upstream.
#[derive(Clone, Debug, Default)]
pub struct UpstreamSettings {
    /// For messages. Distinct among the upstreams of a connector: a link belongs to the upstream of
    /// this name.
    pub name: String,
    /// Absolute `https` or `http` URL without query, fragment or user. If it is empty, calls fail.
    pub base_url: String,
    /// How requests carry the credential of the user.
    pub credential: CredentialUse,
    /// Hosts that may be called: `host`, `host:port` if the port is not the default of the scheme,
    /// or `*.domain`. The host of the base URL must be listed by name. A wildcard does not grant
    /// it.
    pub granted_hosts: Vec<String>,
    /// Hosts that redirects and links may lead to, in addition to the host of the base URL. They
    /// must be granted too.
    pub link_hosts: Vec<String>,
    /// Minimum interval and maximum concurrency of calls.
    pub pacing: Option<Pacing>,
    /// `true` if loopback and private addresses may be reached.
    pub allow_private_network: bool,
    /// The command that grants a host, up to the name of the host, for messages. Empty if there is
    /// no such command.
    pub grant_command: String,
}

/// How requests to an upstream carry the credential of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CredentialUse {
    /// Requests carry no credential.
    None,
    /// Requests carry the credential as it was made: in a header or in a query parameter.
    #[default]
    Standard,
    /// Requests carry the secret of the user in a field of a form body.
    FormField(FormField),
}

/// Called at the end of each attempt to call an upstream. It runs on the task of the call, so it
/// must not take long.
pub type Observer = Arc<dyn Fn(Attempt) + Send + Sync>;

/// One exchange with an upstream, up to the head of the response.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// 0 for the first attempt, 1 for the first retry, and so on.
    pub retry: u32,
    /// The status; `None` if there was no response.
    pub status: Option<u16>,
}

/// An upstream, made from its settings once, so that a request needs no parsing of addresses.
pub struct Upstream {
    name: Arc<str>,
    base: Option<Base>,
    pub(super) credential: CredentialUse,
    link_hosts: Vec<HostPattern>,
    granted: Vec<HostPattern>,
    grant_command: String,
    pub(super) pacer: Option<Arc<Pacer>>,
    pub(super) allow_private: bool,
    pub(super) observer: Option<Observer>,
    pub(super) follows_redirects: bool,
}

struct Base {
    origin: Arc<Origin>,
    /// The path without a slash at its end. The path of a request is appended to it.
    path: String,
    /// The error of every request, if the host is not granted or is a forbidden address.
    refusal: Option<EgressError>,
}

impl Upstream {
    /// # Errors
    /// `InvalidRequest` for a wrong address in the settings.
    pub fn new(settings: UpstreamSettings) -> Result<Self, EgressError> {
        let granted = HostPattern::parse_all(&settings.granted_hosts)?;
        let base = match settings.base_url.as_str() {
            "" => None,
            text => Some(Base::new(text, &granted, &settings)?),
        };
        Ok(Self {
            name: settings.name.into(),
            base,
            credential: settings.credential,
            link_hosts: HostPattern::parse_all(&settings.link_hosts)?,
            granted,
            grant_command: settings.grant_command,
            pacer: settings.pacing.map(|pacing| Arc::new(Pacer::new(pacing))),
            allow_private: settings.allow_private_network,
            observer: None,
            follows_redirects: true,
        })
    }

    /// An upstream for a single URL with a grant for its host only, and the path of a request to
    /// the URL.
    ///
    /// # Errors
    /// `InvalidRequest` if the URL is not an http or https URL without user.
    pub fn of_url(name: &str, url: &Url, allow_private_network: bool) -> Result<(Self, String), EgressError> {
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let path = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut base_url = url.clone();
        base_url.set_query(None);
        base_url.set_fragment(None);
        let upstream = Self::new(UpstreamSettings {
            name: name.to_owned(),
            base_url: base_url.into(),
            granted_hosts: vec![host],
            allow_private_network,
            ..UpstreamSettings::default()
        })?;
        Ok((upstream, path))
    }

    /// Returns redirects as ordinary responses instead of following them.
    #[must_use]
    pub fn without_redirects(mut self) -> Self {
        self.follows_redirects = false;
        self
    }

    /// Calls `observer` at the end of every attempt.
    #[must_use]
    pub fn observed(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Takes over the queue of the previous upstream, if origin and pacing are the same.
    pub fn inherit(&mut self, old: &Self) {
        let same_origin = self.base_url().map(Url::origin) == old.base_url().map(Url::origin);
        if let (Some(new), Some(previous)) = (&self.pacer, &old.pacer)
            && same_origin
            && new.pacing() == previous.pacing()
        {
            self.pacer = Some(Arc::clone(previous));
        }
    }

    /// Uses the queue of another upstream, if the pacing is the same.
    pub fn share_queue(&mut self, other: &Self) {
        if let (Some(own), Some(others)) = (&self.pacer, &other.pacer)
            && own.pacing() == others.pacing()
        {
            self.pacer = Some(Arc::clone(others));
        }
    }

    /// Shares the queue with the gateways on the same database. `wake` asks for an exchange with them.
    pub fn share_queue_with_gateways(&self, wake: &Arc<Notify>) {
        if let Some(pacer) = &self.pacer {
            pacer.share(wake);
        }
    }

    /// The queue, if calls are paced.
    pub fn paced_queue(&self) -> Option<PacedQueue> {
        self.pacer.clone().map(PacedQueue::of)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Returns `true` if requests carry the user's credential in a form, so that their bodies are
    /// forms.
    pub fn takes_forms(&self) -> bool {
        matches!(self.credential, CredentialUse::FormField(_))
    }

    /// The base URL. `None` while the operator has set none.
    pub fn base_url(&self) -> Option<&Url> {
        self.base.as_ref().map(|base| &base.origin.url)
    }

    /// Returns `true` if loopback and private addresses may be reached.
    pub fn allows_private_network(&self) -> bool {
        self.allow_private
    }

    /// The URL of a request for a path.
    ///
    /// # Errors
    /// `NotConfigured`; `Denied` if the host is not granted or is a forbidden address;
    /// `PathTooLong`; `InvalidRequest` for a path that could lead out of the base URL.
    pub fn target(&self, path: &str) -> Result<Url, EgressError> {
        self.locate(path, None).map(|location| location.url())
    }

    /// The address of a request for a path. `parameter` is appended to the query.
    ///
    /// # Errors
    /// As [`Upstream::target`].
    pub(super) fn locate(&self, path: &str, parameter: Option<(&str, &SecretString)>) -> Result<Location, EgressError> {
        let base = self.base.as_ref().ok_or_else(|| EgressError::NotConfigured { upstream: self.name.to_string() })?;
        if let Some(refusal) = &base.refusal {
            return Err(refusal.clone());
        }
        if path.len() > PATH_BYTES {
            return Err(EgressError::PathTooLong);
        }
        path::check(path).map_err(|broken| EgressError::invalid(broken.rule()))?;
        match parameter {
            None if path.starts_with('/') && is_plain(path) => base.at_origin(path),
            _ => base.encoded(path, parameter),
        }
    }

    /// Returns `true` if a URL has the origin of the base URL, so that a request to it may carry
    /// the credential.
    pub(super) fn owns(&self, url: &Url) -> bool {
        self.base_url().is_some_and(|base| same_origin(base, url))
    }

    /// Returns `true` if links may be http URLs.
    pub(super) fn allows_http(&self) -> bool {
        self.allow_private || self.base_url().is_some_and(|base| base.scheme() == "http")
    }

    /// Checks that a redirect or a link may lead to a URL. `verb` is the text between the name of
    /// the upstream and the host.
    ///
    /// # Errors
    /// `NotLinked` or `Denied` that names the host.
    pub(super) fn permit(&self, url: &Url, verb: &str) -> Result<(), EgressError> {
        if !self.owns(url) {
            let host = url.host_str().unwrap_or_default();
            if !self.link_hosts.iter().any(|entry| entry.covers(url)) {
                let detail = format!(
                    "`{}` {verb} {host}, which is not among its link hosts; the connector's author can name it there",
                    self.name
                );
                return Err(EgressError::NotLinked { detail });
            }
            if !self.granted.iter().any(|entry| entry.covers(url)) {
                let advice = how_to_grant(&self.grant_command, url);
                return Err(EgressError::denied(format!(
                    "`{}` {verb} {host}, which was not granted{advice}",
                    self.name
                )));
            }
        }
        literal(url, self.allow_private)
    }
}

/// Returns `true` if two URLs have the same scheme, host and port.
pub(super) fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host() == other.host()
        && one.port_or_known_default() == other.port_or_known_default()
}

impl Base {
    fn new(text: &str, granted: &[HostPattern], settings: &UpstreamSettings) -> Result<Self, EgressError> {
        let wrong = |why: &str| EgressError::invalid(format!("the base URL of an upstream {why}"));
        let url = Url::parse(text).map_err(|error| wrong(&format!("is not a URL: {error}")))?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(wrong("must begin with https:// or http://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("must not contain a user or password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("must not have a query or fragment"));
        }
        let refusal = if granted.iter().any(|entry| entry.is_exactly(&url)) {
            literal(&url, settings.allow_private_network).err()
        } else {
            let host = url.host_str().unwrap_or_default();
            let advice = how_to_grant(&settings.grant_command, &url);
            Some(EgressError::denied(format!("the host {host} was not granted to this connector{advice}")))
        };
        let path = url.path().trim_end_matches('/').to_owned();
        let origin = Origin::new(url).ok_or_else(|| wrong("has a part that HTTP cannot carry"))?;
        Ok(Self { origin: Arc::new(origin), path, refusal })
    }

    /// The address of a path that is written as a URL writes it.
    fn at_origin(&self, path: &str) -> Result<Location, EgressError> {
        let path = PathAndQuery::try_from([&self.path, path].concat())
            .map_err(|_| EgressError::invalid("the path has a character that HTTP cannot carry"))?;
        Ok(Location::AtOrigin { origin: Arc::clone(&self.origin), path })
    }

    /// The address of any path, as a URL encodes it.
    fn encoded(&self, path: &str, parameter: Option<(&str, &SecretString)>) -> Result<Location, EgressError> {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        // Starts from the parsed base URL, so that scheme, host and port are not parsed again.
        let mut url = self.origin.url.clone();
        if !path.is_empty() {
            url.set_path(&format!("{}{path}", self.path));
        }
        url.set_query(query);
        if let Some((name, value)) = parameter {
            url.query_pairs_mut().append_pair(name, value.expose_secret());
        }
        if !url.path().starts_with(&self.path) {
            return Err(EgressError::invalid("the path does not make a URL below the upstream's base URL"));
        }
        Ok(Location::Elsewhere(url))
    }
}

/// The end of the message that a host is not granted: what the operator can do.
fn how_to_grant(command: &str, url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match (command, url.port()) {
        ("", _) => String::new(),
        (_, None) => format!("; the operator can grant it with `{command} {host}`"),
        (_, Some(port)) => format!("; the operator can grant it with `{command} {host}:{port}`"),
    }
}

/// Checks a host that is an IP address. The resolver checks names only.
fn literal(url: &Url, allow_private: bool) -> Result<(), EgressError> {
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
    pub(super) fn denial(&self, host: &str) -> EgressError {
        EgressError::denied(format!(
            "{host} leads to a {} address; the operator can allow it with `allow_private_network`",
            self.class
        ))
    }
}

#[cfg(test)]
mod tests;
