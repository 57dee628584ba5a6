//! A connector without a language: the file `connector.toml`, from `connectors new` to a live call.
//! It needs no toolchain, so these tests are a part of `make test`.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use support::home::path;
use support::{Home, Reply, Setup, Upstream};

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
