//! Modules whose schemas, manifest or file cost too much.

use std::fs::{self, File};
use std::time::Instant;

use serde_json::json;
use support::{Setup, module};

use support::hostile::assert_serves;

#[test]
fn a_validation_that_takes_too_many_steps_is_the_connectors_fault() {
    let gateway = Setup::new().guest("hostile").module("liar", module::liar("schema with many branches")).start();
    assert_eq!(gateway.call("liar/version", json!({"word": [1, 2, 3]})).status, 200);
    let answer = gateway.call("liar/version", json!({"word": vec![0; 200_000]}));
    let problem = answer.problem(500, "connector-failed");
    assert_eq!((&problem["limit"], &problem["connector"]), (&json!("schema"), &json!("liar")));
    assert_eq!(gateway.call("hostile/setting", json!({"key": "none"})).ok()["setting"], json!(null));
}

#[test]
fn a_file_over_the_size_limit_is_refused_by_its_length() {
    let gateway = Setup::new().guest("hostile").guest("liar").start();
    let aside = gateway.home().data().join("sparse");
    File::create(&aside).unwrap().set_len(64 << 30).unwrap();
    fs::rename(aside, gateway.home().module("sparse")).unwrap();
    let reason = gateway.wait_for_refusal("sparse.wasm");
    assert!(reason.contains("65536 MB") && reason.contains("compile.max_module_mb"), "{reason}");
    assert_eq!(gateway.refusal("sparse.wasm").unwrap()["sha256"], "", "it was not read");
    assert_serves(&gateway);
}

#[test]
fn a_long_list_of_broken_rules_is_cut_and_only_admins_see_it() {
    let gateway = Setup::new().guest("hostile").guest("liar").start();
    gateway.home().put("liar", &module::liar("many long paths"));
    let reason = gateway.wait_for_refusal("liar.wasm");
    assert!(reason.len() < 5000 && reason.ends_with(" more"), "{} bytes: {reason}", reason.len());
    assert!(gateway.lines().iter().all(|line| line.len() < 20_000));
    let key = gateway.home().run_ok(&["keys", "create", "--name", "a program", "--scope", "operate"]);
    let listed = gateway.client().with_key(key.trim()).get("/connectors").ok();
    let shown = &listed["refused"][0];
    assert_eq!(shown["file"], "liar.wasm");
    assert_eq!(shown["reason"], "it is not accepted; a key with the scope `admin` sees the reason");
    assert_serves(&gateway);
}

#[test]
fn a_module_that_is_refused_leaves_nothing_in_the_cache() {
    let gateway = Setup::new().cold().guest("liar").start();
    let files = || {
        let folder = fs::read_dir(gateway.home().data().join("compiled")).unwrap();
        let mut files: Vec<_> = folder.map(|entry| entry.unwrap().file_name()).collect();
        files.sort();
        files
    };
    let before = files();
    assert_eq!(before.len(), 1, "one module: {before:?}");
    gateway.home().put("liar", &module::liar("schema of itself"));
    gateway.wait_for_refusal("liar.wasm");
    assert_eq!(files(), before);
}

#[test]
fn an_escaped_log_line_is_as_short_as_any_other() {
    let gateway = Setup::new().guest("hostile").guest("liar").start();
    let text = format!("guest-line{}", "\u{1b}".repeat(4000));
    gateway.call("hostile/huge_log", json!({"lines": 1, "text": text})).ok();
    let line = gateway.wait_for_log("the line", |line| {
        line["message"].as_str().is_some_and(|message| message.starts_with("guest-line"))
    });
    assert_eq!(line["message"].as_str().map(str::len), Some((4 << 10) + '…'.len_utf8()));
    assert_serves(&gateway);
}

#[test]
fn a_connector_that_writes_without_end_fills_no_log() {
    let gateway = Setup::new().guest("hostile").guest("liar").start();
    let client = gateway.client();
    let started = Instant::now();
    let calls: Vec<_> = (0..64).map(|_| client.begin("/connectors/hostile/huge_log", json!({"lines": 256}))).collect();
    assert_serves(&gateway);
    for call in calls {
        call.wait().ok();
    }
    gateway.wait_for_log("the remark", |line| {
        line["message"].as_str().is_some_and(|text| text.contains("further lines of this second are dropped"))
    });
    // A bit more than 1 MiB in each second that has begun.
    let seconds = usize::try_from(started.elapsed().as_secs()).unwrap() + 2;
    let written: usize = gateway.lines().iter().filter(|line| line.contains("guest-line")).map(String::len).sum();
    assert!(written < seconds * (3 << 19), "{written} bytes in {seconds} s");
    assert!(written < 64 << 20, "all that was asked for");
}
