//! Mistakes in the configuration. The gateway reports them in one line with what to do, before it
//! serves.

mod issuers;

use std::fs;
use std::net::TcpListener;

use serde_json::json;
use support::process::Process;
use support::setup::KEY;
use support::{Client, Home, Setup, module};

/// Starts a gateway that must fail to start, and returns its exit code and its message.
pub(crate) fn fails(home: &Home) -> (Option<i32>, String) {
    let mut process = Process::start(&mut home.command(&["serve"]));
    let status = process.wait();
    (status.code(), process.lines().join("\n"))
}

/// Checks that the gateway refuses to start, and that one line contains all of these words.
#[track_caller]
fn assert_refused(home: &Home, words: &[&str]) {
    let (code, said) = fails(home);
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for word in words {
        assert!(said.contains(word), "{word} in: {said}");
    }
}

#[test]
fn an_unknown_key_is_refused_with_its_place_and_the_nearest_one() {
    let cases = [
        ("drian_s = 1", "`drian_s`", "`drain_s`", 6),
        ("\n[compile]\nmemory = 64", "`compile.memory`", "`compile.memory_mb`", 8),
        ("[connectors.liar]\nlimits.timeout = 1", "`connectors.liar.limits.timeout`", "timeout_s", 7),
        ("[conectors.liar]\nsettings = {}", "`conectors`", "`connectors`", 6),
        (
            "[connectors.liar]\noauth.client_authentiction = \"basic\"",
            "client_authentiction`",
            "client_authentication`",
            7,
        ),
    ];
    for (config, key, nearest, line) in cases {
        let home = Setup::new().config(config).prepare();
        let place = format!("gateway.toml:{line}");
        assert_refused(&home, &[key, nearest, &place]);
    }
}

#[test]
fn a_wrong_value_is_refused_with_what_is_expected() {
    let cases = [
        ("max_body_mb = 0", "`max_body_mb`", "1 to 1024"),
        ("max_body_mb = \"10\"", "`max_body_mb`", "whole number"),
        ("public_url = \"example.com\"", "`public_url`", "http"),
        ("log = \"inof\"", "`log`", "info"),
        ("[connectors.\"Not Good\"]", "Not Good", "identifier"),
        ("[connectors.liar]\nupstreams.api = \"ftp://x\"", "upstreams.api", "http"),
        ("[connectors.liar]\noauth.client_authentication = \"digest\"", "client_authentication", "\"basic\""),
        (
            "[connectors.liar]\noauth.authorization_parameters.state = \"x\"",
            "authorization_parameters.state",
            "leave it out",
        ),
        ("[connectors.liar]\nallow_private_network = \"yes\"", "allow_private_network", "true or false"),
    ];
    for (config, key, expected) in cases {
        assert_refused(&Setup::new().config(config).prepare(), &[key, expected, "gateway.toml:"]);
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let home = Setup::new().config("drian_s = 1\nmax_body_mb = 0").variable("GATEWAY__LISTN", "x").prepare();
    let (code, said) = fails(&home);
    assert_eq!(code, Some(1));
    for word in ["3 places", "`drian_s`", "`max_body_mb`", "GATEWAY__LISTN"] {
        assert!(said.contains(word), "{word} in: {said}");
    }
}

#[test]
fn a_variable_is_named_when_it_is_wrong() {
    let home = Setup::new().variable("GATEWAY__COMPILE__CPU_S", "soon").prepare();
    assert_refused(&home, &["GATEWAY__COMPILE__CPU_S", "whole number"]);
}

#[test]
fn a_file_that_is_not_toml_is_refused_with_the_number_of_the_line_and_without_its_text() {
    let home = Setup::new().config("secret hunter2").prepare();
    assert_refused(&home, &["gateway.toml:6", "TOML"]);
    assert!(!fails(&home).1.contains("hunter2"));
}

#[test]
fn a_missing_file_is_refused_if_it_was_named() {
    let home = Setup::new().prepare();
    fs::remove_file(home.config()).unwrap();
    assert_refused(&home, &["gateway.toml", "--config"]);
}

#[test]
fn a_port_in_use_is_reported_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let home = Setup::new().variable("GATEWAY__LISTEN", &address).prepare();
    assert_refused(&home, &[&address, "`listen`"]);
}

#[test]
fn a_data_directory_that_cannot_be_created_is_reported_with_what_to_do() {
    let home = Setup::new().prepare();
    let below_a_file = home.config().join("data");
    let home = Setup::new().variable("GATEWAY__DATA_DIR", below_a_file.to_str().unwrap()).prepare();
    assert_refused(&home, &[below_a_file.to_str().unwrap(), "`data_dir`"]);
}

#[test]
fn a_damaged_database_is_reported_with_what_to_do() {
    let home = Setup::new().prepare();
    fs::write(home.data().join("gateway.db"), "this is not a database, although it is long enough".repeat(100))
        .unwrap();
    let (code, said) = fails(&home);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("gateway.db"), "{said}");
}

#[test]
fn a_missing_modules_folder_is_reported_with_what_to_do() {
    let home = Setup::new().prepare();
    fs::remove_dir_all(home.modules()).unwrap();
    assert_refused(&home, &[home.modules().to_str().unwrap(), "`modules_dir`", "create it"]);
}

#[test]
fn a_missing_folder_of_shipped_modules_that_is_configured_is_reported_with_what_to_do() {
    let home = Setup::new().prepare();
    fs::remove_dir_all(home.shipped()).unwrap();
    assert_refused(&home, &[home.shipped().to_str().unwrap(), "`shipped_dir`", "came with the gateway"]);
}

#[test]
fn shipped_modules_and_others_need_folders_of_their_own() {
    let home = Setup::new().prepare();
    fs::remove_dir(home.shipped()).unwrap();
    std::os::unix::fs::symlink(home.modules(), home.shipped()).unwrap();
    assert_refused(&home, &["`shipped_dir`", "`modules_dir`", "the same folder"]);
}

#[test]
fn a_variable_overrides_the_file() {
    let gateway = Setup::new().config("max_body_mb = 1").variable("GATEWAY__MAX_BODY_MB", "3").guest("liar").start();
    let body = format!("{{\"word\": \"{}\"}}", "x".repeat(2 << 20));
    let call = gateway.client().request("POST", "/connectors/liar/version").header("content-type", "application/json");
    call.body(body).send().ok();
}

/// Starts a gateway without configuration that was installed in the folder `installed` next to the
/// folders of `home`. `connectors` came with it, unless there is none.
fn installed(home: &Home, connectors: &[(&str, Vec<u8>)]) -> (Process, Client) {
    let _ = fs::remove_file(home.config());
    let folder = home.config().with_file_name("installed");
    fs::create_dir(&folder).unwrap();
    if !connectors.is_empty() {
        fs::create_dir(folder.join("connectors")).unwrap();
    }
    for (name, module) in connectors {
        fs::write(folder.join(format!("connectors/{name}.wasm")), module).unwrap();
    }
    let binary = folder.join("connector-gateway");
    support::process::copy_program(&support::process::binary(), &binary);
    let mut command = std::process::Command::new(binary);
    command
        .arg("serve")
        .current_dir(home.modules().parent().unwrap())
        .env_remove("GATEWAY_CONFIG")
        .env("GATEWAY__LISTEN", "127.0.0.1:0")
        .env("GATEWAY_BOOTSTRAP_KEY", KEY);
    let process = Process::start(&mut command);
    let address = support::wait_for("the address", || {
        process.lines().iter().find_map(|line| line.strip_prefix("Connector Gateway is at ").map(str::to_owned))
    });
    (process, Client::new(&address).with_key(KEY))
}

#[test]
fn all_defaults_run_in_an_empty_folder() {
    let home = Setup::new().prepare();
    fs::remove_dir(home.modules()).unwrap();
    let (process, client) = installed(&home, &[]);
    assert_eq!(client.get("/readyz").ok()["connectors"], 0);
    assert!(home.data().join("gateway.db").is_file() && home.modules().is_dir());
    let said = support::wait_for("the line about connectors", || {
        let lines = process.lines().into_iter();
        let said: Vec<_> = lines.filter(|line| line.contains("no connectors came with this gateway")).collect();
        (!said.is_empty()).then_some(said)
    });
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn a_first_start_makes_the_tables_that_the_other_tests_begin_with() {
    let [first, other] = [Setup::new().cold(), Setup::new()].map(|setup| {
        let gateway = setup.start();
        let database = rusqlite::Connection::open(gateway.home().data().join("gateway.db")).unwrap();
        let version: i64 = database.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        let mut made = database.prepare("SELECT name, sql FROM sqlite_schema ORDER BY type, name").unwrap();
        let made = made.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        (version, made.map(Result::unwrap).collect::<Vec<(String, Option<String>)>>())
    });
    assert!(!first.1.is_empty());
    assert_eq!(first, other);
}

#[test]
fn the_connectors_beside_the_binary_are_those_that_came_with_it() {
    let home = Setup::new().guest("hostile").prepare();
    let (_process, client) = installed(&home, &[("liar", module::liar("version=1.0.0"))]);
    let listed = client.get("/connectors").ok();
    let listed: Vec<_> = listed["connectors"].as_array().unwrap().iter().collect();
    let shipped: Vec<_> = listed.iter().map(|live| (live["connector"].clone(), live["shipped"].clone())).collect();
    assert_eq!(shipped, [(json!("hostile"), json!(false)), (json!("liar"), json!(true))]);
}

#[test]
fn a_misspelt_upstream_is_logged_with_the_nearest_one() {
    let setup = Setup::new().module("liar", module::liar("version=1.0.0"));
    let gateway = setup.config("[connectors.liar]\nupstreams.apl = \"http://127.0.0.1:9\"").start();
    let line = gateway.wait_for_log("the upstream", |line| line["upstream"] == "apl");
    assert_eq!((&line["level"], &line["nearest"], &line["known"]), (&json!("WARN"), &json!("api"), &json!("api")));
}

#[test]
fn oauth_values_for_a_connector_without_a_provider_are_logged() {
    let setup = Setup::new().module("liar", module::liar("version=1.0.0"));
    let gateway = setup.config("[connectors.liar]\noauth.token_url = \"http://127.0.0.1:9/token\"").start();
    let line = gateway.wait_for_log("the section", |line| line["section"] == "[connectors.liar.oauth]");
    assert_eq!(line["level"], "WARN");
}

#[test]
fn a_wrong_command_line_ends_with_2_and_says_what_is_right() {
    let home = Setup::new().prepare();
    for (arguments, words) in
        [(&["srve"][..], "serve"), (&["keys", "create"], "--name"), (&["serve", "--cofig"], "--config")]
    {
        let finished = home.run(arguments);
        assert_eq!(finished.code, Some(2), "{arguments:?}");
        assert!(finished.stderr.contains(words), "{}", finished.stderr);
    }
}
