//! Projects that belong to a Cargo workspace, and the path of the SDK.
//!
//! A project is a separate workspace, unless another workspace takes its folder as one of its
//! members.

use std::env;
use std::fs;
use std::path::{Component, Path, absolute};

use toml::{Table, Value};

use super::NewError;
use super::template::{File, Sdk, replace};

/// The package of the SDK.
pub(super) const SDK: &str = "connector-gateway-sdk";

const MANIFEST: &str = "Cargo.toml";
const MEMBER: &str = include_str!("templates/rust/member.toml");

/// Keys of `[package]` that a member takes from its workspace, and the line without a workspace's
/// value.
const PACKAGE: [(&str, &str); 6] = [
    ("version", "version = \"0.1.0\""),
    ("edition", "edition = \"2024\""),
    ("rust-version", ""),
    ("license", ""),
    ("authors", ""),
    ("publish", "publish = false"),
];

/// The absolute path of the SDK's folder.
pub(super) fn sdk(folder: &Path, sdk: &Sdk) -> Result<String, NewError> {
    let text = fs::read_to_string(folder.join(sdk.manifest)).unwrap_or_default();
    let is_name = |line: &str| line.split_whitespace().collect::<String>() == sdk.name;
    if !text.lines().any(is_name) {
        return Err(NewError::NotSdk { folder: folder.to_owned(), manifest: sdk.manifest });
    }
    let folder = fs::canonicalize(folder).map_err(|source| NewError::Io { path: folder.to_owned(), source })?;
    Ok(folder.to_string_lossy().into_owned())
}

/// The absolute path of the SDK that came with the gateway, in the folder `sdk` next to its binary.
pub(super) fn shipped_sdk(of: &Sdk) -> Option<String> {
    let binary = fs::canonicalize(env::current_exe().ok()?).ok()?;
    sdk(&binary.parent()?.join("sdk").join(of.folder), of).ok()
}

/// Completes the manifest of a project in Rust: as a member of a workspace, or with the path of the
/// SDK. Returns `true` if the project is a member, which takes the SDK as its workspace says.
pub(super) fn complete(files: &mut [File], folder: &Path, identifier: &str, title: &str, sdk: Option<&str>) -> bool {
    let Some((_, content)) = files.iter_mut().find(|(name, _)| *name == MANIFEST) else { return false };
    if let Some(workspace) = workspace_of(folder) {
        *content = member(&workspace, identifier, title);
        return true;
    }
    if let Some(sdk) = sdk {
        let path = Value::from(sdk);
        content.push_str(&format!("\n[patch.crates-io]\n{SDK} = {{ path = {path} }}\n"));
    }
    false
}

/// The manifest of a member.
fn member(workspace: &Table, identifier: &str, title: &str) -> String {
    let shared = workspace.get("package");
    let lines = PACKAGE.iter().map(|(key, own)| {
        if shared.is_some_and(|shared| shared.get(key).is_some()) {
            format!("{key}.workspace = true")
        } else {
            (*own).to_owned()
        }
    });
    let inherited: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    let is_sdk =
        |(key, value): &(&String, &Value)| *key == SDK || value.get("package").and_then(Value::as_str) == Some(SDK);
    let dependencies = workspace.get("dependencies").and_then(Value::as_table);
    let dependency = match dependencies.and_then(|dependencies| dependencies.iter().find(is_sdk)) {
        Some((key, _)) => format!("{key}.workspace = true"),
        None => format!("{SDK} = \"{}\"", env!("CARGO_PKG_VERSION")),
    };
    let lints = if workspace.contains_key("lints") { "\n[lints]\nworkspace = true" } else { "" };
    let values = [
        ("identifier", identifier),
        ("description", &Value::from(format!("Connector: {title}")).to_string()),
        ("inherited", &inherited.join("\n")),
        ("dependency", &dependency),
        ("lints", lints),
    ];
    let text = values.iter().fold(MEMBER.to_owned(), |text, (name, value)| replace(&text, name, value));
    text.trim_end().to_owned() + "\n"
}

/// The workspace that takes the folder as a member, if there is one. The nearest workspace above
/// the folder decides.
fn workspace_of(folder: &Path) -> Option<Table> {
    let folder = absolute(folder).ok()?;
    let (root, workspace) =
        folder.ancestors().skip(1).find_map(|root| match manifest(root)?.remove("workspace")? {
            Value::Table(workspace) => Some((root, workspace)),
            _ => None,
        })?;
    let path = folder.strip_prefix(root).ok()?;
    let patterns = |key| workspace.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let is_member = patterns("members").any(|pattern| matches(pattern, path))
        && !patterns("exclude").any(|pattern| matches(pattern, path));
    is_member.then_some(workspace)
}

/// Returns `true` if a path fits a pattern such as `connectors/*`.
fn matches(pattern: &str, path: &Path) -> bool {
    let steps: Vec<Component<'_>> = path.components().collect();
    let pattern: Vec<Component<'_>> = Path::new(pattern).components().collect();
    let fits = |(pattern, step): (&Component<'_>, &Component<'_>)| pattern.as_os_str() == "*" || pattern == step;
    steps.len() == pattern.len() && pattern.iter().zip(&steps).all(fits)
}

fn manifest(folder: &Path) -> Option<Table> {
    fs::read_to_string(folder.join(MANIFEST)).ok()?.parse().ok()
}
