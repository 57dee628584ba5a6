//! A change of a connector at one gateway changes all.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use support::{Gateway, Setup, Store, module, wait_for};

use super::{gateways, key_of, liar, upload, wait_for_ready};

#[test]
fn a_route_a_command_and_a_file_each_change_every_gateway() {
    let store = Store::postgres();
    let all: [Gateway; 3] = gateways(&store);
    for gateway in &all {
        gateway.wait_for_version("liar", "1.0.0");
    }
    assert_eq!(liar(&all[1]).unwrap()["generation"], 1);

    let began = Instant::now();
    let answer = upload(&all[0], "?wait=60", None, module::liar("version=2.0.0")).ok();
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
    assert_eq!((&answer["generation"], &answer["digest"]), (&json!(2), &answer["sha256"]));
    let states: Vec<_> =
        answer["gateways"].as_array().unwrap().iter().map(|at| (&at["state"], &at["version"])).collect();
    assert_eq!(states, [(&json!("live"), &json!("2.0.0")); 3]);
    for gateway in &all {
        assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=2.0.0");
    }

    let file = all[1].home().data().join("three.wasm");
    fs::write(&file, module::liar("version=3.0.0")).unwrap();
    all[1].home().run_ok(&["connectors", "add", file.to_str().unwrap()]);
    for gateway in &all {
        gateway.wait_for_version("liar", "3.0.0");
    }

    all[2].home().put("liar", &module::liar("version=4.0.0"));
    for gateway in &all {
        gateway.wait_for_version("liar", "4.0.0");
    }

    let back = all[1].client().request("POST", "/admin/connectors/liar/rollback?to=2.0.0&wait=60").send().ok();
    assert_eq!((&back["version"], &back["generation"]), (&json!("2.0.0"), &json!(5)));
    for gateway in &all {
        gateway.wait_for_version("liar", "2.0.0");
    }

    let removed = all[2].client().delete("/admin/connectors/liar?wait=60").ok();
    assert_eq!((&removed["generation"], &removed["digest"]), (&json!(6), &json!(null)));
    for gateway in &all {
        wait_for("the removal", || gateway.connector("liar").is_none().then_some(()));
    }
    assert_eq!(upload(&all[0], "", None, module::liar("version=1.0.0")).ok()["generation"], 7);
    for gateway in &all {
        gateway.wait_for_version("liar", "1.0.0");
    }
}

#[test]
fn an_old_file_and_a_deleted_file_change_nothing() {
    let store = Store::postgres();
    let [one, other] = gateways(&store);
    assert_eq!(upload(&one, "?wait=60", None, module::liar("version=2.0.0")).ok()["generation"], 2);
    other.home().put("liar", &module::liar("version=1.0.0"));
    other.wait_for_log("the remark", |line| {
        line["message"].as_str().is_some_and(|text| text.contains("a file in modules_dir changes nothing"))
    });
    fs::remove_file(one.home().module("liar")).unwrap();
    let warning = one.wait_for_log("the warning", |line| line["level"] == "WARN" && line["connector"] == "liar");
    assert!(warning["message"].as_str().unwrap().contains("connectors remove liar"), "{warning}");
    for gateway in [&one, &other] {
        assert_eq!(gateway.connector("liar").unwrap()["version"], "2.0.0");
    }
    let one = one.start_again();
    assert_eq!(one.wait_for_version("liar", "2.0.0")["version"], "2.0.0");
    assert_eq!(liar(&one).unwrap()["generation"], 2);
}

#[test]
fn a_gateway_that_refuses_a_module_keeps_the_previous_one_and_all_see_why() {
    let store = Store::postgres();
    let one = Setup::new().on(&store).module("liar", module::liar("version=1.0.0")).start();
    let small = format!("{}\n", key_of(&one));
    let other = Setup::new().on(&store).general(&small).config("[compile]\nmax_module_mb = 1").start();
    wait_for_ready(&one, 2);
    let large = module::with_note(&module::liar("version=2.0.0"), &"x".repeat(2 << 20));
    let answer = upload(&one, "?wait=60", None, large.clone()).ok();
    let refused: Vec<_> = answer["gateways"].as_array().unwrap().iter().filter(|at| at["state"] == "refused").collect();
    assert_eq!(refused.len(), 1, "{answer}");
    assert!(refused[0]["reason"].as_str().unwrap().contains("compile.max_module_mb"), "{answer}");
    assert_eq!((&refused[0]["version"], &refused[0]["generation"]), (&json!("1.0.0"), &json!(1)));
    assert_eq!(liar(&other).unwrap()["version"], "2.0.0", "the service has the new one");
    assert_eq!(other.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    // The gateway that was asked refuses it itself: nothing changes.
    upload(&other, "", None, large).problem(413, "body-too-large");
    assert_eq!(liar(&one).unwrap()["generation"], 2);
}

#[test]
fn bytes_that_do_not_match_their_digest_are_refused_and_tried_again() {
    let store = Store::postgres();
    let one = Setup::new().on(&store).module("liar", module::liar("version=1.0.0")).start();
    let hex: String = one.wait_for_version("liar", "1.0.0")["sha256"].as_str().unwrap().to_owned();
    store.database().sql("create table kept as select * from modules");
    store.database().sql("update modules set bytes = 'wrong'");
    let other = Setup::new().on(&store).general(&key_of(&one)).start();
    let reason = other.wait_for_refusal("liar.wasm");
    assert!(reason.contains("other bytes") && reason.contains(&hex), "{reason}");
    store.database().sql("update modules set bytes = kept.bytes from kept where kept.digest = modules.digest");
    other.wait_for_version("liar", "1.0.0");
    wait_for("the end of the refusal", || other.refusal("liar.wasm").is_none().then_some(()));
}

#[test]
fn a_database_that_goes_away_in_the_middle_leaves_all_or_nothing() {
    let store = Store::postgres();
    let (proxy, config) = store.database().behind_proxy();
    let one = Setup::new().general(&config).module("liar", module::liar("version=1.0.0")).start();
    proxy.cut();
    upload(&one, "", None, module::liar("version=2.0.0")).problem(503, "store-unavailable");
    one.client().delete("/admin/connectors/liar").problem(503, "store-unavailable");
    wait_for("the gateway to be degraded", || {
        (one.anonymous().get("/readyz").ok()["degraded"] == json!(["database"])).then_some(())
    });
    assert_eq!(one.call("liar/version", json!({})).status, 200);
    proxy.restore();
    wait_for("the database", || (one.client().get("/admin/connectors").status == 200).then_some(()));
    let entry = liar(&one).unwrap();
    assert_eq!((&entry["version"], &entry["generation"]), (&json!("1.0.0"), &json!(1)));
    assert_eq!(upload(&one, "", Some(1), module::liar("version=2.0.0")).ok()["generation"], 2);
}

/// The state of `liar` in the database: the live generation with its digest, and the number of
/// entries that the history and the audit have of its changes.
fn stored(store: &Store) -> (i64, String, i64, i64) {
    let database = store.database();
    let live = database.query("SELECT generation, coalesce(digest, '') FROM live_modules WHERE connector = 'liar'");
    let (generation, digest) = live.split_once('|').unwrap();
    let count = |sql: &str| database.query(sql).parse().unwrap();
    (
        generation.parse().unwrap(),
        digest.to_owned(),
        count("SELECT count(*) FROM connector_changes WHERE connector = 'liar'"),
        count("SELECT count(*) FROM audit WHERE target = 'liar'"),
    )
}

#[test]
fn a_session_that_ends_in_any_step_of_a_change_leaves_all_or_nothing() {
    /// The tables that a change writes. A removal writes no bytes and no version.
    const TABLES: [&str; 6] = ["modules", "module_versions", "live_modules", "connector_changes", "audit", "revisions"];
    let store = Store::postgres();
    let [one, other] = gateways(&store);
    let database = store.database();
    database.sql(
        "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); RETURN NULL; END $$",
    );
    let ends_in = |table: &str, step: &str, when: &str| {
        let sql = format!(
            "CREATE {step} TRIGGER ends AFTER INSERT OR UPDATE OR DELETE ON {table} {when}
             FOR EACH ROW EXECUTE FUNCTION end_session()"
        );
        (table.to_owned(), sql)
    };
    let mut steps: Vec<_> = TABLES.iter().map(|table| ends_in(table, "", "")).collect();
    steps.push(ends_in("live_modules", "CONSTRAINT", "DEFERRABLE INITIALLY DEFERRED"));
    let client = one.client();
    let roll_back = || client.request("POST", "/admin/connectors/liar/rollback?to=1.0.0").send();
    let changes: [(&str, &[_], &dyn Fn() -> support::Answer); 4] = [
        ("2.0.0", &steps, &|| upload(&one, "", None, module::liar("version=2.0.0"))),
        ("1.0.0", &steps, &roll_back),
        ("", &steps[2..], &|| client.delete("/admin/connectors/liar")),
        ("1.0.0", &steps, &|| upload(&one, "", None, module::liar("version=1.0.0"))),
    ];
    for (version, steps, change) in changes {
        let before = stored(&store);
        for (table, trigger) in steps {
            database.sql(trigger);
            change().problem(503, "store-unavailable");
            database.sql(&format!("DROP TRIGGER ends ON {table}"));
            assert_eq!(stored(&store), before, "{trigger}");
            wait_for("the database", || (client.get("/admin/connectors").status == 200).then_some(()));
        }
        let generation = change().ok()["generation"].as_i64().unwrap();
        let (stored_generation, _, changes, entries) = stored(&store);
        assert_eq!((generation, stored_generation), (before.0 + 1, generation));
        assert_eq!((changes, entries), (before.2 + 1, before.3 + 1), "each change is noted once");
        for gateway in [&one, &other] {
            wait_for("the change", || {
                let served = gateway.connector("liar").map_or(json!(""), |liar| liar["version"].clone());
                (served == version).then_some(())
            });
        }
    }
}
