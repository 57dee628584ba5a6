//! The gateway while a module takes long to compile.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;
use support::process::Process;
use support::{Client, Gateway, Setup, module, usage, wait_for};

/// Makes the compilation of the bomb take longer than a test waits for anything.
const SLOW: &str = "compile.cpu_s = 600";

/// Waits until the gateway compiles a module.
fn wait_for_compilation(data: &std::path::Path) {
    let compiled = data.join("compiled");
    wait_for("the compilation", || {
        let folders = fs::read_dir(&compiled).ok()?.filter_map(Result::ok);
        folders.map(|entry| entry.path().join("module.wasm")).find(|module| module.is_file())
    });
}

fn bomb() -> Vec<u8> {
    module::compile_bomb("", 8000, 3000)
}

#[test]
fn a_gateway_answers_while_it_compiles_the_modules_that_it_starts_with() {
    let home = Setup::new().cold().guest("liar").module("bomb", bomb()).config(SLOW).prepare();
    let mut process = Process::start(&mut home.command(&["serve"]));
    let client = Client::new(&process.logged_address()).with_key(support::setup::KEY);
    // The bomb is missing for as long as the test lasts. The other module is served immediately,
    // and is never reported as unknown.
    wait_for("the other connector", || {
        let answer = client.call("liar/version", json!({}));
        if answer.status != 200 {
            answer.problem(503, "starting");
            return None;
        }
        Some(())
    });
    client.get("/healthz").ok();
    let problem = client.get("/readyz").problem(503, "starting");
    assert!(problem["detail"].as_str().unwrap().contains("bomb.wasm"), "{problem}");
    client.call("bomb/anything", json!({})).problem(503, "starting");
    client.call("unknown/anything", json!({})).problem(404, "unknown-connector");
    process.ask_to_end();
    assert!(process.wait().success(), "it ends although the compilation does not");
}

/// Puts the bomb into the folder of a running gateway, and waits until it is compiled.
fn put_bomb(gateway: &Gateway) {
    gateway.home().put("bomb", &bomb());
    wait_for_compilation(&gateway.home().data());
}

#[test]
fn other_modules_are_removed_and_rolled_back_while_one_compiles() {
    let gateway =
        Setup::new().cold().module("liar", module::liar("version=1.0.0")).guest("clumsy").config(SLOW).start();
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
    put_bomb(&gateway);
    let rolled_back = gateway.client().request("POST", "/admin/connectors/liar/rollback").send().ok();
    assert_eq!(rolled_back["version"], "1.0.0");
    gateway.client().delete("/admin/connectors/clumsy").ok();
    assert_eq!(gateway.connector("clumsy"), None);
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
    assert_eq!(gateway.refusal("bomb.wasm"), None, "it still compiles");
    assert_eq!(gateway.client().get("/readyz").status, 200, "a module that comes later is not missing");
}

#[test]
fn a_module_that_is_removed_while_it_compiles_is_not_refused() {
    let gateway = Setup::new().cold().guest("liar").config(SLOW).start();
    put_bomb(&gateway);
    fs::remove_file(gateway.home().module("bomb")).unwrap();
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
    assert_eq!((gateway.refusal("bomb.wasm"), gateway.connector("bomb")), (None, None));
}

#[test]
fn a_module_that_takes_long_is_refused_although_another_one_is_swapped_all_the_time() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).config("compile.cpu_s = 4").start();
    gateway.home().put("bomb", &bomb());
    let mut numbers = 2..;
    let reason = wait_for("the refusal", || {
        let module = module::liar(&format!("version={}.0.0", numbers.next()?));
        let swap = gateway.client().request("POST", "/admin/connectors").header("content-type", "application/wasm");
        swap.body(module).send().ok();
        gateway.refusal("bomb.wasm").map(|refused| refused["reason"].to_string())
    });
    assert!(reason.contains("compile.cpu_s"), "{reason}");
}

#[test]
fn threads_that_load_modules_yield_to_those_that_serve_calls() {
    let gateway = Setup::new().cold().guest("liar").config(SLOW).start();
    put_bomb(&gateway);
    // A thread that has just begun has not changed its niceness yet.
    wait_for("the niceness of all threads", || {
        let threads = usage::niceness(gateway.process_id());
        let of = |name: &str| -> BTreeSet<i32> {
            threads.iter().filter(|(thread, _)| thread.starts_with(name)).map(|(_, niceness)| *niceness).collect()
        };
        let (serving, background) = (of("core-"), of("tokio-rt"));
        let each_is_one = (serving.len(), background.len()) == (1, 1);
        (each_is_one && background.first()? - serving.first()? == 5).then_some(())
    });
}
