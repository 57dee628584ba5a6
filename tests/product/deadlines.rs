//! A call ends at its deadline, which is counted from its arrival. A call over a limit is refused
//! before it waits for anything.

use std::io::Read;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use support::wire::connection;
use support::{Client, Dialect, Endpoint, Gate, Gateway, OAuthProvider, Reply, Setup, Store, Upstream, module};

use crate::integrations::{connect, record, started};

/// A gateway with the account of ada, whose access token has expired. The provider answers no
/// refresh before the gate opens.
struct Expired {
    provider: OAuthProvider,
    _gateway: Gateway,
    client: Client,
    refresh: Gate,
}

impl Expired {
    /// `manifest` adds to the manifest of the connector, `limits` to its configuration. `prepare`
    /// runs before the token expires.
    fn new(manifest: &Value, limits: &str, prepare: impl FnOnce(&Client)) -> Self {
        let provider = OAuthProvider::start(Dialect::strict().living(3));
        let setup = Setup::new().on(&Store::Sqlite).account_with("account", &provider, manifest).config(limits);
        let gateway = started(setup.module("liar", module::liar("version=1.0.0")), &provider);
        let client = gateway.client();
        connect(&client, "account", "ada");
        prepare(&client);
        provider.set_lifetime(Some(3600));
        let refresh = Gate::default();
        provider.hold_tokens(&refresh);
        let expires = record(&client, "ada")["expires_at"].as_str().unwrap().to_owned();
        support::wait_for("the token to expire", || {
            let now = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
            (now > expires).then_some(())
        });
        Self { provider, _gateway: gateway, client, refresh }
    }
}

#[test]
fn a_slow_refresh_and_a_slow_upstream_share_one_deadline() {
    // The later call is to another service and has 6 s.
    let (service, never) = (Upstream::start(), Gate::default());
    service.reply("/wait", Reply::json(json!({})).behind(&never));
    let limits = format!(
        "limits.timeout_s = 8\n[connectors.liar]\nlimits.timeout_s = 6\nallow_private_network = true\nupstreams.api = \"{}\"",
        service.url()
    );
    let expired = Expired::new(&json!({}), &limits, |_| {});
    let unanswered = never.clone();
    expired.provider.on_api(move |_, _| Reply::json(json!({})).behind(&unanswered));

    let call = expired.client.begin("/connectors/account/forward", json!({"path": "/me"}));
    expired.provider.wait_for(Endpoint::Refresh, 1);
    thread::sleep(Duration::from_secs(6));
    expired.refresh.open();
    let later = expired.client.begin("/connectors/liar/wait", json!({}));

    // If the time of the refresh were not counted, the call would have 8 s from here, and the later
    // call would end first.
    call.wait().problem(504, "upstream-timed-out");
    assert!(!later.is_done(), "the call ends at its own deadline, before the later call");
    later.wait().problem(504, "upstream-timed-out");
}

#[test]
fn a_call_ends_at_its_deadline_during_a_refresh() {
    let expired = Expired::new(&json!({}), "limits.timeout_s = 4", |_| {});
    let calls_before = expired.provider.api_calls().len();
    let answer = expired.client.call("account/forward", json!({"path": "/me"}));
    let problem = answer.problem(504, "upstream-timed-out");
    assert!(problem["detail"].as_str().unwrap().contains("refresh"), "{problem}");
    assert_eq!(expired.provider.api_calls().len(), calls_before, "the expired token is not sent");
}

#[test]
fn a_call_over_the_rate_limit_does_not_wait_for_a_refresh() {
    let composed = |client: &Client| client.call("account/composed", json!({"path": "/me"}));
    let expired = Expired::new(&json!({"rate_limit": 1}), "", |client| drop(composed(client).ok()));
    // The refresh is held back, so a call that waits for it gets no answer.
    composed(&expired.client).problem(429, "rate-limited");
    expired.refresh.open();
}

#[test]
fn a_call_over_the_concurrency_limit_does_not_wait_for_a_refresh() {
    let expired = Expired::new(&json!({}), "limits.concurrency = 1", |_| {});
    let mut calls: Vec<_> =
        (0..2).map(|_| expired.client.begin("/connectors/account/forward", json!({"path": "/me"}))).collect();
    // The refresh is held back, so the call with the permit gets no answer.
    let refused = support::wait_for("one call to be refused", || calls.iter().position(|call| call.is_done()));
    calls.remove(refused).wait().problem(503, "busy");
    expired.refresh.open();
    calls.remove(0).wait().ok();
}

#[test]
fn a_body_that_does_not_arrive_ends_the_call_at_its_deadline() {
    let (service, never) = (Upstream::start(), Gate::default());
    service.reply("/wait", Reply::json(json!({})).behind(&never));
    let gateway = Setup::new()
        .module("liar", module::liar("version=1.0.0"))
        .guest("hostile")
        .upstream("liar", "api", &service.url())
        .config("limits.timeout_s = 120\n[connectors.hostile]\nlimits.timeout_s = 1")
        .start();
    let other = gateway.client().begin("/connectors/liar/wait", json!({}));
    let head = format!(
        "POST /connectors/hostile/huge_log HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\nconnection: close\r\n\r\n{{",
        support::setup::KEY
    );
    let mut stream = connection(&gateway.address(), head.as_bytes());
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(!other.is_done(), "a call with a later deadline is not affected");
}
