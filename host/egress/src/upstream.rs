//! A service that may be called: where it is, what was granted, and how its calls are spaced.

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::{Host, Url};

use super::address::{self, ForbiddenAddress};
use super::error::EgressError;
use super::pacing::Pacer;
use super::path;

/// What a caller of egress says about an upstream.
#[derive(Clone, Debug, Default)]
pub struct UpstreamSettings {
    /// For messages.
    pub name: String,
    /// Absolute `https` or `http` URL without query, fragment or user. May be empty: then calls fail until it is set.
    pub base_url: String,
    /// Hosts that may be called at all: `host`, or `host:port` where the port is not the scheme's own. Never a wildcard.
    pub granted_hosts: Vec<String>,
    /// Hosts, besides the one of the base URL, that a redirect may lead to. They have to be granted as well.
    pub redirect_hosts: Vec<String>,
    /// How calls are spaced.
    pub pacing: Option<Pacing>,
    /// Whether loopback and private addresses may be reached.
    pub allow_private_network: bool,
}

/// A queue in front of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Pause between the starts of two calls.
    pub interval: Duration,
    /// Calls under way at once; 0 counts as 1.
    pub concurrency: u32,
    /// A call that would wait longer is refused.
    pub max_wait: Duration,
}

/// Told of each attempt to call an upstream, at its end. It runs on the caller's task: it counts, and returns.
pub type Observer = Arc<dyn Fn(Attempt) + Send + Sync>;

/// One exchange with an upstream, up to the head of the answer.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// 0 for the first, counting up with each retry.
    pub retry: u32,
    /// From the start of the attempt to the head of the answer; waiting in the pacing queue is not part of it.
    pub elapsed: Duration,
    /// The status, or none where there was no answer.
    pub status: Option<u16>,
}

/// An upstream, compiled from its settings once; what a request needs has been decided here.
pub struct Upstream {
    name: Arc<str>,
    base: Option<Base>,
    redirect_hosts: Vec<HostPort>,
    granted: Vec<HostPort>,
    pub(super) pacer: Option<Arc<Pacer>>,
    pub(super) allow_private: bool,
    pub(super) observer: Option<Observer>,
    pub(super) follows_redirects: bool,
}

struct Base {
    url: Url,
    /// Its path without the slash at its end: a request's path is appended to it.
    path: String,
    /// Why no request to it may leave, if so.
    refusal: Option<EgressError>,
}

impl Upstream {
    /// # Errors
    /// `InvalidRequest` that says what is wrong with an address in the settings.
    pub fn new(settings: UpstreamSettings) -> Result<Self, EgressError> {
        let granted = parse_hosts(&settings.granted_hosts)?;
        let base = match settings.base_url.as_str() {
            "" => None,
            text => Some(Base::new(text, &granted, settings.allow_private_network)?),
        };
        Ok(Self {
            name: settings.name.into(),
            base,
            redirect_hosts: parse_hosts(&settings.redirect_hosts)?,
            granted,
            pacer: settings.pacing.map(|pacing| Arc::new(Pacer::new(pacing))),
            allow_private: settings.allow_private_network,
            observer: None,
            follows_redirects: true,
        })
    }

    /// One URL as an upstream of its own, which is granted the URL's host and no other; and the path that makes a request
    /// for it.
    ///
    /// # Errors
    /// `InvalidRequest` when the URL is none that may be called.
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

    /// Takes a redirect as the answer, wherever it leads.
    #[must_use]
    pub fn without_redirects(mut self) -> Self {
        self.follows_redirects = false;
        self
    }

    /// Has every attempt reported.
    #[must_use]
    pub fn observed(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Goes on with the queue of the upstream that this one replaces, if it leads to the same place at the same pace.
    pub fn inherit(&mut self, old: &Self) {
        let same_place = self.origin_url().map(Url::origin) == old.origin_url().map(Url::origin);
        if let (Some(new), Some(former)) = (&self.pacer, &old.pacer)
            && same_place
            && new.pacing() == former.pacing()
        {
            self.pacer = Some(Arc::clone(former));
        }
    }

    /// Queues together with another upstream, if both ask for the same pace.
    pub fn share_queue(&mut self, other: &Self) {
        if let (Some(own), Some(others)) = (&self.pacer, &other.pacer)
            && own.pacing() == others.pacing()
        {
            self.pacer = Some(Arc::clone(others));
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    fn origin_url(&self) -> Option<&Url> {
        self.base.as_ref().map(|base| &base.url)
    }

    /// The URL of a request, if it may be made.
    ///
    /// # Errors
    /// `NotConfigured`, `Denied` (the host was not granted, or is a forbidden address), or `InvalidRequest` for a path that
    /// could lead out of the base URL.
    pub fn target(&self, path: &str) -> Result<Url, EgressError> {
        self.target_with(path, None)
    }

    pub(super) fn target_with(&self, path: &str, query: Option<(&str, &SecretString)>) -> Result<Url, EgressError> {
        let base = self.base.as_ref().ok_or_else(|| EgressError::NotConfigured { upstream: self.name.to_string() })?;
        if let Some(refusal) = &base.refusal {
            return Err(refusal.clone());
        }
        path::check(path)?;
        let (path, own_query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        // Scheme, host and port have been parsed once and for all.
        let mut url = base.url.clone();
        if !path.is_empty() {
            url.set_path(&format!("{}{path}", base.path));
        }
        url.set_query(own_query);
        if let Some((name, value)) = query {
            url.query_pairs_mut().append_pair(name, value.expose_secret());
        }
        if !url.path().starts_with(&base.path) {
            return Err(EgressError::invalid("the path does not make a URL below the upstream's base URL"));
        }
        Ok(url)
    }

    /// Whether a URL belongs to the service itself, so that its credential may go there.
    pub(super) fn owns(&self, url: &Url) -> bool {
        self.origin_url().is_some_and(|base| {
            base.scheme() == url.scheme()
                && base.host() == url.host()
                && base.port_or_known_default() == url.port_or_known_default()
        })
    }

    /// Whether a redirect may lead to a URL, by its host.
    ///
    /// # Errors
    /// `Denied` that names the host.
    pub(super) fn permit_redirect(&self, url: &Url) -> Result<(), EgressError> {
        let host = url.host_str().unwrap_or_default();
        if !self.owns(url) {
            if !self.redirect_hosts.iter().any(|entry| entry.matches(url)) {
                return Err(EgressError::denied(format!(
                    "`{}` redirects to {host}, which is not among its redirect hosts",
                    self.name
                )));
            }
            if !self.granted.iter().any(|entry| entry.matches(url)) {
                return Err(EgressError::denied(format!("`{}` redirects to {host}, which was not granted", self.name)));
            }
        }
        literal(url, self.allow_private)
    }
}

impl Base {
    fn new(text: &str, granted: &[HostPort], allow_private: bool) -> Result<Self, EgressError> {
        let wrong = |why: &str| EgressError::invalid(format!("the base URL of an upstream {why}"));
        let url = Url::parse(text).map_err(|error| wrong(&format!("is not a URL: {error}")))?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(wrong("begins with https:// or http://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("holds no user or password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("has neither query nor fragment"));
        }
        let refusal = if granted.iter().any(|entry| entry.matches(&url)) {
            literal(&url, allow_private).err()
        } else {
            let host = url.host_str().unwrap_or_default();
            Some(EgressError::denied(format!("the host {host} was not granted to this connector")))
        };
        let path = url.path().trim_end_matches('/').to_owned();
        Ok(Self { url, path, refusal })
    }
}

/// The resolver is not asked about a host that is an address, so it is checked here.
fn literal(url: &Url, allow_private: bool) -> Result<(), EgressError> {
    if allow_private {
        return Ok(());
    }
    let checked = match url.host() {
        Some(Host::Ipv4(address)) => address::check(address.into()),
        Some(Host::Ipv6(address)) => address::check(address.into()),
        Some(Host::Domain(_)) | None => Ok(()),
    };
    checked.map_err(|forbidden| forbidden.denial(url.host_str().unwrap_or_default()))
}

impl ForbiddenAddress {
    /// As callers are told. The address is left out where a name led to it: what a private network looks like is not theirs
    /// to know.
    pub(super) fn denial(&self, host: &str) -> EgressError {
        EgressError::denied(format!(
            "{host} leads to a {} address; the operator can allow it with `allow_private_network`",
            self.class
        ))
    }
}

/// A host as it was granted. The port is none where it is the scheme's own.
#[derive(Debug)]
struct HostPort {
    host: Host<String>,
    port: Option<u16>,
}

impl HostPort {
    fn matches(&self, url: &Url) -> bool {
        let same_port = match self.port {
            None => url.port().is_none(),
            port => url.port_or_known_default() == port,
        };
        same_port
            && match (&self.host, url.host()) {
                (Host::Domain(own), Some(Host::Domain(other))) => own == other,
                (Host::Ipv4(own), Some(Host::Ipv4(other))) => *own == other,
                (Host::Ipv6(own), Some(Host::Ipv6(other))) => *own == other,
                _ => false,
            }
    }
}

fn parse_hosts(hosts: &[String]) -> Result<Vec<HostPort>, EgressError> {
    hosts.iter().map(|text| parse_host(text)).collect()
}

fn parse_host(text: &str) -> Result<HostPort, EgressError> {
    let wrong =
        || EgressError::invalid(format!("{text:?} is not a host such as `api.example.com` or `example.com:8443`"));
    if text.is_empty() || text.contains(['/', '?', '#', '@', '\\', '*']) {
        return Err(wrong());
    }
    let url = Url::parse(&format!("https://{text}/")).map_err(|_| wrong())?;
    let host = url.host().ok_or_else(wrong)?.to_owned();
    // From the text, as a URL forgets a port that is its scheme's own, and here it is not known which scheme that is.
    let port = if text.ends_with(']') { None } else { text.rsplit_once(':').and_then(|(_, port)| port.parse().ok()) };
    Ok(HostPort { host, port })
}

#[cfg(test)]
mod tests;
