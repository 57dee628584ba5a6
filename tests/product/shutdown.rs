//! The gateway stops gracefully: it refuses new calls and finishes the running ones.

use std::net::TcpStream;

use serde_json::json;
use support::process::{Process, in_shell};
use support::{Client, Gate, Gateway, Reply, Setup, Upstream, module};

fn gateway(service: &Upstream, config: &str) -> Gateway {
    Setup::new()
        .config(config)
        .module("liar", module::liar("version=1.0.0"))
        .upstream("liar", "api", &service.url())
        .start()
}

#[test]
fn running_calls_are_finished_before_the_end() {
    let (service, gate) = (Upstream::start(), Gate::default());
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
    let (service, gate) = (Upstream::start(), Gate::default());
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
    let service = Upstream::start();
    let mut gateway = gateway(&service, "drain_s = 3600");
    let (client, other) = (gateway.client(), gateway.client().over_http2());
    client.call("liar/version", json!({})).ok();
    other.call("liar/version", json!({})).ok();
    let silent = TcpStream::connect(gateway.address().trim_start_matches("http://")).unwrap();
    assert_eq!(gateway.stop().code(), Some(0));
    drop((client, other, silent));
}

#[test]
fn a_call_with_an_idempotency_key_is_cut_off_too_and_never_run_again() {
    let (service, gate) = (Upstream::start(), Gate::default());
    service.reply("/slow", Reply::json(json!({})).behind(&gate));
    let setup = Setup::new().config("drain_s = 0").guest("hostile");
    let mut gateway = setup.upstream("hostile", "api", &service.url()).start();
    let write = |gateway: &Gateway| {
        let call = gateway.client().request("POST", "/connectors/hostile/write").header("idempotency-key", "k");
        call.json(&json!({"method": "POST", "path": "/slow"}))
    };
    let call = write(&gateway).begin();
    service.wait_for_requests(1);
    assert_eq!(gateway.stop().code(), Some(0));
    assert!(call.try_wait().is_err());
    let gateway = gateway.start_again();
    write(&gateway).send().problem(409, "idempotent-call-lost");
    assert_eq!(service.seen().len(), 1);
}

/// Starts a gateway by a line of shell, and waits until it serves. Returns its address too.
fn started(line: &str) -> (support::Home, Process, String) {
    let home = Setup::new().prepare();
    let mut gateway = Process::start(&mut in_shell(line, &home.command(&["serve"])));
    let address = gateway.wait_for_line("Connector Gateway is at ");
    (home, gateway, address)
}

#[test]
fn a_closed_terminal_stops_the_gateway_as_sigterm_does() {
    let (_home, mut gateway, _) = started("exec env --default-signal=HUP \"$0\" \"$@\"");
    gateway.hang_up();
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(gateway.lines().iter().any(|line| line.contains("\"stopped\"")), "{:?}", gateway.lines());
}

#[test]
fn a_gateway_that_was_started_with_nohup_outlives_its_terminal() {
    let (_home, mut gateway, address) = started("exec env --ignore-signal=HUP \"$0\" \"$@\"");
    gateway.hang_up();
    assert_eq!(Client::new(&address).get("/healthz").status, 200);
    gateway.ask_to_end();
    assert_eq!(gateway.wait().code(), Some(0));
}
