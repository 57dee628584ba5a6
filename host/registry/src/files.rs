//! The files of the folders of modules that the gateway knows, and those that it is loading.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::watch;

use super::origin::Origin;
use super::trust;

/// The state of a file, to notice that it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    pub(super) origin: Origin,
    pub(super) length: u64,
    modified: SystemTime,
    inode: u64,
    /// Length, modification time and inode of the file with the signature.
    signature: Option<(u64, SystemTime, u64)>,
    /// `true` if a shipped connector has the identifier, and the operator has not replaced that
    /// connector.
    pub(super) reserved: bool,
}

impl FileState {
    /// Reads the present state of a file.
    pub(super) fn read(path: &Path, origin: Origin) -> io::Result<Self> {
        Self::from_metadata(path, &fs::metadata(path)?, origin)
    }

    /// The state of a file with this metadata.
    pub(super) fn from_metadata(path: &Path, metadata: &fs::Metadata, origin: Origin) -> io::Result<Self> {
        let state =
            |metadata: &fs::Metadata| Ok::<_, io::Error>((metadata.len(), metadata.modified()?, metadata.ino()));
        let (length, modified, inode) = state(metadata)?;
        let signature = match origin {
            Origin::Shipped => None,
            Origin::Foreign => fs::metadata(trust::file(path)).ok().map(|metadata| state(&metadata)).transpose()?,
        };
        Ok(Self { origin, length, modified, inode, signature, reserved: false })
    }
}

/// The files that the gateway knows. The lock of this value is the lock of all changes of live
/// connectors.
#[derive(Default)]
pub(super) struct KnownFiles {
    /// Files that were loaded or refused, or are being loaded, in this state.
    pub(super) handled: HashMap<PathBuf, FileState>,
    /// Files that changed since the previous scan. They are loaded when they no longer change.
    pub(super) changing: HashMap<PathBuf, FileState>,
    /// Handled files that were refused for a temporary reason. The next scan loads them again.
    pub(super) postponed: HashSet<PathBuf>,
}

impl KnownFiles {
    /// Records that a file is loaded, refused or being loaded in this state.
    pub(super) fn mark_handled(&mut self, path: PathBuf, state: FileState) {
        self.changing.remove(&path);
        self.postponed.remove(&path);
        self.handled.insert(path, state);
    }

    /// Returns `true` if a file is still in the state in which it was handled.
    pub(super) fn is_handled(&self, path: &Path, state: &FileState) -> bool {
        self.handled.get(path) == Some(state)
    }

    /// Forgets a file that no longer exists.
    pub(super) fn forget(&mut self, path: &Path) {
        self.changing.remove(path);
        self.postponed.remove(path);
        self.handled.remove(path);
    }
}

/// The names of the files that are being loaded.
#[derive(Default)]
pub(super) struct LoadingFiles(Arc<watch::Sender<Vec<String>>>);

/// Names a file as one that is being loaded, until it is dropped.
pub(super) struct LoadingFile {
    names: Arc<watch::Sender<Vec<String>>>,
    name: String,
}

impl LoadingFiles {
    /// Adds a file until the returned value is dropped.
    pub(super) fn add(&self, path: &Path) -> LoadingFile {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.0.send_modify(|names| names.push(name.clone()));
        LoadingFile { names: Arc::clone(&self.0), name }
    }

    /// The names of the files.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.borrow().clone()
    }

    /// Returns when no file is being loaded.
    pub(super) async fn wait_until_empty(&self) {
        // This does not fail, because `self` holds the sender.
        let _ = self.0.subscribe().wait_for(Vec::is_empty).await;
    }
}

impl Drop for LoadingFile {
    fn drop(&mut self) {
        self.names.send_modify(|names| {
            if let Some(position) = names.iter().position(|name| *name == self.name) {
                names.swap_remove(position);
            }
        });
    }
}
