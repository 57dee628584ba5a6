//! The commands of `connectors/docs/publishing.md`, run as they stand there.

use std::fs;
use std::path::Path;
use std::process::Command;

use support::programs;
use support::{Registry, Setup, module, process};

use super::Project;

/// The registry in the page.
const REGISTRY: &str = "registry.example.com";

/// The key in the page.
const KEY: &str = "RWQWtoTgWPERH+jDmReQBvZveyUVnkDgIv8mhh+95ttNUzCFm156NyDN";

/// The blocks of a page in this language, in their order.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

fn write_program(path: &Path, text: &str) {
    process::write_program(path, &format!("#!/bin/sh\n{text}\n"));
}

#[test]
#[ignore = "make test-authors"]
fn a_connector_is_published_by_the_commands_of_the_page() {
    let page = fs::read_to_string(module::root().join("connectors/docs/publishing.md")).unwrap();
    let (project, _) = Project::new(&["words"]);
    let registry = Registry::start();
    let home = Setup::new().prepare();
    let programs = home.config().with_file_name("programs");
    fs::create_dir(&programs).unwrap();
    let gateway = process::binary();
    let config = home.config();
    let run_gateway = format!("exec {} \"$@\" --config {}", gateway.display(), config.display());
    write_program(&programs.join("connector-gateway"), &run_gateway);
    // A key with a password would ask for it on a terminal.
    let minisign = programs::debian("core", "minisign");
    let libraries = minisign.get_envs().find_map(|(name, value)| (name == "LD_LIBRARY_PATH").then_some(value?));
    let libraries = libraries.unwrap_or_default().to_string_lossy();
    let minisign = minisign.get_program().to_string_lossy();
    write_program(
        &programs.join("minisign"),
        &format!(
            "export LD_LIBRARY_PATH=\"{libraries}\"\n[ \"$1\" != -G ] || set -- \"$@\" -W\nexec \"{minisign}\" \"$@\""
        ),
    );
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let address = registry.name("");
    let address = address.trim_start_matches("oci://").trim_end_matches('/');
    let run = |block: &str| {
        let script = block.replace(REGISTRY, address);
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &script]).env("PATH", &path).current_dir(project.folder());
        let finished = process::run(&mut shell);
        assert_eq!(finished.code, Some(0), "{script}{}{}", finished.stdout, finished.stderr);
        finished.stdout
    };
    let commands = blocks(&page, "sh");
    let (author, operator) = commands.split_at(commands.len() - 2);
    let said: Vec<String> = author.iter().map(|block| run(block)).collect();
    assert!(said[0].contains("signature   not signed") && said[0].contains("packages    made of"), "{}", said[0]);
    let pushed = said.last().unwrap().trim();
    assert!(pushed.starts_with(&registry.name("acme/words@sha256:")), "{pushed}");

    let settings = blocks(&page, "toml");
    let configured = fs::read_to_string(&config).unwrap() + settings[0];
    fs::write(&config, &configured).unwrap();
    let refused = home.run(&["connectors", "add", pushed]);
    assert!(refused.stderr.contains("which no publisher in `[trust]` has"), "{}", refused.stderr);
    let key = project.read("publisher.pub");
    fs::write(&config, configured.replace(KEY, key.lines().nth(1).unwrap())).unwrap();
    for block in operator {
        let said = run(block);
        assert!(said.contains("signature   by publisher `acme`"), "{said}");
    }
    let gateway = home.start();
    assert_eq!(gateway.connector("words").unwrap()["hosts"]["granted"][0], "api.dictionaryapi.dev");
}
