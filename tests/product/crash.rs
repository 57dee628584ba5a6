//! The gateway is killed at the worst moments. Nothing is lost when it starts again.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::{Value, json};
use support::{Client, Gateway, Setup, Upstream, module};

/// Kills the gateway and starts it again.
fn revive(gateway: Gateway) -> Gateway {
    gateway.kill();
    gateway.start_again()
}

#[test]
fn keys_grants_modules_and_storage_survive() {
    let gateway = Setup::new().guest("hostile").start();
    let key = gateway.home().run_ok(&["keys", "create", "--name", "a program"]);
    let upload = gateway.client().request("POST", "/admin/connectors?grant=api.example");
    upload.body(module::liar("version=1.0.0")).send().ok();
    gateway.call("hostile/storage", json!({"steps": [["set", "k", "kept"]]})).ok();
    let gateway = revive(gateway);
    let client = gateway.anonymous().with_key(key.trim_end());
    assert_eq!(client.call("liar/version", json!({})).ok()["version"], "version=1.0.0");
    assert_eq!(gateway.connector("liar").unwrap()["hosts"]["granted"], json!(["api.example"]));
    let stored = client.call("hostile/storage", json!({"steps": [["get", "k"]]})).ok();
    assert_eq!(stored["results"], json!(["kept"]));
}

/// Kills a gateway when it is dropped, also if a test fails: threads that call the gateway until it
/// is gone would never end otherwise.
struct Killed<'a>(&'a Gateway);

impl Drop for Killed<'_> {
    fn drop(&mut self) {
        self.0.kill();
    }
}

#[test]
fn an_acknowledged_write_survives_any_number_of_kills() {
    let mut gateway = Setup::new().guest("hostile").start();
    for _ in 0..5 {
        let acknowledged = AtomicU64::new(0);
        let client = gateway.client();
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for number in 1.. {
                    let steps = json!({"steps": [["set", "n", number.to_string()]]});
                    let call = client.request("POST", "/connectors/hostile/storage").json(&steps);
                    match call.try_send() {
                        Ok(answer) if answer.status == 200 => acknowledged.store(number, Ordering::Relaxed),
                        _ => return,
                    }
                }
            });
            let killed = Killed(&gateway);
            support::wait_for("some writes", || (acknowledged.load(Ordering::Relaxed) >= 10).then_some(()));
            drop(killed);
            writer.join().unwrap();
        });
        gateway = gateway.start_again();
        let stored = gateway.call("hostile/storage", json!({"steps": [["get", "n"]]})).ok();
        let found: u64 = stored["results"][0].as_str().unwrap().parse().unwrap();
        let acknowledged = acknowledged.load(Ordering::Relaxed);
        // The last write may be stored without an answer.
        assert!((acknowledged..=acknowledged + 1).contains(&found), "{found} after {acknowledged} were acknowledged");
    }
}

/// Swaps versions by file and by upload until the gateway is killed.
fn swap_until_gone(gateway: &Gateway, client: &Client) {
    for number in 1_u64.. {
        let module = module::liar(&format!("version={}.0.0", 1 + number % 2));
        if number.is_multiple_of(5) {
            gateway.home().put("liar", &module);
        } else if client.request("POST", "/admin/connectors").body(module).try_send().is_err() {
            return;
        }
    }
}

#[test]
fn a_kill_during_swaps_leaves_a_version_that_serves() {
    let mut gateway = Setup::new().guest("hostile").module("liar", module::liar("version=1.0.0")).cold().start();
    for round in 1..=5 {
        let client = gateway.client();
        let swaps = || gateway.metric("gateway_swaps_total{connector=\"liar\",outcome=\"installed\"}");
        thread::scope(|scope| {
            let swapping = scope.spawn(|| swap_until_gone(&gateway, &client));
            let killed = Killed(&gateway);
            support::wait_for("some swaps", || (swaps() >= f64::from(2 * round)).then_some(()));
            drop(killed);
            swapping.join().unwrap();
        });
        gateway = gateway.start_again();
        let version = gateway.call("liar/version", json!({})).ok()["version"].clone();
        assert!(["version=1.0.0", "version=2.0.0"].contains(&version.as_str().unwrap()), "{version}");
        assert!(gateway.connector("hostile").is_some());
        assert_eq!(gateway.client().get("/connectors").ok()["refused"], json!([]));
        let file = fs::read(gateway.home().module("liar")).unwrap();
        assert!([module::liar("version=1.0.0"), module::liar("version=2.0.0")].contains(&file), "the file is complete");
    }
}

#[test]
fn a_kill_during_compilation_does_no_harm() {
    let gateway = Setup::new().guest("hostile").cold().start();
    for number in 0..5 {
        gateway.home().put("liar", &module::liar(&format!("version={number}")));
    }
    support::wait_for("a compilation to begin", || {
        let entries = fs::read_dir(gateway.home().data().join("compiled")).unwrap();
        let mut names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.any(|name| name.starts_with('.')).then_some(())
    });
    let gateway = revive(gateway);
    assert_eq!(gateway.call("liar/version", json!({})).ok()["version"], "version=4");
    assert!(gateway.connector("hostile").is_some());
}

#[test]
fn a_kill_under_load_looks_like_a_restart_to_callers() {
    let service = Upstream::start();
    let gateway = Setup::new().guest("hostile").guest("liar").upstream("hostile", "api", &service.url()).start();
    let client = gateway.client();
    let calls: Vec<_> = (0..20).map(|_| client.begin("/connectors/hostile/call", json!({"path": "/"}))).collect();
    gateway.kill();
    for call in calls {
        // Some calls were answered and others not, but every answer is complete.
        if let Ok(answer) = call.try_wait() {
            let _: Value = answer.ok();
        }
    }
    let gateway = gateway.start_again();
    support::hostile::assert_serves(&gateway);
}
