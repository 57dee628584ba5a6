//! A connector in Rust.

use serde_json::json;
use support::{Provider, Reply, Setup};

use super::Project;

#[test]
fn a_new_project_passes_its_test_builds_and_serves_a_call() {
    let (project, said) = Project::new(&["words"]);
    assert!(said.contains("connectors build"), "{said}");
    project.test();
    let (module, report) = project.build();
    for words in ["words 0.1.0", "operations  1", "api.dictionaryapi.dev"] {
        assert!(report.contains(words), "{words} in\n{report}");
    }
    let service = Provider::start();
    service.reply("/entries/en/hello", Reply::json(json!([{"word": "hello"}])));
    let gateway = Setup::new().module("words", module).upstream("words", "api", &service.url()).start();
    assert_eq!(gateway.call("words/define", json!({"word": "hello"})).ok(), json!([{"word": "hello"}]));
}

#[test]
fn projects_with_accounts_build_and_are_valid() {
    for (auth, words) in [("api-key", "API key"), ("oauth2", "OAuth 2.0")] {
        let (project, _) = Project::new(&["words", "--auth", auth]);
        let (_, report) = project.build();
        assert!(report.contains(words), "{report}");
    }
}
