//! Receivers that webhooks are not sent to, and slow receivers, which delay no other one.

use std::net::TcpListener;

use serde_json::json;
use support::webhooks::make_secret;
use support::{Gate, Reply, Store, Upstream, module, wait_for};

use super::{connect, setup, telling, wait, wait_for_events};

#[test]
fn a_redirect_is_not_followed() {
    let (receiver, other) = (Upstream::start(), Upstream::start());
    other.reply("*", Reply::empty(200));
    receiver.reply("*", Reply::redirect(&other.url()).status(307));
    let gateway = setup(&Store::Sqlite, &receiver).start();
    make_secret(&gateway.client());
    connect(&gateway.client(), "one");
    let line = gateway.wait_for_log("the attempt", |line| line["message"] == "webhook not accepted");
    assert_eq!(line["status"], 307, "{line}");
    assert!(other.seen().is_empty());
}

#[test]
fn a_private_address_is_refused_before_any_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for host in ["127.0.0.1", "localhost"] {
        let gateway = telling(&Store::Sqlite, &format!("https://{host}:{port}/hook"), false).start();
        make_secret(&gateway.client());
        connect(&gateway.client(), "one");
        let line = gateway.wait_for_log("the attempt", |line| line["message"] == "webhook not accepted");
        let error = line["error"].as_str().unwrap();
        assert!(error.contains("`callbacks.allow_private_network`"), "{line}");
        assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
}

#[test]
fn a_gateway_whose_events_would_go_over_http_does_not_start() {
    let home = telling(&Store::Sqlite, "http://ops.example/hook", false).prepare();
    let refused = home.run(&["serve"]);
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("callbacks.events_url"), "{}", refused.stderr);
}

#[test]
fn without_a_secret_an_event_waits_for_one() {
    let receiver = Upstream::start();
    receiver.reply("*", Reply::empty(200));
    let gateway = setup(&Store::Sqlite, &receiver).start();
    connect(&gateway.client(), "one");
    let line = gateway.wait_for_log("the attempt", |line| line["message"] == "webhook not sent");
    assert_eq!(line["level"], "WARN", "{line}");
    assert!(line["error"].as_str().unwrap().contains("POST /webhooks/secrets"), "{line}");
    assert!(receiver.seen().is_empty());
    make_secret(&gateway.client());
    wait(&receiver, 1);
    wait_for_events(&gateway, "delivered", 1.0);
}

#[test]
fn a_slow_receiver_holds_up_no_other_one() {
    const JOBS: usize = 100;
    let (service, slow, fast, gate) = (Upstream::start(), Upstream::start(), Upstream::start(), Gate::default());
    service.reply("*", Reply::json(json!({})));
    slow.reply("*", Reply::empty(200).behind(&gate));
    fast.reply("*", Reply::empty(200));
    let account = module::account(&json!({"identifier": "account", "auth": "none"}));
    let gateway = support::Setup::new()
        .module("account", account)
        .config("[callbacks]\nallow_private_network = true")
        .upstream("account", "api", &service.url())
        .start();
    let client = gateway.client();
    make_secret(&client);
    let begin = |url: String| {
        let begun = client.call("account/collect", json!({"path": "/", "callback_urls": [url]})).ok();
        begun["job_id"].as_str().unwrap().to_owned()
    };
    let slow_jobs: Vec<_> = (0..JOBS).map(|number| begin(format!("{}/{number}", slow.url()))).collect();
    let statuses = || slow_jobs.iter().map(|id| client.get(&format!("/jobs/{id}")).ok()["status"].clone());
    wait_for("the jobs", || statuses().all(|status| status == "succeeded").then_some(()));
    begin(format!("{}/fast", fast.url()));
    wait(&fast, 1);
    let held = slow.seen().len();
    assert!((1..JOBS / 2).contains(&held), "{held} webhooks wait for the slow receiver at the same time");
    gate.open();
    wait(&slow, JOBS);
}
