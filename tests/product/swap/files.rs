//! The modules folder determines the live connectors, however files get there.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use serde_json::json;
use support::{Gateway, Load, Setup, Store, module};

fn gateway() -> Gateway {
    Setup::new().module("liar", module::liar("version=1.0.0")).start()
}

/// Calls in the background. The first or the second version must answer each of them.
fn load(gateway: &Gateway) -> Load {
    let client = gateway.client();
    let call = move || client.request("POST", "/connectors/liar/version").json(&json!({}));
    Load::start(call, |answer| if answer.status == 200 { Ok(()) } else { Err(answer.text()) })
}

#[test]
fn a_new_file_becomes_a_connector() {
    let gateway = Setup::new().start();
    gateway.call("liar/version", json!({})).problem(404, "unknown-connector");
    gateway.home().put("liar", &module::guest("liar"));
    let connector = gateway.wait_for_version("liar", "1.0.0");
    assert_eq!(connector["title"], "Liar");
    assert_eq!((&connector["auth_type"], &connector["shipped"]), (&json!("none"), &json!(false)));
    assert_eq!(connector["hosts"], json!({"granted": [], "missing": ["api.example"]}));
    let operations: Vec<_> =
        connector["operations"].as_array().unwrap().iter().map(|operation| &operation["path"]).collect();
    assert_eq!(operations, ["forward", "version", "version_at_once", "wait"]);
    assert_eq!(connector["sha256"].as_str().map(str::len), Some(64));
    gateway.call("liar/version", json!({})).ok();
    assert_eq!(gateway.metric("gateway_connectors"), 1.0);
}

#[test]
fn removing_a_file_removes_its_connector() {
    let gateway = gateway();
    fs::remove_file(gateway.home().module("liar")).unwrap();
    support::wait_for("the removal", || gateway.connector("liar").is_none().then_some(()));
    gateway.call("liar/version", json!({})).problem(404, "unknown-connector");
    let removed = "gateway_swaps_total{connector=\"liar\",outcome=\"removed\"}";
    support::wait_for("the count of the removal", || (gateway.metric(removed) == 1.0).then_some(()));
    let gateway = gateway.start_again();
    assert_eq!(gateway.connector("liar"), None);
    gateway.home().put("liar", &module::guest("liar"));
    gateway.wait_for_version("liar", "1.0.0");
}

#[test]
fn a_file_that_is_written_in_two_parts_is_not_loaded_before_it_is_complete() {
    let gateway = gateway();
    let load = load(&gateway);
    let next = module::liar("version=2.0.0");
    let (first, second) = next.split_at(next.len() / 2);
    fs::write(gateway.home().module("liar"), first).unwrap();
    gateway.wait_for_refusal("liar.wasm");
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    let mut file = OpenOptions::new().append(true).open(gateway.home().module("liar")).unwrap();
    file.write_all(second).unwrap();
    gateway.wait_for_version("liar", "2.0.0");
    assert_eq!(gateway.refusal("liar.wasm"), None);
    load.wait_for_more(10);
    assert_eq!(load.stop().failures, Vec::<String>::new());
}

#[test]
fn a_gateway_that_starts_with_an_incomplete_file_serves_the_other_connectors() {
    let home = Setup::new().guest("hostile").guest("liar").prepare();
    let whole = module::guest("liar");
    fs::write(home.module("liar"), &whole[..whole.len() / 3]).unwrap();
    let gateway = home.start();
    assert!(gateway.connector("hostile").is_some());
    assert_eq!(gateway.connector("liar"), None);
    gateway.wait_for_refusal("liar.wasm");
    gateway.home().put("liar", &whole);
    gateway.wait_for_version("liar", "1.0.0");
}

#[test]
fn other_files_of_the_folder_are_ignored() {
    let gateway = gateway();
    for name in ["notes.txt", ".liar.wasm.swp", ".hidden.wasm", "liar.wasm.bak", "liar.cwasm"] {
        fs::write(gateway.home().modules().join(name), "this is not a module").unwrap();
    }
    fs::create_dir(gateway.home().modules().join("folder.wasm")).unwrap();
    gateway.home().put("other", b"the last to come");
    gateway.wait_for_refusal("other.wasm");
    let listed = gateway.client().get("/connectors").ok();
    assert_eq!(listed["refused"].as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed["connectors"].as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn the_refusal_of_a_removed_file_is_forgotten() {
    let gateway = gateway();
    gateway.home().put("bad", b"no module");
    gateway.wait_for_refusal("bad.wasm");
    fs::remove_file(gateway.home().module("bad")).unwrap();
    support::wait_for("the refusal to be forgotten", || gateway.refusal("bad.wasm").is_none().then_some(()));
    assert!(gateway.connector("liar").is_some());
}

#[test]
fn a_module_that_came_while_the_database_was_away_is_live_after_its_return() {
    let store = Store::postgres();
    let (proxy, config) = store.database().behind_proxy();
    let gateway = Setup::new().general(&config).module("liar", module::liar("version=1.0.0")).start();
    let client = gateway.client();
    proxy.cut();
    support::wait_for("a call to meet the failure", || (client.get("/integrations").status == 503).then_some(()));
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.home().put("hostile", &module::guest("hostile"));
    for file in ["liar.wasm", "hostile.wasm"] {
        let reason = gateway.wait_for_refusal(file);
        assert!(reason.contains("grants cannot be read") && reason.contains("tries again"), "{reason}");
    }
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    let upload = client.request("POST", "/admin/connectors").header("content-type", "application/wasm");
    upload.body(module::liar("version=3.0.0")).send().problem(503, "store-unavailable");
    assert_eq!(gateway.metric("gateway_swaps_total{connector=\"liar\",outcome=\"refused\"}"), 0.0);
    proxy.restore();
    gateway.wait_for_version("liar", "2.0.0");
    gateway.wait_for_version("hostile", "1.0.0");
    assert_eq!((gateway.refusal("liar.wasm"), gateway.refusal("hostile.wasm")), (None, None));
}

#[test]
fn a_module_is_compiled_once() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).cold().start();
    let found = |gateway: &Gateway| {
        ["hit", "miss"].map(|outcome| gateway.metric(&format!("gateway_module_cache_total{{outcome=\"{outcome}\"}}")))
    };
    assert_eq!(found(&gateway), [0.0, 1.0]);
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
    assert_eq!(found(&gateway), [0.0, 2.0]);
    gateway.home().put("liar", &module::liar("version=1.0.0"));
    gateway.wait_for_version("liar", "1.0.0");
    assert_eq!(found(&gateway), [1.0, 2.0]);
    let gateway = gateway.start_again();
    assert_eq!(found(&gateway), [1.0, 0.0]);
}

#[test]
fn a_module_that_is_sent_is_compiled_once_on_every_gateway_also_if_it_is_sent_twice_at_the_same_time() {
    for shared in [false, true] {
        let store = if shared { Store::postgres() } else { Store::Sqlite };
        let gateway = Setup::new().cold().on(&store).start();
        let module = module::liar("version=1.0.0");
        let upload = || {
            let upload = gateway.client().request("POST", "/admin/connectors?accept=true");
            upload.header("content-type", "application/wasm").body(module.clone()).send().ok()
        };
        let answers =
            std::thread::scope(|scope| [scope.spawn(upload), scope.spawn(upload)].map(|sent| sent.join().unwrap()));
        let took = |answer: &serde_json::Value| answer["compiled_in_ms"].as_u64();
        assert!(answers.iter().filter_map(took).count() <= 1, "{answers:?}");
        gateway.wait_for_version("liar", "1.0.0");
        assert_eq!(gateway.metric("gateway_module_cache_total{outcome=\"miss\"}"), 1.0);
        let again = upload();
        assert_eq!((&again["compiled_in_ms"], &again["newly_granted"]), (&json!(null), &json!([])));
        assert_eq!(gateway.metric("gateway_module_cache_total{outcome=\"miss\"}"), 1.0);
    }
}

#[test]
fn compiled_modules_take_no_more_room_than_allowed() {
    let gateway =
        Setup::new().module("liar", module::liar("version=1.0.0")).cold().config("compile.cache_mb = 1").start();
    // Each takes about a fifth of it.
    for version in ["2.0.0", "3.0.0", "4.0.0", "5.0.0", "6.0.0", "7.0.0"] {
        gateway.home().put("liar", &module::liar(&format!("version={version}")));
        gateway.wait_for_version("liar", version);
    }
    let folder = fs::read_dir(gateway.home().data().join("compiled")).unwrap();
    let size: u64 = folder.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(size <= 1 << 20, "{size} bytes");
    let gateway = gateway.start_again();
    assert_eq!(gateway.metric("gateway_module_cache_total{outcome=\"hit\"}"), 1.0, "the newest one is kept");
}

/// The file of the only compiled module.
fn artifact(gateway: &Gateway) -> PathBuf {
    let mut files = fs::read_dir(gateway.home().data().join("compiled")).unwrap().map(|entry| entry.unwrap().path());
    let file = files.next().unwrap();
    assert!(files.next().is_none() && file.extension().is_some_and(|end| end == "cwasm"), "nothing else is there");
    file
}

/// A gateway that has compiled one module, and was stopped.
fn stopped(version: &str) -> Gateway {
    let mut gateway = Setup::new().module("liar", module::liar(version)).cold().start();
    gateway.stop();
    gateway
}

/// Checks that a gateway with a spoiled file compiles the module again, and runs the module.
#[track_caller]
fn assert_compiles_again(gateway: Gateway) {
    let gateway = gateway.start_again();
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    assert_eq!(gateway.metric("gateway_module_cache_total{outcome=\"miss\"}"), 1.0);
    gateway.wait_for_log("a warning", |line| line["message"].as_str().is_some_and(|text| text.contains("altered")));
}

#[test]
fn a_compiled_module_that_was_altered_is_compiled_again() {
    let gateway = stopped("version=1.0.0");
    let artifact = artifact(&gateway);
    let mut bytes = fs::read(&artifact).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&artifact, bytes).unwrap();
    assert_compiles_again(gateway);
}

#[test]
fn a_compiled_module_that_another_installation_made_is_not_run() {
    let (gateway, other) = (stopped("version=1.0.0"), stopped("version=2.0.0"));
    fs::copy(artifact(&other), artifact(&gateway)).unwrap();
    assert_compiles_again(gateway);
}

#[test]
fn modules_are_compiled_again_after_a_rotation_of_the_master_key() {
    let gateway = stopped("version=1.0.0");
    gateway.home().run_ok(&["keys", "rotate-master"]);
    let gateway = gateway.start_again();
    assert_eq!(gateway.metric("gateway_module_cache_total{outcome=\"miss\"}"), 1.0);
    let gateway = gateway.start_again();
    assert_eq!(gateway.metric("gateway_module_cache_total{outcome=\"hit\"}"), 1.0);
}
