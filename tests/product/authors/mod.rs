//! Projects of connector authors outside of this source tree, as the commands `connectors new` and
//! `connectors build` make them.
//!
//! The projects use the SDK as it is published: the packages that `cargo package` makes, and
//! nothing else of the tree.

mod dev;
mod file;
mod openapi;
mod publishing_page;
mod rust;
mod testing_page;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use support::process::Finished;
use support::{Home, Setup, Workshop, module, process};

/// The packages of the SDK.
const PACKAGES: [&str; 4] =
    ["connector-gateway-rules", "connector-gateway-rows", "connector-gateway-sdk-macros", "connector-gateway-sdk"];

/// A project outside of the source tree.
pub(crate) struct Project {
    home: Home,
    folder: PathBuf,
    _workshop: Workshop,
}

impl Project {
    /// A project that `connectors new` makes with these arguments, and what it said.
    #[track_caller]
    pub(crate) fn new(arguments: &[&str]) -> (Self, String) {
        // The source tree stays the same while tests run.
        static PUBLISHED: OnceLock<()> = OnceLock::new();
        let workshop = Workshop::enter();
        let authors = module::root().canonicalize().unwrap().join("target/authors");
        PUBLISHED.get_or_init(|| publish(&authors));
        let folder = authors.join(workshop.own("project"));
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        let home = Setup::new().prepare();
        let made = home.run(&[&["connectors", "new"], arguments, &["--folder", folder.to_str().unwrap()]].concat());
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        symlink(workshop.built(), folder.join("target")).unwrap();
        (Self { home, folder, _workshop: workshop }, made.stderr)
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap()
    }

    /// The folder of the project.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn write(&self, file: &str, text: &str) {
        fs::write(self.folder.join(file), text).unwrap();
    }

    /// Runs git in the project, and returns what it prints.
    #[track_caller]
    pub(super) fn git(&self, arguments: &[&str]) -> String {
        let finished = process::run(Command::new("git").args(arguments).current_dir(&self.folder));
        assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
        finished.stdout
    }

    /// Runs the project's own tests.
    #[track_caller]
    pub(super) fn test(&self) {
        let finished = process::run(Command::new("cargo").args(["test", "--quiet"]).current_dir(&self.folder));
        assert_eq!(finished.code, Some(0), "{}\n{}", finished.stdout, finished.stderr);
    }

    /// Runs `connectors test` with more arguments.
    pub(super) fn test_recordings(&self, arguments: &[&str]) -> Finished {
        self.home.run(&[&["connectors", "test", self.folder.to_str().unwrap()], arguments].concat())
    }

    /// Runs a command that may download crates, and returns its standard output.
    #[track_caller]
    pub(super) fn run_online(&self, arguments: &[&str]) -> String {
        let finished = process::run(self.home.command(arguments).env("CARGO_NET_OFFLINE", "false"));
        assert_eq!(finished.code, Some(0), "{arguments:?}\n{}", finished.stderr);
        finished.stdout
    }

    /// Builds the module, checks it, and returns it with what `connectors check` printed.
    #[track_caller]
    pub(super) fn build(&self) -> (Vec<u8>, String) {
        let built = self.home.run_ok(&["connectors", "build", self.folder.to_str().unwrap()]);
        let file = Path::new(built.trim());
        assert_eq!(file.parent(), Some(self.folder.as_path()), "{built}");
        (fs::read(file).unwrap(), self.home.run_ok(&["connectors", "check", built.trim()]))
    }
}

/// Packages the SDK, and lets the projects in the folder use the packages in place of published
/// ones.
fn publish(authors: &Path) {
    let root = module::root().canonicalize().unwrap();
    let mut package = Command::new("cargo");
    package.args(["package", "--quiet", "--offline", "--allow-dirty", "--no-verify", "--target-dir"]).arg(authors);
    package.args(PACKAGES.iter().flat_map(|name| ["-p", name])).current_dir(root);
    let finished = process::run(&mut package);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);

    let version = env!("CARGO_PKG_VERSION");
    let fresh = authors.join("fresh");
    let sources = authors.join("sources");
    let mut config = "[net]\noffline = true\n\n[patch.crates-io]\n".to_owned();
    for name in PACKAGES {
        let package = authors.join(format!("package/{name}-{version}.crate"));
        fs::create_dir_all(&fresh).unwrap();
        let unpacked = process::run(Command::new("tar").arg("xzf").arg(package).arg("-C").arg(&fresh));
        assert_eq!(unpacked.code, Some(0), "{}", unpacked.stderr);
        copy_changed(&fresh.join(format!("{name}-{version}")), &sources.join(name));
        config.push_str(&format!("{name} = {{ path = {:?} }}\n", sources.join(name)));
    }
    fs::remove_dir_all(fresh).unwrap();
    fs::create_dir_all(authors.join(".cargo")).unwrap();
    fs::write(authors.join(".cargo/config.toml"), config).unwrap();
}

/// Makes a folder equal to another one. Files that are equal already are not touched, so that Cargo
/// does not build them again.
fn copy_changed(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let names =
        |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    for name in names(from) {
        let (source, target) = (from.join(&name), to.join(&name));
        if source.is_dir() {
            copy_changed(&source, &target);
        } else if fs::read(&target).ok() != Some(fs::read(&source).unwrap()) {
            // The packages have files of a fixed time, which Cargo would take for unchanged ones.
            fs::write(&target, fs::read(&source).unwrap()).unwrap();
        }
    }
    for name in names(to).into_iter().filter(|name| !from.join(name).exists()) {
        let target = to.join(name);
        if target.is_dir() { fs::remove_dir_all(target) } else { fs::remove_file(target) }.unwrap();
    }
}
