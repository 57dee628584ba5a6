//! The address of a caller in the log, also behind a proxy.

use serde_json::Value;
use support::{Gateway, Setup};

/// The address in the log line of a call with these headers.
fn logged(gateway: &Gateway, id: &str, headers: &[(&str, &str)]) -> Value {
    let call = gateway.anonymous().request("GET", "/connectors").header("x-request-id", id);
    headers.iter().fold(call, |call, (name, value)| call.header(name, value)).send().problem(401, "unauthenticated");
    gateway.wait_for_log("the line of the call", |line| line["request_id"] == id)["caller_address"].clone()
}

const FORWARDED: [(&str, &str); 1] = [("x-forwarded-for", "203.0.113.9, 192.0.2.1")];

#[test]
fn a_caller_who_is_no_trusted_proxy_cannot_forge_its_address() {
    for config in ["", "trusted_proxies = [\"192.0.2.0/24\"]"] {
        let gateway = Setup::new().general(config).start();
        assert_eq!(logged(&gateway, "direct", &[]), "127.0.0.1");
        assert_eq!(logged(&gateway, "forged", &FORWARDED), "127.0.0.1", "{config}");
        assert_eq!(logged(&gateway, "forged-too", &[("forwarded", "for=192.0.2.1")]), "127.0.0.1", "{config}");
    }
}

#[test]
fn a_trusted_proxy_says_the_address_of_a_caller() {
    let gateway = Setup::new().general("trusted_proxies = [\"127.0.0.0/8\", \"10.0.0.7\"]").start();
    assert_eq!(logged(&gateway, "direct", &[]), "127.0.0.1");
    assert_eq!(logged(&gateway, "one", &FORWARDED), "192.0.2.1");
    let twice = [("x-forwarded-for", "203.0.113.9, 192.0.2.1"), ("x-forwarded-for", "10.0.0.7")];
    assert_eq!(logged(&gateway, "two", &twice), "192.0.2.1");
    let standard = [("forwarded", "for=203.0.113.9, for=\"[2001:db8::1]:4711\";proto=https")];
    assert_eq!(logged(&gateway, "standard", &standard), "2001:db8::1");
}
