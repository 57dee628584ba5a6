//! Programs in other languages that tests run, with the packages that a make target installs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::{module, process};

/// A folder with programs of one part of the tests, where Node.js finds the packages of that part
/// in a folder above.
pub struct Programs {
    part: &'static str,
    folder: PathBuf,
}

impl Programs {
    /// An empty folder of this name. The programs are copied from the folder of the part in `tests`,
    /// and `make test-PART` installs its packages.
    ///
    /// # Panics
    /// When the packages are not installed.
    pub fn of(part: &'static str, name: &str) -> Self {
        let folder = installed(&format!("target/node/{part}")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Self { part, folder }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The folder with the programs of the part.
    pub fn sources(&self) -> PathBuf {
        module::root().canonicalize().unwrap().join("tests").join(self.part)
    }

    /// Copies programs of the part into the folder.
    pub fn copy(&self, files: &[&str]) {
        for file in files {
            fs::copy(self.sources().join(file), self.folder.join(file)).unwrap();
        }
    }

    /// A command of a package of Node.js.
    pub fn node(&self, command: &str) -> Command {
        Command::new(self.package(".bin").join(command))
    }

    /// The folder of a package of Node.js.
    pub fn package(&self, name: &str) -> PathBuf {
        installed(&format!("target/node/{}/node_modules", self.part)).join(name)
    }

    /// Runs a tool in the folder, and returns all that it says.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn run(&self, command: &mut Command) -> String {
        let finished = process::run(command.current_dir(&self.folder));
        let said = finished.stdout + &finished.stderr;
        assert_eq!(finished.code, Some(0), "{command:?}: {said}");
        said
    }
}

/// Python with the packages of a part of the tests.
///
/// # Panics
/// When they are not installed.
pub fn python(part: &str) -> Command {
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", installed(&format!("target/python/{part}")));
    python
}

/// A program of the packages of Python of a part of the tests.
///
/// # Panics
/// When they are not installed.
pub fn python_program(part: &str, name: &str) -> Command {
    let mut program = python(part);
    program.arg(installed(&format!("target/python/{part}")).join("bin").join(name));
    program
}

/// The browser.
///
/// # Panics
/// When there is none.
pub fn browser() -> String {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join("chromium")).find(|path| path.is_file());
    let path = found.expect("the program `chromium` is missing: install the package, as `make test-browser` does");
    path.to_str().unwrap().to_owned()
}

/// The list of the pictures of the pages.
const PICTURES: &str = "tests/browser/pictures.json";

/// The pictures of the pages by their names: the screens that they show, or the programs that take
/// them.
///
/// # Panics
/// When their list cannot be read.
pub fn pictures() -> Map<String, Value> {
    let text = fs::read_to_string(module::root().join(PICTURES)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The folder into which a browser test writes pictures: the folder of the documentation if the
/// environment has `UPDATE_PICTURES`.
pub fn pictures_folder() -> PathBuf {
    let folder = if takes_pictures() { "host/docs/pictures" } else { "target/pictures" };
    module::root().canonicalize().unwrap().join(folder)
}

/// Compares the outlines of screens, by the names of their pictures, with the digests in the list
/// of pictures. If the environment has `UPDATE_PICTURES`, it writes the digests instead.
///
/// # Panics
/// When a screen has another outline than at the time of its picture.
#[track_caller]
pub fn check_pictures(outlines: &Map<String, Value>) {
    // Tests that run together write the same list.
    static WRITING: Mutex<()> = Mutex::new(());
    let _turn = WRITING.lock();
    let folder = module::root().join("target/pictures");
    fs::create_dir_all(&folder).unwrap();
    let mut pictures = pictures();
    let mut old = Vec::new();
    for (name, outline) in outlines {
        let outline = outline.as_str().unwrap();
        fs::write(folder.join(name).with_extension("txt"), outline).unwrap();
        let digest = json!(module::digest(outline.as_bytes()));
        if pictures[name]["digest"] != digest {
            pictures[name]["digest"] = digest;
            old.push(name);
        }
    }
    if takes_pictures() {
        let text = serde_json::to_string_pretty(&pictures).unwrap() + "\n";
        return fs::write(module::root().join(PICTURES), text).unwrap();
    }
    assert!(
        old.is_empty(),
        "{old:?} show screens that have changed: run `UPDATE_PICTURES=1 make test-browser`. The outlines of the \
         screens are in target/pictures"
    );
}

/// Returns `true` if browser tests take the pictures of the pages again.
fn takes_pictures() -> bool {
    std::env::var_os("UPDATE_PICTURES").is_some()
}

/// A folder below `target` that a make target makes.
#[track_caller]
fn installed(folder: &str) -> PathBuf {
    let path = module::root().canonicalize().unwrap().join(folder);
    assert!(path.is_dir(), "{} is missing: run `make {folder}`", path.display());
    path
}

/// A program of Debian's packages, which `make` unpacks for a part of the tests: see
/// `tests/debian.txt`. One that is installed is used if that failed.
pub fn debian(part: &str, name: &str) -> Command {
    let folder = module::root().join("target/debian").join(part).join("usr");
    let unpacked = ["bin", "sbin"].map(|place| folder.join(place).join(name)).into_iter().find(|path| path.is_file());
    let Some(unpacked) = unpacked else { return Command::new(name) };
    let mut command = Command::new(unpacked);
    let libraries = fs::read_dir(folder.join("lib")).into_iter().flatten().flatten().map(|entry| entry.path());
    let libraries: Vec<String> = libraries.map(|path| path.to_string_lossy().into_owned()).collect();
    command.env("LD_LIBRARY_PATH", libraries.join(":"));
    command
}
