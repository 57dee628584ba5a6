//! The form of hosts in grants.

use url::Url;

/// Returns `true` if a grant names a host, or link hosts or the hosts of accounts by
/// a wildcard. A host is a name or an
/// address, with a port unless it is the default of the scheme.
pub fn is_grant(text: &str) -> bool {
    if let Some(domain) = text.strip_prefix("*.") {
        // A wildcard for the hosts of accounts may be below a suffix that one owner gives names in.
        return contract::site::link_host(text).is_ok() || contract::site::account_site(domain).is_ok();
    }
    let url = Url::parse(&format!("https://{text}/"));
    !text.is_empty()
        && !text.contains('*')
        && url.is_ok_and(|url| url.path() == "/" && url.username().is_empty() && url.password().is_none())
}

/// The host of a URL as grants write it.
pub(super) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_grant;

    #[test]
    fn a_grant_is_a_host_or_a_wildcard_below_a_registrable_domain() {
        for text in ["api.example.com", "example.com:8443", "127.0.0.1:9000", "[::1]:80", "*.acme.com", "*.netlify.app"]
        {
            assert!(is_grant(text), "{text}");
        }
        for text in ["", "*", "*.com", "*.co.uk", "a.*.com", "https://a.com", "a.com/x", "u@a.com", "*.acme.com:1"] {
            assert!(!is_grant(text), "{text}");
        }
    }
}
