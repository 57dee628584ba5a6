//! Whatever callers send and do not read, on each kind of route: the process takes little more than
//! the gateway says that calls hold.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use support::setup::KEY;
use support::wire::narrow_connection;
use support::{Gate, Gateway, Reply, Setup, Store, Upstream, module, usage, wait_for};

/// The budget of memory for calls.
const MEMORY_MB: u64 = 96;

/// Memory that the process may take besides the budget: the buffers of 40 connections with callers
/// and services, which the HTTP library lets grow to 400 KiB each, the instances of calls that run,
/// of which batches have 160 at once, and what the allocator keeps of freed memory.
const TOLERANCE_MB: u64 = 192;

/// Callers of each kind. What all of them want is several times the budget.
const CALLERS: usize = 40;

/// Bytes of a body, and of an answer.
const LARGE: usize = 8 << 20;

/// Looks at the process after all callers have sent what they send.
const LOOKS: u32 = 40;

/// The most looks until calls hold [`FULL_MB`]. A busy machine takes some time.
const MOST_LOOKS: u32 = 1000;

/// The megabytes that calls hold at least, if their bytes have to be in memory.
const FULL_MB: f64 = 24.0;

/// The requests of callers on one route.
struct Kind {
    name: &'static str,
    request: String,
    /// Bytes that follow the request. It announces more of them, which never come.
    body: usize,
    /// `true` if the bytes have to be in memory, and are not passed on or written to a disk.
    is_held: bool,
}

fn head(method: &str, path: &str, content_type: &str, length: usize) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: {content_type}\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// Callers whose bodies never end.
fn unfinished(name: &'static str, path: &str, content_type: &str, is_held: bool) -> Kind {
    Kind { name, request: head("POST", path, content_type, LARGE + 1), body: LARGE, is_held }
}

/// Callers who do not read the answer.
fn unread(name: &'static str, path: &str, body: &Value, is_held: bool) -> Kind {
    let body = body.to_string();
    Kind { name, request: head("POST", path, "application/json", body.len()) + &body, body: 0, is_held }
}

fn unread_page(name: &'static str, path: &str) -> Kind {
    Kind { name, request: head("GET", path, "text/plain", 0), body: 0, is_held: false }
}

fn kinds() -> Vec<Kind> {
    let operation = |name: &str| format!("/connectors/hostile/{name}");
    let tool = |arguments: Value| {
        let name = "hostile__huge_reply";
        json!({"jsonrpc": "2.0", "id": "i".repeat(1024), "method": "tools/call", "params": {
            "name": name, "arguments": arguments, "_meta": {"progressToken": "t".repeat(1024)}
        }})
    };
    let call = |number: usize| {
        let mut call = tool(json!({"bytes": 390_000}));
        call["id"] = json!(number);
        call["params"]["_meta"] = json!({});
        call
    };
    let batch: Vec<Value> = (0..50).map(call).collect();
    let listen = json!({"jsonrpc": "2.0", "id": "i".repeat(1024), "method": "subscriptions/listen", "params": {
        "notifications": {"toolsListChanged": true}, "_meta": {"padding": "p".repeat(LARGE)}
    }});
    vec![
        unfinished("bodies of operations", &operation("setting"), "application/json", true),
        unfinished("bodies of agents", "/mcp", "application/json", true),
        unfinished("requests to /proxy", "/proxy/hostile/api/read", "application/octet-stream", false),
        unfinished("modules", "/admin/connectors", "application/wasm", false),
        unfinished("accounts", "/admin/integrations/import", "application/x-ndjson", false),
        unread("answers of connectors", &operation("huge_reply"), &json!({"bytes": LARGE}), true),
        unread("answers of services", &operation("forward"), &json!({"path": "/large"}), false),
        unread("shaped answers", &operation("forward"), &json!({"path": "/large", "response_fields": ["text"]}), true),
        unread("files", &operation("forward_file"), &json!({"path": "/large"}), false),
        unread("answers to /proxy", "/proxy/hostile/api/large", &json!({}), false),
        unread("batches", "/mcp", &json!(batch), true),
        unread("streams with large parameters", "/mcp", &listen, false),
        unread("tools", "/mcp", &tool(json!({"bytes": 390_000})), false),
        unread_page("the description", "/openapi.json"),
        unread_page("the page of the description", "/docs"),
        unread_page("the console", "/console"),
        unread_page("metrics", "/metrics"),
        unread_page("the list of connectors", "/connectors"),
        unread_page("the list of changes", "/admin/history"),
    ]
}

/// Begins the calls of all callers of a kind.
fn begin(gateway: &Gateway, kind: &Kind) -> Vec<TcpStream> {
    let address = gateway.address();
    let call = || {
        let mut stream = narrow_connection(&address, b"");
        stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
        // The gateway may refuse a request before all of it is sent.
        let _ = stream.write_all(kind.request.as_bytes()).and_then(|()| stream.write_all(&vec![b' '; kind.body]));
        stream
    };
    thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(call)).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    })
}

#[test]
fn on_each_kind_of_route_the_process_takes_little_more_than_what_calls_hold() {
    let service = Upstream::start();
    service.reply("/large", Reply::json(json!({"text": "x".repeat(LARGE)})));
    service.reply("/read", Reply::json(json!({})));
    let limits = "limits = { concurrency = 200, tenant_share = 1.0, cpu_ms = 10000 }";
    for kind in kinds() {
        // A gateway for each kind, so that none is measured with what the allocator keeps of another one.
        let gateway = Setup::new()
            .guest("hostile")
            .upstream("hostile", "api", &service.url())
            .config(limits)
            .config("[mcp]\nmax_result_kb = 400\ndirect_tools = 200")
            .general(&format!("memory_mb = {MEMORY_MB}"))
            .start();
        let held_mb = || gateway.metric("gateway_memory_held_bytes") / f64::from(1 << 20);
        let resident = || usage::resident_mb(gateway.process_id()).unwrap();
        gateway.call("hostile/forward", json!({"path": "/read"})).ok();
        gateway.call("hostile/huge_reply", json!({"bytes": 1})).ok();
        let before = resident();
        let filling = thread::scope(|scope| {
            let filling = scope.spawn(|| begin(&gateway, &kind));
            let (mut most_held, mut most_beside, mut looks) = (0.0_f64, 0.0_f64, 0);
            while looks < LOOKS || kind.is_held && most_held <= FULL_MB && looks < MOST_LOOKS {
                looks += u32::from(filling.is_finished());
                // A call may begin or end between two looks.
                let (first, taken, second) = (held_mb(), resident(), held_mb());
                most_held = most_held.max(first).max(second);
                most_beside = most_beside.max(taken.saturating_sub(before) as f64 - first.max(second));
                thread::sleep(Duration::from_millis(20));
            }
            println!("{}: {most_held:.0} MB are held, and the process takes {most_beside:.0} MB beside", kind.name);
            assert!(most_held <= MEMORY_MB as f64, "{}: {most_held} MB", kind.name);
            assert!(most_beside <= TOLERANCE_MB as f64, "{}: {most_beside} MB besides {most_held} MB", kind.name);
            assert!(!kind.is_held || most_held > FULL_MB, "{}: only {most_held} MB are held", kind.name);
            filling.join().unwrap()
        });
        drop(filling);
        wait_for(kind.name, || (held_mb() < 1.0).then_some(()));
    }
}

/// Over HTTP, as the answer of a tool, and as the last event of a call that waits.
#[test]
fn the_result_of_a_job_is_held_until_its_caller_has_read_it() {
    let service = Upstream::start();
    service.reply("/large", Reply::json(json!({"text": "x".repeat(LARGE)})));
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new()
        .module("account", module::account(&described))
        .upstream("account", "api", &service.url())
        .config("[mcp]\nmax_result_kb = 10240")
        .general("memory_mb = 256")
        .start();
    let client = gateway.client();
    let held = || gateway.metric("gateway_memory_held_bytes");
    let free = || (held() < f64::from(1 << 20)).then_some(());
    let ended = |count: usize| {
        let jobs = client.get("/jobs?status=succeeded").ok();
        (jobs["jobs"].as_array().unwrap().len() == count).then(|| jobs["jobs"][0]["job_id"].clone())
    };
    client.call("account/fetch", json!({"path": "/large"})).ok();
    let id = wait_for("the job to end", || ended(1));
    let tool = |name: &str, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": name, "arguments": arguments, "_meta": {"progressToken": "t"}
        }})
    };
    let calls = [
        (unread_page("the record of a job", &format!("/jobs/{}", id.as_str().unwrap())), 1),
        (unread("a job as a tool", "/mcp/account", &tool("get_job", json!({"job_id": id})), true), 1),
        (unread("the last event", "/mcp/account", &tool("fetch", json!({"path": "/large"})), true), 2),
    ];
    for (call, jobs) in &calls {
        wait_for("the memory to be free", free);
        let caller = narrow_connection(&gateway.address(), call.request.as_bytes());
        // Until its end, the job itself holds the answer of the service.
        wait_for(call.name, || ended(*jobs));
        // It gives it back a moment later, and then the record or the event is made.
        thread::sleep(Duration::from_secs(1));
        wait_for(call.name, || (held() >= LARGE as f64).then_some(()));
        thread::sleep(Duration::from_secs(1));
        assert!(held() >= LARGE as f64, "{}: {} bytes are held", call.name, held());
        drop(caller);
    }
    wait_for("the memory to be free", free);
}

#[test]
fn the_result_of_a_job_is_held_while_the_job_ends() {
    let (store, service, gate) = (Store::postgres(), Upstream::start(), Gate::default());
    let Store::Postgres(database) = &store else { unreachable!() };
    service.reply("/large", Reply::json(json!({"text": "x".repeat(LARGE)})).behind(&gate));
    let described = json!({"identifier": "account", "auth": "none"});
    let gateway = Setup::new()
        .on(&store)
        .module("account", module::account(&described))
        .upstream("account", "api", &service.url())
        .start();
    let client = gateway.client();
    let held = || gateway.metric("gateway_memory_held_bytes");
    client.call("account/fetch", json!({"path": "/large"})).ok();
    wait_for("the job to call the service", || (!service.seen().is_empty()).then_some(()));
    thread::scope(|scope| {
        // The result cannot be stored for a while.
        scope.spawn(|| database.sql("BEGIN; LOCK TABLE job_values IN EXCLUSIVE MODE; SELECT pg_sleep(8); COMMIT"));
        thread::sleep(Duration::from_secs(1));
        gate.open();
        // The result itself, sealed, and on its way to the database.
        wait_for("the end of the job to be held", || (held() >= 2.5 * LARGE as f64).then_some(()));
    });
    wait_for("the job to end", || {
        let jobs = client.get("/jobs?status=succeeded").ok();
        (jobs["jobs"].as_array().unwrap().len() == 1).then_some(())
    });
    wait_for("the memory to be free", || (held() < f64::from(1 << 20)).then_some(()));
}
