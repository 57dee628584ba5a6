//! The commands about the connectors of a gateway, with the URL and a key of a running one.

use std::process::Command;

use serde_json::{Value, json};
use support::setup::KEY;
use support::{Gateway, Home, Setup, module, process, wait_for};

use support::home::{file, path};

/// A machine without a gateway, whose commands are for a gateway elsewhere.
struct Elsewhere<'a> {
    gateway: &'a Gateway,
    home: Home,
    key: String,
}

impl<'a> Elsewhere<'a> {
    /// Commands with a key that has this scope.
    fn with_scope(gateway: &'a Gateway, scope: &str) -> Self {
        let key = gateway.home().run_ok(&["keys", "create", "--name", "publisher", "--scope", scope]);
        Self { gateway, home: Setup::new().prepare(), key: key.trim().to_owned() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(process::binary());
        command.arg("connectors").args(arguments).args(["--url", &self.gateway.address()]);
        // In this folder is no configuration, and nothing may be written into it.
        command.current_dir(self.home.modules());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("GATEWAY_")) {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> process::Finished {
        process::run(self.command(arguments).env("GATEWAY_KEY", &self.key))
    }

    #[track_caller]
    fn run_ok(&self, arguments: &[&str]) -> process::Finished {
        let finished = self.run(arguments);
        assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
        finished
    }
}

#[test]
fn a_connector_is_added_changed_and_removed_from_elsewhere() {
    let gateway = Setup::new().start();
    let elsewhere = Elsewhere::with_scope(&gateway, "admin");
    let place = format!("the gateway at {}", gateway.address());
    let [one, two] =
        ["1.0.0", "2.0.0"].map(|version| file(&elsewhere.home, version, &module::liar(&format!("version={version}"))));
    let added = elsewhere.run_ok(&["add", path(&one)]);
    assert!(added.stderr.contains(&format!("Added to {place}.")), "{}", added.stderr);
    for words in ["liar 1.0.0", "asks for    api.example", &format!("api.example --url {}", gateway.address())] {
        assert!(added.stdout.contains(words), "{words} in\n{}", added.stdout);
    }
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=1.0.0");

    let granted = elsewhere.run_ok(&["grant", "liar", "api.example"]);
    assert!(granted.stdout.contains("reaches     api.example"), "{}", granted.stdout);
    assert_eq!(gateway.connector("liar").unwrap()["hosts"]["granted"], json!(["api.example"]));
    let rows: Value = serde_json::from_str(&elsewhere.run_ok(&["grants", "--json"]).stdout).unwrap();
    assert_eq!(rows, json!([{"connector": "liar", "host": "api.example", "state": "granted"}]));
    elsewhere.run_ok(&["revoke", "liar", "api.example"]);
    assert_eq!(gateway.connector("liar").unwrap()["hosts"]["missing"], json!(["api.example"]));
    let table = elsewhere.run_ok(&["grants", "liar"]).stdout;
    assert!(table.contains("not granted"), "{table}");

    elsewhere.run_ok(&["add", path(&two), "--grant", "api.example"]);
    let list = elsewhere.run_ok(&["list"]).stdout;
    assert!(list.contains("liar") && list.contains("2.0.0"), "{list}");
    let versions = elsewhere.run_ok(&["versions", "liar"]).stdout;
    assert!(versions.lines().nth(1).unwrap().starts_with("2.0.0 "), "{versions}");
    assert_eq!(versions.matches("API key publisher (").count(), 2, "{versions}");
    let back = elsewhere.run_ok(&["rollback", "liar", "--to", "1.0.0"]);
    assert!(back.stderr.contains("Brought back `liar` 1.0.0 ("), "{}", back.stderr);
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    elsewhere.run_ok(&["remove", "liar"]);
    assert_eq!(gateway.connector("liar"), None);
    let history: Value = serde_json::from_str(&elsewhere.run_ok(&["history", "--json"]).stdout).unwrap();
    let actions: Vec<&str> =
        history.as_array().unwrap().iter().map(|change| change["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["removed", "rolled_back", "replaced", "revoked", "granted", "added"]);
    assert_eq!(
        std::fs::read_dir(elsewhere.home.modules()).unwrap().count(),
        0,
        "nothing is written where the command ran"
    );
}

#[test]
fn a_change_may_be_bound_to_a_generation_and_wait_for_the_gateways() {
    let gateway = Setup::new().start();
    let elsewhere = Elsewhere::with_scope(&gateway, "admin");
    let [one, two] =
        ["1.0.0", "2.0.0"].map(|version| file(&elsewhere.home, version, &module::liar(&format!("version={version}"))));
    let added = elsewhere.run_ok(&["add", path(&one), "--if-generation", "0", "--wait", "60"]).stdout;
    assert!(added.contains("  gateway     gw_") && added.contains(": live"), "{added}");
    elsewhere.run_ok(&["add", path(&two), "--if-generation", "1"]);
    for arguments in [
        &["add", path(&one), "--if-generation", "1"][..],
        &["rollback", "liar", "--if-generation", "1"],
        &["remove", "liar", "--if-generation", "1"],
    ] {
        let refused = elsewhere.run(arguments);
        assert_eq!(refused.code, Some(1), "{arguments:?}");
        assert!(refused.stderr.contains("its generation is 2"), "{}", refused.stderr);
    }
    let back = elsewhere.run_ok(&["rollback", "liar", "--if-generation", "2", "--wait", "60"]).stdout;
    assert!(back.contains(": live"), "{back}");
    assert_eq!(gateway.connector("liar").unwrap()["version"], "1.0.0");
    // The same without a running gateway.
    let home = gateway.home();
    let refused = home.run(&["connectors", "remove", "liar", "--if-generation", "7"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let refused = home.run(&["connectors", "remove", "liar", "--wait", "5"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("--url"), "{}", refused.stderr);
    let removed = elsewhere.run_ok(&["remove", "liar", "--if-generation", "3", "--wait", "60"]);
    assert!(removed.stderr.contains("Removed `liar`"), "{}", removed.stderr);
    assert_eq!(gateway.connector("liar"), None);
}

#[test]
fn the_same_is_printed_for_both_gateways() {
    let gateway = Setup::new().start();
    let elsewhere = Elsewhere::with_scope(&gateway, "admin");
    let module = file(&elsewhere.home, "module", &module::guest("account"));
    let here = elsewhere.home.run_ok(&["connectors", "add", path(&module), "--grant", "api.example"]);
    let there = elsewhere.run_ok(&["add", path(&module), "--grant", "api.example"]).stdout;
    let without_hint =
        |text: &str| text.lines().filter(|line| !line.contains("to grant")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_hint(&here), without_hint(&there));
    let here = elsewhere.home.run_ok(&["connectors", "grants", "--json"]);
    assert_eq!(here, elsewhere.run_ok(&["grants", "--json"]).stdout);
    // One of the two gateways runs, so that one list has a gateway which serves.
    let without_gateways = |text: &str| {
        let mut list: Value = serde_json::from_str(text).unwrap();
        for connector in list["connectors"].as_array_mut().unwrap() {
            connector.as_object_mut().unwrap().remove("gateways");
        }
        list
    };
    // The gateway stores what it serves after it has answered.
    let there = wait_for("the gateway to show what it serves", || {
        let listed = elsewhere.run_ok(&["list", "--json"]).stdout;
        listed.contains("\"live\"").then_some(listed)
    });
    let here = elsewhere.home.run_ok(&["connectors", "list", "--json"]);
    assert_eq!(without_gateways(&here), without_gateways(&there));
    let there: Value = serde_json::from_str(&there).unwrap();
    assert_eq!(there["connectors"][0]["gateways"], json!({"live": 1}));
    assert_eq!(there["connectors"][0]["generation"], 1);
    let tables = [elsewhere.home.run_ok(&["connectors", "list"]), elsewhere.run_ok(&["list"]).stdout];
    assert!(tables.iter().all(|table| table.starts_with("CONNECTOR ")) && tables[1].contains(" 1 live"), "{tables:?}");
}

#[test]
fn add_says_which_folders_it_changed() {
    let home = Setup::new().prepare();
    let module = file(&home, "module", &module::guest("liar"));
    let added = home.run(&["connectors", "add", path(&module)]);
    let expected =
        format!("Added to the modules folder `{}` of the data folder `{}`.", path(&home.modules()), path(&home.data()));
    assert!(added.stderr.contains(&expected), "{expected} in\n{}", added.stderr);
}

#[test]
fn a_key_without_the_scope_admin_changes_nothing() {
    let gateway = Setup::new().guest("liar").start();
    let elsewhere = Elsewhere::with_scope(&gateway, "operate");
    let module = file(&elsewhere.home, "module", &module::liar("version=2.0.0"));
    let before = gateway.connector("liar");
    for arguments in [
        &["add", path(&module)][..],
        &["remove", "liar"],
        &["grant", "liar", "api.example"],
        &["revoke", "liar", "api.example"],
        &["grants"],
        &["versions", "liar"],
        &["rollback", "liar"],
        &["history", "liar"],
        &["history"],
    ] {
        let finished = elsewhere.run(arguments);
        assert_eq!(finished.code, Some(1), "{arguments:?}: {}", finished.stdout);
        for words in [&format!("the gateway at {}", gateway.address()), "scope `admin`", "(request "] {
            assert!(finished.stderr.contains(words), "{arguments:?}: {words} in\n{}", finished.stderr);
        }
    }
    assert_eq!(gateway.connector("liar"), before);
}

#[test]
fn a_refusal_of_another_gateway_is_shown_with_its_reason() {
    let gateway = Setup::new().start();
    let elsewhere = Elsewhere::with_scope(&gateway, "admin");
    let bad = file(&elsewhere.home, "bad", &module::liar("reserved path"));
    let refused = elsewhere.run(&["add", path(&bad)]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("`integrations`"), "{}", refused.stderr);

    let asking =
        |scopes: &[&str]| module::account(&json!({"identifier": "account", "auth": "oauth2", "scopes": scopes}));
    let [one, two] = [("one", asking(&["read"])), ("two", asking(&["read", "write"]))]
        .map(|(name, module)| file(&elsewhere.home, name, &module));
    elsewhere.run_ok(&["add", path(&one)]);
    let refused = elsewhere.run(&["add", path(&two)]);
    assert_eq!((refused.code, refused.stdout.trim()), (Some(1), "+ scope write"));
    let command = refused.stderr.split('`').nth(3).unwrap();
    assert!(command.ends_with(&format!("--accept --url {}", gateway.address())), "{command}");
    let key = file(&elsewhere.home, "key", elsewhere.key.as_bytes());
    let refused = process::run(&mut elsewhere.command(&["add", path(&two), "--key-file", path(&key)]));
    let command = refused.stderr.split('`').nth(3).unwrap();
    let expected = format!("--accept --url {} --key-file {}", gateway.address(), path(&key));
    assert!(command.ends_with(&expected), "{command}");
    elsewhere.run_ok(&["add", path(&two), "--accept"]);
}

#[test]
fn the_key_comes_from_a_file_a_variable_or_an_argument_and_is_never_printed() {
    let gateway = Setup::new().guest("liar").start();
    let elsewhere = Elsewhere::with_scope(&gateway, "admin");
    let without = process::run(&mut elsewhere.command(&["list"]));
    assert_eq!(without.code, Some(1));
    assert!(without.stderr.contains("GATEWAY_KEY"), "{}", without.stderr);
    let key = file(&elsewhere.home, "key", format!("{}\n", elsewhere.key).as_bytes());
    for arguments in [&["list", "--key-file", path(&key)][..], &["list", "--key", &elsewhere.key]] {
        let finished = process::run(&mut elsewhere.command(arguments));
        assert!(finished.stdout.contains("liar"), "{}", finished.stderr);
    }
    let help = process::run(elsewhere.command(&["list", "--help"]).env("GATEWAY_KEY", &elsewhere.key));
    assert!(help.stdout.contains("GATEWAY_KEY") && !help.stdout.contains(&elsewhere.key), "{}", help.stdout);
}

#[test]
fn a_gateway_that_does_not_answer_is_named() {
    let home = Setup::new().prepare();
    let arguments = ["connectors", "list", "--key", "cgw_0123456789abcdef", "--url"];
    let dead = home.run(&[&arguments[..], &["http://127.0.0.1:1"]].concat());
    assert_eq!(dead.code, Some(1));
    assert!(dead.stderr.contains("the gateway at http://127.0.0.1:1/ does not answer"), "{}", dead.stderr);
    let other = home.run(&[&arguments[..], &["ftp://gateway.example"]].concat());
    assert!(other.stderr.contains("an absolute http or https URL"), "{}", other.stderr);
}

#[test]
fn at_the_address_of_callers_the_commands_name_the_address_of_operators() {
    let gateway = Setup::new().config("admin_listen = \"127.0.0.1:0\"").start();
    let finished = gateway.home().run(&["connectors", "history", "--key", KEY, "--url", &gateway.address()]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("`admin_listen` address, --url takes that address"), "{}", finished.stderr);
}

#[test]
fn programs_read_the_result_of_each_change_as_json() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).start();
    gateway.wait_for_version("liar", "1.0.0");
    let elsewhere = Elsewhere::with_scope(&gateway, "admin");
    for (remote, version) in [(true, "2.0.0"), (false, "3.0.0")] {
        let run = |arguments: &[&str]| -> Value {
            let stdout = match remote {
                true => elsewhere.run_ok(&[arguments, &["--json"]].concat()).stdout,
                false => gateway.home().run_ok(&[&["connectors"], arguments, &["--json"]].concat()),
            };
            serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
        };
        let next = file(&elsewhere.home, version, &module::liar(&format!("version={version}")));
        let added = run(&["add", path(&next)]);
        assert_eq!((&added["connector"], &added["version"]), (&json!("liar"), &json!(version)));
        let granted = json!({"connector": "liar", "host": "api.example", "state": "granted"});
        assert_eq!(run(&["grant", "liar", "api.example"]), json!([granted]));
        let revoked = json!({"connector": "liar", "host": "api.example", "state": "not granted"});
        assert_eq!(run(&["revoke", "liar", "api.example"]), json!([revoked]));
        assert_eq!(run(&["rollback", "liar", "--to", "1.0.0"])["version"], "1.0.0");
    }
    let removed = elsewhere.run_ok(&["remove", "liar", "--wait", "60", "--json"]).stdout;
    let removed: Value = serde_json::from_str(&removed).unwrap();
    assert_eq!((&removed["connector"], removed["gateways"].is_array()), (&json!("liar"), true));
}
