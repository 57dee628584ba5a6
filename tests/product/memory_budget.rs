//! All calls together hold no more than `memory_mb`, and the process takes little more.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use support::wire::{connection, head};
use support::{Reply, Setup, Upstream, gzip, module, usage, wait_for};

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
fn calls_that_use_much_memory_in_many_ways_do_not_add_up_to_several_times_the_memory_for_calls() {
    const MEMORY_MB: u64 = 256;
    let gateway = Setup::new().guest("hostile").general(&format!("memory_mb = {MEMORY_MB}"));
    let gateway = gateway.config("[connectors.hostile.limits]\ncpu_ms = 300").start();
    let calls = [
        ("grow_memory", json!({})),
        ("hoard_documents", json!({"bytes": 1 << 20, "count": 1000, "keep": "all"})),
        ("parse_without_end", json!({"bytes": 6 << 20})),
        ("deep_pointer", json!({"depth": 200_000})),
        ("hoard_children", json!({"items": 4_000_000, "named": false})),
    ];
    let client = gateway.client();
    gateway.call("hostile/setting", json!({"key": "none"})).ok();
    let before = usage::peak_mb(gateway.process_id());
    // The callers begin at different places, so that what one way frees is not what the next one
    // needs.
    std::thread::scope(|scope| {
        for caller in 0..3 {
            let (client, calls) = (&client, &calls);
            scope.spawn(move || {
                for (operation, body) in calls.iter().cycle().skip(caller).take(4 * calls.len()) {
                    let answer = client.call(&format!("hostile/{operation}"), body.clone());
                    assert!(answer.status >= 500, "{operation}: {}", answer.text());
                }
            });
        }
    });
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
    wait_for("the memory to be free", || (gateway.metric("gateway_memory_held_bytes") == 0.0).then_some(()));
}

/// The file and its form in base64 are in memory at the same time.
#[test]
fn the_json_form_of_a_file_is_a_part_of_the_memory_for_calls() {
    let service = Upstream::start();
    service.reply("/file", Reply::typed("application/pdf", vec![7; 7 << 20]));
    service.reply("/small", Reply::typed("application/pdf", vec![7; 1 << 20]));
    let setup = Setup::new().guest("hostile").upstream("hostile", "api", &service.url());
    let gateway = setup.general("memory_mb = 15").start();
    gateway.call("hostile/forward_file", json!({"path": "/small"})).ok();
    gateway.call("hostile/forward_file", json!({"path": "/file"})).problem(503, "busy");
    // The bytes themselves stream.
    let bytes =
        gateway.client().request("POST", "/connectors/hostile/forward_file").header("accept", "application/pdf");
    assert_eq!(bytes.json(&json!({"path": "/file"})).send().body.len(), 7 << 20);
    wait_for("the memory to be free", || (gateway.metric("gateway_memory_held_bytes") == 0.0).then_some(()));
}

#[test]
fn answers_that_inflate_without_end_are_refused_and_take_no_more_than_the_memory_for_calls() {
    const MEMORY_MB: u64 = 64;
    let upstream = Upstream::start();
    let packed = |bytes: Vec<u8>| Reply::typed("application/json", bytes).header("content-encoding", "gzip");
    upstream.reply("/bomb", packed(gzip::bomb(1024)));
    // The layer inside is a bomb as well, and it is not opened.
    upstream.reply("/twice", packed(gzip::compressed(&gzip::bomb(1024))));
    // Nothing but gzip is asked for.
    let encodings = ["br", "zstd", "deflate", "gzip, gzip"];
    for encoding in encodings {
        let reply = Reply::typed("application/json", gzip::bomb(64)).header("content-encoding", encoding);
        upstream.reply(&format!("/{}", encoding.len()), reply);
    }
    upstream.reply("/honest", packed(gzip::compressed(br#"{"a": 1}"#)));
    let limits = "limits.response_mb = 4096\nlimits.download_mb = 4096";
    let setup = Setup::new().guest("hostile").upstream("hostile", "api", &upstream.url()).config(limits);
    let gateway = setup.general(&format!("memory_mb = {MEMORY_MB}")).start();
    let client = gateway.client();
    let honest = || client.call("hostile/forward", json!({"path": "/honest", "response_fields": ["a"]}));
    assert_eq!(honest().ok(), json!({"a": 1}));
    let before = usage::peak_mb(gateway.process_id());

    let read = |form: &str| json!({"path": "/bomb", "form": form});
    let shaped = json!({"path": "/bomb", "response_fields": ["a"]});
    let ways = [("read_body", read("bytes")), ("read_body", read("document")), ("forward", shaped)];
    let begin = |(way, body): &(&str, Value)| client.begin(&format!("/connectors/hostile/{way}"), body.clone());
    let calls: Vec<_> = ways.iter().cycle().take(42).map(begin).collect();
    assert_eq!(honest().ok(), json!({"a": 1}), "others are served meanwhile");
    for call in calls {
        let answer = call.wait();
        // The bombs share the memory, so that some of them meet that limit first.
        match answer.status {
            503 => drop(answer.problem(503, "busy")),
            _ => {
                let problem = answer.problem(502, "upstream-not-understood");
                assert!(problem["detail"].as_str().unwrap().contains("decompression bomb"), "{problem}");
                assert_eq!(problem["owner"], "provider");
            }
        }
    }
    let alone = client.call("hostile/forward", ways[2].1.clone()).problem(502, "upstream-not-understood");
    assert!(alone["detail"].as_str().unwrap().contains("decompression bomb"), "{alone}");
    for path in encodings.map(|encoding| format!("/{}", encoding.len())).into_iter().chain(["/twice".to_owned()]) {
        let body = json!({"path": path, "response_fields": ["a"]});
        client.call("hostile/forward", body).problem(502, "upstream-not-understood");
    }
    let grown = usage::peak_mb(gateway.process_id()) - before;
    assert!(grown < MEMORY_MB + 100, "{grown} MB for a budget of {MEMORY_MB} MB");
    wait_for("the memory to be free", || (gateway.metric("gateway_memory_held_bytes") == 0.0).then_some(()));
    assert_eq!(honest().ok(), json!({"a": 1}));
}
