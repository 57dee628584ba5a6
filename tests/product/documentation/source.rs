//! The source of the gateway as an author has it: only the files of the repository, which nothing
//! may write to.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{module, process};

/// The parts that pages name, and the parts that these need.
const PARTS: [&str; 6] =
    ["Cargo.toml", "wit", "connectors/docs", "connectors/sdk", "connectors/sdk-js", "connectors/sdk-python"];

/// Names of files that builds of this tree make.
const BUILT: [&str; 2] = ["node_modules", "__pycache__"];

/// The length of a file, its owner's rights, and the time of its last change.
type State = (u64, u32, i64);

/// A copy of the source that no one may write to.
pub(super) struct Source {
    folder: PathBuf,
    files: BTreeMap<PathBuf, State>,
}

impl Source {
    /// Copies the source. Files keep their times, so that Cargo does not build them again.
    pub(super) fn copy(folder: &Path) -> Self {
        writable(folder, true);
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).unwrap();
        let mut copy = Command::new("cp");
        copy.args(["-a", "--parents"]).args(PARTS).arg(folder).current_dir(module::root());
        assert_eq!(process::run(&mut copy).code, Some(0), "{copy:?}");
        remove_built(folder);
        writable(folder, false);
        Self { folder: folder.to_owned(), files: files(folder) }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The superuser may write in spite of the rights, so the files are compared too.
    #[track_caller]
    pub(super) fn assert_unchanged(&self, page: &str) {
        let now = files(&self.folder);
        let is_changed = |path: &&PathBuf| self.files.get(*path) != now.get(*path);
        let changed: Vec<&PathBuf> = self.files.keys().chain(now.keys()).filter(is_changed).collect();
        assert!(changed.is_empty(), "the commands of {page} write into the source: {changed:?}");
    }
}

/// Lets the owner write, or no one.
fn writable(folder: &Path, is_writable: bool) {
    process::run(Command::new("chmod").args(["-R", if is_writable { "u+w" } else { "a-w" }]).arg(folder));
}

fn remove_built(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if !BUILT.iter().any(|name| entry.file_name() == *name) {
            if kind.is_dir() {
                remove_built(&path);
            }
        } else if kind.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
}

fn files(folder: &Path) -> BTreeMap<PathBuf, State> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            found.extend(files(&entry.path()));
        }
        found.insert(entry.path(), (metadata.len(), metadata.mode(), metadata.mtime()));
    }
    found
}
