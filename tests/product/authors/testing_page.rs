//! The commands of `connectors/docs/testing.md`, one after the other, as a shell runs them.

use std::fs;
use std::process::Command;

use serde_json::json;
use support::{Reply, Upstream, module, process};

use super::Project;
use crate::documentation::reader::tools;

#[test]
#[ignore = "make test-authors"]
fn every_command_of_the_page_about_testing_succeeds() {
    let (project, _) = Project::new(&["dictionary"]);
    let service = Upstream::start();
    service.reply("/entries/en/hello", Reply::json(json!([{"word": "hello"}])));

    // As the gateway's binary. Calls reach the stand-in of the service.
    let programs = tempfile::tempdir().unwrap();
    let program = programs.path().join("connector-gateway");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n  *--replay*) ;;\n  \"connectors call\"*) set -- \"$@\" --upstream api={} ;;\nesac\nexec {} \"$@\"\n",
        service.url(),
        process::binary().canonicalize().unwrap().display()
    );
    process::write_program(&program, &script);

    let page = fs::read_to_string(module::root().join("connectors/docs/testing.md")).unwrap();
    let blocks: Vec<&str> = page.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 5, "{blocks:?}");
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
    let home = tempfile::tempdir().unwrap();
    for block in blocks {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", block]).current_dir(project.folder()).env("PATH", &path);
        shell.env("HOME", home.path()).envs(tools());
        let finished = process::run(&mut shell);
        assert_eq!(finished.code, Some(0), "{block}\n{}\n{}", finished.stdout, finished.stderr);
    }
    let recording = project.read("recordings/define.json");
    assert!(recording.contains("/entries/en/hello") && !recording.contains("A greeting."), "{recording}");
    assert_eq!(service.seen().len(), 4, "each call but the replay reaches the service");
}
