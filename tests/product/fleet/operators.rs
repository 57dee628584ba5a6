//! Operators see the gateways, and change connectors, perhaps two of them at the same time.

use std::thread;

use serde_json::{Value, json};
use support::setup::KEY;
use support::{Gateway, Setup, Store, module, process, wait_for};

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
    upload(&all[0], "?wait=60", None, described.clone()).ok();
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
fn a_removal_and_a_rollback_whose_end_is_not_seen_are_told_as_changes_that_were_perhaps_made() {
    let store = Store::postgres();
    let [gateway] = gateways(&store);
    let Store::Postgres(database) = &store else { unreachable!() };
    upload(&gateway, "", Some(1), module::liar("version=2.0.0")).ok();
    // The change is stored. Then the gateway cannot look at what the gateways have made of it.
    database.sql("ALTER TABLE gateways RENAME TO gateways_elsewhere");
    let client = gateway.client();
    for (method, path) in [("POST", "liar/rollback"), ("DELETE", "liar")] {
        let changed = client.request(method, &format!("/admin/connectors/{path}?wait=5")).send();
        let problem = changed.problem(503, "store-unavailable");
        assert_eq!((&problem["outcome"], &problem["retryable"]), (&json!("unknown"), &json!(false)), "{path}");
    }
    database.sql("ALTER TABLE gateways_elsewhere RENAME TO gateways");
    assert_eq!(liar(&gateway), None);
}

#[test]
fn each_operator_is_told_the_generation_of_its_own_change() {
    let store = Store::Sqlite;
    let [gateway] = gateways(&store);
    let mut told: Vec<i64> = thread::scope(|scope| {
        let operators = ["one", "other"].map(|operator| {
            let gateway = &gateway;
            scope.spawn(move || {
                let change = |number: usize| {
                    let module = module::with_note(&module::liar("version=1.0.0"), &format!("{operator} {number}"));
                    upload(gateway, "", None, module).ok()["generation"].as_i64().unwrap()
                };
                (0..12).map(change).collect::<Vec<_>>()
            })
        });
        operators.into_iter().flat_map(|operator| operator.join().unwrap()).collect()
    });
    told.sort_unstable();
    assert_eq!(told, (2..=25).collect::<Vec<_>>());
}

#[test]
fn a_stale_generation_is_told_before_what_is_wrong_with_the_change() {
    let setup = Setup::new().shipped_module("liar", module::liar("version=1.0.0"));
    let gateway = setup.start();
    let client = gateway.client();
    let change = |method: &str, path: &str, generation: &str| {
        client.request(method, &format!("/admin/connectors/{path}")).header("if-match", generation).send()
    };
    // Another operator has brought the shipped connector back.
    let replaced = upload(&gateway, "?replace_shipped=true", None, module::liar("version=2.0.0")).ok();
    let stale = format!("\"{}\"", replaced["generation"]);
    let removed = client.delete("/admin/connectors/liar").ok();
    assert_eq!(removed["digest"], module::digest(&module::liar("version=1.0.0")), "the shipped one is live");
    for (method, path) in [("DELETE", "liar"), ("POST", "liar/rollback")] {
        let told = change(method, path, &stale).problem(412, "changed-meanwhile")["generation"].clone();
        assert_eq!(told, removed["generation"], "{method}");
        client.request(method, &format!("/admin/connectors/{path}")).send().problem(409, "shipped");
    }

    // Another operator has made a version that the module asks for more than.
    let asking = |host: &str| module::account(&json!({"identifier": "account", "auth": "none", "base_url": host}));
    let first = asking("https://a.example");
    upload(&gateway, "", None, first.clone()).ok();
    upload(&gateway, "", None, module::with_note(&first, "a repair")).ok();
    let more = asking("https://b.example");
    assert_eq!(upload(&gateway, "", Some(1), more.clone()).problem(412, "changed-meanwhile")["generation"], 2);
    upload(&gateway, "", Some(2), more).problem(422, "module-refused");

    // Another operator has removed it.
    client.delete("/admin/connectors/account").ok();
    for (method, path) in [("DELETE", "account"), ("POST", "account/rollback")] {
        assert_eq!(change(method, path, "\"2\"").problem(412, "changed-meanwhile")["generation"], 3, "{method}");
    }
    change("DELETE", "account", "*").problem(404, "unknown-connector");

    // Any generation is meant, and there is none.
    let replace = || {
        let call = client.request("POST", "/admin/connectors").header("content-type", "application/wasm");
        call.header("if-match", "*").body(first.clone()).send()
    };
    assert_eq!(replace().problem(412, "changed-meanwhile")["generation"], 3);
    assert_eq!(upload(&gateway, "", Some(3), first.clone()).ok()["generation"], 4);
    assert_eq!(replace().ok()["generation"], 5);
}

#[test]
fn a_module_that_is_sent_again_with_its_key_is_installed_once() {
    for store in [Store::Sqlite, Store::postgres()] {
        let [gateway] = gateways(&store);
        let client = gateway.client();
        let send = |key: &str, query: &str, module: &[u8]| {
            let call = client.request("POST", &format!("/admin/connectors{query}")).header("idempotency-key", key);
            call.header("content-type", "application/wasm").body(module.to_vec()).send()
        };
        let two = module::liar("version=2.0.0");
        let (first, again) = (send("k-1", "", &two), send("k-1", "", &two));
        assert_eq!((&first.ok()["generation"], first.header("idempotent-replayed")), (&json!(2), ""));
        assert_eq!((again.ok(), again.header("idempotent-replayed")), (first.json(), "true"));
        assert_eq!(liar(&gateway).unwrap()["generation"], 2);
        let three = module::liar("version=3.0.0");
        send("k-1", "", &three).problem(422, "idempotency-key-reused");
        send("k-1", "?accept=true", &two).problem(422, "idempotency-key-reused");
        send("", "", &three).problem(400, "bad-request");
        // A refusal changes nothing, and gives the key back.
        send("k-2", "", b"no module").problem(422, "module-refused");
        assert_eq!(send("k-2", "", &three).ok()["generation"], 3);
        assert_eq!(send("k-1", "", &two).json(), first.json(), "the answer stays the first one");
        assert_eq!(liar(&gateway).unwrap()["generation"], 3);
    }
}

#[test]
fn the_command_lists_the_gateways_and_how_much_each_of_them_serves() {
    let store = Store::postgres();
    let all: [Gateway; 2] = gateways(&store);
    all[1].wait_for_version("liar", "1.0.0");
    // A gateway tells what it serves a moment after it serves it.
    wait_for("both gateways to tell what they serve", || {
        let listed = all[0].client().get("/admin/gateways").ok();
        listed["gateways"].as_array()?.iter().all(|each| each["connectors"]["live"] == 1).then_some(())
    });
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
