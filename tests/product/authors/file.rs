//! A connector without a language: the file `connector.toml`, from `connectors new` to a live call.
//! It needs no toolchain, so these tests are a part of `make test`.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use support::home::path;
use support::process::Process;
use support::{Home, Reply, Setup, Upstream, wait_for};
use tempfile::TempDir;

/// A project that `connectors new` makes.
struct FileProject {
    home: Home,
    folder: PathBuf,
}

impl FileProject {
    fn new() -> Self {
        let home = Setup::new().prepare();
        let folder = home.config().with_file_name("words");
        home.run_ok(&["connectors", "new", "words", "--lang", "none", "--folder", path(&folder)]);
        Self { home, folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("connector.toml")
    }

    /// Adds lines to the end of the file.
    fn append(&self, lines: &str) {
        let text = fs::read_to_string(self.file()).unwrap();
        fs::write(self.file(), text + lines).unwrap();
    }
}

const SYNONYMS: &str = r#"
[operations.synonyms]
request = "POST api /synonyms/{word}?strict=1"
doc = "Synonyms of a word."
effect = "read"
fields."limit?" = { type = "integer", min = 1, in = "query", as = "max" }
fields."tags?" = { type = "[string]", as = "filter.tags" }
fixed_body = { source = "api" }
"#;

#[test]
fn a_new_file_becomes_a_connector_whose_operations_the_gateway_answers() {
    let project = FileProject::new();
    project.append(SYNONYMS);
    let tested = project.home.run_ok(&["connectors", "test", path(&project.folder)]);
    assert!(tested.contains("recordings: 1, failed: 0"), "{tested}");

    let built = project.home.run_ok(&["connectors", "build", path(&project.folder)]);
    let module = project.folder.canonicalize().unwrap().join("words.wasm");
    assert_eq!(built.trim(), path(&module));
    let packed = project.folder.join("packed.wasm");
    project.home.run_ok(&["connectors", "pack", path(&project.file()), "--output", path(&packed)]);
    let checked = project.home.run_ok(&["connectors", "check", path(&packed)]);
    assert!(checked.contains("words 0.1.0") && checked.contains("dictionaryapi.dev"), "{checked}");

    let service = Upstream::start();
    service.reply("/entries/en/sea%20lion", Reply::json(json!([{"word": "sea lion"}])));
    service.reply("/synonyms/hello", Reply::json(json!(["hi"])));
    let gateway =
        Setup::new().module("words", fs::read(&module).unwrap()).upstream("words", "api", &service.url()).start();
    assert_eq!(gateway.call("words/define", json!({"word": "sea lion"})).ok(), json!([{"word": "sea lion"}]));
    let input = json!({"word": "hello", "limit": 2, "tags": ["a", "b"]});
    assert_eq!(gateway.call("words/synonyms", input).ok(), json!(["hi"]));
    let seen = service.take_seen();
    assert_eq!(seen.iter().map(|seen| seen.method.as_str()).collect::<Vec<_>>(), ["GET", "POST"]);
    assert_eq!(seen[1].parameters(), [("strict".to_owned(), "1".to_owned()), ("max".to_owned(), "2".to_owned())]);
    let body: serde_json::Value = serde_json::from_slice(&seen[1].body).unwrap();
    assert_eq!(body, json!({"source": "api", "filter": {"tags": ["a", "b"]}}));
    let refused = gateway.call("words/synonyms", json!({"word": "hello", "limit": 0}));
    assert_eq!(refused.violations()[0].0, "/limit");
}

#[test]
fn mistakes_in_the_file_are_named_with_their_lines_and_nothing_is_written() {
    let project = FileProject::new();
    let first = fs::read_to_string(project.file()).unwrap().lines().count() + 1;
    project.append(
        "[operations.other]\nrequest = \"GET files /a/{b}\"\ndoc = \"Other.\"\nexample = { b = 1 }\ncolour = 1\n",
    );
    for command in [
        vec!["connectors", "build", path(&project.folder)],
        vec!["connectors", "pack", path(&project.file()), "--output", "packed.wasm"],
        vec!["connectors", "test", path(&project.folder)],
    ] {
        let finished = project.home.run(&command);
        assert_eq!(finished.code, Some(1), "{command:?}: {}", finished.stdout);
        for (line, message) in [
            (first + 1, "upstream: the connector has no upstream `files`; it has `api`"),
            (first + 4, "unknown clause `colour`; the clauses are `request`, `doc`, `fields`,"),
        ] {
            let expected = format!("connector.toml:{line}: {message}");
            assert!(finished.stderr.contains(&expected), "{command:?}: {expected}\n{}", finished.stderr);
        }
        assert!(finished.stderr.contains("is refused: its mistakes are above"), "{}", finished.stderr);
    }
    assert!(!project.folder.join("words.wasm").exists());
}

#[test]
fn schemas_of_answers_that_do_not_belong_to_the_file_are_refused_when_it_is_built_and_packed() {
    let project = FileProject::new();
    project.append(&format!("{SYNONYMS}answer_schema = {{ type = \"array\" }}\n"));
    let (file, schemas) = (project.file(), project.folder.join("answer_schemas.json"));
    let packed = project.folder.join("packed.wasm");
    for (operation, reason) in
        [("synonyms", "its manifest has one too; leave one of them out"), ("antonyms", "there is no such operation")]
    {
        let mut text = json!({});
        text[operation] = json!({"type": "array"});
        fs::write(&schemas, text.to_string()).unwrap();
        for command in [
            vec!["connectors", "build", path(&project.folder)],
            vec!["connectors", "pack", path(&file), "--output", path(&packed), "--answer-schemas", path(&schemas)],
        ] {
            let finished = project.home.run(&command);
            assert_eq!(finished.code, Some(1), "{command:?}: {}", finished.stdout);
            let words = format!("is refused: the module has an answer schema of `{operation}`, but {reason}");
            assert!(finished.stderr.contains(&words), "{command:?}: {words}\n{}", finished.stderr);
        }
    }
    assert!(!project.folder.join("words.wasm").exists() && !packed.exists());
}

/// A connector whose notifications have a signature and carry messages.
const CHAT: &str = r#"
identifier = "chat"
version = "0.1.0"
title = "Chat"

[auth.oauth2]
provider = "chat_service"
authorization_url = "https://chat.example.com/oauth/authorize"
token_url = "https://chat.example.com/oauth/token"
scopes = ["messages.read"]
identity = { operation = "me", id = "/id" }

[upstreams]
api = "https://chat.example.com/api"

[inboxes.events]
checks = [{ hmac = { signature = { header = "X-Signature" }, prefix = "sha256=" } }]
id = [{ pointer = "/id" }]
kind = [{ pointer = "/type" }]
data = "/message"
accounts = [{ place = { pointer = "/user" }, account = "/id" }]

[triggers.message]
title = "Message received"
description = "Someone has written to the user."
example = { text = "It is ready." }
kinds = ["message"]
inboxes = ["events"]

[operations.me]
request = "GET api /me"
doc = "The user of the account."
"#;

/// The recording of a message, signed with `a-secret`.
fn recorded_message(secret: &str, events: &Value) -> String {
    let recording = json!({
        "format": 1,
        "inbox": "events",
        "secret": secret,
        "push": {
            "headers": [["X-Signature", "sha256=4c989bf4d53786cbcb68633a31b11e59173fa0970197efd51000596016c221c7"]],
            "body": r#"{"id":"1","type":"message","user":"ann","message":{"text":"It is ready."}}"#,
        },
        "events": events,
    });
    recording.to_string()
}

#[test]
fn a_saved_notification_is_tried_with_the_version_that_is_live() {
    let project = FileProject::new();
    fs::write(project.file(), CHAT).unwrap();
    let temporary = TempDir::new().unwrap();
    let mut command = project.home.command(&["connectors", "dev", path(&project.folder)]);
    let mut dev = Process::start(command.env("TMPDIR", temporary.path()));
    let wait_for_line = |dev: &mut Process, words: &str| {
        wait_for(words, || {
            let lines = dev.lines();
            let is_there = lines.iter().any(|line| line.starts_with(words));
            assert!(is_there || dev.ended().is_none(), "the command has ended:\n{}", lines.join("\n"));
            is_there.then_some(())
        });
    };
    wait_for_line(&mut dev, "chat 0.1.0 is live after ");

    let save = |text: &str| fs::write(project.folder.join("recordings/message.json"), text).unwrap();
    let data = json!({"text": "It is ready."});
    let event = r#"kind `message` of [message] with {"text":"It is ready."}"#;
    save(&recorded_message("a-secret", &json!([])));
    wait_for_line(&mut dev, &format!("recordings/message.json: event 1: {event}"));
    let differs = format!("recordings/message.json: event 1: the recording has none; the inbox reads {event}");
    wait_for_line(&mut dev, &differs);

    let events = json!([{"kind": "message", "triggers": ["message"], "data": data}]);
    save(&recorded_message("another-secret", &events));
    wait_for_line(&mut dev, "recordings/message.json: the notification is not verified: the signature was made with");
    save("{");
    wait_for_line(&mut dev, "`recordings/message.json` is no recording of a notification: EOF while parsing an object");

    // The next version tries it again.
    save(&recorded_message("a-secret", &events));
    fs::write(project.file(), CHAT.replace(r#"kinds = ["message"]"#, r#"kinds = ["note"]"#)).unwrap();
    let of_none = r#"kind `message` of no trigger with {"text":"It is ready."}"#;
    wait_for_line(&mut dev, &format!("recordings/message.json: event 1: {of_none}"));
    let differs = format!("recordings/message.json: event 1: the recording has {event}; the inbox reads {of_none}");
    wait_for_line(&mut dev, &differs);
    // Recordings of calls are for `connectors test`.
    assert!(dev.lines().iter().all(|line| !line.contains("recordings/define.json")), "{:?}", dev.lines());
}
