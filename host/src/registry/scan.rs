//! The folders of modules: their files become live connectors.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Semaphore;

use super::folders::{Origin, Seen, identifier_of};
use super::load::{Arrival, Grants};
use super::trust::signature_of;
use super::{Connector, Refusal, Registry, provider_names};
use store::digest::sha256_hex;

/// Maximum number of files that are loaded at the same time. Each is held in memory. The sandbox compiles as many of them at a time as
/// there are cores.
const PARALLEL_LOADS: usize = 8;

/// The state that one change at a time may use.
#[derive(Default)]
pub(super) struct Files {
    /// Files that were loaded or refused, or are being loaded, in this state.
    pub(super) settled: HashMap<PathBuf, Seen>,
    /// Files that changed since the previous scan. They are loaded when they no longer change.
    pub(super) changing: HashMap<PathBuf, Seen>,
    /// Settled files that could not be checked, for a reason that says nothing about the module. The next scan tries them again.
    postponed: HashSet<PathBuf>,
}

impl Files {
    /// The file is loaded, refused or being loaded in this state.
    pub(super) fn settle(&mut self, path: PathBuf, seen: Seen) {
        self.changing.remove(&path);
        self.postponed.remove(&path);
        self.settled.insert(path, seen);
    }

    /// The file is gone.
    pub(super) fn forget(&mut self, path: &Path) {
        self.changing.remove(path);
        self.postponed.remove(path);
        self.settled.remove(path);
    }
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
    /// Loads the modules of the folders, and returns when all of them are live or refused.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub async fn load_folders(self: &Arc<Self>) -> io::Result<()> {
        self.begin_loading().await?;
        self.loaded().await;
        Ok(())
    }

    /// Begins to load the modules of the folders. From now on, [`Registry::missing`] names those that are not loaded yet.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub async fn begin_loading(self: &Arc<Self>) -> io::Result<()> {
        self.scan(false).await.map(|_| ())
    }

    /// Returns when no module is being loaded any more.
    pub async fn loaded(&self) {
        // This does not fail, because the registry holds the sender.
        let _ = self.loading.subscribe().wait_for(Vec::is_empty).await;
        self.has_started.store(true, Ordering::Relaxed);
    }

    /// Compares the folders with the live connectors. Removes those without a file, and begins to load the files that changed. With
    /// `patient`, a file that changed since the previous scan waits for the next one, because it may be incomplete. Returns `true`
    /// if such files are left.
    ///
    /// # Errors
    /// If a folder cannot be read. Then nothing changes.
    pub async fn scan(self: &Arc<Self>, patient: bool) -> io::Result<bool> {
        let mut files = self.files.lock().await;
        let found = self.folders.list()?;
        for path in files.settled.keys().filter(|path| !found.contains_key(*path)).cloned().collect::<Vec<_>>() {
            files.forget(&path);
            self.forget_refusal(&path);
            // With a file in the other folder, the connector serves until that file is loaded.
            if !found.keys().any(|other| identifier_of(other) == identifier_of(&path)) {
                self.note_missing_file(identifier_of(&path)).await;
                self.retire(identifier_of(&path));
            }
        }
        files.changing.retain(|path, _| found.contains_key(path));
        let mut arrived = Vec::new();
        for (path, seen) in found {
            if files.settled.get(&path) == Some(&seen) {
                if !files.postponed.contains(&path) {
                    continue;
                }
            } else if patient && files.changing.get(&path) != Some(&seen) {
                files.changing.insert(path, seen);
                continue;
            }
            files.settle(path.clone(), seen.clone());
            arrived.push((Loading::begin(self, &path), path, seen));
        }
        if !arrived.is_empty() {
            arrived.sort_by(|(_, one_path, one), (_, other_path, other)| {
                let key = |seen: &Seen| seen.origin == Origin::Foreign;
                key(one).cmp(&key(other)).then_with(|| one_path.cmp(other_path))
            });
            tokio::spawn(load_all(Arc::clone(self), arrived));
        }
        Ok(!files.changing.is_empty())
    }

    /// Loads a file of a folder and makes it live, or refuses it. If the file changes while it is loaded, nothing happens: the
    /// new state is loaded too.
    async fn take_file(&self, path: &Path, seen: &Seen) {
        let identifier = identifier_of(path);
        let module = match read(path.to_owned(), seen.length, self.config.compile.max_module_mb).await {
            Ok(module) => module,
            Err(ReadError::Gone) => return,
            Err(ReadError::Refused(refusal)) => {
                let mut files = self.files.lock().await;
                if files.settled.get(path) == Some(seen) {
                    self.refuse_file(&mut files, path, String::new(), refusal);
                }
                return;
            }
        };
        let digest = sha256_hex(&module);
        let signature = signature_of(path);
        loop {
            let grants = self.grants_version();
            let loaded = match self.permit(seen.origin, identifier, &digest) {
                Ok(()) => match &signature {
                    Ok(signature) => {
                        let arrival = Arrival::of(seen.origin, signature.as_deref());
                        self.load(&module, Some(identifier), Grants::Stored, arrival).await
                    }
                    Err(error) => Err(Refusal::Passing(format!("its signature cannot be read: {error}"))),
                },
                Err(refusal) => Err(refusal),
            };
            let loaded = match loaded {
                Ok(candidate) => self.accepted(candidate, path).await,
                refused => refused,
            };
            let former = match &loaded {
                Err(_) if self.has_no_version(identifier) => self.former(identifier, &digest).await,
                _ => None,
            };
            let mut files = self.files.lock().await;
            if files.settled.get(path) != Some(seen) {
                return;
            }
            if self.grants_version() != grants {
                continue;
            }
            match loaded.and_then(|candidate| self.still_named_well(candidate)) {
                Ok(candidate) => {
                    self.keep_grants(&candidate).await;
                    if seen.origin == Origin::Foreign
                        && let Err(error) = self.folders.accept(identifier, &digest)
                    {
                        tracing::warn!(connector = identifier, %error, "the accepted version could not be recorded");
                    }
                    self.note_file(&candidate).await;
                    let outcome = if self.get(identifier).is_some() { "swapped" } else { "added" };
                    self.activate(candidate, &module, outcome);
                }
                Err(refusal) => {
                    if let Some((candidate, module)) = former {
                        self.activate(candidate, &module, "brought_back");
                    } else if self.has_no_version(identifier) {
                        self.retire(identifier);
                    }
                    self.refuse_file(&mut files, path, digest, refusal);
                }
            }
            return;
        }
    }

    /// Refuses a file of a folder. It is tried again if the reason is a passing one.
    fn refuse_file(&self, files: &mut Files, path: &Path, digest: String, refusal: Refusal) {
        if refusal.is_passing() {
            files.postponed.insert(path.to_owned());
        }
        self.refuse(path, digest, refusal);
    }

    /// Refuses a file that asks for more than the version that the operator has accepted.
    async fn accepted(&self, candidate: Connector, path: &Path) -> Result<Connector, Refusal> {
        let more = self.more_than_accepted(&candidate).await?;
        if more.is_empty() {
            return Ok(candidate);
        }
        let (more, path) = (more.join(", "), path.display());
        Err(Refusal::from(format!(
            "it asks for more than the version before: {more}; if that is right, accept it with `connector-gateway connectors add \
             {path} --accept`"
        )))
    }

    /// Checks that a module may have this identifier.
    pub(super) fn permit(&self, origin: Origin, identifier: &str, digest: &str) -> Result<(), Refusal> {
        match origin {
            Origin::Shipped => Ok(()),
            Origin::Foreign => Ok(self.folders.permit(identifier, digest)?),
        }
    }

    /// `true` if no version of a connector is live, or if the file of the live one is gone.
    fn has_no_version(&self, identifier: &str) -> bool {
        self.get(identifier).is_none_or(|live| self.folders.file(live.origin(), identifier).is_none())
    }

    /// The last valid version of a connector, in place of a file that is refused.
    async fn former(&self, identifier: &str, refused: &str) -> Option<(Connector, Vec<u8>)> {
        for version in self.versions.newest_first(identifier).ok()? {
            if version.digest == refused
                || self.folders.file(version.origin, identifier).is_none()
                || self.permit(version.origin, identifier, &version.digest).is_err()
            {
                continue;
            }
            let module = fs::read(&version.path).ok()?;
            let signature = signature_of(&version.path).ok()?;
            let arrival = Arrival::of(version.origin, signature.as_deref());
            let candidate = self.load(&module, Some(identifier), Grants::Stored, arrival).await.ok()?;
            return Some((candidate, module));
        }
        None
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
            provider_names::check(candidate.name(), &self.live())?;
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
    Refused(Refusal),
}

/// Reads a module of at most `limit_mb` MiB. The length comes first: a sparse file may have any length.
async fn read(path: PathBuf, length: u64, limit_mb: u64) -> Result<Vec<u8>, ReadError> {
    let too_large = |length: u64| {
        ReadError::Refused(Refusal::Module(format!(
            "it has {} MB, over the limit of {limit_mb} MB (`compile.max_module_mb`)",
            length >> 20
        )))
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
    let failed =
        |error: &dyn std::fmt::Display| ReadError::Refused(Refusal::Passing(format!("it cannot be read: {error}")));
    match reading.await {
        Ok(Ok(module)) if module.len() as u64 >= limit => Err(too_large(module.len() as u64)),
        Ok(Ok(module)) => Ok(module),
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => Err(ReadError::Gone),
        Ok(Err(error)) => Err(failed(&error)),
        Err(error) => Err(failed(&error)),
    }
}
