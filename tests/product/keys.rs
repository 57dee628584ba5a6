//! API keys and their scopes. Keys are created and revoked while the gateway serves.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memmem;
use serde_json::{Value, json};
use support::process::{Process, in_shell};
use support::setup::KEY;
use support::{Client, Gateway, Setup, module};

fn gateway() -> Gateway {
    Setup::new().module("liar", module::liar("version=1.0.0")).start()
}

/// Creates a key with the command line while the gateway serves.
fn create(gateway: &Gateway, arguments: &[&str]) -> String {
    let key = gateway.home().run_ok(&[&["keys", "create"], arguments].concat());
    key.trim_end().to_owned()
}

fn with(gateway: &Gateway, key: &str) -> Client {
    gateway.anonymous().with_key(key)
}

#[test]
fn a_call_without_a_valid_key_gets_only_a_challenge() {
    let gateway = gateway();
    let path = "/connectors/liar/version";
    let answer = gateway.anonymous().post(path, json!({}));
    let problem = answer.problem(401, "unauthenticated");
    assert_eq!(answer.header("www-authenticate"), "Bearer");
    assert!(problem["detail"].as_str().unwrap().contains("keys create"), "{problem}");
    for value in [
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Basic dXNlcjpwYXNz",
        KEY,
        &format!("Bearer {KEY}x"),
        &format!("Bearer {KEY} {KEY}"),
    ] {
        let answer = gateway.anonymous().request("POST", path).header("authorization", value).json(&json!({})).send();
        answer.problem(401, "unauthenticated");
        assert!(answer.header("www-authenticate").starts_with("Bearer"), "{value}");
    }
    for (method, path) in [
        ("GET", "/connectors"),
        ("POST", "/admin/connectors"),
        ("DELETE", "/admin/connectors/liar"),
        ("POST", "/connectors/no/such"),
    ] {
        gateway.anonymous().request(method, path).send().problem(401, "unauthenticated");
    }
}

#[test]
fn the_name_of_the_scheme_may_be_written_in_any_case() {
    let gateway = gateway();
    for scheme in ["bearer", "BEARER"] {
        let call =
            gateway.anonymous().request("GET", "/connectors").header("authorization", &format!("{scheme} {KEY}"));
        call.send().ok();
    }
}

#[test]
fn a_gateway_without_keys_creates_one_and_shows_it_once() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).with_first_key().start();
    let shown = |gateway: &Gateway| -> Vec<String> {
        let lines = gateway.lines();
        lines.iter().map(|line| line.trim()).filter(|line| line.starts_with("cgw_")).map(str::to_owned).collect()
    };
    let keys = shown(&gateway);
    assert_eq!(keys.len(), 1, "{:?}", gateway.lines());
    with(&gateway, &keys[0]).get("/connectors").ok();
    with(&gateway, &keys[0]).call("liar/version", json!({})).ok();
    assert_eq!(with(&gateway, &keys[0]).delete("/admin/connectors/none").status, 404, "the key has every scope");
    assert!(gateway.log().iter().all(|line| !line.to_string().contains(&keys[0])), "the key is not in the log");
    let gateway = gateway.start_again();
    assert_eq!(shown(&gateway), Vec::<String>::new());
    with(&gateway, &keys[0]).get("/connectors").ok();
}

#[test]
fn a_first_key_that_cannot_be_printed_is_not_logged_and_the_gateway_serves() {
    let home = Setup::new().with_first_key().prepare();
    let mut gateway = Process::start(&mut in_shell("exec \"$0\" \"$@\" >/dev/full", &home.command(&["serve"])));
    let warning = support::wait_for("the warning", || {
        gateway.lines().into_iter().find(|line| line.contains("could not be written to standard output"))
    });
    assert!(warning.contains("\"WARN\"") && warning.contains("connector-gateway keys create"), "{warning}");
    let key = home.run_ok(&["keys", "create", "--name", "another"]);
    let serving =
        support::wait_for("the address", || gateway.lines().into_iter().find(|line| line.contains("\"serving\"")));
    let log = gateway.lines().join("\n");
    let listen = serde_json::from_str::<Value>(&serving).unwrap()["listen"].as_str().unwrap().to_owned();
    Client::new(&format!("http://{listen}")).with_key(key.trim()).get("/connectors").ok();
    assert!(!log.contains("cgw_"), "{log}");
    gateway.ask_to_end();
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn a_key_created_while_the_gateway_serves_is_valid_at_once() {
    let gateway = gateway();
    let key = create(&gateway, &["--name", "a program"]);
    assert!(key.starts_with("cgw_"), "{key}");
    with(&gateway, &key).call("liar/version", json!({})).ok();
    let gateway = gateway.start_again();
    with(&gateway, &key).call("liar/version", json!({})).ok();
}

#[test]
fn unknown_keys_of_others_do_not_delay_a_new_key() {
    // Of the form of a key, so that the gateway looks for it.
    const UNKNOWN: &str = "cgw_0123456789012345678901234567890123456789abcaMGu04";
    let gateway = gateway();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    with(&gateway, UNKNOWN).get("/connectors").problem(401, "unauthenticated");
                }
            });
        }
        let statuses: Vec<_> =
            (0..5).map(|_| with(&gateway, &create(&gateway, &["--name", "new"])).get("/connectors").status).collect();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(statuses, [200; 5]);
    });
}

#[test]
fn a_key_that_a_route_makes_or_revokes_changes_there_at_once() {
    let gateway = gateway();
    for _ in 0..5 {
        let created = gateway.client().post("/admin/keys", json!({"name": "new", "scopes": ["operate"]})).json();
        let client = with(&gateway, created["key"].as_str().unwrap());
        client.get("/connectors").ok();
        gateway.client().delete(&format!("/admin/keys/{}", created["id"].as_str().unwrap())).ok();
        client.get("/connectors").problem(401, "unauthenticated");
    }
}

#[test]
fn a_key_may_do_what_its_scopes_say() {
    let gateway = gateway();
    let operate = with(&gateway, &create(&gateway, &["--name", "operate", "--scope", "operate"]));
    let integrate = with(&gateway, &create(&gateway, &["--name", "integrate", "--scope", "integrate"]));
    let admin = with(&gateway, &create(&gateway, &["--name", "admin", "--scope", "admin"]));
    operate.call("liar/version", json!({})).ok();
    for client in [&integrate, &admin] {
        let answer = client.call("liar/version", json!({}));
        let problem = answer.problem(403, "missing-scope");
        assert_eq!(problem["scope"], "operate");
        let challenge = "Bearer error=\"insufficient_scope\", scope=\"operate\"";
        assert_eq!(answer.header("www-authenticate"), challenge);
        assert_eq!(answer.header("x-error-source"), "gateway");
    }
    for client in [&operate, &integrate] {
        for (method, path) in [
            ("POST", "/admin/connectors"),
            ("DELETE", "/admin/connectors/liar"),
            ("POST", "/admin/connectors/liar/rollback"),
        ] {
            let problem = client.request(method, path).send().problem(403, "missing-scope");
            assert_eq!(problem["scope"], "admin");
        }
    }
    for client in [&operate, &integrate, &admin] {
        client.get("/connectors").ok();
    }
    admin.delete("/admin/connectors/liar").ok();
}

#[test]
fn a_revoked_key_is_refused_soon() {
    let gateway = gateway();
    let key = create(&gateway, &["--name", "short-lived"]);
    with(&gateway, &key).get("/connectors").ok();
    let id = listed(&gateway).iter().find(|listed| listed["name"] == "short-lived").unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    gateway.home().run_ok(&["keys", "revoke", &id]);
    support::wait_for("the key to be refused", || {
        (with(&gateway, &key).get("/connectors").status == 401).then_some(())
    });
    gateway.client().get("/connectors").ok();
    let gateway = gateway.start_again();
    with(&gateway, &key).get("/connectors").problem(401, "unauthenticated");
    assert!(listed(&gateway).iter().any(|listed| listed["id"] == *id && !listed["revoked_at"].is_null()));
    let unknown = gateway.home().run(&["keys", "revoke", "key_unknown"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("keys list"), "{}", unknown.stderr);
}

fn listed(gateway: &Gateway) -> Vec<Value> {
    let list = gateway.home().run_ok(&["keys", "list", "--json"]);
    serde_json::from_str::<Value>(&list).unwrap().as_array().unwrap().clone()
}

#[test]
fn keys_are_listed_without_their_secrets() {
    let gateway = gateway();
    let key = create(&gateway, &["--name", "mobile app", "--tenant", "acme", "--subject", "ann", "--scope", "operate"]);
    let text = gateway.home().run_ok(&["keys", "list"]);
    for part in ["mobile app", "acme", "ann", "operate"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains(&key) && !text.contains(KEY), "{text}");
    let all = listed(&gateway);
    let app = all.iter().find(|listed| listed["name"] == "mobile app").unwrap();
    assert_eq!((&app["tenant"], &app["subject"], &app["scopes"]), (&json!("acme"), &json!("ann"), &json!(["operate"])));
}

#[test]
fn the_help_says_what_a_key_without_options_is_for() {
    let gateway = gateway();
    let help = gateway.home().run_ok(&["keys", "create", "--help"]);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    create(&gateway, &["--name", "plain"]);
    let all = listed(&gateway);
    let plain = all.iter().find(|listed| listed["name"] == "plain").unwrap();
    assert_eq!((&plain["tenant"], &plain["subject"]), (&json!("default"), &json!(null)));
    assert_eq!(plain["scopes"], json!(["operate", "integrate"]));
    for words in ["[default: default]", "[default: the tenant itself, whose accounts", "[default: operate integrate]"] {
        assert!(help.contains(words), "{words} in\n{help}");
    }
}

#[test]
fn no_file_of_the_gateway_holds_a_key() {
    let mut gateway = gateway();
    let key = create(&gateway, &["--name", "a program"]);
    with(&gateway, &key).get("/connectors").ok();
    gateway.stop();
    for entry in fs::read_dir(gateway.home().data()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            for key in [key.as_bytes(), KEY.as_bytes()] {
                assert!(memmem::find(&bytes, key).is_none(), "{} holds a key", path.display());
            }
        }
    }
}

#[test]
fn the_operators_own_first_key_replaces_the_one_before_it() {
    let own = "another-key-for-tests-9876543210";
    let gateway = gateway();
    gateway.client().get("/connectors").ok();
    let gateway = gateway.start_again_with_key(own);
    gateway.client().delete("/admin/connectors/none").problem(404, "unknown-connector");
    with(&gateway, own).get("/connectors").ok();
    with(&gateway, KEY).get("/connectors").problem(401, "unauthenticated");
}

#[test]
fn a_first_key_that_is_easily_guessed_is_refused() {
    for key in ["short", "with a blank in it, and long enough"] {
        let home = Setup::new().with_first_key().variable("GATEWAY_BOOTSTRAP_KEY", key).prepare();
        let (code, said) = crate::configuration::fails(&home);
        assert_eq!(code, Some(1));
        assert!(said.contains("GATEWAY_BOOTSTRAP_KEY") && !said.contains(key), "{said}");
    }
}
