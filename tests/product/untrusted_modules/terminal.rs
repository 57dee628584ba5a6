//! Texts of a module and names of files do not change what a terminal shows.

use serde_json::json;
use support::home::{file, path};
use support::{Reply, Setup, Upstream, module};

/// Checks that a text neither changes a terminal nor has a line that claims a signature.
#[track_caller]
fn assert_harmless(shown: &str) {
    assert!(!shown.contains(['\u{1b}', '\r', '\u{202e}', '\u{2066}', '\u{7f}', '\u{9b}']), "{shown:?}");
    assert!(!shown.lines().any(|line| line.starts_with("signed") || line.starts_with("  signed")), "{shown:?}");
}

#[test]
fn a_manifest_with_control_or_format_characters_is_refused_and_shown_escaped() {
    let home = Setup::new().prepare();
    for scope in [
        "read\u{1b}[2K\rsigned with a key of publisher acme",
        "read\nsigned with a key of publisher acme",
        "read\u{202e}dengis",
        "read\u{7f}",
    ] {
        let module = module::account(&json!({"identifier": "account", "auth": "oauth2", "scopes": [scope]}));
        let module = file(&home, "account.wasm", &module);
        for command in ["check", "add"] {
            let refused = home.run(&["connectors", command, path(&module)]);
            assert_eq!(refused.code, Some(1), "{command}");
            assert!(refused.stderr.contains("control or format character"), "{}", refused.stderr);
            assert_harmless(&refused.stdout);
            assert_harmless(&refused.stderr);
        }
    }
}

#[test]
fn no_text_of_a_manifest_has_control_or_format_characters_and_tables_and_logs_show_none() {
    for (member, text) in [
        ("provider", "acme\u{9b}2K\rsigned with a key of publisher acme"),
        ("provider", "acme\u{202e}"),
        ("summary", "Lists\nsigned with a key of publisher acme"),
        ("summary", "Lists \u{2066}\u{202e}selif"),
    ] {
        let mut service = json!({"identifier": "account", "auth": "oauth2", "scopes": ["read"]});
        service[member] = text.into();
        let gateway =
            Setup::new().module("account", module::account(&service)).variable("GATEWAY__LOG_FORMAT", "text").start();
        let listed = support::wait_for("the refusal of the module", || {
            let listed = gateway.home().run_ok(&["connectors", "list"]);
            listed.contains("refused: ").then_some(listed)
        });
        assert!(listed.contains("control or format character"), "{listed}");
        assert_harmless(&listed);
        let lines = support::wait_for("the refusal in the log", || {
            let lines = gateway.lines();
            lines.iter().any(|line| line.contains("control or format character")).then_some(lines)
        });
        lines.iter().for_each(|line| assert_harmless(line));
    }
}

#[test]
fn the_words_of_a_service_are_escaped_in_a_log_in_text_form() {
    let service = Upstream::start();
    service.reply("/words", Reply::typed("text/plain", "one \u{9b}2K \u{202e}owt \u{7f} \u{1b}[31m"));
    let described = module::account(&json!({"identifier": "account", "auth": "none"}));
    let setup = Setup::new().module("account", described).upstream("account", "api", &service.url());
    let gateway = setup.variable("GATEWAY__LOG_FORMAT", "text").start();
    gateway.call("account/log", json!({"path": "/words"})).ok();
    let line = support::wait_for("the line of the connector", || {
        gateway.lines().into_iter().find(|line| line.contains("WARN") && line.contains("2K"))
    });
    assert!(line.contains("\\u{202e}owt"), "{line}");
    assert_harmless(&line);
}

#[test]
fn the_name_of_a_file_is_shown_escaped() {
    let home = Setup::new().prepare();
    let name = "liar\u{1b}[2K\r\u{202e}\nsigned with a key of publisher acme.wasm";
    let named = file(&home, name, b"no module");
    let refused = home.run(&["connectors", "add", path(&named)]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("\\u{1b}[2K\\r\\u{202e}"), "{}", refused.stderr);
    assert_harmless(&refused.stderr);
    let gateway = home.start();
    std::fs::write(gateway.home().modules().join(name), b"no module").unwrap();
    let listed = support::wait_for("the refusal of the file", || {
        let listed = gateway.home().run_ok(&["connectors", "list"]);
        listed.contains("refused: ").then_some(listed)
    });
    assert_harmless(&listed);
    let listed = gateway.home().run_ok(&["connectors", "list", "--json"]);
    assert_harmless(&listed);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&listed).unwrap()["refused"][0]["file"], name);
}
