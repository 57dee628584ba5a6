use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;

const TEXT: Format = Format::Text { colours: false };

/// The lines that a piece of code writes.
fn lines(filter: &str, format: Format, log: impl FnOnce()) -> String {
    let written = Arc::new(Mutex::new(String::new()));
    let copy = Arc::clone(&written);
    let write = move |line: &str| copy.lock().push_str(line);
    tracing::subscriber::with_default(subscriber(filter.parse().unwrap(), format, write), log);
    written.lock().clone()
}

fn json_line(log: impl FnOnce()) -> Value {
    serde_json::from_str(&lines("info", Format::Json, log)).unwrap()
}

/// Logs as a request does: the tenant is known only after the span was opened.
fn request(log: impl FnOnce()) {
    let span = tracing::error_span!(
        target: REQUEST_SPAN, "request", request_id = "r1", connector = "demo", tenant = tracing::field::Empty
    );
    span.record("tenant", "acme");
    span.in_scope(log);
}

#[test]
fn a_json_line_has_its_fields_beside_its_message() {
    let line = json_line(|| tracing::info!(connector = "demo", tries = 3, late = true, "swapped"));
    assert_eq!((&line["message"], &line["level"]), (&json!("swapped"), &json!("INFO")));
    assert_eq!((&line["connector"], &line["tries"], &line["late"]), (&json!("demo"), &json!(3), &json!(true)));
    assert!(line["timestamp"].is_string());
    assert_eq!(line["target"], "telemetry::logging::tests");
}

#[test]
fn a_line_of_a_request_has_the_requests_fields_in_both_formats() {
    let log = || request(|| tracing::warn!(reason = "unreachable", "the connector trapped"));
    let line = json_line(log);
    assert_eq!((&line["request_id"], &line["connector"]), (&json!("r1"), &json!("demo")));
    assert_eq!((&line["tenant"], &line["reason"]), (&json!("acme"), &json!("unreachable")));
    let text = lines("info", TEXT, log);
    let expected =
        " WARN the connector trapped reason=\"unreachable\" request_id=\"r1\" connector=\"demo\" tenant=\"acme\"\n";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn a_field_that_event_and_span_both_have_is_written_once_as_the_event_has_it() {
    let log = || request(|| tracing::info!(connector = "other", "refreshed"));
    for format in [TEXT, Format::Json] {
        let text = lines("info", format, log);
        assert_eq!(text.matches("connector").count(), 1, "{text}");
        assert!(text.contains("other") && !text.contains("demo"), "{text}");
    }
}

#[test]
fn the_filter_cannot_turn_the_requests_fields_off() {
    let log = || request(|| tracing::info!(target: "connector", "a connector's line"));
    assert!(lines("off,connector=info", TEXT, log).contains("request_id=\"r1\""));
}

#[test]
fn a_message_with_a_line_break_stays_one_json_line() {
    assert_eq!(lines("info", Format::Json, || tracing::info!("one\ntwo")).lines().count(), 1);
}

#[test]
fn no_text_moves_the_cursor_of_a_terminal() {
    let log = || tracing::info!(shown = %"\x1b[2J", text = "\x1b[2J", "\x1b[2J");
    assert!(!lines("info", TEXT, log).contains('\x1b'));
}

#[test]
fn a_level_has_its_colour_on_a_terminal() {
    let text = lines("info", Format::Text { colours: true }, || tracing::error!("fact"));
    assert!(text.contains("\x1b[31mERROR\x1b[0m fact"), "{text}");
}

#[test]
fn an_event_that_the_filter_leaves_out_is_not_written() {
    let log = || {
        tracing::debug!("detail");
        tracing::warn!(target: "noisy", "noise");
        tracing::warn!("fact");
    };
    let text = lines("info,noisy=error", TEXT, log);
    assert!(text.contains("fact"), "{text}");
    assert!(!text.contains("detail") && !text.contains("noise"), "{text}");
}

#[test]
fn a_panic_is_logged_with_its_location() {
    let previous = panic::take_hook();
    let text = lines("info", Format::Json, || {
        panic::set_hook(Box::new(log_panic));
        let _ = panic::catch_unwind(|| panic!("out of {}", "order"));
    });
    panic::set_hook(previous);
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(line["message"].as_str().unwrap().starts_with("panic: out of order"), "{line}");
    assert!(line["location"].as_str().unwrap().contains("tests.rs"), "{line}");
}

#[test]
fn a_secret_leaves_no_trace_in_a_line() {
    let secret = secrecy::SecretString::from("hunter2");
    assert!(!lines("info", Format::Json, || tracing::info!(?secret, "held")).contains("hunter2"));
}
