//! The gateway stops gracefully: it refuses new calls and finishes the running ones.

use std::net::TcpStream;

use serde_json::json;
use support::{Gate, Gateway, Provider, Reply, Setup, module};

fn gateway(service: &Provider, config: &str) -> Gateway {
    Setup::new()
        .config(config)
        .module("liar", module::liar("version=1.0.0"))
        .upstream("liar", "api", &service.url())
        .start()
}

#[test]
fn running_calls_are_finished_before_the_end() {
    let (service, gate) = (Provider::start(), Gate::default());
    service.reply("/wait", Reply::json(json!({})).behind(&gate));
    service.reply("/forward", Reply::json(json!([1])).behind(&gate));
    let mut gateway = gateway(&service, "");
    let calls = ["wait", "forward"]
        .map(|operation| gateway.client().begin(&format!("/connectors/liar/{operation}"), json!({})));
    let http2 = gateway.client().over_http2().begin("/connectors/liar/forward", json!({}));
    service.wait_for_requests(3);
    gateway.ask_to_end();
    let address = gateway.address();
    support::wait_for("the port to close", || {
        TcpStream::connect(address.trim_start_matches("http://")).is_err().then_some(())
    });
    assert!(calls.iter().all(|call| !call.is_done()));
    gate.open();
    let [wait, forward] = calls;
    assert_eq!(wait.wait().ok()["version"], "version=1.0.0");
    assert_eq!(forward.wait().ok(), json!([1]));
    assert_eq!(http2.wait().ok(), json!([1]));
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(gateway.log().iter().any(|line| line["message"] == "stopped"));
}

#[test]
fn a_call_that_does_not_end_is_cut_off_after_the_configured_time() {
    let (service, gate) = (Provider::start(), Gate::default());
    service.reply("/wait", Reply::json(json!({})).behind(&gate));
    let mut gateway = gateway(&service, "drain_s = 1");
    let call = gateway.client().begin("/connectors/liar/wait", json!({}));
    service.wait_for_requests(1);
    assert_eq!(gateway.stop().code(), Some(0));
    assert!(call.try_wait().is_err());
    assert!(gateway.log().iter().any(|line| line["level"] == "WARN"), "the log warns of it");
}

#[test]
fn idle_connections_do_not_delay_the_end() {
    let service = Provider::start();
    let mut gateway = gateway(&service, "drain_s = 3600");
    let (client, other) = (gateway.client(), gateway.client().over_http2());
    client.call("liar/version", json!({})).ok();
    other.call("liar/version", json!({})).ok();
    let silent = TcpStream::connect(gateway.address().trim_start_matches("http://")).unwrap();
    assert_eq!(gateway.stop().code(), Some(0));
    drop((client, other, silent));
}
