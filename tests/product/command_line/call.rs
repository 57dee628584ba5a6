//! `connectors call`: operations without a server, and recordings of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use support::process::Finished;
use support::{Home, Reply, Setup, Upstream, module};

use support::home::{file, path};

/// A guest's module, a service that stands in for its own, and where commands run.
struct Author {
    home: Home,
    module: String,
    service: Upstream,
}

impl Author {
    fn of(guest: &str) -> Self {
        let home = Setup::new().prepare();
        let module = path(&file(&home, "module.wasm", &module::guest(guest))).to_owned();
        Self { home, module, service: Upstream::start() }
    }

    fn call(&self, arguments: &[&str]) -> Finished {
        self.home.run(&[&["connectors", "call", &self.module], arguments].concat())
    }

    /// A call that reaches the service.
    fn call_service(&self, arguments: &[&str]) -> Finished {
        self.call(&[arguments, &["--upstream", &format!("api={}", self.service.url())]].concat())
    }

    fn next_to_config(&self, name: &str) -> String {
        path(&self.home.config().with_file_name(name)).to_owned()
    }
}

/// Names and sizes of the files in a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(Result::unwrap);
    entries.map(|entry| (entry.path(), entry.metadata().unwrap().len())).collect()
}

fn answer(finished: &Finished) -> Value {
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    serde_json::from_str(&finished.stdout).unwrap()
}

#[track_caller]
fn problem(finished: &Finished, status: u16) -> Value {
    assert_eq!(finished.code, Some(1), "{}", finished.stdout);
    let problem: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(problem["status"], status, "{problem}");
    problem
}

#[test]
fn an_operation_runs_without_a_server_and_shows_an_outline_of_its_request() {
    let author = Author::of("bench");
    author.service.reply("/items/17", Reply::json(json!({"id": "17"})));
    let before = files(&author.home.data());
    let finished = author.call_service(&["get_item", r#"{"item_id": "17", "view": "secret view"}"#]);
    assert_eq!(answer(&finished), json!({"id": "17"}));
    let outline = finished.stderr.lines().find(|line| line.starts_with("GET http://127.0.0.1:")).unwrap();
    assert!(outline.contains("/items/17?view -> 200, 11 bytes, "), "{outline}");
    assert!(!finished.stderr.contains("secret"), "{}", finished.stderr);
    assert_eq!(author.service.seen()[0].parameter("view").as_deref(), Some("secret view"));
    assert_eq!(fs::read_dir(author.home.modules()).unwrap().count(), 0);
    assert_eq!(files(&author.home.data()), before, "the gateway's folder is not touched");
}

#[test]
fn an_input_may_be_in_a_file() {
    let author = Author::of("bench");
    author.service.reply("/items/17", Reply::json(json!({"id": "17"})));
    let input = author.next_to_config("input.json");
    fs::write(&input, r#"{"item_id": "17"}"#).unwrap();
    answer(&author.call_service(&["get_item", &format!("@{input}")]));
}

#[test]
fn failures_are_the_problems_of_the_gateway() {
    let author = Author::of("bench");
    author.service.reply("/items/none", Reply::json(json!({"error": "no item"})).status(404));
    let refused = problem(&author.call_service(&["get_item", r#"{"item": "17"}"#]), 422);
    assert_eq!(refused["errors"][0]["pointer"], "/item", "{refused}");
    let unknown = problem(&author.call_service(&["get_itm"]), 404);
    assert!(unknown["detail"].as_str().unwrap().contains("`get_item`"), "{unknown}");
    let upstream = problem(&author.call_service(&["get_item", r#"{"item_id": "none"}"#]), 404);
    assert_eq!(upstream["upstream"]["body"]["error"], "no item", "{upstream}");
}

#[test]
fn a_trap_is_reported_with_its_place() {
    let author = Author::of("clumsy");
    let finished = author.call(&["panic", r#"{"message": "lost the thread"}"#]);
    problem(&finished, 500);
    for words in ["The connector trapped", "tests/guests/clumsy/src/lib.rs:", "lost the thread"] {
        assert!(finished.stderr.contains(words), "{words} in\n{}", finished.stderr);
    }
}

#[test]
fn a_private_address_is_only_for_the_upstream_that_it_replaces() {
    let author = Author::of("bench");
    let finished = author.call(&["get_item", r#"{"item_id": "1"}"#, "--upstream", "apo=http://127.0.0.1:9"]);
    assert!(finished.code == Some(1) && finished.stderr.contains("`api`"), "{}", finished.stderr);

    // A redirect to another port of this machine is another host, which the operator has not
    // granted.
    author.service.reply("/items/1", Reply::redirect("http://127.0.0.1:9/"));
    problem(&author.call_service(&["get_item", r#"{"item_id": "1"}"#]), 403);
}

#[test]
fn a_credential_comes_from_a_variable_or_a_file_and_is_never_recorded() {
    const TOKEN: &str = "tok-author-123456";
    let author = Author::of("bench_account");
    let accounts = format!("accounts={}", author.service.url());
    author.service.on("/me", |seen| Reply::json(json!({"id": "1", "echo": seen.header("authorization")})));
    let missing = author.call_service(&["me"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.contains("--credential-env"), "{}", missing.stderr);
    assert!(author.service.seen().is_empty());

    let (token, recording) = (author.next_to_config("token"), author.next_to_config("me.json"));
    fs::write(&token, format!("{TOKEN}\n")).unwrap();
    let arguments = ["me", "--upstream", &accounts, "--credential-file", &token, "--record", &recording];
    let finished = author.call_service(&arguments);
    answer(&finished);
    assert_eq!(author.service.take_seen()[0].header("authorization"), format!("Bearer {TOKEN}"));
    let recorded = fs::read_to_string(&recording).unwrap();
    for text in [&finished.stdout, &finished.stderr, &recorded] {
        assert!(!text.contains(TOKEN), "{text}");
    }

    let mut command = author.home.command(&["connectors", "call", &author.module, "me", "--upstream", &accounts]);
    let finished = support::process::run(command.args(["--credential-env", "TOKEN"]).env("TOKEN", TOKEN));
    answer(&finished);
    assert_eq!(author.service.take_seen()[0].header("authorization"), format!("Bearer {TOKEN}"));
    let finished = author.call(&["me", "--replay", &recording]);
    answer(&finished);
    assert!(author.service.seen().is_empty(), "a replay sends nothing and needs no credential");
}

#[test]
fn a_recording_has_no_personal_data_and_replays_what_it_was_made_of() {
    let author = Author::of("bench");
    let item = json!({"id": 17, "owner": {"name": "Ada Byron", "email": "ada@acme.com"}, "title": "Engine"});
    author.service.reply("/items/ada%40acme.com", Reply::json(item).header("set-cookie", "session=s3cret-cookie"));
    let recording = author.next_to_config("recordings/get_item.json");
    let finished = author.call_service(&["get_item", r#"{"item_id": "ada@acme.com"}"#, "--record", &recording]);
    assert_eq!(answer(&finished)["owner"]["name"], "Ada Byron", "{}", finished.stdout);
    let recorded = fs::read_to_string(&recording).unwrap();
    for gone in ["acme", "Ada", "cookie"] {
        assert!(!recorded.contains(gone), "{gone} in {recorded}");
    }
    assert!(recorded.contains("Engine") && recorded.contains("content-type"), "{recorded}");
    author.service.take_seen();

    let replayed = answer(&author.call(&["get_item", "--replay", &recording]));
    assert_eq!((&replayed["id"], &replayed["title"]), (&json!(17), &json!("Engine")));
    let finished = author.call(&["get_item", r#"{"item_id": "other"}"#, "--replay", &recording]);
    assert_eq!(finished.code, Some(1));
    for words in ["no request GET api /items/other", "the nearest one is", "not sent"] {
        assert!(finished.stderr.contains(words), "{words} in\n{}", finished.stderr);
    }
    assert!(author.service.seen().is_empty(), "a replay sends nothing");
}

#[test]
fn a_recording_of_an_operation_that_is_gone_is_told_with_the_nearest_name() {
    let author = Author::of("bench");
    let recording = author.next_to_config("recording.json");
    let exchange = json!({"request": {"method": "GET", "upstream": "api", "path": "/a"}, "answer": {"status": 200}});
    let gone = json!({"format": 1, "operation": "get_itm", "input": {}, "exchanges": [exchange], "answer": {}});
    fs::write(&recording, gone.to_string()).unwrap();
    for (operation, words) in [
        ("get_itm", "has no operation `get_itm`; name another one, such as `get_item`, or delete the recording"),
        ("zzz", "has no operation `zzz`; name another one, which `connectors check` lists, or delete the recording"),
    ] {
        let finished = author.call(&[operation, "--replay", &recording]);
        assert!(finished.code == Some(1) && finished.stderr.contains(words), "{}", finished.stderr);
        assert!(!finished.stderr.contains("not sent"), "{}", finished.stderr);
    }
}

#[test]
fn a_file_that_is_no_recording_and_an_input_that_shapes_are_refused() {
    let author = Author::of("bench");
    let recording = author.next_to_config("recording.json");
    for (text, words) in [("{}", "not a recording"), (r#"{"format": 2}"#, "the format 2")] {
        fs::write(&recording, text).unwrap();
        let finished = author.call(&["get_item", "--replay", &recording]);
        assert!(finished.code == Some(1) && finished.stderr.contains(words), "{}", finished.stderr);
    }
    let shaped = r#"{"item_id": "1", "response_fields": ["id"]}"#;
    let finished = author.call_service(&["get_item", shaped, "--record", &recording]);
    assert!(finished.stderr.contains("`response_fields`"), "{}", finished.stderr);
    assert!(author.service.seen().is_empty());
}
