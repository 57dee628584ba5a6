//! Callers, connectors and services that do harm. Each attack has its own phase, and runs on
//! several threads, against one gateway.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::module;
use support::wire::{PREFACE, connection, frame, head, post};

use crate::Run;
use crate::fleet::Site;
use crate::tally::{NO_ANSWER, outcome};

/// Connections of an attacker that does not finish its requests.
const SILENT: usize = 300;

/// Requests whose answers are not read.
const UNREAD: usize = 40;

/// Bodies that never end, and the bytes of each that are sent.
const UNFINISHED: usize = 60;
const UNFINISHED_BYTES: usize = 8 << 20;

/// The largest body that the gateway accepts, in bytes.
const LARGEST_BODY: usize = 10 << 20;

/// Time between two modules that take long to compile.
const BOMB_EVERY: Duration = Duration::from_secs(2);

/// Time between two looks at connections that the gateway has to close.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Time after which a caller gives up an answer that it does not read. The gateway gives up
/// earlier.
const GIVE_UP_AFTER: Duration = Duration::from_secs(7);

/// Time in which the gateway must have closed a connection without a request. It closes them after
/// five seconds.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// The outcome of a connection that the gateway should have closed.
const TOO_LONG: &str = "not closed in time";

/// The end of an attack.
pub(crate) struct Until(pub(crate) Instant);

impl Until {
    fn is_over(&self) -> bool {
        Instant::now() >= self.0
    }
}

/// Calls one operation after the other, and expects one of these outcomes of each.
fn call_all(run: &Run, site: &Site, until: &Until, load: &'static str, calls: &[(&str, Value)], expected: &[&str]) {
    for (path, body) in calls.iter().cycle() {
        if until.is_over() {
            return;
        }
        let call = site.client.request("POST", &format!("/connectors/hostile/{path}")).json(body);
        let (outcome, detail) = match call.try_send() {
            Ok(answer) => (outcome(&answer), answer.text()),
            // An answer that streams breaks off with its source.
            Err(error) => (NO_ANSWER.to_owned(), format!("{error:?}")),
        };
        let is_expected = expected.contains(&outcome.as_str());
        run.tally.note(load, &outcome, is_expected, || {
            format!("{} {path}: {}", site.name, detail.chars().take(300).collect::<String>())
        });
    }
}

/// A connector that breaks every limit.
pub(crate) fn hostile_module(run: &Run, site: &Site, until: &Until) {
    let calls = [
        ("endless_loop", json!({})),
        ("grow_memory", json!({})),
        ("endless_loop_at_once", json!({})),
        ("panic", json!({})),
        ("hoard_documents", json!({"bytes": 1 << 20, "count": 1000, "keep": "all"})),
        ("deep_recursion", json!({})),
        ("parse_without_end", json!({"bytes": 6 << 20})),
        ("deep_pointer", json!({"depth": 200_000})),
        ("huge_reply", json!({"bytes": 64 << 20})),
        ("hoard_children", json!({"items": 4_000_000, "named": false})),
    ];
    call_all(
        run,
        site,
        until,
        "hostile module",
        &calls,
        &["500 connector-failed", "503 busy", "504 upstream-timed-out"],
    );
}

/// Services that are slow, break off, or send garbage.
pub(crate) fn broken_upstreams(run: &Run, site: &Site, until: &Until) {
    let calls: Vec<(&str, Value)> = ["/slow", "/hang_up", "/cut", "/failed", "/garbage", "/endless"]
        .iter()
        .flat_map(|path| {
            let body = json!({"path": path, "method": "GET", "as_fault": true});
            [("forward_json", body.clone()), ("call", body)]
        })
        .collect();
    let expected = [
        "200",
        NO_ANSWER,
        "413 answer-too-large",
        "502 upstream-failed",
        "502 upstream-not-understood",
        "502 upstream-unreachable",
        "503 busy",
        "504 upstream-timed-out",
    ];
    call_all(run, site, until, "broken upstream", &calls, &expected);
}

/// Bodies of the largest size that are costly to validate.
pub(crate) fn costly_bodies(run: &Run, site: &Site, until: &Until) {
    let largest = |begin: &str, item: &str, end: &str| {
        let count = (LARGEST_BODY - begin.len() - end.len()) / (item.len() + 1);
        format!("{begin}{}{end}", vec![item; count].join(","))
    };
    let bodies = [
        largest(r#"{"response_filters":["#, "1", "]}"),
        largest(r#"{"response_fields":["#, r#""a""#, "]}"),
        largest("{", r#""key":"a""#, "}"),
        largest(r#"{"list":["#, r#"{"a":1}"#, "]}"),
    ];
    for body in bodies.iter().cycle() {
        if until.is_over() {
            return;
        }
        let call = site.client.request("POST", "/connectors/hostile/setting");
        let answer = call.header("content-type", "application/json").body(body.clone()).try_send();
        let outcome = answer.as_ref().map_or_else(|_| NO_ANSWER.to_owned(), outcome);
        let expected = ["422 validation", "503 busy"].contains(&outcome.as_str());
        run.tally.note("costly body", &outcome, expected, || format!("{}: {answer:?}", site.name));
    }
}

/// Answers that are not read, over both versions of HTTP.
pub(crate) fn unread_answers(run: &Run, site: &Site, until: &Until) {
    let request = json!({"path": "/large", "method": "GET"}).to_string();
    let plain = head("/connectors/hostile/forward", request.len()) + &request;
    // SETTINGS_INITIAL_WINDOW_SIZE is 4.
    let mut multiplexed = [PREFACE, &frame(4, 0, 0, &[0, 4, 0, 0, 0, 0])].concat();
    for stream in (1..40).step_by(2) {
        multiplexed.extend(frame(1, 4, stream, &post("/connectors/hostile/forward")));
        multiplexed.extend(frame(0, 1, stream, request.as_bytes()));
    }
    let open = |number| connection(&site.address, if number % 8 == 0 { &multiplexed } else { plain.as_bytes() });
    hold(run, site, until, "unread answer", UNREAD, open, given_up);
}

/// Connections that send nothing, or half of a request.
pub(crate) fn silent_connections(run: &Run, site: &Site, until: &Until) {
    let beginnings: [&[u8]; 4] =
        [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ", &PREFACE[..12]];
    let open = |number| connection(&site.address, beginnings[number % beginnings.len()]);
    hold(run, site, until, "silent connection", SILENT, open, closed);
}

/// Large bodies that are never sent to their end.
pub(crate) fn unfinished_bodies(run: &Run, site: &Site, until: &Until) {
    let request = head("/connectors/hostile/setting", LARGEST_BODY);
    let piece = vec![b' '; UNFINISHED_BYTES];
    let open = |_| {
        let mut stream = connection(&site.address, request.as_bytes());
        // The gateway may refuse the body and close the connection in the meantime.
        let _ = stream.write_all(&piece);
        stream
    };
    hold(run, site, until, "unfinished body", UNFINISHED, open, closed);
}

/// Holds a number of connections, and replaces those that end.
fn hold(
    run: &Run,
    site: &Site,
    until: &Until,
    load: &'static str,
    count: usize,
    open: impl Fn(usize) -> TcpStream,
    end: impl Fn(&TcpStream, Instant) -> Option<&'static str>,
) {
    let mut held: Vec<(TcpStream, Instant)> = Vec::new();
    let mut opened = 0;
    while !until.is_over() {
        while held.len() < count && !until.is_over() {
            held.push((open(opened), Instant::now()));
            opened += 1;
        }
        thread::sleep(LOOK_EVERY);
        held.retain(|(stream, since)| match end(stream, *since) {
            Some(outcome) => {
                run.tally.note(load, outcome, outcome != TOO_LONG, || site.name.to_owned());
                false
            }
            None => true,
        });
    }
}

/// The outcome of a connection that the gateway closes, as it must. The little that it has sent
/// before is read.
fn closed(mut stream: &TcpStream, since: Instant) -> Option<&'static str> {
    let is_open = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
    match stream.set_nonblocking(true).and_then(|()| stream.read(&mut [0; 512])) {
        Ok(0) => Some("closed"),
        Ok(_) => None,
        Err(error) if is_open(&error) => (since.elapsed() > MAX_WAIT).then_some(TOO_LONG),
        Err(_) => Some("closed"),
    }
}

/// The outcome of a connection whose caller gives up. Nothing is read, so it does not learn that
/// the gateway has closed the connection.
fn given_up(_: &TcpStream, since: Instant) -> Option<&'static str> {
    (since.elapsed() > GIVE_UP_AFTER).then_some("given up")
}

/// Modules that take long to compile. Each must be refused.
pub(crate) fn compile_bombs(run: &Run, site: &Site, until: &Until) {
    let bomb = module::compile_bomb("", 4000, 1000);
    for number in 0.. {
        if until.is_over() {
            break;
        }
        let bomb = module::with_note(&bomb, &format!("{number} of {:?}", until.0));
        site.with(|gateway| gateway.home().put("bomb", &bomb));
        let began = Instant::now();
        let refused = || site.with(|gateway| gateway.refusal("bomb.wasm")).flatten();
        let digest = module::digest(&bomb);
        while refused().is_none_or(|refused| refused["sha256"] != digest) && began.elapsed() < Duration::from_secs(30) {
            thread::sleep(LOOK_EVERY);
        }
        let reason = refused().map(|refused| refused["reason"].to_string()).unwrap_or_default();
        let expected = reason.contains("compile.memory_mb") || reason.contains("compile.cpu_s");
        let outcome = if expected { "refused" } else { "not refused" };
        run.tally.note("compile bomb", outcome, expected, || format!("{}: {reason}", site.name));
        thread::sleep(BOMB_EVERY.saturating_sub(began.elapsed()));
    }
    site.with(|gateway| std::fs::remove_file(gateway.home().module("bomb")));
}
