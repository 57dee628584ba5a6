//! The parts of a manifest that operators see before and after they install a module.

use std::fs;

use serde_json::{Value, json};
use support::{Gateway, Home, Setup, module};

/// A guest whose users have accounts, as an installable module.
fn account(auth: &str, more: &Value) -> Vec<u8> {
    let mut service = json!({"identifier": "account", "auth": auth, "link_hosts": ["files.example", "*.example.com"]});
    for (name, value) in more.as_object().into_iter().flatten() {
        service[name] = value.clone();
    }
    module::account(&service)
}

/// The output of `connectors check`.
fn checked(home: &Home, module: &[u8]) -> String {
    let file = home.config().with_file_name("candidate");
    fs::write(&file, module).unwrap();
    home.run_ok(&["connectors", "check", file.to_str().unwrap()])
}

/// The services of a connector in GET /connectors: name and place of the credential.
fn credentials(gateway: &Gateway, connector: &str) -> Value {
    let connector = gateway.connector(connector).unwrap();
    let upstreams = connector["upstreams"].as_array().unwrap().iter();
    upstreams.map(|upstream| json!([upstream["name"], upstream["credential"]])).collect()
}

#[test]
fn check_shows_which_upstreams_get_the_credential_and_where() {
    let home = Setup::new().prepare();
    let said = checked(&home, &account("oauth2", &json!({"form_field": "auth_token"})));
    for line in [
        "credential  upstream `api` (api.example): header `Authorization`",
        "credential  upstream `form` (api.example): form field `auth_token`",
        "credential  upstream `other` (other.example): none",
    ] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
    for (placement, line) in [
        ("header", "credential  upstream `api` (api.example): header `X-Api-Key`"),
        ("query", "credential  upstream `api` (api.example): query `api_key`"),
        ("basic", "credential  upstream `api` (api.example): header `Authorization`"),
    ] {
        let said = checked(&home, &account("api_key", &json!({"placement": placement})));
        assert!(said.contains(line), "{line} in\n{said}");
        assert!(said.contains("upstream `other` (other.example): none"), "{said}");
    }
    let said = checked(&home, &account("none", &json!({})));
    assert_eq!(said.matches("): none\n").count(), 3, "{said}");
    for host in ["files.example", "*.example.com"] {
        assert!(said.contains(&format!("asks for    {host} (not granted)")), "{said}");
    }
}

#[test]
fn check_has_one_line_for_each_note_with_all_operations_that_it_is_about() {
    let home = Setup::new().prepare();
    let said = checked(&home, &account("none", &json!({})));
    let notes: Vec<&str> = said.lines().filter(|line| line.contains("no example of the answer")).collect();
    assert_eq!(notes.len(), 1, "{said}");
    assert!(notes[0].contains("forward") && notes[0].contains("erase"), "{said}");
}

#[test]
fn the_list_of_connectors_shows_which_upstreams_get_the_credential_and_where() {
    let oauth2 = Setup::new().module("account", account("oauth2", &json!({}))).start();
    let form = json!({"in": "form_field", "name": "token"});
    let header = json!({"in": "header", "name": "Authorization"});
    assert_eq!(credentials(&oauth2, "account"), json!([["api", header], ["form", form], ["other", null]]));
    let upstreams = oauth2.connector("account").unwrap()["upstreams"].clone();
    assert_eq!(upstreams[2]["host"], "other.example");
    assert_eq!(upstreams[2]["link_hosts"], json!(["files.example", "*.example.com"]));
    let key = Setup::new().module("account", account("api_key", &json!({"placement": "query"}))).start();
    let query = json!({"in": "query", "name": "api_key"});
    assert_eq!(credentials(&key, "account"), json!([["api", query], ["form", form], ["other", null]]));
    let none = Setup::new().module("account", account("none", &json!({}))).start();
    assert_eq!(credentials(&none, "account"), json!([["api", null], ["form", null], ["other", null]]));
}

#[test]
fn every_shipped_connector_gives_the_credential_to_the_services_of_its_provider_only() {
    let gateway = Setup::new().every_shipped().start();
    let with_credential = |name: &str| -> Vec<String> {
        let connector = gateway.connector(name).unwrap();
        let upstreams = connector["upstreams"].as_array().unwrap().iter();
        upstreams
            .filter(|upstream| !upstream["credential"].is_null())
            .map(|upstream| {
                format!("{} {}", upstream["name"].as_str().unwrap(), upstream["credential"]["in"].as_str().unwrap())
            })
            .collect()
    };
    let graph = || vec!["graph header"];
    let api = || vec!["api header", "userinfo header"];
    let expected = [
        ("code_hosting", api()),
        ("dex_market_data", vec![]),
        ("hr_platform", api()),
        ("kb_office_sites", graph()),
        ("microblog", api()),
        ("office_calendar", graph()),
        ("office_drive", graph()),
        ("office_mail", graph()),
        ("office_sites", graph()),
        ("office_teamchat", graph()),
        ("preprint_archive", vec![]),
        ("team_chat", api()),
        ("workspace_calendar", api()),
        ("workspace_chat", api()),
        ("workspace_docs", vec!["docs header", "drive header", "userinfo header"]),
        ("workspace_identity", vec!["oauth2 form_field", "userinfo header"]),
        ("workspace_mail", vec!["api header", "upload header", "userinfo header"]),
        ("workspace_meet", api()),
        ("workspace_sheets", api()),
        ("workspace_user_management", api()),
    ];
    assert!(expected.iter().map(|(name, _)| *name).eq(module::shipped_names()), "every connector is here");
    for (name, upstreams) in expected {
        assert_eq!(with_credential(name), upstreams, "{name}");
    }
}

#[test]
fn the_imprint_is_shown_to_operators_and_callers() {
    let gateway = Setup::new().shipped("code_hosting").start();
    let imprint = gateway.connector("code_hosting").unwrap()["imprint"].clone();
    assert_eq!(imprint["license"], "Apache-2.0");
    assert!(imprint["author"].as_str().is_some_and(|author| !author.is_empty()), "{imprint}");
    let said = checked(gateway.home(), &module::shipped("code_hosting"));
    assert!(said.contains("license     Apache-2.0") && said.contains("author  "), "{said}");
}

#[test]
fn an_operator_can_grant_a_wildcard_that_the_manifest_declares() {
    let home = Setup::new().prepare();
    let file = home.config().with_file_name("candidate");
    fs::write(&file, account("none", &json!({}))).unwrap();
    let said = home.run_ok(&["connectors", "add", file.to_str().unwrap(), "--grant", "*.example.com"]);
    assert!(said.contains("reaches     *.example.com"), "{said}");
    assert!(said.contains("asks for    files.example"), "{said}");
    for wrong in ["*", "*.com", "*.co.uk", "a.*.com", "*.example.com:8443"] {
        let finished = home.run(&["connectors", "add", file.to_str().unwrap(), "--grant", wrong]);
        assert_eq!(finished.code, Some(1), "{wrong}: {}", finished.stdout);
        assert!(finished.stderr.contains(wrong), "{}", finished.stderr);
    }
}

#[test]
fn check_reports_what_a_module_is_and_leaves_nothing_behind() {
    let home = Setup::new().prepare();
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("module.wasm");
    fs::write(&module, module::account(&json!({"identifier": "account", "auth": "none", "rate_limit": 3}))).unwrap();
    let nowhere = folder.path().join("nowhere");
    let config = folder.path().join("gateway.toml");
    fs::write(
        &config,
        format!("data_dir = {nowhere:?}\nmodules_dir = {nowhere:?}\nshipped_dir = {:?}\n", folder.path()),
    )
    .unwrap();
    let check = |more: &[&str]| {
        let check = ["--config", config.to_str().unwrap(), "connectors", "check", module.to_str().unwrap()];
        home.run_ok(&[&check, more].concat())
    };
    let said = check(&[]);
    for line in [
        "    read        composed ",
        "answers any, limit `calls`)",
        "  limit       `calls`: 3 calls in 3600 s",
        "  note        the connector has no description",
        "  note        no example of the answer: burn, change, ",
    ] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
    let report: Value = serde_json::from_str(&check(&["--json"])).unwrap();
    assert_eq!(
        (&report["connector"], &report["since"], &report["auth"]),
        (&json!("account"), &json!(null), &json!("none"))
    );
    assert_eq!(report["rate_limits"], json!([{"name": "calls", "requests": 3, "period_s": 3600}]));
    let composed = report["operations"].as_array().unwrap().iter().find(|row| row["operation"] == "composed").unwrap();
    assert_eq!((&composed["effect"], &composed["rate_limit"]), (&json!("read"), &json!("calls")));
    for size in ["bytes", "compiled_bytes"] {
        assert!(report["module"][size].as_u64().is_some_and(|size| size > 0), "{report}");
    }
    assert!(report["module"]["checked_in_ms"].is_u64(), "{report}");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn check_shows_what_changed_since_the_version_before() {
    let before = module::account(&json!({"identifier": "account", "auth": "none", "link_hosts": ["old.example"]}));
    let home = Setup::new().module("account", before.clone()).prepare();
    let said = checked(&home, &module::account(&json!({"identifier": "account", "auth": "none", "rate_limit": 3})));
    for line in [
        "  changes     since 1.0.0, the previous version",
        "    - host old.example",
        "    ~ operation composed: it has the rate limit `calls`",
    ] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
    assert!(!said.contains("operation whoami") && !said.contains("--accept"), "{said}");
    assert!(!checked(&home, &before).contains("changes"), "the same version has no changes");
}

#[test]
fn check_names_an_operation_whose_next_page_is_found_elsewhere() {
    let home = Setup::new().module("liar", module::liar("cursor")).prepare();
    let said = checked(&home, &module::liar("last item"));
    assert!(said.contains("    ~ operation version: its pages are read differently"), "{said}");
    assert!(!said.contains("--accept"), "pages are no permission: {said}");
}
