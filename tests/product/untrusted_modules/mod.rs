//! Files that are not connectors, modules of other toolchains, and modules that are made to
//! overload the compiler.

mod resource_limits;
mod slow_compilation;
mod terminal;
mod unusual_files;

use serde_json::json;
use support::{Gateway, Setup, Upstream, module};

use support::hostile::assert_serves;

fn gateway(config: &str) -> Gateway {
    Setup::new().config(config).guest("hostile").guest("liar").start()
}

/// Puts a file into the modules folder and returns the reason of its refusal.
#[track_caller]
fn refused(gateway: &Gateway, name: &str, module: &[u8]) -> String {
    gateway.home().put(name, module);
    let reason = gateway.wait_for_refusal(&format!("{name}.wasm"));
    assert_serves(gateway);
    reason
}

#[test]
fn a_module_that_breaks_the_contract_is_refused_with_the_rule() {
    let gateway = gateway("");
    let cases = [
        (module::text("unknown_import"), "unknown_import", "example:host/shell@1.0.0"),
        (module::text("other_contract"), "other_contract", "gateway:connector/http@2.0.0"),
        (module::text("no_exports"), "no_exports", "describe"),
        (module::text("wrong_exports"), "wrong_exports", "contract"),
    ];
    for (text, name, words) in cases {
        let reason = refused(&gateway, name, &module::from_text(&text));
        assert!(reason.contains(words), "{name}: {reason}");
    }
}

#[test]
fn a_file_that_is_not_a_component_is_refused_with_what_it_is() {
    let gateway = gateway("");
    let core = module::from_text("(module (func (export \"describe\")))");
    let honest = module::guest("liar");
    let mut damaged = honest.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0xff);
    let cases: [(&str, &[u8], &str); 6] = [
        ("core", &core, "connectors pack"),
        ("text", b"not WebAssembly at all", "not a WebAssembly component"),
        ("empty", b"", "not a WebAssembly component"),
        ("head", &honest[..8], "describe"),
        ("half", &honest[..middle], "compile"),
        ("damaged", &damaged, "compile"),
    ];
    for (name, file, words) in cases {
        let reason = refused(&gateway, name, file);
        assert!(reason.contains(words), "{name}: {reason}");
    }
}

#[test]
fn a_file_name_that_is_not_an_identifier_is_refused() {
    let gateway = gateway("");
    for name in ["Liar", "li-ar", "1liar", "liar.v2"] {
        let reason = refused(&gateway, name, &module::guest("liar"));
        assert!(reason.contains("`liar`"), "{name}: {reason}");
    }
}

#[test]
fn a_module_over_the_size_limit_is_refused_unread() {
    let gateway = gateway("compile.max_module_mb = 1");
    let large = module::with_note(&module::guest("liar"), &"x".repeat(1 << 20));
    let reason = refused(&gateway, "large", &large);
    assert!(reason.contains("compile.max_module_mb"), "{reason}");
}

#[test]
fn a_module_of_the_size_of_the_limit_is_loaded_and_one_byte_more_is_not() {
    let honest = module::guest("liar");
    // The identifier of the section, three bytes for its length, and its name with one more byte.
    let room = (1 << 20) - honest.len() - 1 - 3 - "note".len() - 1;
    let largest = module::with_note(&honest, &"x".repeat(room));
    assert_eq!(largest.len(), 1 << 20);
    let gateway = Setup::new().config("compile.max_module_mb = 1").module("liar", largest).start();
    gateway.call("liar/version", json!({})).ok();
    gateway.home().put("large", &module::with_note(&honest, &"x".repeat(room + 1)));
    let reason = gateway.wait_for_refusal("large.wasm");
    assert!(reason.contains("it has 2 MB, over the limit of 1 MB"), "{reason}");
}

#[test]
fn a_component_that_cannot_be_linked_is_refused_before_it_is_compiled() {
    let gateway = gateway("compile.memory_mb = 64\ncompile.cpu_s = 10\nsandbox.core_instances_per_component = 32");
    let instances = format!("(core module $m) {}", "(core instance (instantiate $m))".repeat(33));
    let cases = [
        ("http", "(import \"wasi:http/types@0.2.0\" (instance))", "`disableFeatures` with `http` and `fetch-event`"),
        ("instances", &instances, "33 core instances, and the pool has 32"),
        ("instances_again", &instances, "`sandbox.core_instances_per_component`"),
        ("shell", "(import \"example:host/shell@1.0.0\" (instance))", "example:host/shell@1.0.0"),
    ];
    for (name, head, words) in cases {
        let reason = refused(&gateway, name, &module::compile_bomb(head, 4000, 1000));
        assert!(reason.contains(words) && !reason.contains("compile."), "{name}: {reason}");
    }
}

#[test]
fn a_compile_bomb_is_refused_by_name_while_others_are_served() {
    let gateway = gateway("compile.memory_mb = 64\ncompile.cpu_s = 5");
    let bomb = module::compile_bomb("", 4000, 1000);
    assert!(bomb.len() < 100_000, "it is {} bytes", bomb.len());
    gateway.home().put("bomb", &bomb);
    let load = support::Load::start(
        {
            let client = gateway.client();
            move || client.request("POST", "/connectors/liar/version").json(&json!({}))
        },
        |answer| if answer.status == 200 { Ok(()) } else { Err(answer.text()) },
    );
    let reason = gateway.wait_for_refusal("bomb.wasm");
    assert!(reason.contains("compile.memory_mb") || reason.contains("compile.cpu_s"), "{reason}");
    load.wait_for_more(10);
    assert_eq!(load.stop().failures, Vec::<String>::new());
    // Other modules can still be compiled.
    gateway.home().put("liar", &module::liar("version=2.0.0"));
    gateway.wait_for_version("liar", "2.0.0");
}

#[test]
fn a_module_that_asks_wasi_for_everything_finds_nothing() {
    let victim = Upstream::start();
    let gateway = Setup::new()
        .guest("hostile")
        .guest("liar")
        .guest("thief")
        .variable("SECRET", "in the environment of the gateway")
        .start();
    let answer = gateway.call("thief/look_around", json!({"port": victim.port()}));
    let found = json!({
        "environment": [], "arguments": [], "folders": [], "connected": false, "resolved": false, "printed": true,
    });
    assert_eq!(answer.ok(), found);
    assert!(victim.seen().is_empty());
    let line = gateway.wait_for_log("what it printed", |line| line["message"] == "printed by the guest");
    assert_eq!(line["connector"], "thief");
    assert_eq!(line["request_id"], answer.header("x-request-id"));
    assert_serves(&gateway);
}
