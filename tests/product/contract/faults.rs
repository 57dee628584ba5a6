//! Faults of a connector: their members in the problem document, and panics in the log.

use serde_json::{Value, json};
use support::{Client, Gateway, Setup, Upstream, wait_for};

use support::hostile::{assert_serves, gateway};

/// The kinds of faults with members, and the problems that callers get.
const EXPLAINED: [(&str, u16, &str); 2] = [("not-found", 404, "resource-not-found"), ("conflict", 409, "conflict")];

fn fault(kind: &str, members: Option<&str>) -> Value {
    json!({"kind": kind, "detail": "several files have this name", "members": members})
}

#[test]
fn a_conflict_and_a_missing_thing_are_problems_with_the_members_of_the_connector() {
    let gateway = gateway(&Upstream::start(), "");
    let candidates = r#"{"candidates": [{"id": "1", "name": "a"}, {"id": "2", "name": "a"}], "total": 2.0}"#;
    for (kind, status, name) in EXPLAINED {
        let answer = gateway.call("hostile/fault", fault(kind, Some(candidates)));
        let problem = answer.problem(status, name);
        assert_eq!(problem["detail"], "Several files have this name.");
        assert_eq!(problem["candidates"], json!([{"id": "1", "name": "a"}, {"id": "2", "name": "a"}]));
        assert!(answer.text().contains("\"total\":2.0"), "numbers keep their text: {}", answer.text());
        assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("caller"), &json!(false)));
        assert_eq!(answer.header("x-error-source"), "connector");
        let without = gateway.call("hostile/fault", fault(kind, None)).problem(status, name);
        let members: Vec<&String> = without.as_object().unwrap().keys().collect();
        assert_eq!(members, ["type", "title", "status", "detail", "instance", "owner", "retryable"]);
    }
}

#[test]
fn members_of_a_connector_replace_no_member_of_the_gateway() {
    let gateway = gateway(&Upstream::start(), "");
    let members = json!({
        "type": "urn:forged", "title": "forged", "status": 200, "detail": "forged", "instance": "forged",
        "owner": "operator", "retryable": true, "candidates": [],
    });
    for (kind, status, name) in EXPLAINED {
        let answer = gateway.call("hostile/fault", fault(kind, Some(&members.to_string())));
        let problem = answer.problem(status, name);
        assert!(!answer.text().contains("forged"), "{problem}");
        assert_eq!((&problem["owner"], &problem["retryable"]), (&json!("caller"), &json!(false)));
        assert_eq!(problem["candidates"], json!([]));
    }
}

#[test]
fn members_that_are_not_an_object_are_a_fault_of_the_connector() {
    let gateway = gateway(&Upstream::start(), "");
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(64 << 10));
    for members in ["[]", "7", "null", "\"text\"", "{", "", "{} {}", "{'a': 1}", &deep, &large] {
        for (kind, ..) in EXPLAINED {
            let answer = gateway.call("hostile/fault", fault(kind, Some(members)));
            let problem = answer.problem(500, "connector-failed");
            assert_eq!(problem["connector"], "hostile", "{problem}");
            assert!(answer.body.len() < 10_000, "{} bytes", answer.body.len());
        }
    }
    assert_serves(&gateway);
}

fn clumsy() -> Gateway {
    Setup::new().guest("clumsy").start()
}

#[test]
fn a_panic_is_in_the_log_with_its_message_file_line_and_request() {
    let gateway = clumsy();
    let calls = [
        ("clumsy/panic", json!({"message": "the author did not expect this"}), "the author did not expect this"),
        ("clumsy/out_of_bounds", json!({"index": 7}), "index out of bounds: the len is 3 but the index is 7"),
        ("clumsy/detour", json!({}), "the request is lost"),
    ];
    for (operation, input, message) in calls {
        let answer = gateway.call(operation, input);
        let problem = answer.problem(500, "connector-failed");
        let id = answer.header("x-request-id").to_owned();
        let line = gateway.wait_for_log("the panic", |line| {
            line["request_id"] == id.as_str() && line["message"].as_str().is_some_and(|text| text.contains(message))
        });
        let text = line["message"].as_str().unwrap();
        let place = text.split_whitespace().find_map(|word| word.split_once("src/lib.rs:"));
        let (_, position) = place.unwrap_or_else(|| panic!("the file and the line are in: {text}"));
        assert!(position.starts_with(|digit: char| digit.is_ascii_digit()), "{text}");
        assert_eq!((&line["level"], &line["connector"]), (&json!("ERROR"), &json!("clumsy")), "{line}");
        assert!(!problem.to_string().contains(message), "callers do not see it: {problem}");
        let trap = gateway.wait_for_log("the trap", |line| {
            line["request_id"] == id.as_str() && line["message"] == "the connector trapped"
        });
        assert!(trap["last_lines"].as_str().is_some_and(|lines| lines.contains(message)), "{trap}");
        assert!(trap["reason"].as_str().is_some_and(|reason| reason.contains("wasm backtrace")), "{trap}");
        assert!(!text.contains("/home/") && !text.contains("/root/"), "no path of the building machine: {text}");
    }
}

#[test]
fn an_administrator_who_asks_reads_the_panic_in_the_problem() {
    let gateway = clumsy();
    let detail = |client: &Client, debug: &str| {
        let call = client.request("POST", "/connectors/clumsy/panic").header("X-Debug", debug);
        let answer = call.json(&json!({"message": "the author did not expect this"})).send();
        answer.problem(500, "connector-failed")["detail"].as_str().unwrap().to_owned()
    };
    let text = detail(&gateway.client(), "1");
    assert!(text.contains("`unreachable`"), "{text}");
    assert!(text.contains("src/lib.rs:") && text.contains("the author did not expect this"), "{text}");
    let key = gateway.home().run_ok(&["keys", "create", "--name", "app"]);
    let application = gateway.client().with_key(key.trim());
    wait_for("the key to be known", || (application.get("/connectors").status == 200).then_some(()));
    for text in [detail(&gateway.client(), "0"), detail(&application, "1")] {
        assert!(text.ends_with("finds the cause in the gateway's log."), "{text}");
    }
}

#[test]
fn a_panic_with_a_line_break_or_a_long_message_does_not_forge_log_lines() {
    let gateway = clumsy();
    let message = format!("first\n{{\"level\":\"ERROR\",\"message\":\"forged\"}}\n{}", "x".repeat(100_000));
    let id = gateway.call("clumsy/panic", json!({"message": message})).header("x-request-id").to_owned();
    gateway.wait_for_log("the panic", |line| {
        line["request_id"] == id.as_str() && line["message"].as_str().is_some_and(|text| text.contains("first"))
    });
    assert!(gateway.log().iter().all(|line| line["message"] != "forged"));
    assert!(gateway.lines().iter().all(|line| line.len() < 20_000));
}
