//! A gateway with the guest `hostile`, whose operations break the limits of the sandbox, and the
//! check that it still serves.

use serde_json::json;

use crate::{Gateway, Setup, Upstream};

/// A gateway with the hostile guest, an honest guest, and these limits in the section of the
/// hostile one. Requests of the hostile guest go to `upstream`.
pub fn gateway(upstream: &Upstream, limits: &str) -> Gateway {
    Setup::new().guest("hostile").guest("liar").upstream("hostile", "api", &upstream.url()).config(limits).start()
}

/// Checks that the gateway still serves the honest connector, and the harmless operation of the
/// hostile one.
///
/// # Panics
/// When a call fails, or returns something else than the guest answers.
#[track_caller]
pub fn assert_serves(gateway: &Gateway) {
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    assert_eq!(gateway.call("hostile/setting", json!({"key": "none"})).ok()["setting"], json!(null));
}
