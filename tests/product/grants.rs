//! Hosts that the operator grants to connectors.

use std::fs;

use serde_json::{Value, json};
use support::{Gateway, Home, Setup, module, wait_for};

use support::home::{file, path};

/// The guest `account`, whose upstreams name `api.example`, `other.example` and these hosts.
fn named(hosts: &[&str]) -> Vec<u8> {
    module::account(&json!({"identifier": "account", "auth": "none", "link_hosts": hosts}))
}

/// The hosts that the connector may reach in a running gateway.
fn granted(gateway: &Gateway) -> Value {
    gateway.connector("account").map_or(Value::Null, |connector| connector["hosts"]["granted"].clone())
}

#[track_caller]
fn wait_until(gateway: &Gateway, module: &[u8], hosts: &[&str]) {
    let digest = module::digest(module);
    wait_for(&format!("{hosts:?}"), || {
        let is_live = gateway.connector("account").is_some_and(|connector| connector["sha256"] == digest);
        (is_live && granted(gateway) == json!(hosts)).then_some(())
    });
}

/// The rows of `connectors grants --json`: hosts and states.
fn listed(home: &Home) -> Vec<(String, String)> {
    let rows: Value = serde_json::from_str(&home.run_ok(&["connectors", "grants", "account", "--json"])).unwrap();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    rows.as_array().unwrap().iter().map(|row| (text(row, "host"), text(row, "state"))).collect()
}

#[test]
fn a_grant_of_an_update_is_added_to_the_former_ones() {
    let gateway = Setup::new().start();
    let first = named(&["a.example"]);
    let second = named(&["a.example", "b.example"]);
    let add = |module: &[u8], grants: &[&str]| {
        let file = file(gateway.home(), "module", module);
        let grants = grants.iter().flat_map(|host| ["--grant", host]);
        gateway.home().run_ok(&["connectors", "add", path(&file)].into_iter().chain(grants).collect::<Vec<_>>());
    };
    add(&first, &["api.example", "a.example"]);
    wait_until(&gateway, &first, &["a.example", "api.example"]);
    add(&second, &["b.example"]);
    wait_until(&gateway, &second, &["a.example", "api.example", "b.example"]);
    let upload = gateway.client().request("POST", "/admin/connectors?grant=other.example");
    let installed = upload.header("content-type", "application/wasm").body(second).send().ok();
    assert_eq!(installed["hosts"]["granted"], json!(["a.example", "api.example", "b.example", "other.example"]));
    let gateway = gateway.start_again();
    assert_eq!(granted(&gateway), json!(["a.example", "api.example", "b.example", "other.example"]));
}

#[test]
fn grants_are_changed_and_listed_by_commands_while_the_gateway_serves() {
    let module = named(&[]);
    let gateway = Setup::new().module("account", module.clone()).start();
    let home = gateway.home();
    assert_eq!(granted(&gateway), json!([]));
    let problem = gateway.call("account/forward", json!({"path": "/"})).problem(403, "egress-denied");
    assert!(problem["detail"].as_str().unwrap().contains("`connector-gateway connectors grant account api.example`"));
    let said = home.run_ok(&["connectors", "grant", "account", "api.example"]);
    assert!(said.contains("reaches     api.example") && said.contains("asks for    other.example"), "{said}");
    wait_until(&gateway, &module, &["api.example"]);
    home.run_ok(&["connectors", "grant", "account", "other.example"]);
    wait_until(&gateway, &module, &["api.example", "other.example"]);
    home.run_ok(&["connectors", "revoke", "account", "api.example"]);
    wait_until(&gateway, &module, &["other.example"]);
    gateway.call("account/forward", json!({"path": "/"})).problem(403, "egress-denied");
    let expected = [("api.example", "not granted"), ("other.example", "granted")];
    assert_eq!(listed(home), expected.map(|(host, state)| (host.to_owned(), state.to_owned())));
    let table = home.run_ok(&["connectors", "grants"]);
    for words in ["CONNECTOR", "account", "other.example"] {
        assert!(table.contains(words), "{words} in\n{table}");
    }
    let event = |line: &Value| line["message"] == "connector regranted";
    let events = || gateway.log().into_iter().filter(event).count();
    assert_eq!(wait_for("the lines about the changes", || Some(events()).filter(|count| *count >= 3)), 3);
}

#[test]
fn a_change_of_grants_needs_no_gateway_and_holds_for_its_next_start() {
    let home = Setup::new().module("account", named(&["a.example"])).prepare();
    home.run_ok(&["connectors", "grant", "account", "api.example", "a.example"]);
    home.run_ok(&["connectors", "revoke", "account", "a.example"]);
    let gateway = home.start();
    assert_eq!(granted(&gateway), json!(["api.example"]));
}

#[test]
fn a_grant_makes_a_file_live_that_was_refused_without_it() {
    let module = module::account(&json!({
        "identifier": "account", "auth": "oauth2", "token_url": "https://tokens.elsewhere.example/token",
    }));
    let gateway = Setup::new().module("account", module.clone()).start();
    assert!(gateway.wait_for_refusal("account.wasm").contains("`--grant tokens.elsewhere.example`"));
    gateway.home().run_ok(&["connectors", "grant", "account", "tokens.elsewhere.example", "api.example"]);
    wait_until(&gateway, &module, &["api.example"]);
    wait_for("the end of the refusal", || gateway.refusal("account.wasm").is_none().then_some(()));
    // Without the grant it must not serve any longer.
    gateway.home().run_ok(&["connectors", "revoke", "account", "tokens.elsewhere.example"]);
    gateway.wait_for_refusal("account.wasm");
    assert_eq!(gateway.connector("account"), None);
}

#[test]
fn a_grant_that_cannot_be_changed_is_refused_and_changes_nothing() {
    let home = Setup::new().module("account", named(&[])).shipped("dex_market_data").prepare();
    home.run_ok(&["connectors", "grant", "account", "api.example"]);
    let cases = [
        (vec!["grant", "account", "other.example", "apl.example"], "no upstream of `account` names `apl.example`"),
        (vec!["grant", "account", "apl.example"], "it names api.example, other.example"),
        (vec!["grant", "account", "https://other.example"], "is not a host name"),
        (vec!["grant", "unheard_of", "api.example"], "no connector `unheard_of` is installed"),
        (vec!["grant", "../data", "api.example"], "../data"),
        (vec!["grant", "dex_market_data", "api.example"], "came with the gateway"),
        (vec!["revoke", "account", "api.example", "other.example"], "`other.example` is not granted to `account`"),
        (vec!["grants", "unheard_of"], "unheard_of"),
    ];
    for (arguments, words) in cases {
        let finished = home.run(&[&["connectors"], &arguments[..]].concat());
        assert_eq!(finished.code, Some(1), "{arguments:?}: {}", finished.stdout);
        assert!(finished.stderr.contains(words), "{arguments:?}: {}", finished.stderr);
    }
    assert_eq!(home.start().connector("account").unwrap()["hosts"]["granted"], json!(["api.example"]));
}

#[test]
fn an_update_with_a_grant_that_no_upstream_names_is_refused() {
    let gateway = Setup::new().start();
    let module = file(gateway.home(), "module", &named(&[]));
    let added = gateway.home().run(&["connectors", "add", path(&module), "--grant", "apl.example"]);
    assert_eq!(added.code, Some(1));
    assert!(added.stderr.contains("no upstream of `account` names `apl.example`"), "{}", added.stderr);
    let upload = gateway.client().request("POST", "/admin/connectors?grant=apl.example");
    upload.header("content-type", "application/wasm").body(named(&[])).send().problem(400, "bad-request");
    assert!(!gateway.home().module("account").exists());
}

#[test]
fn a_rollback_restores_the_grants_of_its_version_and_another_one_those_of_the_update() {
    let gateway = Setup::new().start();
    let (first, second) = (named(&["a.example"]), named(&["a.example", "b.example"]));
    let [one, two] = [("one", &first), ("two", &second)].map(|(name, module)| file(gateway.home(), name, module));
    let home = gateway.home();
    home.run_ok(&["connectors", "add", path(&one), "--grant", "api.example", "--grant", "a.example"]);
    wait_until(&gateway, &first, &["a.example", "api.example"]);
    home.run_ok(&["connectors", "add", path(&two), "--grant", "b.example", "--grant", "other.example"]);
    wait_until(&gateway, &second, &["a.example", "api.example", "b.example", "other.example"]);
    home.run_ok(&["connectors", "revoke", "account", "a.example"]);
    wait_until(&gateway, &second, &["api.example", "b.example", "other.example"]);
    home.run_ok(&["connectors", "rollback", "account"]);
    wait_until(&gateway, &first, &["a.example", "api.example"]);
    let rollback = gateway.client().request("POST", "/admin/connectors/account/rollback").send().ok();
    assert_eq!(rollback["hosts"]["granted"], json!(["api.example", "b.example", "other.example"]));
    let gateway = gateway.start_again();
    assert_eq!(granted(&gateway), json!(["api.example", "b.example", "other.example"]));
}

#[test]
fn a_rollback_restores_the_grants_of_a_version_that_a_file_replaced() {
    let gateway = Setup::new().start();
    let (first, second) = (named(&["a.example"]), named(&[]));
    let one = file(gateway.home(), "one", &first);
    gateway.home().run_ok(&["connectors", "add", path(&one), "--grant", "a.example"]);
    wait_until(&gateway, &first, &["a.example"]);
    gateway.home().put("account", &second);
    wait_until(&gateway, &second, &[]);
    gateway.home().run_ok(&["connectors", "revoke", "account", "a.example"]);
    gateway.home().run_ok(&["connectors", "grant", "account", "api.example"]);
    wait_until(&gateway, &second, &["api.example"]);
    gateway.home().run_ok(&["connectors", "rollback", "account"]);
    wait_until(&gateway, &first, &["a.example"]);
}

#[test]
fn the_grants_of_a_removed_connector_are_forgotten() {
    let gateway = Setup::new().start();
    let module = named(&[]);
    let home = gateway.home();
    let one = file(home, "one", &module);
    for by_route in [false, true] {
        home.run_ok(&["connectors", "add", path(&one), "--grant", "api.example"]);
        wait_until(&gateway, &module, &["api.example"]);
        if by_route {
            gateway.client().delete("/admin/connectors/account").ok();
        } else {
            home.run_ok(&["connectors", "remove", "account"]);
            wait_for("the removal", || gateway.connector("account").is_none().then_some(()));
        }
        home.run_ok(&["connectors", "add", path(&one)]);
        wait_until(&gateway, &module, &[]);
    }
    fs::remove_file(home.module("account")).unwrap();
}

#[test]
fn commands_are_printed_that_grant_what_a_module_asks_for() {
    let home = Setup::new().prepare();
    let module = file(&home, "a module", &named(&["a.example"]));
    let checked = home.run_ok(&["connectors", "check", path(&module)]);
    let config = home.config();
    let expected = format!(
        "to grant    connector-gateway --config {} connectors add '{}' --grant a.example --grant api.example --grant other.example",
        path(&config),
        path(&module)
    );
    assert!(checked.contains(&expected), "{expected} in\n{checked}");
    let added = home.run_ok(&["connectors", "add", path(&module), "--grant", "api.example"]);
    let command = added.lines().find_map(|line| line.trim().strip_prefix("to grant ")).unwrap().trim();
    let words: Vec<&str> = command.split(' ').skip(3).collect();
    assert_eq!(words, ["connectors", "grant", "account", "a.example", "other.example"]);
    home.run_ok(&words);
    let states: Vec<String> = listed(&home).into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, ["granted", "granted", "granted"]);
}

#[test]
fn a_wildcard_is_quoted_for_the_shell_in_the_commands_that_grant_it() {
    let home = Setup::new().prepare();
    let module = file(&home, "wildcard", &named(&["*.a.example"]));
    let checked = home.run_ok(&["connectors", "check", path(&module)]);
    assert!(checked.contains(" --grant '*.a.example'"), "{checked}");
    let added = home.run_ok(&["connectors", "add", path(&module)]);
    let command = added.lines().find(|line| line.trim().starts_with("to grant ")).unwrap();
    assert!(command.contains(" '*.a.example'"), "{command}");
}

#[test]
fn what_a_module_asks_for_is_granted_with_the_acceptance_and_printed() {
    let gateway = Setup::new().module("account", named(&["a.example"])).start();
    let home = gateway.home();
    let module = named(&["a.example", "b.example"]);
    let update = file(home, "update", &module);
    let alone = home.run(&["connectors", "add", path(&update), "--grant-asked"]);
    assert_eq!(alone.code, Some(1));
    assert!(
        alone.stderr.contains("it needs --accept; add --accept, or name the hosts with --grant"),
        "{}",
        alone.stderr
    );
    let upload = |query: &str| {
        let call = gateway.client().request("POST", &format!("/admin/connectors{query}"));
        call.header("content-type", "application/wasm").body(module.clone()).send()
    };
    let errors = upload("?grant_asked=true").problem(422, "validation")["errors"].clone();
    assert_eq!(errors[0]["pointer"], "/grant_asked");
    assert_eq!(granted(&gateway), json!([]), "nothing is granted yet");

    let added = home.run_ok(&["connectors", "add", path(&update), "--accept", "--grant-asked", "--grant", "a.example"]);
    let named: Vec<&str> = added.lines().filter_map(|line| line.strip_prefix("  granted     ")).collect();
    assert_eq!(named, ["a.example", "api.example", "b.example", "other.example"], "{added}");
    assert!(!added.contains("asks for") && !added.contains("to grant"), "{added}");
    wait_until(&gateway, &module, &["a.example", "api.example", "b.example", "other.example"]);
    let history = home.run_ok(&["connectors", "history", "account", "--limit", "1"]);
    assert!(history.contains("granted a.example, api.example, b.example, other.example"), "{history}");
    // A host that was granted before is not granted again.
    let again = upload("?accept=true&grant_asked=true").ok();
    assert_eq!(again["newly_granted"], json!([]));
}

/// The guest `account` with OAuth 2.0, these scopes and these link hosts.
fn asking(scopes: &[&str], hosts: &[&str]) -> Vec<u8> {
    module::account(&json!({"identifier": "account", "auth": "oauth2", "scopes": scopes, "link_hosts": hosts}))
}

fn serves(gateway: &Gateway, module: &[u8]) -> bool {
    gateway.connector("account").is_some_and(|connector| connector["sha256"] == module::digest(module))
}

#[test]
fn an_update_that_asks_for_more_is_shown_as_a_difference_and_waits_for_the_operators_word() {
    let gateway = Setup::new().start();
    let (first, more) = (asking(&["read"], &[]), asking(&["read", "write"], &["b.example"]));
    let [one, two] = [("one", &first), ("two", &more)].map(|(name, module)| file(gateway.home(), name, module));
    let home = gateway.home();
    home.run_ok(&["connectors", "add", path(&one)]);
    wait_until(&gateway, &first, &[]);
    let checked = home.run_ok(&["connectors", "check", path(&two)]);
    let refused = home.run(&["connectors", "add", path(&two)]);
    assert_eq!(refused.code, Some(1));
    for line in ["+ host b.example", "+ scope write"] {
        assert!(checked.contains(line) && refused.stdout.contains(line), "{line} in\n{checked}\n{}", refused.stdout);
    }
    assert_eq!(refused.stdout.matches('+').count(), 2, "{}", refused.stdout);
    let command = refused.stderr.split('`').nth(3).unwrap().to_owned();
    let config = home.config();
    assert_eq!(command, format!("connector-gateway --config {} connectors add {} --accept", path(&config), path(&two)));
    let upload = |query: &str| {
        let call = gateway.client().request("POST", &format!("/admin/connectors{query}"));
        call.header("content-type", "application/wasm").body(more.clone()).send()
    };
    let problem = upload("").problem(422, "module-refused");
    assert_eq!(problem["asks_for"], json!(["host b.example", "scope write"]));
    let errors = upload("?accept=maybe&force=1").problem(422, "validation")["errors"].clone();
    assert_eq!((&errors[0]["pointer"], &errors[1]["pointer"]), (&json!("/accept"), &json!("/force")));
    assert!(serves(&gateway, &first));
    assert_eq!(fs::read(home.module("account")).unwrap(), first);

    let words: Vec<&str> = command.split(' ').skip(3).collect();
    home.run_ok(&words);
    wait_until(&gateway, &more, &[]);
    // A rollback needs no word, and an update that asks for less neither. Then the same again is
    // more again.
    home.run_ok(&["connectors", "rollback", "account"]);
    wait_until(&gateway, &first, &[]);
    upload("").problem(422, "module-refused");
    upload("?accept=true").ok();
    home.run_ok(&["connectors", "add", path(&one)]);
    wait_until(&gateway, &first, &[]);
    assert_eq!(home.run(&["connectors", "add", path(&two)]).code, Some(1));
}

#[test]
fn a_file_that_asks_for_more_is_refused_and_the_version_before_serves_also_after_a_restart() {
    let (first, more) = (asking(&["read"], &[]), asking(&["read", "write"], &[]));
    let gateway = Setup::new().module("account", first.clone()).start();
    gateway.home().put("account", &more);
    let reason = gateway.wait_for_refusal("account.wasm");
    assert!(reason.contains("requests more permissions") && reason.contains("scope write"), "{reason}");
    assert!(serves(&gateway, &first));
    let gateway = gateway.start_again();
    assert!(gateway.wait_for_refusal("account.wasm").contains("scope write"));
    assert!(serves(&gateway, &first));
    // The reason names this command.
    let command = reason.split('`').nth(1).unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    gateway.home().run_ok(&words);
    wait_until(&gateway, &more, &[]);
    wait_for("the end of the refusal", || gateway.refusal("account.wasm").is_none().then_some(()));
    let gateway = gateway.start_again();
    assert!(serves(&gateway, &more));
}

#[test]
fn hosts_that_are_granted_with_an_update_are_accepted_and_a_removed_connector_has_no_version_before() {
    let home = Setup::new().prepare();
    let (first, more) = (named(&[]), named(&["b.example"]));
    let [one, two] = [("one", &first), ("two", &more)].map(|(name, module)| file(&home, name, module));
    home.run_ok(&["connectors", "add", path(&one)]);
    assert_eq!(home.run(&["connectors", "add", path(&two)]).code, Some(1));
    home.run_ok(&["connectors", "add", path(&two), "--grant", "b.example"]);
    home.run_ok(&["connectors", "add", path(&one)]);
    home.run_ok(&["connectors", "remove", "account"]);
    home.run_ok(&["connectors", "add", path(&two)]);
}

#[test]
fn an_update_that_sends_credentials_or_users_elsewhere_waits_for_the_operators_word() {
    let scheme = |change: Value| {
        let mut service = json!({
            "identifier": "account", "auth": "oauth2", "scopes": ["read"], "revokes_replaced_grants": false,
            "base_url": "https://api.example/v1",
        });
        service.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        module::account(&service)
    };
    let gateway = Setup::new().module("account", scheme(json!({}))).start();
    let upload = |change: Value| {
        let upload = gateway.client().request("POST", "/admin/connectors");
        let upload = upload.header("content-type", "application/wasm").body(scheme(change));
        upload.send().problem(422, "module-refused")
    };
    for (change, words) in [
        (json!({"scope_parameter": "user_scope"}), "scopes in parameter user_scope"),
        (json!({"authorization_url": "https://accounts.example/authorize?x=1"}), "authorization at https://accounts"),
        (json!({"token_url": "https://accounts.example/other"}), "tokens from https://accounts.example/other"),
        (json!({"pkce": false}), "authorization without PKCE"),
        (json!({"revokes_replaced_grants": true}), "revocation of replaced tokens"),
        (json!({"base_url": "https://api.example"}), "requests to upstream api at https://api.example"),
        (json!({"base_url": "https://api.example/v2"}), "requests to upstream api at https://api.example/v2"),
        (json!({"token_parameters": [["audience", "all"]]}), "token parameters audience=all"),
        (json!({"authorization_parameters": [["user_scope", "admin"]]}), "authorization parameters user_scope=admin"),
        (json!({"destructive": "composed"}), "destructive operation composed"),
    ] {
        let problem = upload(change);
        let [asked] = problem["asks_for"].as_array().unwrap().as_slice() else { panic!("{problem}") };
        assert!(asked.as_str().unwrap().contains(words), "{problem}");
    }
    // No word of the operator lets the user's token travel in clear text, except the address itself.
    let refused = upload(json!({"base_url": "http://api.example/v1"}));
    assert!(refused["detail"].as_str().unwrap().contains("`http`"), "{refused}");
    assert!(serves(&gateway, &scheme(json!({}))));
}
