//! Operators see the gateways, and change connectors, perhaps two of them at the same time.

use std::thread;

use serde_json::{Value, json};
use support::setup::KEY;
use support::{Gateway, Store, module, process};

use super::{gateways, liar, upload};

#[test]
fn one_of_two_operators_who_replace_the_same_generation_is_told_the_present_one() {
    let store = Store::postgres();
    let all: [Gateway; 2] = gateways(&store);
    all[1].wait_for_version("liar", "1.0.0");
    let answers = thread::scope(|scope| {
        let upload = |(gateway, version): (&'_ Gateway, &str)| {
            upload(gateway, "", Some(1), module::liar(&format!("version={version}")))
        };
        let [one, other] = &all;
        let other = scope.spawn(move || upload((other, "3.0.0")));
        [upload((one, "2.0.0")), other.join().unwrap()]
    });
    let mut statuses = answers.each_ref().map(|answer| answer.status);
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412]);
    let refused = answers.iter().find(|answer| answer.status == 412).unwrap();
    let problem = refused.problem(412, "changed-meanwhile");
    assert_eq!((&problem["generation"], &problem["owner"]), (&json!(2), &json!("caller")));
}

#[test]
fn an_update_at_another_gateway_is_compared_with_the_version_that_the_service_has() {
    let store = Store::postgres();
    let all: [Gateway; 2] = gateways(&store);
    let asking = |host: &str| module::account(&json!({"identifier": "account", "auth": "none", "base_url": host}));
    let described = asking("https://a.example");
    upload(&all[0], "?wait=30", None, described.clone()).ok();
    // The same permissions again, and at once at the gateway that may not serve them yet.
    for round in 0..6 {
        let more = asking(&format!("https://b{round}.example"));
        let (one, other) = (&all[round % 2], &all[(round + 1) % 2]);
        upload(one, "", None, more.clone()).problem(422, "module-refused");
        upload(one, "?accept=true", None, more.clone()).ok();
        upload(other, "", None, module::with_note(&more, "a repair")).ok();
    }
}

#[test]
fn two_operators_who_add_versions_with_the_same_permissions_are_both_right() {
    let store = Store::Sqlite;
    let [gateway] = gateways(&store);
    let asking = |round: usize| {
        let host = format!("https://b{round}.example");
        module::account(&json!({"identifier": "account", "auth": "none", "base_url": host}))
    };
    upload(&gateway, "", None, asking(0)).ok();
    for round in 1..8 {
        let more = asking(round);
        upload(&gateway, "?accept=true", None, more.clone()).ok();
        thread::scope(|scope| {
            for operator in ["one", "other"] {
                let (gateway, more) = (&gateway, &more);
                scope.spawn(move || {
                    for version in 0..3 {
                        let repaired = module::with_note(more, &format!("{operator} {version}"));
                        upload(gateway, "", None, repaired).ok();
                    }
                });
            }
        });
    }
}

#[test]
fn a_removal_and_a_rollback_name_the_generation_that_they_replace() {
    let store = Store::Sqlite;
    let [gateway] = gateways(&store);
    upload(&gateway, "", Some(1), module::liar("version=2.0.0")).ok();
    let client = gateway.client();
    let rollback = |generation: &str| {
        client.request("POST", "/admin/connectors/liar/rollback").header("if-match", generation).send()
    };
    assert_eq!(rollback("\"1\"").problem(412, "changed-meanwhile")["generation"], 2);
    rollback("2").problem(400, "bad-request");
    assert_eq!(rollback("\"2\"").ok()["generation"], 3);
    let remove =
        |generation: &str| client.request("DELETE", "/admin/connectors/liar").header("if-match", generation).send();
    assert_eq!(remove("\"2\"").problem(412, "changed-meanwhile")["generation"], 3);
    assert_eq!(liar(&gateway).unwrap()["generation"], 3);
    assert_eq!(remove("\"3\"").ok()["generation"], 4);
    assert_eq!(liar(&gateway), None);
    assert_eq!(upload(&gateway, "", None, module::liar("version=1.0.0")).ok()["generation"], 5);
}

#[test]
fn the_command_lists_the_gateways_and_how_much_each_of_them_serves() {
    let store = Store::postgres();
    let all: [Gateway; 2] = gateways(&store);
    all[1].wait_for_version("liar", "1.0.0");
    let run = |arguments: &[&str]| {
        let finished = process::run(all[0].home().command(arguments).args(["--key", KEY, "--url", &all[0].address()]));
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        finished.stdout
    };
    let listed: Value = serde_json::from_str(&run(&["gateways", "list", "--json"])).unwrap();
    assert_eq!(listed["gateways"].as_array().unwrap().len(), 2);
    assert!(listed["gateways"][0]["connectors"]["live"].is_u64(), "{listed}");
    let table = run(&["gateways", "list"]);
    assert!(table.starts_with("ID ") && table.matches(" ready ").count() == 2, "{table}");
    assert!(table.contains(" live, 0 compiling, 0 refused"), "{table}");
}
