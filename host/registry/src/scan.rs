//! Scans the folders of modules, and starts to load the files that changed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::files::{FileState, LoadingFile};
use super::folders::identifier_of;
use super::origin::Origin;
use super::{Registry, follow};

/// Maximum number of files that are loaded at the same time. Each is held in memory. The sandbox
/// compiles as many of them at a time as there are cores.
pub(super) const PARALLEL_LOADS: usize = 8;

/// Time between two attempts to read the modules of the service at the start.
const RETRY: Duration = Duration::from_secs(1);

/// The treatment of files that changed since the previous scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedFiles {
    /// They are loaded by this scan.
    Load,
    /// They wait for the next scan, because they may be incomplete.
    Wait,
}

impl Registry {
    /// Loads the modules of the folders, and returns when all of them are live or refused.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub async fn load_folders(self: &Arc<Self>) -> io::Result<()> {
        self.begin_loading().await?;
        self.loaded().await;
        Ok(())
    }

    /// Begins to load the modules of the folders. From now on, [`Registry::missing`] names those
    /// that are not loaded yet.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub async fn begin_loading(self: &Arc<Self>) -> io::Result<()> {
        self.scan(ChangedFiles::Load).await.map(|_| ())
    }

    /// Returns when no module is being loaded any more.
    pub async fn loaded(self: &Arc<Self>) {
        self.loading.wait_until_empty().await;
        while self.service.is_shared()
            && let Err(error) = follow::follow_once(self).await
        {
            tracing::warn!(%error, "the modules of the service cannot be read; they are read again");
            tokio::time::sleep(RETRY).await;
        }
        self.has_started.store(true, Ordering::Relaxed);
    }

    /// Compares the folders with the live connectors. Removes connectors whose file is missing, and
    /// begins to load the files that changed. Returns `true` if changed files wait for the next
    /// scan.
    ///
    /// # Errors
    /// If a folder cannot be read. Then nothing changes.
    pub async fn scan(self: &Arc<Self>, changed: ChangedFiles) -> io::Result<bool> {
        let mut files = self.files.lock().await;
        let found = self.folders.list()?;
        for path in files.handled.keys().filter(|path| !found.contains_key(*path)).cloned().collect::<Vec<_>>() {
            files.forget(&path);
            self.forget_refusal(&path);
            // If the other folder has a file, the connector serves until that file is loaded.
            if !found.keys().any(|other| identifier_of(other) == identifier_of(&path)) {
                self.commit_missing_file(identifier_of(&path)).await;
            }
        }
        files.changing.retain(|path, _| found.contains_key(path));
        let mut loading = Vec::new();
        for (path, state) in found {
            if files.is_handled(&path, &state) {
                if !files.postponed.contains(&path) {
                    continue;
                }
            } else if changed == ChangedFiles::Wait && files.changing.get(&path) != Some(&state) {
                files.changing.insert(path, state);
                continue;
            }
            files.mark_handled(path.clone(), state.clone());
            loading.push((self.loading.add(&path), path, state));
        }
        if !loading.is_empty() {
            loading.sort_by(|(_, one_path, one), (_, other_path, other)| {
                let key = |state: &FileState| state.origin == Origin::Foreign;
                key(one).cmp(&key(other)).then_with(|| one_path.cmp(other_path))
            });
            tokio::spawn(load_all(Arc::clone(self), loading));
        }
        Ok(!files.changing.is_empty())
    }
}

/// Loads files in this order, some of them at the same time.
async fn load_all(registry: Arc<Registry>, files: Vec<(LoadingFile, PathBuf, FileState)>) {
    let permits = Arc::new(Semaphore::new(PARALLEL_LOADS));
    for (loading, path, state) in files {
        // The semaphore is never closed, so this does not fail.
        let permit = Arc::clone(&permits).acquire_owned().await;
        let registry = Arc::clone(&registry);
        tokio::spawn(async move {
            registry.load_file(&path, &state).await;
            drop((loading, permit));
        });
    }
}
