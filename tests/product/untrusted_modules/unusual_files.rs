//! Files in the folder of modules that are no modules: FIFOs, links that lead to themselves or out
//! of the folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;
use support::{Gateway, Setup, module};

/// Asserts that another connector serves.
fn assert_serves(gateway: &Gateway) {
    gateway.call("hostile/setting", json!({"key": "none"})).ok();
}

fn make_fifo(path: &std::path::Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn fifos_named_like_signatures_stop_neither_the_gateway_nor_its_start() {
    let gateway = Setup::new().guest("hostile").guest("liar").start();
    for name in ["liar", "hostile"] {
        make_fifo(&gateway.home().modules().join(format!("{name}.wasm.minisig")));
        gateway.home().put(name, &if name == "liar" { module::liar("version=2.0.0") } else { module::guest(name) });
    }
    let reason = gateway.wait_for_refusal("liar.wasm");
    assert!(reason.contains("its signature cannot be read: it is not a regular file"), "{reason}");
    for name in ["liar", "hostile"] {
        fs::remove_file(gateway.home().modules().join(format!("{name}.wasm.minisig"))).unwrap();
    }
    gateway.wait_for_version("liar", "2.0.0");
    make_fifo(&gateway.home().modules().join("other.wasm.minisig"));
    make_fifo(&gateway.home().modules().join("other.wasm"));
    assert_serves(&gateway.start_again());
}

#[test]
fn an_entry_that_cannot_be_examined_costs_only_itself() {
    let gateway = Setup::new().guest("hostile").guest("liar").start();
    symlink("loop.wasm", gateway.home().modules().join("loop.wasm")).unwrap();
    let line = gateway.wait_for_log("the ignored entry", |line| {
        line["file"].as_str().is_some_and(|file| file.ends_with("/loop.wasm"))
    });
    assert_eq!(line["level"], "WARN", "{line}");
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
    let gateway = gateway.start_again();
    gateway.wait_for_version("liar", "2.0.0");
    assert_serves(&gateway);
}

#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let gateway = Setup::new().guest("hostile").start();
    let outside = gateway.home().data().join("outside.wasm");
    fs::write(&outside, module::liar("version=2.0.0")).unwrap();
    symlink(&outside, gateway.home().module("liar")).unwrap();
    let reason = gateway.wait_for_refusal("liar.wasm");
    assert!(reason.contains("it is a link that leaves its folder"), "{reason}");
    assert_serves(&gateway);
}
