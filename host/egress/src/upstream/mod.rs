//! A service that may be called: its address, the granted hosts, its use of the credential, and the
//! pacing of its calls.

mod base;

use std::sync::Arc;

use hyper::Method;
use tokio::sync::Notify;
use url::Url;

use self::base::{Base, base_url, how_to_grant, literal, refusal};
use super::credential::{Credential, SecretField};
use super::error::EgressError;
use super::form_field::FormField;
use super::host::HostPattern;
use super::location::{Location, is_plain};
use super::pacing::{PacedQueue, Pacer, Pacing};
use super::sign::NO_LINKS;
use contract_rules::limit::PATH_BYTES;
use contract_rules::path;
use contract_rules::signature::LINK_SECONDS;

/// The settings of an upstream.
#[derive(Clone, Debug, Default)]
pub struct UpstreamSettings {
    /// For messages. Distinct among the upstreams of a connector: a link belongs to the upstream of
    /// this name.
    pub name: String,
    /// Absolute `https` or `http` URL without query, fragment or user. If it is empty, calls fail.
    pub base_url: String,
    /// `true` if each account has another base URL, which [`Upstream::at`] sets. `base_url` is empty
    /// then.
    pub differs_by_account: bool,
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

/// An upstream, made from its settings once, so that a request needs no parsing of addresses. Cheap
/// to clone.
#[derive(Clone)]
pub struct Upstream {
    name: Arc<str>,
    base: Option<Base>,
    /// `true` if accounts have different base URLs, which [`Upstream::at`] sets.
    is_of_account: bool,
    pub(super) credential: CredentialUse,
    link_hosts: Arc<[HostPattern]>,
    granted: Arc<[HostPattern]>,
    grant_command: Arc<str>,
    pub(super) pacer: Option<Arc<Pacer>>,
    pub(super) allow_private: bool,
    pub(super) observer: Option<Observer>,
    pub(super) follows_redirects: bool,
}

impl Upstream {
    /// # Errors
    /// `InvalidRequest` for a wrong address in the settings.
    pub fn new(settings: UpstreamSettings) -> Result<Self, EgressError> {
        let granted = HostPattern::parse_all(&settings.granted_hosts)?;
        let base = match settings.base_url.as_str() {
            "" => None,
            text => {
                let url = base_url(text)?;
                let refusal = refusal(&url, &granted, &settings.grant_command, settings.allow_private_network);
                Some(Base::new(url, refusal)?)
            }
        };
        Ok(Self {
            name: settings.name.into(),
            base,
            is_of_account: settings.differs_by_account,
            credential: settings.credential,
            link_hosts: HostPattern::parse_all(&settings.link_hosts)?.into(),
            granted: granted.into(),
            grant_command: settings.grant_command.into(),
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

    /// This upstream as an account has it, with the account's base URL. It shares the queue. With a
    /// `site`, the host of the URL must be below this domain, and the grant `*.` with the domain
    /// covers it. Else the host must be granted by name.
    ///
    /// # Errors
    /// `InvalidRequest` if the URL is no base URL, or if its host is not below the site.
    pub fn at(&self, text: &str, site: Option<&str>) -> Result<Self, EgressError> {
        let url = base_url(text)?;
        let refusal = match site {
            None => refusal(&url, &self.granted, &self.grant_command, self.allow_private),
            Some(site) => {
                let below = HostPattern::Below(site.to_owned());
                if url.scheme() != "https" || !below.covers(&url) {
                    return Err(EgressError::invalid(format!(
                        "the host of the account's base URL is not below `{site}`, or has a port"
                    )));
                }
                match self.granted.contains(&below) {
                    true => literal(&url, self.allow_private).err(),
                    false => {
                        let advice = match &*self.grant_command {
                            "" => String::new(),
                            command => format!("; the operator can grant them with `{command} '*.{site}'`"),
                        };
                        Some(EgressError::denied(format!(
                            "the hosts below {site} were not granted to this connector{advice}"
                        )))
                    }
                }
            }
        };
        Ok(Self { base: Some(Base::new(url, refusal)?), ..self.clone() })
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
    /// `PathTooLong`; `BadPath` for a path that could lead out of the base URL.
    pub fn target(&self, path: &str) -> Result<Url, EgressError> {
        self.locate(path, None).map(|location| location.url())
    }

    /// A link to a path, with a signature of the user in its query. It ends after this number of
    /// seconds.
    ///
    /// # Errors
    /// As [`Upstream::target`], and `InvalidRequest` if the credential makes no links, if requests to
    /// the upstream carry none, or if the link would be valid for too long.
    pub fn signed_link(
        &self,
        credential: Option<&Credential>,
        method: &Method,
        path: &str,
        seconds: u32,
    ) -> Result<Url, EgressError> {
        let credential = credential.filter(|_| self.credential == CredentialUse::Standard);
        let credential = credential.ok_or_else(|| EgressError::invalid(NO_LINKS))?;
        if !(1..=LINK_SECONDS).contains(&seconds) {
            return Err(EgressError::invalid(format!("a signed link is valid for 1 to {LINK_SECONDS} seconds")));
        }
        credential.link_to(method, self.target(path)?, seconds)
    }

    /// The address of a request for a path. `parameter` is appended to the query.
    ///
    /// # Errors
    /// As [`Upstream::target`].
    pub(super) fn locate(&self, path: &str, parameter: Option<SecretField<'_>>) -> Result<Location, EgressError> {
        let base = self.base.as_ref().ok_or_else(|| self.has_no_url())?;
        if let Some(refusal) = &base.refusal {
            return Err(refusal.clone());
        }
        if path.len() > PATH_BYTES {
            return Err(EgressError::PathTooLong);
        }
        path::check(path).map_err(|broken| EgressError::BadPath { detail: broken.rule().to_owned() })?;
        match parameter {
            None if path.starts_with('/') && is_plain(path) => base.at_origin(path),
            _ => base.encoded(path, parameter),
        }
    }

    fn has_no_url(&self) -> EgressError {
        let upstream = self.name.to_string();
        match self.is_of_account {
            true => EgressError::NoAccountUrl { upstream },
            false => EgressError::NotConfigured { upstream },
        }
    }

    /// Returns `true` if a URL has the origin of the base URL, so that a request to it may carry
    /// the credential.
    pub(super) fn owns(&self, url: &Url) -> bool {
        self.base_url().is_some_and(|base| same_origin(base, url))
    }

    /// Returns `true` if a URL is the base URL or below it.
    pub(super) fn is_base_of(&self, url: &Url) -> bool {
        let base = self.base_url().filter(|base| same_origin(base, url)).map(|base| base.path().trim_end_matches('/'));
        let below = base.and_then(|base| url.path().strip_prefix(base));
        below.is_some_and(|below| (below.is_empty() || below.starts_with('/')) && !path::has_dot_segment(below))
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

#[cfg(test)]
mod tests;
