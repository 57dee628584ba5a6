//! "Trying a push on your machine" in `host/docs/events-setup.md`: its commands run as printed.

use std::fs;
use std::process::Command;

use support::setup::KEY;
use support::{module, process};

use super::*;

/// The code in the steps of a section, one text for each step.
fn steps(page: &str, heading: &str) -> Vec<String> {
    let section = page.split(heading).nth(1).unwrap().split("\n## ").next().unwrap();
    let mut steps = vec![String::new()];
    for line in section.lines() {
        match line.strip_prefix("       ") {
            Some(code) => steps.last_mut().unwrap().push_str(&format!("{code}\n")),
            None => steps.push(String::new()),
        }
    }
    steps.retain(|step| !step.is_empty());
    steps
}

/// Runs commands of the page, and returns their output.
#[track_caller]
fn run(gateway: &Gateway, commands: &str) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-euc", &commands.replace("connector-gateway ", "\"$BINARY\" ")]).env("BINARY", process::binary());
    shell.env("GATEWAY_URL", gateway.address()).env("GATEWAY_KEY", KEY).current_dir(gateway.home().modules());
    let finished = process::run(&mut shell);
    assert_eq!(finished.code, Some(0), "{commands}: {}{}", finished.stdout, finished.stderr);
    finished.stdout
}

#[test]
fn a_push_is_tried_without_the_service_as_the_page_says() {
    let page = fs::read_to_string(module::root().join("host/docs/events-setup.md")).unwrap();
    let steps = steps(&page, "## Trying a push on your machine\n");
    let [configuration, make, send, look] = &steps[..] else { panic!("{steps:#?}") };
    let gateway = Setup::new().shipped("code_hosting").config(configuration).start();
    let inbox = || gateway.client().get("/admin/inboxes").ok()["inboxes"][0].clone();
    let (create, add_secret) = make.split_once('\n').unwrap();
    assert!(run(&gateway, create).contains("https://hooks.example.com/hooks/"));
    run(&gateway, &add_secret.replace("INBOX_ID", inbox()["id"].as_str().unwrap()));
    let url = inbox()["url"].as_str().unwrap().to_owned();
    let send = send.replace("ADDRESS", url.rsplit('/').next().unwrap());
    assert!(run(&gateway, &send.replace("a-secret", "another-secret")).starts_with("HTTP/1.1 401"));
    assert!(run(&gateway, &send).starts_with("HTTP/1.1 200"));
    wait_for("the records of both", || {
        let listed = run(&gateway, look);
        (listed.contains("unattributed") && listed.contains("rejected")).then_some(())
    });
    assert_eq!(inbox()["state"], "verified");
}
