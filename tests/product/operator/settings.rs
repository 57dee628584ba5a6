//! The settings, the findings and the samples of the gateway that answers.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use support::setup::KEY;
use support::{Setup, module};

use super::{make_key, operating, printed, run};

/// The settings of a section, by key.
#[track_caller]
fn section(settings: &Value, name: &str) -> Value {
    let sections = settings["sections"].as_array().unwrap();
    let section =
        sections.iter().find(|section| section["section"] == name).unwrap_or_else(|| panic!("{name}: {settings:#}"));
    let settings = section["settings"].as_array().unwrap().iter();
    settings.map(|setting| (setting["key"].as_str().unwrap().to_owned(), setting.clone())).collect()
}

#[test]
fn the_configuration_that_holds_is_shown_without_secrets() {
    const SECRETS: [&str; 4] = ["client-hidden", "header-hidden", "setting-hidden", "query-hidden"];
    let config = format!(
        "[oauth_clients.mail]\nclient_id = \"known\"\nclient_secret = \"{}\"\n[telemetry.headers]\nauthorization = \"{}\"\n\
         [connectors.liar.settings]\norganization = \"{}\"\n[callbacks]\nevents_url = \"https://events.example/?key={}\"\n\
         [connectors.liar.limits]\ntimeout_s = 7",
        SECRETS[0], SECRETS[1], SECRETS[2], SECRETS[3]
    );
    let gateway = Setup::new().variable("GATEWAY__DRAIN_S", "4").config(&config).start();
    let operator = gateway.client();
    let answer = operator.get("/admin/settings");
    let settings = answer.ok();
    assert_eq!(answer.header("cache-control"), "no-store");
    let setting = |value: Value, secret: Value, changed: bool, key: &str| json!({"key": key, "value": value, "secret": secret, "changed": changed});
    let general = section(&settings, "");
    assert_eq!(general["drain_s"], setting(json!(4), Value::Null, true, "drain_s"));
    assert_eq!(general["max_body_mb"], setting(json!(10), Value::Null, false, "max_body_mb"));
    assert_eq!(general["GATEWAY_BOOTSTRAP_KEY"]["secret"], "set");
    let client = section(&settings, "oauth_clients.mail");
    assert_eq!(client["client_id"]["value"], "known");
    assert_eq!(client["client_secret"], setting(Value::Null, json!("set"), true, "client_secret"));
    assert_eq!(section(&settings, "telemetry.headers")["authorization"]["secret"], "set");
    assert_eq!(section(&settings, "connectors.liar.settings")["organization"]["secret"], "set");
    assert_eq!(section(&settings, "connectors.liar.limits")["timeout_s"]["value"], 7);
    assert_eq!(section(&settings, "callbacks")["events_url"]["value"], "https://events.example/?…");
    let table = run(&gateway, &["gateways", "settings"]).stdout;
    assert!(table.contains("(a secret is set)") && table.contains("connectors.liar.limits"), "{table}");
    let changed = printed(&gateway, &["gateways", "settings", "--changed"]);
    assert!(changed.to_string().contains("drain_s") && !changed.to_string().contains("max_body_mb"), "{changed}");
    for shown in [answer.text(), table, changed.to_string()] {
        for secret in SECRETS.into_iter().chain([KEY]) {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
    let (_, narrow) = make_key(&gateway, operating("calls"));
    for path in ["/admin/settings", "/admin/doctor", "/admin/samples"] {
        narrow.get(path).problem(403, "missing-scope");
        operator.get(&format!("{path}?verbose=true")).problem(422, "validation");
    }
}

#[test]
fn a_gateway_examines_itself_while_it_serves() {
    let gateway = Setup::new().module("liar", module::liar("reserved path")).start();
    fs::set_permissions(gateway.home().data(), Permissions::from_mode(0o755)).unwrap();
    let found = gateway.client().get("/admin/doctor").ok();
    let of = |check: &str| -> Vec<&Value> {
        found["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] == check).collect()
    };
    assert_eq!(found["problems"], 2, "{found:#}");
    let folders = of("folders").into_iter().find(|finding| finding["level"] == "problem").unwrap();
    assert!(folders["finding"].as_str().unwrap().contains("755"), "{folders}");
    assert!(folders["action"].as_str().unwrap().contains("chmod 700"), "{folders}");
    let refused = of("connectors")[0];
    assert!(refused["level"] == "problem" && refused["finding"].as_str().unwrap().contains("liar.wasm"), "{refused}");
    for check in ["database", "clock", "master key", "keys"] {
        assert_eq!(of(check)[0]["level"], "ok", "{check}: {found:#}");
    }
}

#[test]
fn samples_of_the_last_hour_are_listed() {
    let gateway = Setup::new().start();
    let samples = gateway.client().get("/admin/samples").ok();
    assert_eq!((&samples["interval_s"], &samples["samples"]), (&json!(15), &json!([])));
    assert!(samples["memory_limit_bytes"].as_u64().unwrap() > 0, "{samples}");
    assert_eq!(printed(&gateway, &["gateways", "samples"])["interval_s"], 15);
}
