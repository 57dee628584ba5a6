//! The project of a connector, and the tools that build and test it.
//!
//! A project in Rust becomes a core module, which is packed as a component afterwards. The SDKs of
//! the other languages have tools that write a component. A project without a language is a file,
//! which is packed without a tool.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, Stdio};

use serde_json::Value;
use thiserror::Error;

use crate::language::Language;
use crate::provenance;

/// The script that builds core modules, in this repository too. It needs no other file.
const SCRIPT: &str = include_str!("../../../connectors/build.sh");

/// The option of `cargo metadata` for the dependencies of a module.
pub(crate) const PLATFORM: &str = "--filter-platform=wasm32-unknown-unknown";

/// The file with the schemas of the answers, if the project has it.
pub(crate) const ANSWER_SCHEMAS: &str = "answer_schemas.json";

/// The crate that other crates take random numbers from. The SDK provides them, if the build
/// requests it.
const GETRANDOM: &str = "getrandom";

/// Why a project was not built or tested. The tools have written their messages to standard error.
#[derive(Debug, Error)]
pub enum ProjectError {
    /// The folder has no project.
    #[error("`{}` has no Cargo.toml, package.json, connector.py or connector.toml; name the folder of a connector's project", .0.display())]
    NoProject(PathBuf),
    /// The project does not make a module.
    #[error("`{}` has no library with `crate-type = [\"cdylib\"]`; add this to `[lib]` in its Cargo.toml", .0.display())]
    NoModule(PathBuf),
    /// A tool is missing.
    #[error("`{program}` cannot be started: {source}; install the tools that the project's README names")]
    Tool {
        /// The tool.
        program: String,
        /// The cause.
        source: io::Error,
    },
    /// A tool that builds failed.
    #[error("the build failed; its messages are above")]
    Failed,
    /// A test of the project failed.
    #[error("the project's own tests failed; their messages are above")]
    TestsFailed,
    /// The folder or the module cannot be reached.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The output of a tool is not what its documentation says.
    #[error("`cargo metadata` printed something else than its documentation says: {0}")]
    Metadata(#[from] serde_json::Error),
}

/// A connector's project.
#[derive(Debug)]
pub(crate) struct Project {
    folder: PathBuf,
    language: Language,
    name: String,
}

impl Project {
    /// Finds the project in a folder. Its files tell its language.
    ///
    /// # Errors
    /// [`ProjectError::NoProject`].
    pub(crate) fn find(folder: &Path) -> Result<Self, ProjectError> {
        let languages = [
            ("Cargo.toml", Language::Rust),
            ("package.json", Language::Javascript),
            ("connector.py", Language::Python),
            (connector_file::FILE, Language::None),
        ];
        let found = languages.into_iter().find(|(file, _)| folder.join(file).is_file());
        let (_, language) = found.ok_or_else(|| ProjectError::NoProject(folder.to_owned()))?;
        let folder = folder.canonicalize().map_err(|source| ProjectError::Io { path: folder.to_owned(), source })?;
        let name = name(&folder, language).unwrap_or_else(|| "connector".to_owned());
        Ok(Self { folder, language, name })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn language(&self) -> Language {
        self.language
    }

    /// The program that runs Python for the project, from its virtual environment if it has one.
    pub(crate) fn python(&self) -> PathBuf {
        let in_environment = self.folder.join("venv/bin/python");
        if in_environment.is_file() { in_environment } else { "python3".into() }
    }

    /// The folder that the tools build into, if they tell it.
    pub(crate) fn target_folder(&self) -> Option<PathBuf> {
        if self.language != Language::Rust {
            return None;
        }
        // If the command fails, the build fails too, and shows the reason.
        let metadata = cargo_metadata(&self.folder, &["--no-deps"]).ok()?;
        target_folder(&metadata).map(PathBuf::from)
    }

    /// The file for the module, unless the author names another one.
    pub(crate) fn module(&self) -> PathBuf {
        self.folder.join(format!("{}.wasm", self.name))
    }

    /// The file with the schemas of the answers. `None` if the project has none.
    pub(crate) fn answer_schemas(&self) -> Option<PathBuf> {
        Some(self.folder.join(ANSWER_SCHEMAS)).filter(|file| file.is_file())
    }

    /// Builds the project. Returns a file that is still to be packed, or `None` if the module is in
    /// `output`.
    ///
    /// # Errors
    /// See [`ProjectError`].
    pub(crate) fn build(&self, output: &Path) -> Result<Option<PathBuf>, ProjectError> {
        let output = absolute(output).map_err(|source| ProjectError::Io { path: output.to_owned(), source })?;
        let output = output.as_os_str();
        match self.language {
            Language::Rust => return core_module(&self.folder).map(Some),
            Language::None => return Ok(Some(self.folder.join(connector_file::FILE))),
            Language::Javascript => {
                let arguments = ["--no-install", "connector-build", "connector.js", "--output"].map(OsStr::new);
                run("npx", arguments.into_iter().chain([output]), &self.folder, Stdio::inherit())?;
            }
            Language::Python => {
                let arguments = ["-m", "connector_sdk.build", "connector.py", "--output"].map(OsStr::new);
                run(
                    &self.python().to_string_lossy(),
                    arguments.into_iter().chain([output]),
                    &self.folder,
                    Stdio::inherit(),
                )?;
            }
        }
        Ok(None)
    }

    /// Runs the project's own tests. They write to standard output and standard error.
    ///
    /// # Errors
    /// `TestsFailed` if a test fails, `Tool` if a tool is missing.
    pub(crate) fn run_tests(&self) -> Result<(), ProjectError> {
        let python = self.python().to_string_lossy().into_owned();
        let (program, arguments): (&str, &[&str]) = match self.language {
            Language::Rust => ("cargo", &["test", "--quiet"]),
            Language::Javascript => ("node", &["--test"]),
            Language::Python => (&python, &["-m", "unittest"]),
            // Its recordings are its tests.
            Language::None => return Ok(()),
        };
        match run(program, arguments.iter().map(OsStr::new), &self.folder, Stdio::inherit()) {
            Err(ProjectError::Failed) => Err(ProjectError::TestsFailed),
            result => result.map(drop),
        }
    }
}

/// The name in the project's manifest. Python has no manifest, so the folder gives the name.
fn name(folder: &Path, language: Language) -> Option<String> {
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
    match language {
        Language::Rust => {
            let manifest: toml::Table = read("Cargo.toml")?.parse().ok()?;
            Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
        }
        Language::Javascript => {
            let manifest: Value = serde_json::from_str(&read("package.json")?).ok()?;
            // A scoped name has a slash.
            Some(manifest.get("name")?.as_str()?.rsplit('/').next()?.to_owned())
        }
        Language::Python => Some(folder.file_name()?.to_string_lossy().into_owned()),
        Language::None => {
            let file: toml::Table = read(connector_file::FILE)?.parse().ok()?;
            Some(file.get("identifier")?.as_str()?.to_owned())
        }
    }
}

/// The workspace of a project, as `cargo metadata` describes it.
fn cargo_metadata(folder: &Path, more: &[&str]) -> Result<Value, ProjectError> {
    let arguments = ["metadata", "--format-version=1"].iter().chain(more).map(OsStr::new);
    Ok(serde_json::from_slice(&run("cargo", arguments, folder, Stdio::piped())?)?)
}

/// The folder that Cargo builds into: the variable `CARGO_TARGET_DIR`, the key `build.target-dir`
/// of Cargo's configuration, or `target` in the workspace.
fn target_folder(metadata: &Value) -> Option<&str> {
    metadata.get("target_directory").and_then(Value::as_str)
}

/// Builds the core module of a project in Rust.
fn core_module(folder: &Path) -> Result<PathBuf, ProjectError> {
    let manifest = folder.join("Cargo.toml");
    let metadata = cargo_metadata(folder, &[PLATFORM])?;
    let package = package(&metadata, &manifest).ok_or_else(|| ProjectError::NoModule(folder.to_owned()))?;
    let root = metadata.get("workspace_root").and_then(Value::as_str).unwrap_or_default();
    let target = target_folder(&metadata).unwrap_or_default();
    let mut arguments = vec!["-c", SCRIPT, "build.sh", "--root", root, "--target-dir", target, "-p", &package.name];
    let crates = provenance::crates(&metadata, &package.id).unwrap_or_default();
    if crates.iter().any(|package| package.name == GETRANDOM) {
        arguments.push("--random");
    }
    run("sh", arguments.into_iter().map(OsStr::new), folder, Stdio::inherit())?;
    let file = format!("wasm/wasm32-unknown-unknown/connector/{}.wasm", package.library);
    Ok(Path::new(target).join(file))
}

/// A package of the Cargo workspace.
pub(crate) struct Package {
    /// Its name in the output of `cargo metadata`.
    pub(crate) id: String,
    name: String,
    /// The name of the library that becomes the module.
    library: String,
}

/// The package of a manifest, if its library is a module.
pub(crate) fn package(metadata: &Value, manifest: &Path) -> Option<Package> {
    let manifest = manifest.canonicalize().ok()?;
    let mut packages = metadata.get("packages")?.as_array()?.iter();
    let has_manifest = |package: &&Value| {
        let path = package.get("manifest_path").and_then(Value::as_str);
        path.is_some_and(|path| Path::new(path).canonicalize().is_ok_and(|path| path == manifest))
    };
    let package = packages.find(has_manifest)?;
    let is_module = |target: &&Value| {
        let kinds = target.get("crate_types").and_then(Value::as_array);
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "cdylib"))
    };
    let library = package.get("targets")?.as_array()?.iter().find(is_module)?;
    Some(Package {
        id: package.get("id")?.as_str()?.to_owned(),
        name: package.get("name")?.as_str()?.to_owned(),
        library: library.get("name")?.as_str()?.replace('-', "_"),
    })
}

/// Runs a tool in a folder. Returns its standard output unless that is inherited. The messages of
/// the tool are shown immediately.
///
/// # Errors
/// `Tool` if it cannot be started, `Failed` if it fails.
fn run<'a>(
    program: &str,
    arguments: impl IntoIterator<Item = &'a OsStr>,
    folder: &Path,
    output: Stdio,
) -> Result<Vec<u8>, ProjectError> {
    let finished = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| ProjectError::Tool { program: program.to_owned(), source })?;
    if finished.status.success() { Ok(finished.stdout) } else { Err(ProjectError::Failed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_folder_tell_its_language() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Project::find(folder.path()), Err(ProjectError::NoProject(_))));
        for (file, language) in [
            // A project that has moved to a language may have its file still.
            ("connector.toml", Language::None),
            ("connector.py", Language::Python),
            ("package.json", Language::Javascript),
            ("Cargo.toml", Language::Rust),
        ] {
            std::fs::write(folder.path().join(file), "").unwrap();
            assert_eq!(Project::find(folder.path()).unwrap().language, language);
        }
        std::fs::write(folder.path().join("Cargo.toml"), "package.name = \"words\"").unwrap();
        assert!(Project::find(folder.path()).unwrap().module().ends_with("words.wasm"));
    }

    #[test]
    fn a_failed_build_points_to_its_messages_and_names_no_tool() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("Cargo.toml"), "no manifest").unwrap();
        let failed = Project::find(folder.path()).unwrap().build(Path::new("words.wasm")).unwrap_err();
        assert_eq!(failed.to_string(), "the build failed; its messages are above");
        let failed = Project::find(folder.path()).unwrap().run_tests().unwrap_err();
        assert_eq!(failed.to_string(), "the project's own tests failed; their messages are above");
    }

    #[test]
    fn only_a_library_that_is_a_module_is_built() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("Cargo.toml");
        std::fs::write(&manifest, "").unwrap();
        let metadata = |kind: &str| {
            serde_json::json!({"packages": [{
                "id": "my-words 1.0.0", "name": "my-words", "manifest_path": manifest,
                "targets": [{"name": "my-words", "crate_types": [kind]}],
            }]})
        };
        let found = package(&metadata("cdylib"), &manifest).map(|package| (package.name, package.library));
        assert_eq!(found, Some(("my-words".to_owned(), "my_words".to_owned())));
        assert!(package(&metadata("lib"), &manifest).is_none());
    }
}
