//! Patterns in lists of hosts.

use url::{Host, Url};

use super::error::EgressError;

/// One entry of a list of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HostPattern {
    /// `host`, or `host:port` if the port is not the default port of the scheme.
    Exact {
        /// The host.
        host: Host<String>,
        /// `None` for the default port of the scheme.
        port: Option<u16>,
    },
    /// `*.domain`: every host below the domain, on the default port of the scheme, but not the
    /// domain itself.
    Below(String),
}

impl HostPattern {
    /// Parses a list of entries.
    ///
    /// # Errors
    /// `InvalidRequest` that names the wrong entry.
    pub(super) fn parse_all(entries: &[String]) -> Result<Vec<Self>, EgressError> {
        entries.iter().map(|entry| Self::parse(entry)).collect()
    }

    fn parse(text: &str) -> Result<Self, EgressError> {
        let wrong = || {
            EgressError::invalid(format!(
                "{text:?} is not a host such as `api.example.com`, `example.com:8443` or `*.example.com`"
            ))
        };
        if let Some(domain) = text.strip_prefix("*.") {
            return match parse_exact(domain) {
                Some(Self::Exact { host: Host::Domain(domain), port: None }) => Ok(Self::Below(domain)),
                _ => Err(wrong()),
            };
        }
        parse_exact(text).ok_or_else(wrong)
    }

    /// Returns `true` if the entry names the host and port of `url`, not by a wildcard.
    pub(super) fn is_exactly(&self, url: &Url) -> bool {
        let Self::Exact { host, port } = self else { return false };
        let same_port = match port {
            None => url.port().is_none(),
            port => url.port_or_known_default() == *port,
        };
        same_port
            && match (host, url.host()) {
                (Host::Domain(own), Some(Host::Domain(other))) => own == other,
                (Host::Ipv4(own), Some(Host::Ipv4(other))) => *own == other,
                (Host::Ipv6(own), Some(Host::Ipv6(other))) => *own == other,
                _ => false,
            }
    }

    /// Returns `true` if the entry covers the host and port of `url`, also by a wildcard.
    pub(super) fn covers(&self, url: &Url) -> bool {
        match (self, url.host()) {
            (Self::Below(domain), Some(Host::Domain(host))) => {
                let below = host.strip_suffix(domain).and_then(|rest| rest.strip_suffix('.'));
                url.port().is_none() && below.is_some_and(|labels| !labels.is_empty())
            }
            _ => self.is_exactly(url),
        }
    }
}

fn parse_exact(text: &str) -> Option<HostPattern> {
    if text.is_empty() || text.contains(['/', '?', '#', '@', '\\', '*']) {
        return None;
    }
    let host = Url::parse(&format!("https://{text}/")).ok()?.host()?.to_owned();
    // The port is read from the text: a parsed URL drops the default port of its scheme, and the
    // scheme is not known here.
    let port = if text.ends_with(']') { None } else { text.rsplit_once(':').and_then(|(_, port)| port.parse().ok()) };
    Some(HostPattern::Exact { host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(entry: &str, url: &str) -> bool {
        HostPattern::parse(entry).unwrap().covers(&Url::parse(url).unwrap())
    }

    #[test]
    fn an_exact_entry_covers_its_host_and_port_only() {
        assert!(covers("files.example.com", "https://files.example.com/a"));
        assert!(covers("FILES.example.com:443", "https://files.example.com/a"));
        assert!(covers("[::1]:8080", "http://[::1]:8080/"));
        for url in ["https://example.com/", "https://a.files.example.com/", "https://files.example.com:8443/"] {
            assert!(!covers("files.example.com", url), "{url}");
        }
    }

    #[test]
    fn a_wildcard_covers_every_host_below_its_domain_and_not_the_domain() {
        for url in ["https://acme.acme-files.com/x", "https://a.b.acme-files.com/", "http://acme.acme-files.com/"] {
            assert!(covers("*.acme-files.com", url), "{url}");
        }
        for url in [
            "https://acme-files.com/",
            "https://evilacme-files.com/",
            "https://acme.acme-files.com.evil.test/",
            "https://acme.acme-files.com:8443/",
            "https://.acme-files.com/",
            "https://127.0.0.1/",
        ] {
            assert!(!covers("*.acme-files.com", url), "{url}");
        }
        let entry = HostPattern::parse("*.acme-files.com").unwrap();
        assert!(!entry.is_exactly(&Url::parse("https://acme.acme-files.com/").unwrap()));
    }

    #[test]
    fn other_forms_are_refused() {
        for text in
            ["", "*", "*.", "a.*.com", "*a.com", "*.*.com", "*.127.0.0.1", "*.a.com:1", "a.com/b", "u@a.com", "a b"]
        {
            assert!(HostPattern::parse(text).is_err(), "{text}");
        }
    }
}
