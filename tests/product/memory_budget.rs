//! All calls together hold no more than `memory_mb`, and the process takes little more.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;
use support::wire::{connection, head};
use support::{Reply, Setup, Upstream, module, usage, wait_for};

#[test]
fn bodies_that_never_end_take_no_more_than_the_memory_for_calls() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).general("memory_mb = 14").start();
    let head = head("/connectors/liar/version", 5 << 20);
    let unfinished = [head.as_bytes(), &vec![b' '; 4 << 20]].concat();
    let held = || gateway.metric("gateway_memory_held_bytes");
    let _first = connection(&gateway.address(), &unfinished);
    let _second = connection(&gateway.address(), &unfinished);
    // Each has room for a part of what was announced and has not come.
    wait_for("two bodies", || (held() >= f64::from(8 << 20)).then_some(()));

    let mut third = connection(&gateway.address(), &unfinished);
    third.write_all(&vec![b' '; 1 << 20]).unwrap();
    let mut status = [0; 12];
    third.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 503");
    gateway.call("liar/version", json!({})).ok();
    assert!(held() <= gateway.metric("gateway_memory_limit_bytes"));
    drop((_first, _second));
    wait_for("the memory to be free", || (held() == 0.0).then_some(()));
}

#[test]
fn bodies_that_never_end_leave_memory_to_calls_that_run() {
    let gateway = Setup::new().guest("hostile").general("memory_mb = 32").start();
    let unfinished = head("/connectors/hostile/setting", 1 << 20).into_bytes();
    let unfinished = [unfinished, vec![b' '; (1 << 20) - 1]].concat();
    let _callers: Vec<TcpStream> = (0..32).map(|_| connection(&gateway.address(), &unfinished)).collect();
    let refused = "gateway_requests_total{connector=\"hostile\",operation=\"setting\",status=\"503\"}";
    // A quarter of the memory is kept.
    wait_for("the refusals", || (gateway.metric(refused) >= 8.0).then_some(()));
    gateway.call("hostile/huge_reply", json!({"bytes": 1 << 20})).ok();
}

#[test]
fn the_process_takes_little_more_than_the_memory_for_calls() {
    const MEMORY_MB: u64 = 64;
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).general("memory_mb = 64").start();
    let peak = || usage::peak_mb(gateway.process_id());
    let before = peak();
    // A million small objects take sixty times their text when they are parsed.
    let parts = format!(r#"{{"word":[{}1]}}"#, r#"{"a":1},"#.repeat(1_000_000));
    let call = gateway.client().request("POST", "/connectors/liar/version").header("content-type", "application/json");
    call.body(parts).send().problem(503, "busy");
    let few = format!(r#"{{"word":[{}1]}}"#, r#"{"a":1},"#.repeat(3));
    let call = gateway.client().request("POST", "/connectors/liar/version").header("content-type", "application/json");
    assert_eq!(call.body(few).send().violations().len(), 1);
    let head = head("/connectors/liar/version", 10 << 20);
    let unfinished = vec![b' '; 8 << 20];
    let _unfinished: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = connection(&gateway.address(), head.as_bytes());
            // The gateway may refuse the body before it is sent.
            let _ = stream.write_all(&unfinished);
            stream
        })
        .collect();
    wait_for("bodies", || (gateway.metric("gateway_memory_held_bytes") > 32e6).then_some(()));
    let grown = peak() - before;
    assert!(grown < MEMORY_MB + 100, "{grown} MB for a budget of {MEMORY_MB} MB");
}

#[test]
fn the_process_does_not_keep_the_memory_of_calls_that_have_ended() {
    const MEMORY_MB: u64 = 64;
    let gateway = Setup::new().guest("hostile").guest("liar").general("memory_mb = 64").start();
    gateway.call("hostile/hoard_documents", json!({"bytes": 1000, "count": 1, "keep": "all"})).ok();
    let before = usage::peak_mb(gateway.process_id());
    // Each call allocates until the budget refuses. Several threads free the memory.
    let client = gateway.client();
    let hoard = json!({"bytes": 1 << 20, "count": 200, "keep": "all"});
    for _ in 0..10 {
        let calls: Vec<_> =
            (0..3).map(|_| client.begin("/connectors/hostile/hoard_documents", hoard.clone())).collect();
        calls.into_iter().for_each(|call| assert!(call.wait().status >= 500, "each takes more than there is"));
        gateway.call("liar/version", json!({})).ok();
    }
    let grown = usage::peak_mb(gateway.process_id()) - before;
    assert!(grown < MEMORY_MB + 100, "{grown} MB for a budget of {MEMORY_MB} MB");
}

#[test]
fn an_answer_that_the_memory_for_calls_has_no_room_for_is_refused() {
    let service = Upstream::start();
    service.reply("/forward", Reply::json(json!({"text": "x".repeat(2 << 20), "more": 1})));
    let setup = Setup::new().module("liar", module::liar("version=1.0.0")).general("memory_mb = 1");
    let gateway = setup.upstream("liar", "api", &service.url()).start();
    // The answer has to be in memory to be shaped. Otherwise it streams.
    let problem = gateway.call("liar/forward", json!({"response_fields": ["more"]})).problem(503, "busy");
    assert_eq!(problem["retryable"], true);
    gateway.call("liar/forward", json!({})).ok();
    assert_eq!(gateway.metric("gateway_memory_held_bytes"), 0.0);
}
