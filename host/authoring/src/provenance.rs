//! The texts that `connectors build` adds to a module about its origin: the repository and the
//! commit of its source, and the packages that it was built from. A text that cannot be found out
//! is left out.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::language::Language;
use crate::project::{PLATFORM, Project, package};
use sandbox::provenance::{Package, Provenance};

/// Follows the commit if the folder has changes that are not committed.
const DIRTY: &str = "-dirty";

/// A Python program that lists the installed packages that a project requires, and recursively the
/// packages that these require.
const PYTHON: &str = r#"
import importlib.metadata, json, re
found, queue = {}, [line for line in open("requirements.txt") if re.match("[A-Za-z0-9]", line)]
while queue:
    requirement = queue.pop()
    name = re.sub("[-_.]+", "-", re.match("[A-Za-z0-9._-]+", requirement).group()).lower()
    if name in found or re.search("extra *==", requirement):
        continue
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        continue
    found[name] = distribution.version
    queue += distribution.requires or []
print(json.dumps([{"name": name, "version": version} for name, version in found.items()]))
"#;

/// The texts about a project that was just built.
pub(crate) fn of_project(project: &Project) -> Provenance {
    let folder = project.folder();
    let packages = match project.language() {
        Language::Rust => rust_packages(folder),
        Language::Javascript => javascript_packages(folder),
        Language::Python => python_packages(project),
        Language::None => Some(BTreeSet::new()),
    };
    let packages = packages.map(|packages| packages.into_iter().collect());
    // A folder that the repository ignores is not a part of it.
    if succeeds("git", ["check-ignore", "--quiet", "."], folder) {
        return Provenance { source: None, revision: None, packages };
    }
    let source = output_of("git", ["remote", "get-url", "origin"], folder).and_then(|url| repository(&url));
    Provenance { source, revision: revision(folder), packages }
}

/// The commit that a folder has, and a mark if the folder has changes.
fn revision(folder: &Path) -> Option<String> {
    let commit =
        output_of("git", ["rev-parse", "--verify", "--quiet", "HEAD"], folder).filter(|text| !text.is_empty())?;
    let changes = output_of("git", ["status", "--porcelain", "--", "."], folder)?;
    Some(if changes.is_empty() { commit } else { commit + DIRTY })
}

/// The URL of a repository, without credentials. `None` if it is on this machine.
fn repository(remote: &str) -> Option<String> {
    if remote.contains("://") {
        let mut url = Url::parse(remote).ok().filter(Url::has_host)?;
        url.set_password(None).ok()?;
        match url.scheme() {
            // The user of the transport, which is `git` at most services.
            "ssh" => {}
            "http" | "https" | "git" => url.set_username("").ok()?,
            _ => return None,
        }
        url.set_query(None);
        url.set_fragment(None);
        return Some(url.into());
    }
    // The short form of ssh: `git@git.example.com:acme/words`.
    let (host, path) = remote.split_once(':')?;
    let is_host = !host.is_empty() && !host.contains('/');
    is_host.then(|| format!("ssh://{host}/{}", path.trim_start_matches('/')))
}

/// The packages that a crate is built from on its target, with the crate itself.
fn rust_packages(folder: &Path) -> Option<BTreeSet<Package>> {
    let arguments = ["metadata", "--format-version=1", PLATFORM];
    let metadata: Value = serde_json::from_str(&output_of("cargo", arguments, folder)?).ok()?;
    let root = package(&metadata, &folder.join("Cargo.toml"))?.id;
    crates(&metadata, &root)
}

/// The packages that a crate is built from, with the crate itself, as `cargo metadata` lists them.
pub(crate) fn crates(metadata: &Value, root: &str) -> Option<BTreeSet<Package>> {
    let by_id = |list: &'static str, of: &Value| -> Option<HashMap<String, Value>> {
        let items = of.get(list)?.as_array()?.iter();
        items.map(|item| Some((item.get("id")?.as_str()?.to_owned(), item.clone()))).collect()
    };
    let nodes = by_id("nodes", metadata.get("resolve")?)?;
    let packages = by_id("packages", metadata)?;
    let mut reached = BTreeSet::from([root.to_owned()]);
    let mut queue = vec![root.to_owned()];
    while let Some(id) = queue.pop() {
        for dependency in nodes.get(&id)?.get("deps")?.as_array()? {
            // Without a kind, it is not only for tests or for a build script.
            let is_built_in = dependency.get("dep_kinds")?.as_array()?.iter().any(|kind| kind["kind"].is_null());
            let id = dependency.get("pkg")?.as_str()?;
            if is_built_in && reached.insert(id.to_owned()) {
                queue.push(id.to_owned());
            }
        }
    }
    let of_id = |id: &String| {
        let package = packages.get(id)?;
        let text = |name: &str| package.get(name).and_then(Value::as_str).map(str::to_owned);
        let source = match text("source") {
            None => "local",
            Some(source) if source.starts_with("git+") => "git",
            Some(source) if source.contains("crates.io") => "crates.io",
            Some(_) => "registry",
        };
        Some(Package { name: text("name")?, version: text("version")?, source: source.to_owned() })
    };
    reached.iter().map(of_id).collect()
}

/// The part of a file `package-lock.json` that lists the installed packages.
#[derive(Deserialize)]
struct PackageLock {
    packages: HashMap<String, LockedPackage>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct LockedPackage {
    version: Option<String>,
    resolved: String,
    dev: bool,
    link: bool,
}

/// The packages that are installed for a project, without the ones that only its tests use.
fn javascript_packages(folder: &Path) -> Option<BTreeSet<Package>> {
    let lock = fs::read(folder.join("package-lock.json")).ok()?;
    locked(&lock, |path| folder.join(path).is_dir())
}

fn locked(lock: &[u8], is_installed: impl Fn(&str) -> bool) -> Option<BTreeSet<Package>> {
    let PackageLock { packages } = serde_json::from_slice(lock).ok()?;
    let of_path = |(path, package): (String, LockedPackage)| {
        // The file lists the packages of all platforms.
        if package.dev || package.link || !is_installed(&path) {
            return None;
        }
        let (_, name) = path.rsplit_once("node_modules/")?;
        let source = match package.resolved.split_once(':') {
            Some((scheme, _)) if scheme.starts_with("git") => "git",
            Some(("file", _)) => "local",
            _ => "npm",
        };
        Some(Package { name: name.to_owned(), version: package.version?, source: source.to_owned() })
    };
    Some(packages.into_iter().filter_map(of_path).collect())
}

/// The packages that a project in Python requires.
fn python_packages(project: &Project) -> Option<BTreeSet<Package>> {
    let output = output_of(project.python(), ["-c", PYTHON], project.folder())?;
    let packages: Vec<Package> = serde_json::from_str(&output).ok()?;
    let named = packages.into_iter().map(|package| Package {
        version: semantic(&package.version),
        source: "pypi".to_owned(),
        ..package
    });
    Some(named.collect())
}

/// A version of a Python package in the form of Semantic Versioning, which readers of the list
/// expect: `24.0` as `24.0.0`, `2.0rc1` as `2.0.0-rc1`, and `1.0.post1` as `1.0.0+post1`.
fn semantic(version: &str) -> String {
    if semver::Version::parse(version).is_ok() {
        return version.to_owned();
    }
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let release_end = version.find(|character: char| !character.is_ascii_digit() && character != '.');
    let (release, rest) = version.split_at(release_end.unwrap_or(version.len()));
    let mut numbers: Vec<String> =
        release.split('.').filter(is_number).map(|part| part.trim_start_matches('0').to_owned()).collect();
    numbers.iter_mut().filter(|number| number.is_empty()).for_each(|number| number.push('0'));
    let further = numbers.split_off(numbers.len().min(3));
    numbers.resize(3, "0".to_owned());
    let is_before = ["a", "b", "rc", "dev"].iter().any(|kind| rest.starts_with(kind));
    let plain = |text: &str| -> String {
        let keep = |character: char| if character.is_ascii_alphanumeric() { character } else { '.' };
        text.chars()
            .map(keep)
            .collect::<String>()
            .split('.')
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(".")
    };
    let rest = plain(&[further.join("."), rest.to_owned()].join("."));
    match (rest.is_empty(), is_before && further.is_empty()) {
        (true, _) => numbers.join("."),
        (false, true) => format!("{}-{rest}", numbers.join(".")),
        (false, false) => format!("{}+{rest}", numbers.join(".")),
    }
}

fn command(program: impl AsRef<OsStr>, arguments: impl IntoIterator<Item = &'static str>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs a tool and returns what it prints, without the blanks at the ends. `None` if it is missing
/// or fails.
fn output_of(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = &'static str>,
    folder: &Path,
) -> Option<String> {
    let finished = command(program, arguments, folder).output().ok().filter(|finished| finished.status.success())?;
    Some(String::from_utf8(finished.stdout).ok()?.trim().to_owned())
}

fn succeeds(program: impl AsRef<OsStr>, arguments: impl IntoIterator<Item = &'static str>, folder: &Path) -> bool {
    command(program, arguments, folder).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(packages: BTreeSet<Package>) -> Vec<String> {
        packages.into_iter().map(|package| [package.name, package.version, package.source].join(" ")).collect()
    }

    #[test]
    fn a_repository_is_named_without_credentials() {
        for (remote, expected) in [
            ("https://user:token@git.example.com/acme/words.git", Some("https://git.example.com/acme/words.git")),
            ("https://git.example.com/acme/words?key=1", Some("https://git.example.com/acme/words")),
            ("git@git.example.com:acme/words.git", Some("ssh://git@git.example.com/acme/words.git")),
            ("ssh://git:secret@git.example.com:2222/acme", Some("ssh://git@git.example.com:2222/acme")),
            ("/home/someone/words", None),
            ("file:///home/someone/words", None),
            ("../words", None),
        ] {
            assert_eq!(repository(remote).as_deref(), expected, "{remote}");
        }
    }

    #[test]
    fn the_crates_of_a_module_are_those_that_are_built_into_it() {
        let registry = "registry+https://git.example.com/crates.io-index";
        let package = |id: &str, source: Value| json!({"id": id, "name": id, "version": "1.0.0", "source": source});
        let dependency = |id: &str, kind: Value| json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [
                package("words", Value::Null), package("serde", registry.into()), package("inner", "git+https://x".into()),
                package("tests", registry.into()), package("other", registry.into()),
            ],
            "resolve": {"nodes": [
                {"id": "words", "deps": [dependency("serde", Value::Null), dependency("tests", "dev".into())]},
                {"id": "serde", "deps": [dependency("inner", Value::Null), dependency("words", Value::Null)]},
                {"id": "inner", "deps": []}, {"id": "tests", "deps": []}, {"id": "other", "deps": []},
            ]},
        });
        let found = crates(&metadata, "words").unwrap();
        assert_eq!(names(found), ["inner 1.0.0 git", "serde 1.0.0 crates.io", "words 1.0.0 local"]);
    }

    #[test]
    fn the_packages_of_javascript_are_those_that_are_installed_for_use() {
        let lock = json!({"lockfileVersion": 3, "packages": {
            "": {"name": "words", "version": "0.1.0"},
            "node_modules/rolldown": {"version": "1.0.0", "resolved": "https://registry.example.com/rolldown.tgz"},
            "node_modules/a/node_modules/@acme/b": {"version": "2.0.0"},
            "node_modules/sdk": {"version": "0.1.0", "resolved": "file:../sdk.tgz"},
            "node_modules/tests": {"version": "1.0.0", "dev": true},
            "node_modules/other-platform": {"version": "1.0.0", "optional": true},
        }});
        let found = locked(lock.to_string().as_bytes(), |path| !path.contains("other-platform")).unwrap();
        assert_eq!(names(found), ["@acme/b 2.0.0 npm", "rolldown 1.0.0 npm", "sdk 0.1.0 local"]);
        assert!(locked(b"{}", |_| true).is_none());
    }

    #[test]
    fn versions_of_python_are_written_as_semantic_ones() {
        for (version, expected) in [
            ("1.2.3", "1.2.3"),
            ("24.0", "24.0.0"),
            ("2026.11.2", "2026.11.2"),
            ("2024.02", "2024.2.0"),
            ("2.0rc1", "2.0.0-rc1"),
            ("1.0.post1", "1.0.0+post1"),
            ("1.2.3.4", "1.2.3+4"),
            ("1.0.dev3", "1.0.0-dev3"),
            ("1!2.0", "1.0.0+2.0"),
            ("x", "0.0.0+x"),
        ] {
            let written = semantic(version);
            assert_eq!(written, expected, "{version}");
            semver::Version::parse(&written).unwrap();
        }
    }
}
