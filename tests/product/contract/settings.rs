//! Settings of connectors: the operator's values are checked by the schemas that the manifest
//! declares.

use serde_json::{Value, json};
use support::{Gateway, Home, Setup, module};

use crate::configuration::fails;

/// The folders of a gateway with the hostile guest and these keys in its section.
fn home(config: &str) -> Home {
    Setup::new().guest("hostile").config(&format!("[connectors.hostile]\n{config}")).prepare()
}

fn gateway(config: &str) -> Gateway {
    home(config).start()
}

fn setting(gateway: &Gateway, key: &str) -> Value {
    gateway.call("hostile/setting", json!({"key": key})).ok()["setting"].clone()
}

/// The message of a gateway that does not start: what it says after its log lines.
#[track_caller]
fn message(home: &Home) -> String {
    let (code, said) = fails(home);
    assert_eq!(code, Some(1), "{said}");
    let start = said.find("connector-gateway: ").unwrap_or_else(|| panic!("no message in: {said}"));
    said[start..].to_owned()
}

/// Checks that the gateway does not start, and that its message contains all of these words.
#[track_caller]
fn assert_refused(home: &Home, words: &[&str]) {
    let said = message(home);
    for word in words {
        assert!(said.contains(word), "{word} in: {said}");
    }
}

#[test]
fn a_value_that_the_schema_refuses_keeps_the_gateway_from_starting() {
    let cases = [
        ("settings.limit = \"many\"", "`connectors.hostile.settings.limit`", "integer"),
        ("settings.limit = 0", "`connectors.hostile.settings.limit`", "1"),
        ("settings.limit = 1.5", "`connectors.hostile.settings.limit`", "integer"),
        ("settings.on = 1", "`connectors.hostile.settings.on`", "boolean"),
        ("settings.organization = [\"acme\"]", "`connectors.hostile.settings.organization`", "string"),
        ("settings.table = []", "`connectors.hostile.settings.table`", "object"),
    ];
    for (config, key, expected) in cases {
        assert_refused(&home(config), &[key, expected, "gateway.toml:7"]);
    }
}

#[test]
fn a_misspelt_setting_keeps_the_gateway_from_starting_and_the_nearest_name_is_given() {
    for (name, nearest) in [("organisation", "`organization`"), ("Limit", "`limit`"), ("fall_back", "`fallback`")] {
        let key = format!("`connectors.hostile.settings.{name}`");
        assert_refused(&home(&format!("settings.{name} = \"x\"")), &[&key, nearest, "gateway.toml:7"]);
    }
}

#[test]
fn an_unknown_setting_keeps_the_gateway_from_starting_and_the_settings_are_listed() {
    let words = ["`connectors.hostile.settings.zzzzzzzz`", "organization", "limit", "on", "list", "table", "fallback"];
    assert_refused(&home("settings.zzzzzzzz = 1"), &words);
    let account = json!({"identifier": "account", "auth": "none"});
    let setup = Setup::new().module("account", module::account(&account));
    let home = setup.config("[connectors.account]\nsettings.anything = 1").prepare();
    assert_refused(&home, &["`connectors.account.settings.anything`", "no settings"]);
}

#[test]
fn all_wrong_settings_of_all_connectors_are_reported_at_once() {
    let home = Setup::new()
        .guest("hostile")
        .guest("liar")
        .config("[connectors.hostile]\nsettings.organisation = \"acme\"\nsettings.limit = 0\nsettings.on = true")
        .config("[connectors.liar]\nsettings.organization = 7")
        .variable("GATEWAY__CONNECTORS__HOSTILE__SETTINGS__TABLE", "no table")
        .prepare();
    let words = [
        "4 places",
        "gateway.toml:7: `connectors.hostile.settings.organisation`",
        "`organization`",
        "gateway.toml:8: `connectors.hostile.settings.limit`",
        "gateway.toml:11: `connectors.liar.settings.organization`",
        "GATEWAY__CONNECTORS__HOSTILE__SETTINGS__TABLE",
    ];
    assert_refused(&home, &words);
    let said = message(&home);
    assert_eq!(said.lines().count(), 5, "{said}");
    assert!(!said.contains("settings.on`"), "{said}");
}

#[test]
fn a_wrong_value_is_not_shown() {
    let (_, said) = fails(&home("settings.limit = \"hunter2\"\nsettings.zzzzzzzz = \"hunter2\""));
    assert!(said.contains("settings.limit") && !said.contains("hunter2"), "{said}");
}

#[test]
fn a_default_reaches_the_connector_until_the_operator_sets_a_value() {
    let by_default = gateway("");
    assert_eq!(setting(&by_default, "fallback"), "by default");
    assert_eq!(setting(&by_default, "organization"), Value::Null);
    let set = gateway("settings = { fallback = \"by the operator\", organization = \"acme\" }");
    assert_eq!(setting(&set, "fallback"), "by the operator");
    assert_eq!(setting(&set, "organization"), "acme");
}

#[test]
fn a_variable_sets_a_value_of_the_declared_type() {
    let gateway = Setup::new()
        .guest("hostile")
        .variable("GATEWAY__CONNECTORS__HOSTILE__SETTINGS__ORGANIZATION", "1e9")
        .variable("GATEWAY__CONNECTORS__HOSTILE__SETTINGS__LIMIT", "7")
        .start();
    assert_eq!(setting(&gateway, "organization"), "1e9");
    assert_eq!(setting(&gateway, "limit"), 7);
}

#[test]
fn a_module_whose_settings_the_configuration_does_not_fit_is_refused_while_the_gateway_serves() {
    let config = "[connectors.liar]\nsettings.organization = \"acme\"\n[connectors.hostile]\nsettings.limit = \"many\"";
    let gateway = Setup::new().guest("liar").config(config).start();
    gateway.home().put("hostile", &module::guest("hostile"));
    let reason = gateway.wait_for_refusal("hostile.wasm");
    for words in ["gateway.toml:9", "`connectors.hostile.settings.limit`", "integer"] {
        assert!(reason.contains(words), "{words} in: {reason}");
    }
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
}

#[test]
fn the_settings_of_a_connector_that_is_not_installed_are_not_checked() {
    let gateway = Setup::new().guest("liar").config("[connectors.absent]\nsettings.anything = 1").start();
    assert!(gateway.connector("liar").is_some());
}
