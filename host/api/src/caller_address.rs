//! The address of a caller, for the log: of the other side of the connection, or the address that a
//! trusted proxy says.
//!
//! Anyone can send the headers of proxies. Each proxy adds the address that it was called from at
//! the end, so the list is read from its end, and ends at the first address that is no trusted
//! proxy.

use std::net::{IpAddr, SocketAddr};

use hyper::header::{FORWARDED, HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;

/// The header that most proxies set.
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address of the caller of a request with these headers, which came from `peer`.
pub(super) fn of(trusted: &[IpNet], peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(&address));
    if !is_trusted(peer) {
        return peer;
    }
    // The other header counts only without this one: a proxy passes a header on that it does not
    // know.
    let is_plain = headers.contains_key(X_FORWARDED_FOR);
    let header = if is_plain { X_FORWARDED_FOR } else { FORWARDED };
    let mut nearest = peer;
    for element in headers.get_all(header).iter().rev().flat_map(elements_from_the_end) {
        let address = if is_plain { address(element) } else { forwarded_for(element) };
        // An element that is no address was not added by a trusted proxy, or the proxy hides it.
        let Some(address) = address else { break };
        nearest = address;
        if !is_trusted(address) {
            break;
        }
    }
    nearest
}

/// The elements of one line of a header. Empty for a line with other characters than visible ones
/// of ASCII.
fn elements_from_the_end(line: &HeaderValue) -> impl Iterator<Item = &str> {
    line.to_str().unwrap_or_default().rsplit(',').map(str::trim)
}

/// The address in an element of `Forwarded` (RFC 7239): `for=192.0.2.1;proto=https`.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let mut parameters = element.split(';').filter_map(|parameter| parameter.split_once('='));
    let (_, node) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    address(node.trim().trim_matches('"'))
}

/// An address with or without a port. An IPv6 address may be in brackets.
fn address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let address: Option<IpAddr> = text.parse().ok().or_else(with_port).or_else(in_brackets);
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The address of a caller whose connection came from `peer` with these headers.
    fn of(peer: &str, headers: &[(HeaderName, &str)]) -> String {
        let trusted = ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().unwrap());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        super::of(&trusted, peer.parse().unwrap(), &map).to_string()
    }

    #[test]
    fn only_a_trusted_proxy_says_the_address_of_a_caller() {
        for header in [(X_FORWARDED_FOR, "192.0.2.1"), (FORWARDED, "for=192.0.2.1")] {
            assert_eq!(of("198.51.100.1", std::slice::from_ref(&header)), "198.51.100.1");
            assert_eq!(of("10.0.0.1", &[header]), "192.0.2.1");
        }
        assert_eq!(of("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn the_last_address_that_no_trusted_proxy_has_is_the_caller() {
        let forged = "203.0.113.9";
        for (value, expected) in [
            ("203.0.113.9, 192.0.2.1", "192.0.2.1"),
            ("203.0.113.9, 192.0.2.1, 10.0.0.2,fd00::1", "192.0.2.1"),
            ("203.0.113.9, 192.0.2.1:4711, [fd00::1]:80", "192.0.2.1"),
            ("203.0.113.9, 2001:db8::1", "2001:db8::1"),
            ("203.0.113.9, [2001:db8::1]", "2001:db8::1"),
            ("203.0.113.9, ::ffff:192.0.2.1", "192.0.2.1"),
            ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
            // The proxy at 10.0.0.2 does not say who called it.
            ("203.0.113.9, unknown, 10.0.0.2", "10.0.0.2"),
            ("203.0.113.9, ", "10.0.0.1"),
            ("", "10.0.0.1"),
        ] {
            assert_eq!(of("10.0.0.1", &[(X_FORWARDED_FOR, value)]), expected, "{value}");
        }
        let lines = [(X_FORWARDED_FOR, forged), (X_FORWARDED_FOR, "192.0.2.1"), (X_FORWARDED_FOR, "10.0.0.2")];
        assert_eq!(of("10.0.0.1", &lines), "192.0.2.1");
        // The proxy has set one of the headers, and passed the other one on.
        assert_eq!(of("10.0.0.1", &[(FORWARDED, "for=203.0.113.9"), (X_FORWARDED_FOR, "192.0.2.1")]), "192.0.2.1");
    }

    #[test]
    fn an_element_of_the_standard_header_has_parameters() {
        for (value, expected) in [
            ("for=203.0.113.9, proto=https; For=\"192.0.2.1:4711\" ;by=10.0.0.1", "192.0.2.1"),
            ("for=203.0.113.9, for=\"[2001:db8::1]:4711\", for=10.0.0.2", "2001:db8::1"),
            ("for=\"203.0.113.9, for=192.0.2.1", "192.0.2.1"),
            ("for=203.0.113.9, for=_hidden, for=10.0.0.2", "10.0.0.2"),
            ("for=203.0.113.9, proto=https", "10.0.0.1"),
        ] {
            assert_eq!(of("10.0.0.1", &[(FORWARDED, value)]), expected, "{value}");
        }
    }
}
