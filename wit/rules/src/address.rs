//! URLs and hosts of a manifest. The rules are about the form of the text; the gateway parses the
//! URLs again before it uses them.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::path::has_dot_segment;
use crate::{Broken, ensure};

/// The base URL of an upstream. `earlier` are the names of the upstreams that are declared before
/// it.
///
/// # Errors
/// The rule that the URL breaks.
pub fn base_url<'a>(url: &str, earlier: impl IntoIterator<Item = &'a str>) -> Result<(), Broken> {
    ensure(!url.contains(['?', '#']), "a base URL has no query and no fragment")?;
    let path = match below(url) {
        Some((name, path)) => {
            if !earlier.into_iter().any(|known| known == name) {
                return Err(format!("there is no upstream `{name}` before this one").into());
            }
            ensure(path.starts_with('/'), "the name of an upstream in braces is followed by a path, as in `{api}/me`")?;
            path
        }
        None if url.is_empty() => return Ok(()),
        None => parts(url).ok_or("a base URL is absolute, with `https` or `http`, a host and no user")?.path,
    };
    ensure(path.bytes().all(is_path_byte), "the path of a base URL is percent-encoded")?;
    ensure(!has_dot_segment(path), "a base URL has no segments `.` or `..`")
}

/// The upstream of a base URL such as `{api}/me`, and the path below it. `None` for other URLs.
#[must_use]
pub fn below(base_url: &str) -> Option<(&str, &str)> {
    base_url.strip_prefix('{')?.split_once('}')
}

/// A host of `link-hosts`: a host name, or `*.` and a domain with at least two labels. A check
/// whether the domain is registrable needs a list of public suffixes, which only the gateway has.
///
/// # Errors
/// The form of an entry.
pub fn link_host(host: &str) -> Result<(), Broken> {
    match host.strip_prefix("*.") {
        None => ensure(is_host(host), "a link host is a host name without scheme, port and path"),
        Some(domain) => ensure(
            is_domain(domain) && domain.contains('.'),
            "behind `*.` a link host has a registrable domain or a name below one, as in `*.sharepoint.com`",
        ),
    }
}

/// A URL of an auth scheme. Secrets are sent to it, so it must be `https` or have a loopback
/// address.
///
/// # Errors
/// The rule that the URL breaks.
pub fn secret_url(url: &str) -> Result<(), Broken> {
    let parts = parts(&url.replace("{client_id}", "client")).map(|parts| (parts.secure, is_loopback(parts.host)));
    let (secure, loopback) = parts.ok_or("the URL is absolute, with a host and no user")?;
    ensure(secure || loopback, "the URL begins with `https://`")
}

/// The URL of a home page.
///
/// # Errors
/// The rule that the URL breaks.
pub fn homepage(url: &str) -> Result<(), Broken> {
    ensure(parts(url).is_some_and(|parts| parts.secure), "a home page is an absolute URL that begins with `https://`")
}

struct Parts<'a> {
    secure: bool,
    host: &'a str,
    path: &'a str,
}

/// Takes an absolute URL apart. `None` if it has another scheme than `https` and `http`, a user, or
/// a malformed host or port.
fn parts(url: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = url.split_once("://")?;
    let secure = scheme.eq_ignore_ascii_case("https");
    if !secure && !scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (address, port) = inner.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            (address, port.strip_prefix(':').or(port.is_empty().then_some(""))?)
        }
        None => {
            let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
            is_host(host).then_some((host, port))?
        }
    };
    (port.is_empty() || port.parse::<u16>().is_ok()).then_some(Parts { secure, host, path })
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || host.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

fn is_host(host: &str) -> bool {
    host.parse::<Ipv4Addr>().is_ok() || is_domain(host)
}

/// A name in ASCII; the last label is not a number, which would make the name an address.
fn is_domain(name: &str) -> bool {
    let label = |label: &str| {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=63).contains(&label.len()) && label.bytes().all(legal)
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= 253 && name.split('.').all(label) && !last.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::{base_url, homepage, link_host, secret_url};

    #[test]
    fn a_base_url_is_absolute_or_lies_below_an_earlier_upstream() {
        for url in [
            "",
            "https://a.example",
            "http://127.0.0.1:8080/v1",
            "https://[::1]:1/a",
            "https://a.example/v1/",
            "{api}/me",
        ] {
            assert_eq!(base_url(url, ["api"]), Ok(()), "{url}");
        }
        for url in [
            "ftp://a.example",
            "https://",
            "https:///a",
            "https://user@a.example",
            "https://a.example:99999",
            "https://a b",
            "https://a.example/a?b",
            "https://a.example#b",
            "https://a.example/a/../b",
            "https://a.example/a b",
            "https://1.2.3",
            "//a.example",
            "a.example",
            "{other}/me",
            "{api}me",
            "{api}",
            "{api",
        ] {
            assert!(base_url(url, ["api"]).is_err(), "{url}");
        }
    }

    #[test]
    fn a_link_host_is_a_name_or_a_wildcard_below_a_domain() {
        for host in ["a.example", "localhost", "127.0.0.1", "*.sharepoint.com", "*.files.acme.co.uk"] {
            assert_eq!(link_host(host), Ok(()), "{host}");
        }
        for host in
            ["", "*", "*.com", "*.", "a.*.com", "*a.com", "https://a.com", "a.com/x", "a.com:443", "a..b", "*.0.0.1"]
        {
            assert!(link_host(host).is_err(), "{host}");
        }
    }

    #[test]
    fn secrets_go_over_https_or_stay_on_the_machine() {
        for url in [
            "https://acme.example/token?a=b",
            "http://127.0.0.1:8080/token",
            "http://[::1]/",
            "http://localhost/",
            "https://acme.example/applications/{client_id}/token",
        ] {
            assert_eq!(secret_url(url), Ok(()), "{url}");
        }
        for url in
            ["http://acme.example/token", "http://10.0.0.1/", "http://localhost.example/", "ftp://localhost/", "/token"]
        {
            assert!(secret_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_home_page_is_an_https_url() {
        assert!(homepage("https://acme.example/connectors").is_ok());
        assert!(homepage("http://acme.example").is_err() && homepage("acme.example").is_err());
    }
}
