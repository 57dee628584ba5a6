//! Mistakes in the rows of a file have the words that they have in the languages of the SDKs. The
//! list is `shared/mistakes.json` of the SDK for Rust.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod section;

use std::path::Path;

use serde_json::Value;

use section::{field, inline, operation, text};

const HEAD: &str = r#"
identifier = "a"
version = "1.0.0"
title = "A"
auth = "none"
upstreams.api = "https://a.example"

[settings]
version = { type = "string", doc = "A" }
list = { type = "[string]", doc = "A" }
"#;

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// A file with a row.
fn file(row: &Value) -> String {
    format!("{HEAD}\n{}", operation("one", row))
}

fn shared() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../connectors/sdk/tests/shared/mistakes.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("the list is there")).expect("JSON")
}

/// The line of the part that a mistake names.
fn line_of(file: &str, mistake: &str) -> usize {
    let begins: Vec<String> = match mistake.split(':').next().expect("a part") {
        "upstream" | "path" => vec!["request = ".to_owned()],
        "default query" => vec!["default_query".to_owned()],
        "row" => vec!["effect".to_owned()],
        // The field that is the whole body, the fixed members, or the word that makes it a form.
        "body" => ["fields.\"body\"", "fixed_body", "form", "multipart"].map(str::to_owned).into(),
        part => {
            let name = part.split('`').nth(1).unwrap_or_else(|| panic!("a name in {part}"));
            vec![format!("fields.\"{name}\""), format!("fields.\"{name}?\""), format!("{name:?}")]
        }
    };
    let found = begins.iter().find_map(|begin| file.lines().position(|line| line.starts_with(begin)));
    found.unwrap_or_else(|| panic!("no line of {mistake} in {file}")) + 1
}

#[track_caller]
fn only(file: &str, mistake: &str) {
    only_at(line_of(file, mistake), file, mistake);
}

#[track_caller]
fn only_at(line: usize, file: &str, mistake: &str) {
    let Err(refused) = connector_file::read(file, Path::new("/nowhere")) else { panic!("{file}") };
    let found: Vec<(usize, &str)> = refused.0.iter().map(|found| (found.line, found.message.as_str())).collect();
    assert_eq!(found, [(line, mistake)], "{file}");
}

#[test]
fn mistakes_in_rows_have_the_words_that_they_have_in_rust_and_the_line_of_their_part() {
    let shared = shared();
    let (rows, fields, headers) = (list(&shared["rows"]), list(&shared["fields"]), list(&shared["headers"]));
    assert!(rows.len() > 35 && fields.len() > 4 && headers.len() > 4);
    for wrong in rows {
        only(&file(&wrong["row"]), text(&wrong["mistake"]));
    }
    for wrong in fields {
        let file = file(&wrong["row"]);
        let line = file.lines().position(|line| line.starts_with("fields.")).expect("a field");
        // The line says which field it is.
        only_at(line + 1, &file, text(&wrong["mistake"]));
    }
    for wrong in headers {
        let [name, value] = [&wrong["header"][0], &wrong["header"][1]];
        let rows = "[operations.one]\nrequest = \"GET api /x\"\ndoc = \"One\"\n[operations.two]\nrequest = \"GET api /y\"\ndoc = \"Two\"\n";
        only(&format!("{HEAD}\n[headers]\n{name} = {value}\n\n{rows}"), text(&wrong["mistake"]));
    }
}

#[test]
fn mistakes_in_settings_have_the_words_that_they_have_in_rust() {
    let shared = shared();
    let settings = list(&shared["settings"]);
    assert!(settings.len() > 4);
    for wrong in settings {
        let row = "[operations.one]\nrequest = \"GET api /x\"\ndoc = \"One\"\n";
        let file = format!("{HEAD}s = {}\n\n{row}", inline(&field(&wrong["field"])));
        let line = file.lines().position(|line| line.starts_with("s = ")).expect("the setting") + 1;
        // The line says which setting it is.
        only_at(line, &file, text(&wrong["mistake"]).trim_start_matches("setting `s`: "));
    }
}

#[test]
fn a_header_that_depends_on_an_unknown_parameter_is_refused_at_its_line() {
    let header = "[headers]\nX-A = { value = \"1\", when = [\"a\", \"b\"] }\n";
    let row = "[operations.one]\nrequest = \"GET api /x\"\ndoc = \"One\"\nfields.\"a?\" = \"string\"\n";
    let file = format!("{HEAD}\n{header}\n{row}");
    let line = file.lines().position(|line| line.starts_with("X-A")).expect("the header") + 1;
    only_at(line, &file, "`when` has `b`, which is no parameter of any row with this header");
}
