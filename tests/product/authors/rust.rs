//! A connector in Rust.

use serde_json::json;
use support::{Reply, Setup, Upstream};

use super::Project;

#[test]
fn a_new_project_passes_its_test_builds_and_serves_a_call() {
    let (project, said) = Project::new(&["words"]);
    assert!(said.contains("connectors build") && said.contains("`--sdk SOURCE/connectors/sdk`"), "{said}");
    project.test();
    let (module, report) = project.build();
    for words in ["words 0.1.0", "operations  1", "api.dictionaryapi.dev"] {
        assert!(report.contains(words), "{words} in\n{report}");
    }
    let service = Upstream::start();
    service.reply("/entries/en/hello", Reply::json(json!([{"word": "hello"}])));
    let gateway = Setup::new().module("words", module).upstream("words", "api", &service.url()).start();
    assert_eq!(gateway.call("words/define", json!({"word": "hello"})).ok(), json!([{"word": "hello"}]));
}

#[test]
fn a_build_that_changes_the_module_removes_its_signature() {
    let (project, _) = Project::new(&["words"]);
    project.build();
    let signature = project.folder().join("words.wasm.minisig");
    project.write("words.wasm.minisig", "signature");
    project.build();
    assert!(signature.is_file(), "the module is the same");
    project.write("src/lib.rs", &project.read("src/lib.rs").replace("Words", "Other words"));
    project.build();
    assert!(!signature.exists(), "it would be sent with a module that it does not fit");
}

#[test]
fn projects_with_accounts_build_and_are_valid() {
    for (auth, words) in [("api-key", "API key"), ("oauth2", "OAuth 2.0")] {
        let (project, _) = Project::new(&["words", "--auth", auth]);
        let (_, report) = project.build();
        assert!(report.contains(words), "{report}");
    }
}

#[test]
fn a_module_says_which_commit_and_packages_it_was_built_of() {
    let (project, _) = Project::new(&["words"]);
    let report = || {
        let (module, _) = project.build();
        let home = Setup::new().prepare();
        let file = support::home::file(&home, "words.wasm", &module);
        let report = home.run_ok(&["connectors", "check", support::home::path(&file), "--json"]);
        serde_json::from_str::<serde_json::Value>(&report).unwrap()
    };
    let ignored = report();
    assert_eq!(
        (&ignored["source"], &ignored["revision"]),
        (&json!(null), &json!(null)),
        "the folder is in no repository"
    );
    let packages = ignored["packages"].as_array().unwrap();
    for (name, source) in [("words", "local"), ("serde_json", "crates.io")] {
        assert!(packages.iter().any(|package| package["name"] == name && package["source"] == source), "{packages:?}");
    }

    project.git(&["init", "--quiet"]);
    project.git(&["remote", "add", "origin", "https://user:secret@git.example.com/acme/words.git"]);
    project.git(&["add", "."]);
    project.git(&[
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.com",
        "commit",
        "--quiet",
        "--message",
        "First",
    ]);
    let commit = project.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let clean = report();
    assert_eq!(clean["source"], "https://git.example.com/acme/words.git");
    assert_eq!(clean["revision"], commit);
    assert_eq!(report()["sha256"], clean["sha256"], "the same source makes the same module");
    project.write("notes.txt", "not committed");
    assert_eq!(report()["revision"], format!("{commit}-dirty"));
}

#[test]
fn a_recording_is_replayed_against_the_built_module_and_shows_what_changed() {
    let (project, _) = Project::new(&["words"]);
    let finished = project.test_recordings(&[]);
    assert_eq!(finished.code, Some(0), "{}\n{}", finished.stdout, finished.stderr);
    for words in ["recordings/define.json", "recordings: 1, failed: 0", "test result: ok. 3 passed"] {
        assert!(finished.stdout.contains(words), "{words} in\n{}", finished.stdout);
    }

    let recording = project.read("recordings/define.json");
    let (start, end) = recording.rsplit_once("A greeting.").unwrap();
    project.write("recordings/define.json", &format!("{start}An old greeting.{end}"));
    let finished = project.test_recordings(&["--only-recordings"]);
    assert_eq!(finished.code, Some(1));
    let difference = r#"/0/meanings/0/definitions/0/definition: recorded "An old greeting.", now "A greeting.""#;
    assert!(finished.stdout.contains(difference), "{}", finished.stdout);
    assert_eq!(project.test_recordings(&["--only-recordings", "--update"]).code, Some(0));
    assert_eq!(project.read("recordings/define.json"), recording);

    let table = project.read("src/lib.rs");
    project.write("src/lib.rs", &table.replace("/entries/en/", "/v3/entries/en/"));
    let finished = project.test_recordings(&["--only-recordings", "--update"]);
    assert_eq!(finished.code, Some(1));
    for words in ["no request GET api /v3/entries/en/hello", "the nearest one is     GET api /entries/en/hello"] {
        assert!(finished.stdout.contains(words), "{words} in\n{}", finished.stdout);
    }
    assert_eq!(project.read("recordings/define.json"), recording, "another request is not an answer to update");

    project.write("src/lib.rs", &table.replace("define:", "defines:"));
    let finished = project.test_recordings(&["--only-recordings"]);
    assert_eq!(finished.code, Some(1));
    let gone = "has no operation `define`; name another one, such as `defines`, or delete the recording";
    assert!(finished.stdout.contains(gone) && !finished.stdout.contains("not sent"), "{}", finished.stdout);
}
