//! A connector in Rust.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use support::setup::KEY;
use support::{Reply, Setup, Upstream, process};

use super::Project;

#[test]
#[ignore = "make test-authors"]
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
#[ignore = "make test-authors"]
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
#[ignore = "make test-authors"]
fn projects_with_accounts_build_and_are_valid() {
    for (auth, words) in [("api-key", "API key"), ("oauth2", "OAuth 2.0")] {
        let (project, _) = Project::new(&["words", "--auth", auth]);
        let (_, report) = project.build();
        assert!(report.contains(words), "{report}");
    }
}

#[test]
#[ignore = "make test-authors"]
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
#[ignore = "make test-authors"]
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

#[test]
#[ignore = "make test-authors"]
fn a_module_is_compiled_once_by_all_commands_and_only_a_private_cache_is_used() {
    let (project, _) = Project::new(&["words"]);
    let (module, _) = project.build();
    let home = Setup::new().cold().prepare();
    let caches = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let finished = process::run(home.command(arguments).env("XDG_CACHE_HOME", caches.path()));
        assert_eq!(finished.code, Some(0), "{arguments:?}\n{}", finished.stderr);
        finished
    };
    let folder = caches.path().join("connector-gateway");
    let written = || {
        let entries = fs::read_dir(folder.join("compiled")).unwrap().map(Result::unwrap);
        let times = entries.map(|entry| (entry.file_name(), entry.metadata().unwrap().created().unwrap()));
        times.collect::<Vec<_>>()
    };
    let file = support::home::file(&home, "words.wasm", &module);
    let file = support::home::path(&file);
    run(&["connectors", "check", file]);
    let compiled = written();
    assert_eq!(compiled.len(), 1);
    let recording = project.folder().join("recordings/define.json");
    run(&["connectors", "call", file, "define", "--replay", support::home::path(&recording)]);
    let test = ["connectors", "test", support::home::path(project.folder()), "--only-recordings"];
    run(&test);
    // The gateway does not run, so the command compiles for it.
    let added = run(&["connectors", "add", file, "--json"]);
    let added: serde_json::Value = serde_json::from_str(&added.stdout).unwrap();
    assert_eq!(added["compiled_in_ms"], json!(null), "the author's compiled module is taken");
    assert_eq!(written(), compiled, "no command has compiled the module again");

    // A file that someone else wrote is not run.
    let artifact = folder.join("compiled").join(&compiled[0].0);
    fs::write(&artifact, b"not what was compiled").unwrap();
    run(&["connectors", "check", file]);
    assert!(fs::metadata(&artifact).unwrap().len() > 1000, "it was compiled again");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
    let said = run(&["connectors", "check", file]).stderr;
    let words =
        format!("the mode of `{}` is 770, so other users may have used it; remove the folder", folder.display());
    assert!(said.contains("Compiled modules are not kept for the next command:") && said.contains(&words), "{said}");

    // A gateway that serves does not take the author's compiled module.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let gateway = Setup::new().cold().start();
    let mut add = home.command(&["connectors", "add", file, "--json", "--url", &gateway.address()]);
    let sent = process::run(add.env("XDG_CACHE_HOME", caches.path()).env("GATEWAY_KEY", KEY));
    assert!(sent.stderr.contains("which compiles and checks the module"), "{}", sent.stderr);
    let sent: serde_json::Value = serde_json::from_str(&sent.stdout).unwrap();
    assert!(sent["compiled_in_ms"].is_u64(), "{sent}");
}

#[test]
#[ignore = "make test-authors"]
fn the_folder_that_cargo_builds_into_may_be_another_one() {
    let (project, _) = Project::new(&["words"]);
    let (expected, _) = project.build();
    let folder = support::home::path(project.folder());
    let elsewhere = tempfile::tempdir().unwrap();
    let core = |target: &Path| target.join("wasm/wasm32-unknown-unknown/connector/words.wasm");
    // The other folder uses the crates that were built for the project.
    let built = project.folder().join("target/wasm");
    let copy = |target: &Path| {
        fs::create_dir_all(target).unwrap();
        let copied = process::run(Command::new("cp").arg("-a").arg(&built).arg(target));
        assert_eq!(copied.code, Some(0), "{}", copied.stderr);
        fs::remove_file(core(target)).unwrap();
    };
    let by_variable = elsewhere.path().join("by-variable");
    copy(&by_variable);
    let output = elsewhere.path().join("words.wasm");
    let home = Setup::new().prepare();
    let mut build = home.command(&["connectors", "build", folder, "--output", support::home::path(&output)]);
    let finished = process::run(build.env("CARGO_TARGET_DIR", &by_variable));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(core(&by_variable).is_file());
    assert_eq!(fs::read(&output).unwrap(), expected);

    let by_configuration = elsewhere.path().join("by-configuration");
    copy(&by_configuration);
    fs::create_dir(project.folder().join(".cargo")).unwrap();
    project.write(".cargo/config.toml", &format!("[build]\ntarget-dir = {by_configuration:?}\n"));
    assert_eq!(project.test_recordings(&["--only-recordings"]).code, Some(0));
    assert!(core(&by_configuration).is_file());
}

#[test]
#[ignore = "make test-authors"]
fn a_pointer_of_the_identity_that_finds_nothing_is_named_before_a_user_connects_an_account() {
    let (project, _) = Project::new(&["words", "--auth", "oauth2"]);
    let table = project.read("src/lib.rs");
    let identity = "identity: Some(Identity { operation: \"today\", id: \"/0/id\", email: None, name: None }),";
    let table = table.replace("..OAuth2::STANDARD", &format!("{identity}\n        ..OAuth2::STANDARD"));
    let today =
        "answer_examples \"answers.json\";\n\n    /// The word of today.\n    today: GET api \"/today\" example {};\n";
    project.write("src/lib.rs", &table.replace("    /// The meanings", &format!("    {today}\n    /// The meanings")));
    project.write("answers.json", r#"{"today": [{"word": "hello", "meanings": "secret"}]}"#);
    let recording =
        project.read("recordings/define.json").replace("\"operation\": \"define\"", "\"operation\": \"today\"");
    let recording = recording.replace("\"word\": \"hello\"\n  },", "},").replace("/entries/en/hello", "/today");
    project.write("recordings/today.json", &recording);
    let said = "the pointer `/0/id` of identity.id finds nothing in the answer of `today`: `/0` has the members `word`, `meanings`";
    let (_, report) = project.build();
    assert!(report.contains(&format!("  note        {said}")) && !report.contains("secret"), "{report}");
    let finished = project.test_recordings(&["--only-recordings"]);
    assert!(finished.stdout.contains(&format!("         note: {said}")), "{}", finished.stdout);
    assert_eq!(finished.code, Some(0), "a user may lack what the pointer names");
}

#[test]
#[ignore = "make test-authors"]
fn crates_that_need_random_numbers_get_them_from_the_gateway() {
    let (project, _) = Project::new(&["words"]);
    project.write(
        "Cargo.toml",
        &project.read("Cargo.toml").replace(
            "[profile.connector]",
            "getrandom = \"0.3\"\ngetrandom_02 = { package = \"getrandom\", version = \"0.2\" }\nrand = \"0.9\"\n\
             uuid = { version = \"1\", features = [\"v4\", \"rng-getrandom\"] }\n\n[profile.connector]",
        ),
    );
    let table = project.read("src/lib.rs");
    let (table, _) = table.split_once("#[cfg(test)]").unwrap();
    let row = "/// Random values.\n    values: read fn values {};\n}\n";
    let function = "
fn values(_: Values) -> Result<connector_sdk::Outcome, connector_sdk::Fault> {
    let mut bytes = [[0; 16]; 2];
    getrandom::fill(&mut bytes[0]).unwrap();
    getrandom_02::getrandom(&mut bytes[1]).unwrap();
    let id = uuid::Uuid::new_v4();
    let number: u64 = rand::random();
    let [one, two] = bytes.map(|bytes| u128::from_le_bytes(bytes).to_string());
    connector_sdk::Outcome::json(&[id.get_version_num().to_string(), id.to_string(), number.to_string(), one, two])
}
";
    project.write("src/lib.rs", &format!("{}{row}{function}", table.trim_end().strip_suffix('}').unwrap()));
    let built = project.run_online(&["connectors", "build", support::home::path(project.folder())]);
    let module = fs::read(built.trim()).unwrap();
    let gateway = Setup::new().module("words", module).start();
    let values = || gateway.call("words/values", json!({})).ok();
    let (one, two) = (values(), values());
    assert_eq!((&one[0], &two[0]), (&json!("4"), &json!("4")), "the version of the UUIDs");
    for value in 1..5 {
        assert!(one[value] != two[value] && one[value].is_string(), "{one} {two}");
    }
}
