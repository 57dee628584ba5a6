//! The archive of a release as an author has it, which nothing may write to.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::UNIX_EPOCH;

use support::process;
use tempfile::TempDir;

use crate::operations::shipping::packing::pack_at;

/// The archive, which is packed once for all pages.
static PACKED: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let place = TempDir::new().unwrap();
    // With the time of an earlier run, Cargo would not see that the SDK has changed since.
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs();
    let archive = pack_at(now, &process::binary(), place.path());
    (place, archive)
});

/// The length of a file, its owner's rights, and the time of its last change.
type State = (u64, u32, i64);

/// An unpacked archive that no one may write to.
pub(super) struct Archive {
    folder: PathBuf,
    files: BTreeMap<PathBuf, State>,
}

impl Archive {
    /// Unpacks the archive. Files keep their times, so that Cargo does not build them again.
    pub(super) fn unpack(folder: &Path) -> Self {
        writable(folder, true);
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).unwrap();
        let mut unpack = Command::new("tar");
        unpack.arg("-xzf").arg(&PACKED.1).args(["--strip-components", "1", "-C"]).arg(folder);
        assert_eq!(process::run(&mut unpack).code, Some(0), "{unpack:?}");
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
        assert!(changed.is_empty(), "the commands of {page} write into the archive: {changed:?}");
    }
}

/// Lets the owner write, or no one.
fn writable(folder: &Path, is_writable: bool) {
    process::run(Command::new("chmod").args(["-R", if is_writable { "u+w" } else { "a-w" }]).arg(folder));
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
