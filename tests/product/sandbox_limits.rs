//! Modules with an honest manifest that exceed a limit. After each of them the gateway answers the
//! next honest request.

use serde_json::json;
use support::hostile::{assert_serves, gateway};
use support::{Answer, Reply, Setup, Upstream, module, usage, wait_for};

/// Checks that the answer blames the connector and names this limit.
#[track_caller]
fn assert_broke(answer: &Answer, limit: &str) {
    let problem = answer.problem(500, "connector-failed");
    assert_eq!(problem["limit"], limit, "{problem}");
    assert_eq!(problem["connector"], "hostile", "{problem}");
    let raised_by =
        ["memory_mb", "response_mb", "cpu_ms", "output_mb", "timeout_s"].map(|key| format!("`limits.{key}`"));
    let is_named = raised_by.iter().any(|key| problem["detail"].as_str().unwrap().contains(key));
    assert_eq!(problem["owner"], if is_named { "operator" } else { "connector" }, "{problem}");
    assert_eq!(is_named, !["stack", "handles"].contains(&limit), "{problem}");
    assert_eq!(answer.header("x-error-source"), "connector");
}

#[test]
fn an_endless_loop_ends_at_its_cpu_limit() {
    let gateway = gateway(&Upstream::start(), "limits.cpu_ms = 200");
    for operation in ["hostile/endless_loop", "hostile/endless_loop_at_once"] {
        assert_broke(&gateway.call(operation, json!({})), "cpu");
        assert_serves(&gateway);
    }
}

#[test]
fn endless_loops_on_every_core_do_not_delay_others() {
    // The deadline is far away, because eight loops share the cores with other tests.
    let gateway = gateway(&Upstream::start(), "limits.cpu_ms = 3000\nlimits.timeout_s = 600");
    let client = gateway.client();
    let operations = ["/connectors/hostile/endless_loop", "/connectors/hostile/endless_loop_at_once"];
    let loops: Vec<_> = (0..8).map(|number| client.begin(operations[number % 2], json!({}))).collect();
    wait_for("the loops to be in progress", || (gateway.metric("gateway_in_flight") >= 8.0).then_some(()));
    assert_serves(&gateway);
    assert!(loops.iter().any(|call| !call.is_done()), "the call is served while the loops run");
    for call in loops {
        assert_broke(&call.wait(), "cpu");
    }
}

#[test]
fn growing_memory_ends_at_its_limit() {
    let gateway = gateway(&Upstream::start(), "limits.memory_mb = 16");
    assert_broke(&gateway.call("hostile/grow_memory", json!({})), "memory");
    assert_serves(&gateway);
}

/// The engines of JavaScript and Python throw an exception, which looks like a defect of the
/// connector.
#[test]
fn refused_memory_that_a_language_reports_as_an_exception_has_its_limit() {
    let gateway = gateway(&Upstream::start(), "limits.memory_mb = 16");
    for operation in ["hostile/catch_refused_memory", "hostile/catch_refused_memory_at_once"] {
        assert_broke(&gateway.call(operation, json!({})), "memory");
        assert_serves(&gateway);
    }
}

#[test]
fn deep_recursion_ends_at_the_end_of_the_stack() {
    let gateway = gateway(&Upstream::start(), "");
    gateway.call("hostile/deep_recursion", json!({"depth": 100})).ok();
    assert_broke(&gateway.call("hostile/deep_recursion", json!({})), "stack");
    assert_serves(&gateway);
}

#[test]
fn a_panic_is_a_fault_of_the_connector_and_its_message_stays_in_the_log() {
    let gateway = gateway(&Upstream::start(), "");
    let answer = gateway.call("hostile/panic", json!({}));
    let problem = answer.problem(500, "connector-failed");
    assert!(!problem.to_string().contains("wasm trap"), "{problem}");
    let line = gateway.wait_for_log("the trap in the log", |line| line["message"] == "the connector trapped");
    assert_eq!((&line["level"], &line["tenant"]), (&json!("ERROR"), &json!("default")));
    assert_eq!((&line["connector"], &line["operation"]), (&json!("hostile"), &json!("panic")));
    assert_eq!(line["request_id"], answer.header("x-request-id"));
    assert_serves(&gateway);
}

#[test]
fn a_huge_reply_ends_at_the_limit_of_output() {
    let gateway = gateway(&Upstream::start(), "limits.response_mb = 1");
    let fits = gateway.call("hostile/huge_reply", json!({"bytes": 500_000}));
    assert_eq!(fits.body.len(), 500_002);
    let answer = gateway.call("hostile/huge_reply", json!({"bytes": 2 << 20}));
    assert_broke(&answer, "output");
    assert!(answer.json()["detail"].as_str().unwrap().contains("`limits.output_mb`"), "{}", answer.text());
    assert_serves(&gateway);
}

#[test]
fn output_has_a_limit_other_than_that_of_responses() {
    let gateway = gateway(&Upstream::start(), "limits.response_mb = 1\nlimits.output_mb = 3");
    let fits = gateway.call("hostile/huge_reply", json!({"bytes": 2 << 20}));
    assert_eq!(fits.body.len(), (2 << 20) + 2);
    assert_broke(&gateway.call("hostile/huge_reply", json!({"bytes": 4 << 20})), "output");
}

#[test]
fn a_limit_of_output_below_that_of_responses_leaves_room_for_responses() {
    let upstream = Upstream::start();
    upstream.reply("/large", Reply::json(json!({"text": "x".repeat(6 << 20)})));
    let gateway = gateway(&upstream, "limits.response_mb = 8\nlimits.output_mb = 1");
    let hoard = json!({"path": "/large", "count": 1, "form": "bytes", "keep": false});
    assert_eq!(gateway.call("hostile/hoard_bodies", hoard).ok(), json!({"kept": 0}));
}

#[test]
fn a_huge_log_is_cut_and_the_invocation_continues() {
    let gateway = gateway(&Upstream::start(), "");
    let answer = gateway.call("hostile/huge_log", json!({"lines": 1000}));
    assert_eq!(answer.ok()["lines"], 1000);
    gateway.wait_for_log("the remark", |line| {
        line["message"].as_str().is_some_and(|text| text.contains("further lines are dropped"))
    });
    let request_id = answer.header("x-request-id");
    let log = gateway.log();
    let lines: Vec<_> = log
        .iter()
        .filter(|line| line["request_id"] == request_id)
        .filter_map(|line| line["message"].as_str().filter(|text| text.starts_with("guest-line")))
        .collect();
    assert_eq!(lines.len(), 256);
    assert!(lines.iter().all(|line| line.len() <= (4 << 10) + '…'.len_utf8()));
    assert_serves(&gateway);
}

#[test]
fn a_line_break_in_a_log_message_does_not_start_a_new_log_line() {
    let gateway = Setup::new().guest("hostile").variable("GATEWAY__LOG_FORMAT", "text").start();
    let text = "the guest says\n2099-01-01T00:00:00Z ERROR forged\r\nand more\u{1b}[2J";
    let id = gateway.call("hostile/huge_log", json!({"lines": 1, "text": text})).header("x-request-id").to_owned();
    let lines = wait_for("the line", || {
        let lines = gateway.lines();
        lines.iter().any(|line| line.contains("the guest says")).then_some(lines)
    });
    let forged: Vec<_> = lines.iter().filter(|line| line.starts_with("2099") || line.starts_with("and more")).collect();
    assert!(forged.is_empty(), "{forged:?} of {id}");
    assert!(!lines.iter().any(|line| line.contains('\u{1b}')), "{lines:?}");
}

#[test]
fn the_message_of_a_fault_is_cut_to_a_readable_length() {
    let gateway = gateway(&Upstream::start(), "");
    let detail = "word ".repeat(400_000);
    for kind in ["failed", "not-found", "invalid-input", "upstream"] {
        let answer = gateway.call("hostile/fault", json!({"kind": kind, "status": 400, "detail": detail}));
        assert!(answer.status >= 400);
        assert!(answer.body.len() < 100_000, "{kind}: {} bytes", answer.body.len());
    }
    assert!(gateway.lines().iter().all(|line| line.len() < 100_000));
    assert_serves(&gateway);
}

#[test]
fn opening_documents_without_end_ends_at_the_limit_of_handles() {
    let gateway = gateway(&Upstream::start(), "");
    assert_broke(&gateway.call("hostile/many_documents", json!({})), "handles");
    assert_serves(&gateway);
}

/// The limit of memory that the gateway holds for an invocation: 16 MiB.
const SMALL: &str = "limits.response_mb = 4";

/// Checks that the answer blames the connector for the memory that the gateway held for it, and
/// names the key that raises the limit.
#[track_caller]
fn assert_held_too_much(answer: &Answer) {
    assert_broke(answer, "memory");
    let detail = answer.problem(500, "connector-failed")["detail"].to_string();
    assert!(detail.contains("limits.response_mb"), "{detail}");
}

#[test]
fn keeping_parsed_documents_ends_at_the_limit_of_memory() {
    let gateway = gateway(&Upstream::start(), SMALL);
    for operation in ["hostile/hoard_documents", "hostile/hoard_documents_at_once"] {
        for keep in ["all", "part"] {
            let hoard = json!({"bytes": 1 << 20, "count": 1000, "keep": keep});
            assert_held_too_much(&gateway.call(operation, hoard));
            assert_serves(&gateway);
        }
    }
}

#[test]
fn a_document_that_is_dropped_takes_no_memory() {
    let gateway = gateway(&Upstream::start(), SMALL);
    let answer = gateway.call("hostile/hoard_documents", json!({"bytes": 1 << 20, "count": 50, "keep": "none"}));
    assert_eq!(answer.ok(), json!({"documents": 50}));
}

#[test]
fn the_children_of_a_document_are_counted_as_memory() {
    let gateway = gateway(&Upstream::start(), SMALL);
    for named in [true, false] {
        let few = gateway.call("hostile/hoard_children", json!({"items": 50_000, "named": named}));
        assert_eq!(few.ok(), json!({"length": 50_000}));
        assert_held_too_much(&gateway.call("hostile/hoard_children", json!({"items": 600_000, "named": named})));
        assert_serves(&gateway);
    }
}

#[test]
fn keeping_read_bodies_ends_at_the_limit_of_memory() {
    let upstream = Upstream::start();
    upstream.reply("/large", Reply::json(json!({"text": "x".repeat(3 << 20)})));
    let gateway = gateway(&upstream, SMALL);
    for form in ["bytes", "text", "document"] {
        let hoard = |keep: bool| json!({"path": "/large", "count": 10, "form": form, "keep": keep});
        assert_held_too_much(&gateway.call("hostile/hoard_bodies", hoard(true)));
        assert_serves(&gateway);
        assert_eq!(gateway.call("hostile/hoard_bodies", hoard(false)).ok(), json!({"kept": 0}));
    }
}

#[test]
fn values_that_the_gateway_holds_for_a_connector_are_taken_out_of_the_memory_for_calls() {
    let gateway = Setup::new().guest("hostile").guest("liar").general("memory_mb = 16").start();
    // The limit of one call is 128 MB.
    let hoard = json!({"bytes": 1 << 20, "count": 32, "keep": "all"});
    for operation in ["hostile/hoard_documents", "hostile/hoard_documents_at_once"] {
        let problem = gateway.call(operation, hoard.clone()).problem(503, "busy");
        assert_eq!(problem["retryable"], true);
        assert_serves(&gateway);
    }
    wait_for("the memory to be free", || (gateway.metric("gateway_memory_held_bytes") == 0.0).then_some(()));
}

#[test]
fn the_memory_of_large_guests_is_taken_out_of_the_memory_for_calls() {
    let gateway = Setup::new().guest("hostile").guest("liar").general("memory_mb = 16").start();
    // The limit of one call is 32 MB.
    let problem = gateway.call("hostile/grow_memory", json!({})).problem(503, "busy");
    assert_eq!(problem["retryable"], true);
    assert_serves(&gateway);
    wait_for("the memory to be free", || (gateway.metric("gateway_memory_held_bytes") == 0.0).then_some(()));
}

#[test]
fn cpu_time_of_the_gateway_for_a_module_counts_as_the_modules_own() {
    let gateway = gateway(&Upstream::start(), "limits.cpu_ms = 300\nlimits.timeout_s = 60");
    for (operation, input) in
        [("hostile/parse_without_end", json!({"bytes": 6 << 20})), ("hostile/deep_pointer", json!({"depth": 200_000}))]
    {
        let before = usage::cpu_ms(gateway.process_id());
        assert_broke(&gateway.call(operation, input), "cpu");
        let used = usage::cpu_ms(gateway.process_id()) - before;
        assert!(used < 3000, "{operation} took {used} ms");
        assert_serves(&gateway);
    }
}

#[test]
fn of_ten_thousand_requests_the_first_256_are_sent() {
    let upstream = Upstream::start();
    upstream.reply("/", Reply::json(json!({})));
    let gateway = gateway(&upstream, "limits.cpu_ms = 5000");
    let answer = gateway.call("hostile/many_requests", json!({"path": "/", "count": 10_000}));
    assert_eq!(answer.ok(), json!({"200": 256, "too-many-requests": 9744}));
    assert_eq!(upstream.seen().len(), 256);
    assert_serves(&gateway);
}

#[test]
fn at_most_32_requests_are_sent_in_parallel() {
    let upstream = Upstream::start();
    upstream.reply("/", Reply::json(json!({})));
    let gateway = gateway(&upstream, "");
    let answer = gateway.call("hostile/many_in_parallel", json!({"path": "/", "count": 32}));
    assert_eq!(answer.ok(), json!({"200": 32}));
    let answer = gateway.call("hostile/many_in_parallel", json!({"path": "/", "count": 33}));
    assert_eq!(answer.ok(), json!({"invalid-request": 33}));
    assert_eq!(upstream.seen().len(), 32);
    assert_serves(&gateway);
}

#[test]
fn a_slow_service_ends_an_invocation_at_its_timeout() {
    let (upstream, gate) = (Upstream::start(), support::Gate::default());
    upstream.reply("/slow", Reply::json(json!({})).behind(&gate));
    let gateway = gateway(&upstream, "limits.timeout_s = 3");
    for operation in ["hostile/call", "hostile/forward"] {
        let answer = gateway.call(operation, json!({"path": "/slow", "as_fault": true}));
        let problem = answer.problem(504, "upstream-timed-out");
        assert_eq!(problem["retryable"], true);
    }
    assert_serves(&gateway);
}

#[test]
fn a_guest_that_computes_until_its_deadline_is_not_a_fault_of_the_service() {
    let gateway = gateway(&Upstream::start(), "limits.cpu_ms = 60000\nlimits.timeout_s = 2");
    for operation in ["hostile/endless_loop", "hostile/endless_loop_at_once"] {
        let answer = gateway.call(operation, json!({}));
        // With a processor for most of the time, the guest is to blame. On a machine with other
        // work, the gateway is busy.
        if answer.status == 503 {
            answer.problem(503, "busy");
        } else {
            assert_broke(&answer, "time");
        }
        assert_serves(&gateway);
    }
}

#[test]
fn no_two_invocations_share_memory() {
    let gateway = gateway(&Upstream::start(), "");
    let clean = json!({"invocations": 0, "notes": 0, "remains": 0});
    let client = gateway.client();
    for _ in 0..10 {
        let operations = ["/connectors/hostile/keep_state", "/connectors/hostile/keep_state_at_once"];
        let calls: Vec<_> = (0..20).map(|number| client.begin(operations[number % 2], json!({}))).collect();
        for call in calls {
            assert_eq!(call.wait().ok(), clean);
        }
    }
    for end in ["hostile/grow_memory", "hostile/panic"] {
        gateway.call(end, json!({})).problem(500, "connector-failed");
        assert_eq!(gateway.call("hostile/keep_state", json!({})).ok(), clean, "after {end}");
    }
}

#[test]
fn exceeded_limits_are_counted() {
    let gateway = gateway(&Upstream::start(), "limits.cpu_ms = 200");
    for operation in ["hostile/grow_memory", "hostile/endless_loop", "hostile/panic"] {
        gateway.call(operation, json!({})).problem(500, "connector-failed");
    }
    for outcome in ["memory", "cpu", "trap"] {
        let series = format!("gateway_sandbox_failures_total{{connector=\"hostile\",outcome=\"{outcome}\"}}");
        assert!(gateway.metric(&series) >= 1.0, "{series}");
    }
}

#[test]
fn a_module_that_grows_a_table_without_end_is_refused() {
    refused_for_its_memory("table_growth");
}

#[test]
fn a_module_that_wants_a_huge_memory_is_refused() {
    refused_for_its_memory("huge_memory");
}

#[test]
fn a_module_that_wants_many_memories_is_refused() {
    let reason = refused_with("many_memories");
    assert!(reason.contains("memories"), "{reason}");
}

fn refused_for_its_memory(guest: &str) {
    let reason = refused_with(guest);
    assert!(reason.contains("memory"), "{reason}");
}

/// Puts a component into an honest module, and returns the reason for which the module is refused.
fn refused_with(guest: &str) -> String {
    let inner = module::from_text(&module::text(guest));
    let spoiled = module::with_component(&module::liar("version=2.0.0"), &inner);
    let gateway = gateway(&Upstream::start(), "");
    gateway.home().put("liar", &spoiled);
    let reason = gateway.wait_for_refusal("liar.wasm");
    assert_serves(&gateway);
    reason
}
