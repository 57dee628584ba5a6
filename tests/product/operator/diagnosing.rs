//! The page `host/docs/diagnosing.md`: each of its commands runs as printed, and prints what the
//! page says for the failure that the page tells of.

use std::fs;
use std::process::Command;

use support::process::{self, Finished};
use support::setup::KEY;
use support::{Dialect, Gateway, OAuthProvider, module, wait_for};

use crate::integrations::{client, connect, gateway, who};

/// The line of the page's examples.
const COLUMNS: usize = 80;

/// A gateway at which a call of `ann` has failed, because she withdrew the access at the provider.
fn after_the_failure(provider: &OAuthProvider) -> Gateway {
    let gateway = gateway(&support::Store::Sqlite, provider);
    let ann = client(&gateway, "acme", Some("ann"), "operate,integrate");
    connect(&ann, "account", "ada");
    provider.withdraw();
    let problem = who(&ann).problem(424, "reauthorization-required");
    let record = format!("/admin/calls/{}", problem["instance"].as_str().unwrap());
    let operator = gateway.client();
    wait_for("the record", || (operator.get(&record).status == 200).then_some(()));
    gateway
}

/// The commands of the page, each with the lines that it prints.
fn commands(page: &str) -> Vec<(String, Vec<&str>)> {
    let mut blocks: Vec<Vec<&str>> = vec![Vec::new()];
    for line in page.lines() {
        match line.strip_prefix("    ") {
            Some(code) => blocks.last_mut().unwrap().push(code),
            None => blocks.push(Vec::new()),
        }
    }
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for block in blocks.into_iter().filter(|block| !block.is_empty() && !block[0].starts_with("export ")) {
        match block[0].starts_with("connector-gateway ") {
            true => found.push((block[0].to_owned(), Vec::new())),
            false => found.last_mut().unwrap().1.extend(block),
        }
    }
    // The commands in the table of owners have no output there.
    let in_rows = page.lines().filter(|line| line.starts_with('|')).flat_map(|line| line.split('`'));
    let in_rows = in_rows.filter(|code| code.starts_with("connector-gateway "));
    found.extend(in_rows.map(|code| (code.replace("NAME", "account"), Vec::new())));
    found
}

fn run(gateway: &Gateway, command: &str) -> Finished {
    let mut shell = Command::new("sh");
    shell.args(["-c", &command.replacen("connector-gateway", "\"$BINARY\"", 1)]).env("BINARY", process::binary());
    shell.env("GATEWAY_URL", gateway.address()).env("GATEWAY_KEY", KEY).env("COLUMNS", COLUMNS.to_string());
    // No configuration is there, so that only the variables can name the gateway.
    process::run(shell.current_dir(gateway.home().modules()))
}

/// The words of an output. `#` is in place of times, ids and durations, which differ.
fn words(text: &str) -> Vec<&str> {
    // Most ids have a digit. The id of a key may have none.
    let is_example = |word: &str| {
        (word.contains(|digit: char| digit.is_ascii_digit()) && !matches!(word, "424" | "401"))
            || word.starts_with("key_")
    };
    text.split_whitespace().map(|word| if is_example(word) { "#" } else { word }).collect()
}

#[test]
fn each_command_of_the_page_prints_what_the_page_says() {
    let provider = OAuthProvider::start(Dialect::strict());
    let gateway = after_the_failure(&provider);
    let page = fs::read_to_string(module::root().join("host/docs/diagnosing.md")).unwrap();
    let mut request = String::new();
    let mut with_output = 0;
    let found = commands(&page);
    for (command, expected) in &found {
        // The id is the one that the first command has printed.
        let command = match command.strip_prefix("connector-gateway calls show ") {
            Some(_) => format!("connector-gateway calls show {request}"),
            None => command.clone(),
        };
        let Finished { code, stdout, stderr } = run(&gateway, &command);
        assert_eq!(code, Some(0), "{command}: {stderr}");
        assert!(stdout.lines().all(|line| line.chars().count() <= COLUMNS), "{command}:\n{stdout}");
        let printed = words(&stdout);
        let mut rest = printed.iter();
        for word in words(&expected.join("\n")) {
            assert!(rest.any(|printed| *printed == word), "{command}: {word} is not printed in this place:\n{stdout}");
        }
        if let Some(headings) = expected.first() {
            assert_eq!(stdout.lines().next(), Some(*headings), "{command}");
            with_output += 1;
        }
        if command.contains("calls list --tenant") {
            request =
                stdout.lines().find(|line| line.contains(" ann ")).unwrap().split("  ").nth(1).unwrap().to_owned();
        }
    }
    assert!(found.len() >= 6 && with_output >= 3, "{found:?}");
}
