//! The pages of the alerts: each alert has one, and its commands exist.

use std::process::Command;

use support::setup::KEY;
use support::{Setup, module, process};

use super::{alerts, names, text};

/// Names in commands that stand for the reader's.
const PLACEHOLDERS: [&str; 3] = ["ID", "NAME", "TENANT"];

/// The commands in the fenced blocks of a page.
fn commands(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn each_alert_has_a_page_that_the_index_links() {
    let index = text("README.md");
    let mut linked = 0;
    for alert in alerts() {
        let (name, page) = (alert["alert"].as_str().unwrap(), alert["annotations"]["runbook"].as_str().unwrap());
        let body = text(page);
        assert!(body.starts_with("# ") && body.contains(&format!("lert `{name}`")), "{page} explains {name}");
        let row = index.lines().find(|line| line.starts_with('|') && line.contains(&format!("`{name}`")));
        assert!(row.is_some_and(|row| row.contains(&format!("({page})"))), "the index links {page} for {name}");
        linked += 1;
    }
    assert_eq!(linked, names().len(), "each alert has one rule");
}

/// A command may fail because the account or the job of the example does not exist. It must not
/// fail because the command, a subcommand or an option does not exist.
#[test]
fn the_commands_of_the_pages_exist() {
    let gateway = Setup::new().module("liar", module::liar("version=1.0.0")).start();
    let binary = process::binary();
    let mut pages: Vec<String> =
        alerts().iter().map(|alert| alert["annotations"]["runbook"].as_str().unwrap().to_owned()).collect();
    pages.sort();
    pages.dedup();
    let mut run = 0;
    for page in pages {
        for command in commands(&text(&page)) {
            let command = command.replace("NAME", "liar").replace("connector-gateway ", "\"$BINARY\" ");
            if command.contains("gateway.example.com") {
                assert!(command.starts_with("openssl "), "{page}: {command}");
                continue;
            }
            let mut shell = Command::new("sh");
            shell.args(["-c", &command]).env("GATEWAY_URL", gateway.address()).env("GATEWAY_KEY", KEY);
            let finished = process::run(shell.env("BINARY", &binary).current_dir(gateway.home().data()));
            let is_example = PLACEHOLDERS.iter().any(|name| command.split(' ').any(|word| word == *name))
                || command.contains(" rollback ");
            let may_fail = is_example && finished.code == Some(1);
            assert!(finished.code == Some(0) || may_fail, "{page}: {command}\n{}{}", finished.stdout, finished.stderr);
            run += 1;
        }
    }
    assert!(run > 20, "{run}");
}
