//! The addresses that the gateway may connect to, and the resolver that checks them.
//!
//! A name is resolved once. All of its addresses are checked, and the connection goes to one of the
//! checked addresses. A second look-up could give another address (DNS rebinding).

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use futures_util::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;
use url::{Host, Url};

/// Resolves a host name. The ports of the addresses are ignored.
pub type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// The operating system's resolver.
pub fn system_lookup() -> Lookup {
    Arc::new(|host| Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.collect()) }))
}

/// Returns `true` if the host of a URL is this machine: `localhost` (RFC 6761, section 6.3) or a
/// loopback address.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => Ipv4Addr::is_loopback(&address),
        Some(Host::Ipv6(address)) => Ipv6Addr::is_loopback(&address),
        None => false,
    }
}

/// A forbidden address, as a cause in the error of a refused connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ForbiddenAddress {
    pub(super) address: IpAddr,
    pub(super) class: &'static str,
}

impl fmt::Display for ForbiddenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} is a {} address", self.address, self.class)
    }
}

impl std::error::Error for ForbiddenAddress {}

/// Checks that an address belongs to the public internet.
///
/// # Errors
/// `ForbiddenAddress` with the class of the address.
pub(super) fn check_public(address: IpAddr) -> Result<(), ForbiddenAddress> {
    let class = match address {
        IpAddr::V4(v4) => class_v4(v4),
        IpAddr::V6(v6) => class_v6(v6),
    };
    class.map_or(Ok(()), |class| Err(ForbiddenAddress { address, class }))
}

/// The class of an IPv4 address in the IANA registry of special-purpose addresses; `None` for
/// public ones.
fn class_v4(address: Ipv4Addr) -> Option<&'static str> {
    Some(match address.octets() {
        [0, ..] => "unspecified",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "private",
        [100, 64..=127, ..] => "transport-grade NAT",
        [127, ..] => "loopback",
        [169, 254, ..] => "link-local",
        [192, 0, 0, _] => "protocol assignment",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "documentation",
        [192, 88, 99, _] => "6to4 relay",
        [198, 18..=19, ..] => "benchmarking",
        [224..=239, ..] => "multicast",
        [255, 255, 255, 255] => "broadcast",
        [240..=255, ..] => "reserved",
        _ => return None,
    })
}

/// After the IANA registry of special-purpose addresses for IPv6. An address with an IPv4 address
/// in it leads to a translator, which could reach a private network. All of these are therefore
/// forbidden, except the mapped form, which is an IPv4 address.
fn class_v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return class_v4(mapped);
    }
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => "unspecified",
        [0, 0, 0, 0, 0, 0, 0, 1] => "loopback",
        [0, 0, 0, 0, 0, 0, _, _] => "IPv4-compatible",
        [0, 0, 0, 0, 0xffff, 0, _, _] => "IPv4-translated",
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] | [0x64, 0xff9b, 1, ..] => "NAT64",
        [0x100, 0, 0, 0 | 1, ..] => "discard",
        [0x2001, 0, ..] => "Teredo",
        [0x2001, 2, 0, ..] => "benchmarking",
        [0x2001, 0x10..=0x3f, ..] => "ORCHID",
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => "documentation",
        [0x2001, 0..=0x1ff, ..] => "protocol assignment",
        [0x2002, ..] => "6to4",
        [0x5f00, ..] => "segment routing",
        [0xfc00..=0xfdff, ..] => "unique local",
        [0xfe80..=0xfebf, ..] => "link-local",
        [0xfec0..=0xfeff, ..] => "site-local",
        [0xff00..=0xffff, ..] => "multicast",
        // Only 2000::/3 is assigned.
        [0x2000..=0x3fff, ..] => return None,
        _ => "reserved",
    })
}

/// The name could not be resolved. This says nothing about the service of that name.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotResolved(std::io::Error);

/// A resolver that refuses a name if one of its addresses is forbidden.
#[derive(Clone)]
pub(super) struct GuardedResolver {
    pub(super) lookup: Lookup,
    pub(super) allow_private: bool,
}

impl Service<Name> for GuardedResolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let addresses = (self.lookup)(name.as_str().to_owned());
        let allow_private = self.allow_private;
        Box::pin(async move {
            let mut addresses = addresses.await.map_err(|error| io::Error::other(NotResolved(error)))?;
            for address in &mut addresses {
                if !allow_private {
                    check_public(address.ip()).map_err(io::Error::other)?;
                }
                // Port 0 means the port of the URL.
                address.set_port(0);
            }
            Ok(addresses.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{egress_with, fetch, get, names};
    use super::super::{EgressError, Upstream, UpstreamSettings};
    use super::check_public;

    #[test]
    fn addresses_outside_of_the_public_internet_are_refused() {
        let classes = [
            ("unspecified", "0.0.0.0 0.1.2.3 ::"),
            ("loopback", "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1"),
            ("private", "10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 ::ffff:10.0.0.1"),
            ("transport-grade NAT", "100.64.0.1 100.127.255.255"),
            ("link-local", "169.254.169.254 fe80::1 febf::1"),
            ("protocol assignment", "192.0.0.8 2001:1::1 2001:1ff::1"),
            ("documentation", "192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1"),
            ("6to4 relay", "192.88.99.1"),
            ("benchmarking", "198.18.0.1 198.19.255.255 2001:2::1"),
            ("multicast", "224.0.0.1 239.255.255.255 ff02::1"),
            ("reserved", "240.0.0.1 255.255.255.254 4000::1 ::1:0:0:0 1::"),
            ("broadcast", "255.255.255.255"),
            ("IPv4-compatible", "::8.8.8.8 ::127.0.0.1"),
            ("IPv4-translated", "::ffff:0:127.0.0.1"),
            ("NAT64", "64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 64:ff9b:1:ffff::1"),
            ("6to4", "2002:7f00:1:: 2002:808:808::1"),
            ("Teredo", "2001::1 2001:0:ffff::1"),
            ("ORCHID", "2001:10::1 2001:2f:ffff::1"),
            ("discard", "100::1 100:0:0:1::1"),
            ("unique local", "fc00::1 fdff::1"),
            ("site-local", "fec0::1 feff::1"),
            ("segment routing", "5f00::1"),
        ];
        for (class, addresses) in classes {
            for address in addresses.split(' ') {
                assert_eq!(check_public(address.parse().unwrap()).unwrap_err().class, class, "{address}");
            }
        }
    }

    #[test]
    fn addresses_beside_the_refused_ranges_are_public() {
        let public = "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 \
                      172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 198.17.255.255 198.20.0.0 223.255.255.255 \
                      ::ffff:8.8.8.8 2001:200::1 2001:4860:4860::8888 2003::1 2606:4700::1 2a00::1";
        for address in public.split_whitespace() {
            assert_eq!(check_public(address.parse().unwrap()), Ok(()), "{address}");
        }
    }

    async fn guarded(base_url: &str, addresses: &[(&str, &[&str])]) -> EgressError {
        let host = url::Url::parse(base_url).unwrap().host_str().unwrap().to_owned();
        let settings = UpstreamSettings {
            name: "api".to_owned(),
            base_url: base_url.to_owned(),
            granted_hosts: vec![host],
            ..UpstreamSettings::default()
        };
        fetch(&egress_with(names(addresses)), &Upstream::new(settings).unwrap(), &get("/")).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_name_is_refused_if_any_of_its_addresses_is_private() {
        for addresses in [&["127.0.0.1"][..], &["93.184.215.14", "10.0.0.1"]] {
            let error = guarded("http://a.test", &[("a.test", addresses)]).await;
            assert!(matches!(&error, EgressError::Denied { detail } if detail.contains("a.test")), "{error}");
            assert!(!error.to_string().contains("0.1"), "the error contains the address: {error}");
        }
    }

    #[tokio::test]
    async fn literal_addresses_are_refused_in_every_notation() {
        let hosts = "127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 127.0.0.1. 0 169.254.169.254 [::1] [::ffff:10.0.0.1] \
                     [64:ff9b::a00:1] %31%32%37.0.0.1 １２７.0.0.1";
        for host in hosts.split_whitespace() {
            let error = guarded(&format!("http://{host}/"), &[]).await;
            assert!(matches!(error, EgressError::Denied { .. }), "{host}: {error}");
        }
    }

    #[tokio::test]
    async fn an_unknown_name_is_told_apart_from_a_service_that_does_not_answer() {
        let error = guarded("http://b.test", &[]).await;
        assert!(matches!(&error, EgressError::Unresolved { host, .. } if host == "b.test"), "{error}");
        assert!(error.to_string().contains("no such host"), "{error}");
    }
}
