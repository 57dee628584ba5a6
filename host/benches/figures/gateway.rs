//! The gateway under test: the real binary with every connector of the product and the guest
//! `bench`, whose operation is called.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use serde_json::json;
use support::{Gateway, Setup, module};

use crate::load::Target;
use crate::settings::Outcome;

/// The guest whose operation is called.
const GUEST: &str = "bench";

/// An upstream for sections that do not call it: the discard port of loopback.
pub(crate) const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9);

/// Starts a gateway with an empty cache of compiled modules. The guest's upstream is at `upstream`.
///
/// # Errors
/// When a connector is not live.
pub(crate) fn start(upstream: SocketAddr) -> Outcome<Gateway> {
    start_with(upstream, |setup| setup)
}

/// As [`start`], with further settings.
///
/// # Errors
/// When a connector is not live.
pub(crate) fn start_with(upstream: SocketAddr, further: impl FnOnce(Setup) -> Setup) -> Outcome<Gateway> {
    start_alone(upstream, |setup| further(setup.every_shipped()))
}

/// As [`start_with`], without the connectors of the product.
///
/// # Errors
/// When a connector is not live.
pub(crate) fn start_alone(upstream: SocketAddr, further: impl FnOnce(Setup) -> Setup) -> Outcome<Gateway> {
    start_at(&format!("http://{upstream}"), further)
}

/// As [`start`], for an upstream that speaks TLS. `roots` is the file of the root certificate.
///
/// # Errors
/// When a connector is not live.
pub(crate) fn start_over_tls(upstream: SocketAddr, roots: &Path) -> Outcome<Gateway> {
    let roots = roots.to_str().ok_or("the path is not UTF-8")?;
    start_at(&format!("https://{upstream}"), |setup| setup.every_shipped().variable("SSL_CERT_FILE", roots))
}

fn start_at(upstream: &str, further: impl FnOnce(Setup) -> Setup) -> Outcome<Gateway> {
    let setup = Setup::new()
        .guest(GUEST)
        .upstream(GUEST, "api", upstream)
        // Many calls wait at the same time in the memory section, and they wait longer than the
        // default timeout.
        .config("limits = { concurrency = 20000, timeout_s = 60 }")
        .cold();
    let gateway = further(setup).start();
    let list = gateway.client().get("/connectors").ok();
    if list["refused"] != json!([]) {
        return Err(format!("a connector is not live: {}\n{}", list["refused"], gateway.lines().join("\n")).into());
    }
    Ok(gateway)
}

/// Number of connectors in the gateway.
pub(crate) fn connectors() -> usize {
    module::shipped_names().len() + 1
}

/// Address of the gateway.
///
/// # Errors
/// When its base URL has another form than `http://ADDRESS:PORT`.
pub(crate) fn address(gateway: &Gateway) -> Outcome<SocketAddr> {
    let address = gateway.address();
    let address = address.strip_prefix("http://").ok_or("the gateway's URL does not begin with http://")?;
    Ok(address.trim_end_matches('/').parse()?)
}

/// Calls of the guest's thin operation.
pub(crate) fn thin(gateway: &Gateway, item: &str) -> Outcome<Target> {
    let body = format!(r#"{{"item_id":"{item}","view":"full"}}"#);
    Ok(Target::new("gateway", address(gateway)?, "/connectors/bench/get_item", body))
}

/// Calls of the same operation with a rate limit.
pub(crate) fn limited(gateway: &Gateway, item: &str) -> Outcome<Target> {
    let body = format!(r#"{{"item_id":"{item}","view":"full"}}"#);
    Ok(Target::new("gateway", address(gateway)?, "/connectors/bench/get_limited_item", body))
}

/// The guest's module.
pub(crate) fn guest() -> Vec<u8> {
    module::guest(GUEST)
}
