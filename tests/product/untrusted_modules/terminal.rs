//! Texts of a module and names of files do not change what a terminal shows.

use serde_json::json;
use support::home::{file, path};
use support::{Setup, module};

/// Checks that a text neither changes a terminal nor has a line that claims a signature.
#[track_caller]
fn assert_harmless(shown: &str) {
    assert!(!shown.contains(['\u{1b}', '\r', '\u{202e}', '\u{7f}']), "{shown:?}");
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
