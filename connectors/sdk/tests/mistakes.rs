//! A mistake in a row has the message of the crate `rows` in all languages. `ui/shared_mistakes.rs`
//! is a table in Rust with all mistakes of `shared/mistakes.json`, and `messages.rs` checks its
//! messages. The tests of the SDKs for other languages read the same list.
//!
//! `UPDATE=1` writes the table anew.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::{env, fs};

use serde_json::Value;

/// The table with all mistakes. Each is in a line by itself.
fn table(mistakes: &[Value], headers: &[Value]) -> (String, Vec<usize>) {
    let head = [
        "//! The mistakes of `shared/mistakes.json`. `UPDATE=1 cargo test --test mistakes` writes this file.",
        "",
        "connector_sdk::connector! {",
        "    connector example \"Example\";",
        "    auth Auth::None;",
        "    upstream api \"https://api.example.com\";",
        "    /// A setting",
        "    setting version: string;",
        "    /// A list",
        "    setting list: [string];",
    ];
    let mut lines: Vec<String> = head.map(str::to_owned).into();
    let mut places = Vec::new();
    for mistake in headers {
        let [name, value] = [0, 1].map(|index| mistake["header"][index].as_str().expect("a text"));
        lines.push(format!("    header {name:?} {value:?};"));
        places.push(lines.len());
    }
    for (index, mistake) in mistakes.iter().enumerate() {
        lines.push("    /// A row".to_owned());
        lines.push(format!("    row_{index}: {};", mistake["rust"].as_str().expect("a text")));
        places.push(lines.len());
    }
    lines.extend(["}", "", "fn main() {}", ""].map(str::to_owned));
    (lines.join("\n"), places)
}

/// The messages of the compiler, by the lines that they are about.
fn messages(stderr: &str) -> Vec<(usize, &str)> {
    let blocks = stderr.split("\n\n").filter_map(|block| {
        let (first, rest) = block.trim_start().split_once('\n')?;
        let (_, place) = rest.split_once(".rs:")?;
        Some((place.split(':').next()?.parse().ok()?, first.strip_prefix("error: ")?))
    });
    blocks.collect()
}

#[test]
fn mistakes_in_rows_have_the_words_that_they_have_in_other_languages() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let shared = fs::read_to_string(tests.join("shared/mistakes.json")).expect("the list is there");
    let shared: Value = serde_json::from_str(&shared).expect("JSON");
    let list = |name: &str| shared[name].as_array().expect("a list").clone();
    let (mut rows, fields, headers) = (list("rows"), list("fields"), list("headers"));
    assert!(rows.len() > 35 && fields.len() > 4 && headers.len() > 4);
    // The compiler points at the field, so the message does not name it.
    rows.extend(fields);
    let (source, places) = table(&rows, &headers);
    let path = tests.join("ui/shared_mistakes.rs");
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &source).expect("the file can be written");
    }
    assert_eq!(fs::read_to_string(&path).expect("the table is there"), source, "`UPDATE=1` writes the table anew");

    let stderr = fs::read_to_string(tests.join("ui/shared_mistakes.stderr")).expect("the messages are there");
    let said = messages(&stderr);
    let expected = headers.iter().chain(&rows).map(|mistake| mistake["mistake"].as_str().expect("a text"));
    assert_eq!(said, places.into_iter().zip(expected).collect::<Vec<_>>());
}
