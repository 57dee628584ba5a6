//! The commands `connectors …` and `openapi`, with a running gateway and without one.

mod call;
mod other_worlds;
mod remote_gateway;

use std::fs;

use serde_json::{Value, json};
use support::home::{file, path};
use support::process::{Finished, in_shell, run};
use support::{Home, Setup, module};

#[test]
fn the_version_names_the_commit_and_the_contract() {
    let said = Setup::new().prepare().run_ok(&["--version"]);
    let lines: Vec<&str> = said.lines().collect();
    let contract = fs::read_to_string(module::root().join("wit/connector.wit")).unwrap();
    let contract = contract.lines().find_map(|line| line.strip_prefix("package gateway:connector@")).unwrap();
    assert!(lines[0].starts_with("connector-gateway 0.") && lines[1].starts_with("commit: "), "{said}");
    assert!(lines[2].contains(contract.trim_end_matches(';')), "{said}");
}

#[test]
fn a_module_is_added_rolled_back_and_removed_while_the_gateway_serves() {
    let gateway = Setup::new().start();
    let home = gateway.home();
    let first = file(home, "first", &module::liar("version=1.0.0"));
    let second = file(home, "second", &module::liar("version=2.0.0"));
    let said = home.run_ok(&["connectors", "add", path(&first), "--grant", "api.example"]);
    for words in ["liar 1.0.0", "api.example"] {
        assert!(said.contains(words), "{said}");
    }
    let live = gateway.wait_for_version("liar", "1.0.0");
    assert_eq!(live["hosts"]["granted"], json!(["api.example"]));
    home.run_ok(&["connectors", "add", path(&second)]);
    assert_eq!(gateway.wait_for_version("liar", "2.0.0")["hosts"]["granted"], json!(["api.example"]));
    home.run_ok(&["connectors", "rollback", "liar"]);
    gateway.wait_for_version("liar", "1.0.0");
    home.run_ok(&["connectors", "remove", "liar"]);
    support::wait_for("the removal", || gateway.connector("liar").is_none().then_some(()));
}

#[test]
fn the_commands_do_the_same_without_a_gateway() {
    let home = Setup::new().prepare();
    let first = file(&home, "first", &module::liar("version=1.0.0"));
    let second = file(&home, "second", &module::liar("version=2.0.0"));
    home.run_ok(&["connectors", "add", path(&first)]);
    home.run_ok(&["connectors", "add", path(&second)]);
    let listed: Value = serde_json::from_str(&home.run_ok(&["connectors", "list", "--json"])).unwrap();
    assert_eq!(
        (&listed["connectors"][0]["connector"], &listed["connectors"][0]["version"]),
        (&json!("liar"), &json!("2.0.0"))
    );
    home.run_ok(&["connectors", "rollback", "liar"]);
    let list = home.run_ok(&["connectors", "list"]);
    for words in ["CONNECTOR", "liar", "1.0.0", "not granted: api.example"] {
        assert!(list.contains(words), "{words} in\n{list}");
    }
    let gateway = home.start();
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
}

#[test]
fn a_refused_module_is_listed_with_its_reason() {
    let home = Setup::new().guest("hostile").module("liar", module::liar("reserved path")).prepare();
    let list = home.run_ok(&["connectors", "list"]);
    assert!(
        list.contains("hostile") && list.contains("refused: liar.wasm") && list.contains("`integrations`"),
        "{list}"
    );
}

#[test]
fn a_module_is_checked_without_being_installed() {
    let home = Setup::new().prepare();
    let good = file(&home, "good", &module::guest("liar"));
    let said = home.run_ok(&["connectors", "check", path(&good)]);
    for words in ["liar 1.0.0", "sha256", "api.example", "--grant"] {
        assert!(said.contains(words), "{words} in\n{said}");
    }
    let bad = file(&home, "bad", &module::liar("wildcard redirect host"));
    let finished = home.run(&["connectors", "check", path(&bad)]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("refused") && finished.stderr.contains("*.example"), "{}", finished.stderr);
    assert_eq!(fs::read_dir(home.modules()).unwrap().count(), 0);
}

#[test]
fn a_failed_command_says_why_in_one_line() {
    let home = Setup::new().prepare();
    home.run_ok(&["connectors", "list"]);
    let bad = file(&home, "bad", &module::liar("no operations"));
    let cases = [
        (vec!["connectors", "add", "nowhere.wasm"], "nowhere.wasm"),
        (vec!["connectors", "add", path(&bad)], "operations"),
        (vec!["connectors", "add", path(&bad), "--grant", "*.example"], "*.example"),
        (vec!["connectors", "remove", "unheard_of"], "unheard_of"),
        (vec!["connectors", "remove", "../data"], "../data"),
        (vec!["connectors", "rollback", "unheard_of"], "unheard_of"),
    ];
    for (arguments, words) in cases {
        let finished = home.run(&arguments);
        assert_eq!(finished.code, Some(1), "{arguments:?}: {}", finished.stdout);
        assert!(finished.stderr.contains(words), "{arguments:?}: {}", finished.stderr);
        assert_eq!(finished.stderr.lines().count(), 1, "{arguments:?}: {}", finished.stderr);
    }
}

#[test]
fn a_core_module_becomes_a_component() {
    let home = Setup::new().prepare();
    let core = module::root().join("target/wasm/wasm32-unknown-unknown/connector/liar.wasm");
    let packed = home.config().with_file_name("packed.wasm");
    home.run_ok(&["connectors", "pack", core.to_str().unwrap(), "--output", path(&packed)]);
    assert_eq!(fs::read(&packed).unwrap(), module::guest("liar"));
    let text = file(&home, "text", b"no module");
    let finished = home.run(&["connectors", "pack", path(&text), "--output", path(&packed)]);
    assert_eq!(finished.code, Some(1));
    assert_eq!(fs::read(&packed).unwrap(), module::guest("liar"), "the existing file stays");
}

#[test]
fn the_description_is_printed_without_a_gateway() {
    let home = Setup::new().shipped("dex_market_data").prepare();
    let document: Value = serde_json::from_str(&home.run_ok(&["openapi"])).unwrap();
    assert!(document["paths"]["/connectors/dex_market_data/search_pairs"]["post"].is_object());
}

#[test]
fn a_check_shows_the_whole_text_of_a_setting() {
    let home = Setup::new().prepare();
    let module = file(&home, "code_hosting.wasm", &module::shipped("code_hosting"));
    let said = home.run_ok(&["connectors", "check", path(&module)]);
    let text = "If a caller names no repositories, search_issues searches all repositories of the organization.";
    assert!(said.contains(text), "{said}");
}

/// A connector with an account, so that each command below prints something.
fn with_results() -> Home {
    let home = Setup::new().prepare();
    let module = file(&home, "module", &module::liar("version=1.0.0"));
    home.run_ok(&["connectors", "add", path(&module)]);
    home.run_ok(&["keys", "create", "--name", "app"]);
    home
}

const WITH_RESULTS: [&[&str]; 8] = [
    &["openapi"],
    &["keys", "list"],
    &["connectors", "list"],
    &["connectors", "list", "--json"],
    &["connectors", "grants"],
    &["connectors", "versions", "liar"],
    &["connectors", "history"],
    &["connectors", "check", "module"],
];

/// Runs a command whose standard output goes elsewhere, as a line of shell says.
fn redirected(home: &Home, line: &str, arguments: &[&str]) -> Finished {
    run(&mut in_shell(line, &home.command(arguments)))
}

#[test]
fn a_result_whose_reader_has_gone_is_no_error() {
    let home = with_results();
    for arguments in WITH_RESULTS {
        // The pipe has no reader: the only one is closed before the command begins.
        let line = "mkfifo pipe; exec 3<>pipe 4>pipe 3<&-; \"$0\" \"$@\" >&4; code=$?; rm pipe; exit $code";
        let finished = redirected(&home, line, arguments);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let home = with_results();
    for arguments in WITH_RESULTS {
        let finished = redirected(&home, "exec \"$0\" \"$@\" >/dev/full", arguments);
        assert_eq!(finished.code, Some(1), "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains("cannot write the result: "), "{arguments:?}: {}", finished.stderr);
        assert_eq!(finished.stderr.lines().count(), 1, "{arguments:?}: {}", finished.stderr);
    }
}

#[test]
fn a_command_that_makes_the_database_says_where() {
    for arguments in
        [&["connectors", "list"][..], &["keys", "list", "--json"], &["openapi"], &["keys", "rotate-master"]]
    {
        let home = Setup::new().prepare();
        let words = format!("There was no database in `{}`, so a new one was made.", path(&home.data()));
        let first = home.run(arguments);
        assert!(first.stderr.contains(&words) && first.stderr.contains("--config"), "{arguments:?}: {}", first.stderr);
        let second = home.run(arguments);
        assert!(!second.stderr.contains("There was no database"), "{arguments:?}: {}", second.stderr);
    }
    let gateway = Setup::new().start();
    assert!(gateway.lines().iter().all(|line| !line.contains("There was no database")));
}
