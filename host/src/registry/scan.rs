//! The modules folder: its files become live connectors.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use tokio::sync::Semaphore;

use super::{Connector, Refusal, Registry, SHIPPED, provider_names};
use store::digest::sha256_hex;

/// Maximum number of files that are loaded at the same time. Each is held in memory. The sandbox compiles as many of them at a time as
/// there are cores.
const PARALLEL_LOADS: usize = 8;

/// The state of a file when the registry last looked, to notice that it changed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Seen {
    modified: SystemTime,
    length: u64,
    inode: u64,
}

/// The state that one change at a time may use.
#[derive(Default)]
pub(super) struct Files {
    /// Files that were loaded or refused, or are being loaded, in this state.
    pub(super) settled: HashMap<PathBuf, Seen>,
    /// Files that changed since the previous scan. They are loaded when they no longer change.
    pub(super) changing: HashMap<PathBuf, Seen>,
}

/// Names a file as one that is being loaded, until it is dropped.
struct Loading {
    registry: Arc<Registry>,
    file: String,
}

impl Loading {
    fn begin(registry: &Arc<Registry>, path: &Path) -> Self {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        registry.loading.send_modify(|files| files.push(file.clone()));
        Self { registry: Arc::clone(registry), file }
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        self.registry.loading.send_modify(|files| {
            if let Some(position) = files.iter().position(|file| *file == self.file) {
                files.swap_remove(position);
            }
        });
    }
}

impl Registry {
    /// Loads the modules of the folder, and returns when all of them are live or refused.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub async fn load_folder(self: &Arc<Self>) -> io::Result<()> {
        self.scan(false).await?;
        // This does not fail, because the registry holds the sender.
        let _ = self.loading.subscribe().wait_for(Vec::is_empty).await;
        self.has_started.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Compares the folder with the live connectors. Removes those without a file, and begins to load the files that changed. With
    /// `patient`, a file that changed since the previous scan waits for the next one, because it may be incomplete. Returns `true`
    /// if such files are left.
    ///
    /// # Errors
    /// If the folder cannot be read. Then nothing changes.
    pub async fn scan(self: &Arc<Self>, patient: bool) -> io::Result<bool> {
        let mut files = self.files.lock().await;
        let found = list(&self.config.modules_dir)?;
        for path in files.settled.keys().filter(|path| !found.contains_key(*path)).cloned().collect::<Vec<_>>() {
            files.settled.remove(&path);
            self.retire(&path);
        }
        files.changing.retain(|path, _| found.contains_key(path));
        let mut arrived = Vec::new();
        for (path, seen) in found {
            if files.settled.get(&path) == Some(&seen) {
                continue;
            }
            if patient && files.changing.get(&path) != Some(&seen) {
                files.changing.insert(path, seen);
                continue;
            }
            files.changing.remove(&path);
            files.settled.insert(path.clone(), seen.clone());
            arrived.push((Loading::begin(self, &path), path, seen));
        }
        if !arrived.is_empty() {
            let shipped = self.shipped_files();
            arrived.sort_by(|(one, one_path, _), (other, other_path, _)| {
                let key = |file: &str| !shipped.contains(file);
                key(&one.file).cmp(&key(&other.file)).then_with(|| one_path.cmp(other_path))
            });
            tokio::spawn(load_all(Arc::clone(self), arrived));
        }
        Ok(!files.changing.is_empty())
    }

    /// The names of the files that the list of shipped modules has.
    fn shipped_files(&self) -> HashSet<String> {
        let list = fs::read_to_string(self.config.modules_dir.join(SHIPPED)).unwrap_or_default();
        list.lines().filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned)).collect()
    }

    /// Loads a file of the folder and makes it live, or refuses it. If the file changes while it is loaded, nothing happens: the
    /// new state is loaded too.
    async fn take_file(&self, path: &Path, seen: &Seen) {
        let Some(identifier) = path.file_stem().and_then(|stem| stem.to_str()) else {
            return;
        };
        let module = match read(path.to_owned(), seen.length, self.config.compile.max_module_mb).await {
            Ok(module) => module,
            Err(ReadError::Gone) => return,
            Err(ReadError::Refused(reason)) => {
                let files = self.files.lock().await;
                if files.settled.get(path) == Some(seen) {
                    self.refuse(path, String::new(), reason.into());
                }
                return;
            }
        };
        let digest = sha256_hex(&module);
        loop {
            let grants = self.grants_version();
            let loaded = self.load(&module, Some(identifier), None).await;
            let former = match &loaded {
                Err(_) if self.get(identifier).is_none() => self.former(identifier, &digest).await,
                _ => None,
            };
            let files = self.files.lock().await;
            if files.settled.get(path) != Some(seen) {
                return;
            }
            if self.grants_version() != grants {
                continue;
            }
            match loaded.and_then(|candidate| self.still_named_well(candidate)) {
                Ok(candidate) => {
                    let outcome = if self.get(identifier).is_some() { "swapped" } else { "added" };
                    self.activate(path, candidate, &module, outcome);
                }
                Err(refusal) => {
                    if let Some((candidate, module)) = former {
                        self.activate(path, candidate, &module, "brought_back");
                    }
                    self.refuse(path, digest, refusal);
                }
            }
            return;
        }
    }

    /// The last valid version of a connector, for a restart with a file that is refused.
    async fn former(&self, identifier: &str, refused: &str) -> Option<(Connector, Vec<u8>)> {
        let module = self.versions.before(identifier, Some(refused)).ok()??;
        let candidate = self.load(&module, Some(identifier), None).await.ok()?;
        Some((candidate, module))
    }

    /// The digest of a file. `None` if there is no such file; empty if it cannot be read.
    pub(super) async fn digest_of(&self, path: &Path) -> Option<String> {
        let length = fs::metadata(path).ok()?.len();
        match read(path.to_owned(), length, self.config.compile.max_module_mb).await {
            Ok(module) => Some(sha256_hex(&module)),
            Err(ReadError::Gone) => None,
            Err(ReadError::Refused(_)) => Some(String::new()),
        }
    }

    /// Checks the identifier again. A connector that became live in the meantime may have brought the name of a provider.
    pub(super) fn still_named_well(&self, candidate: Connector) -> Result<Connector, Refusal> {
        if !candidate.is_shipped() {
            provider_names::check(&candidate.name(), &self.live())?;
        }
        Ok(candidate)
    }
}

/// Loads files, some of them at the same time, in this order.
async fn load_all(registry: Arc<Registry>, files: Vec<(Loading, PathBuf, Seen)>) {
    let places = Arc::new(Semaphore::new(PARALLEL_LOADS));
    for (loading, path, seen) in files {
        // The semaphore is never closed, so this does not fail.
        let place = Arc::clone(&places).acquire_owned().await;
        let registry = Arc::clone(&registry);
        tokio::spawn(async move {
            registry.take_file(&path, &seen).await;
            drop((loading, place));
        });
    }
}

/// Why a file cannot be read.
enum ReadError {
    /// It was removed in the meantime. The next scan notices.
    Gone,
    /// It is too large, or the operating system refuses.
    Refused(String),
}

/// Reads a module of at most `limit_mb` MiB. The length comes first: a sparse file may have any length.
async fn read(path: PathBuf, length: u64, limit_mb: u64) -> Result<Vec<u8>, ReadError> {
    let too_large = |length: u64| {
        ReadError::Refused(format!(
            "it has {} MB, over the limit of {limit_mb} MB (`compile.max_module_mb`)",
            length >> 20
        ))
    };
    let limit = limit_mb << 20;
    if length >= limit {
        return Err(too_large(length));
    }
    let reading = tokio::task::spawn_blocking(move || {
        let mut module = Vec::new();
        // It may have grown since.
        File::open(path)?.take(limit + 1).read_to_end(&mut module).map(|_| module)
    });
    let failed = |error: &dyn std::fmt::Display| ReadError::Refused(format!("it cannot be read: {error}"));
    match reading.await {
        Ok(Ok(module)) if module.len() as u64 >= limit => Err(too_large(module.len() as u64)),
        Ok(Ok(module)) => Ok(module),
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => Err(ReadError::Gone),
        Ok(Err(error)) => Err(failed(&error)),
        Err(error) => Err(failed(&error)),
    }
}

/// The modules of a folder. Hidden files are ignored, because programs use such names for incomplete files.
fn list(folder: &Path) -> io::Result<HashMap<PathBuf, Seen>> {
    let mut found = HashMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden || path.extension().is_none_or(|extension| extension != "wasm") {
            continue;
        }
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                found.insert(path, seen(&metadata)?);
            }
            Ok(_) => {}
            // The file was removed after the folder was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

pub(super) fn seen(metadata: &fs::Metadata) -> io::Result<Seen> {
    Ok(Seen { modified: metadata.modified()?, length: metadata.len(), inode: metadata.ino() })
}
