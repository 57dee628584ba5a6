//! Compiled modules on disk.
//!
//! A loaded compiled module runs as native code. A file of the cache is therefore loaded only if it
//! has a message authentication code of a key that is stored elsewhere. Otherwise anyone who can
//! write to the cache could run any code as the gateway.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ring::{hmac, rand};
use secrecy::{ExposeSecret, SecretBox};
use wasmtime::Engine;

/// Length of an HMAC-SHA-256 tag.
const TAG_BYTES: usize = 32;

/// Largest compiled module, or source of one, that is read. Native code has a few times the size of
/// its module, and `compile.max_module_mb` limits that.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 30;

/// A compilation folder that is older than this was left behind by a crash.
const WORKSPACE_LIFE: Duration = Duration::from_secs(24 * 3600);

/// Part of the file names. Change it when the bounds of schemas change, so that modules are tried
/// again.
const TRIAL_VERSION: u32 = 1;

/// The key of the message authentication codes of compiled modules.
pub type CacheKey = SecretBox<[u8; 32]>;

/// Compiled modules in `data_dir/compiled`. A file's name has the digest of the module, and a hash
/// of the engine's settings and of the key's name.
pub(super) struct Cache {
    folder: PathBuf,
    /// Maximum size of all files.
    max_bytes: u64,
    key: hmac::Key,
    /// Hash of the engine's version and settings and of the key's name, so that files of another
    /// build or another key have other names.
    compatibility: u64,
}

/// The compiled form of a module that was accepted.
pub(super) struct Cached {
    /// Native code.
    pub(super) artifact: Vec<u8>,
    /// SHA-256 of the schemas with which it passed the trial.
    pub(super) tried: [u8; 32],
}

impl Cache {
    /// Opens the cache. Makes its folder at the first start.
    pub(super) fn open(data_dir: &Path, engine: &Engine, max_bytes: u64, key: &CacheKey) -> io::Result<Self> {
        let folder = data_dir.join("compiled");
        fs::create_dir_all(&folder)?;
        remove_old_workspaces(&folder)?;
        let mut hasher = std::hash::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        TRIAL_VERSION.hash(&mut hasher);
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose_secret());
        // The name of a key reveals nothing about it.
        hmac::sign(&key, b"the name of this key").as_ref().hash(&mut hasher);
        Ok(Self { key, folder, max_bytes, compatibility: hasher.finish() })
    }

    /// The folder of the files.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn name(&self, digest: &str) -> String {
        format!("{digest}-{:016x}.cwasm", self.compatibility)
    }

    /// The key for one file name, so that a renamed file fails the check.
    fn key(&self, name: &str) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&self.key, name.as_bytes()).as_ref())
    }

    /// `true` if there is a file for the module with this digest. It is not checked.
    pub(super) fn has(&self, digest: &str) -> bool {
        self.folder.join(self.name(digest)).is_file()
    }

    /// The compiled module with this digest. `None` if there is no such file, or if it fails the
    /// check.
    pub(super) fn get(&self, digest: &str) -> Option<Cached> {
        let name = self.name(digest);
        let path = self.folder.join(&name);
        let mut file = files::read_regular(&path, MAX_FILE_BYTES).ok()?;
        let tag = file.split_off(file.len().checked_sub(TAG_BYTES)?);
        if hmac::verify(&self.key(&name), &file, &tag).is_err() {
            tracing::warn!(file = name, "a compiled module was altered or planted; it is compiled again");
            return None;
        }
        let tried = file.split_off(file.len().checked_sub(size_of::<[u8; 32]>())?);
        // Records the time of the last use. If this fails, the only effect is that the file is
        // removed earlier.
        let _ = files::open_regular(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(Cached { artifact: file, tried: tried.try_into().ok()? })
    }

    /// Makes a folder for one compilation. It is removed when the returned value is dropped.
    pub(super) fn workspace(&self) -> io::Result<Workspace> {
        let name = rand::generate::<[u8; 8]>(&rand::SystemRandom::new())
            .map_err(|_| io::Error::other("the operating system gives no random numbers"))?
            .expose();
        let folder = self.folder.join(format!(".{:016x}", u64::from_ne_bytes(name)));
        fs::create_dir(&folder)?;
        Ok(Workspace(folder))
    }

    /// Stores a compiled module, and removes the least recently used ones. A crash leaves either
    /// the whole file or no file.
    pub(super) fn put(&self, digest: &str, cached: &Cached) -> io::Result<()> {
        let name = self.name(digest);
        let mut tag = hmac::Context::with_key(&self.key(&name));
        tag.update(&cached.artifact);
        tag.update(&cached.tried);
        let tag = tag.sign();
        files::write_atomically(&self.folder.join(&name), |file| {
            file.write_all(&cached.artifact)?;
            file.write_all(&cached.tried)?;
            file.write_all(tag.as_ref())
        })?;
        self.make_room(&name)
    }

    /// Removes the least recently used files until the cache is within its maximum size. Never
    /// removes `newest`.
    fn make_room(&self, newest: &str) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if Path::new(&name).extension().is_none_or(|extension| extension != "cwasm") {
                continue;
            }
            // Another gateway may have removed the file.
            let Ok(metadata) = entry.metadata() else { continue };
            let last_use = if name == newest { SystemTime::now() } else { metadata.modified()? };
            files.push((last_use, metadata.len(), entry.path()));
        }
        files.sort();
        let mut size: u64 = files.iter().map(|(_, size, _)| size).sum();
        files.pop();
        for (_, bytes, path) in files {
            if size <= self.max_bytes {
                break;
            }
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => size = size.saturating_sub(bytes),
            }
        }
        Ok(())
    }
}

/// Removes the folders of compilations that a crash left behind.
fn remove_old_workspaces(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_old = |metadata: fs::Metadata| {
            metadata.is_dir()
                && metadata.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > WORKSPACE_LIFE))
        };
        if entry.metadata().is_ok_and(is_old) {
            // Another gateway may remove the folder at the same time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// See [`Cache::workspace`].
pub(super) struct Workspace(PathBuf);

impl Workspace {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // A folder that cannot be removed is hidden and never read.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    const SIZE: u64 = 1 << 20;

    fn cache(folder: &Path) -> Cache {
        cache_with(folder, 1)
    }

    fn cache_with(folder: &Path, key: u8) -> Cache {
        Cache::open(folder, &Engine::default(), SIZE, &SecretBox::new(Box::new([key; 32]))).unwrap()
    }

    fn cached(artifact: &[u8]) -> Cached {
        Cached { artifact: artifact.to_owned(), tried: [7; 32] }
    }

    fn artifact(cache: &Cache, digest: &str) -> Option<Vec<u8>> {
        cache.get(digest).map(|cached| {
            assert_eq!(cached.tried, [7; 32]);
            cached.artifact
        })
    }

    #[test]
    fn an_artifact_outlives_the_process_that_made_it() {
        let folder = tempfile::tempdir().unwrap();
        cache(folder.path()).put("aa", &cached(b"native code")).unwrap();
        assert_eq!(artifact(&cache(folder.path()), "aa").as_deref(), Some(&b"native code"[..]));
        assert!(cache(folder.path()).get("bb").is_none());
    }

    #[test]
    fn an_altered_artifact_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put("aa", &cached(b"native code")).unwrap();
        let path = cache.folder.join(cache.name("aa"));
        let good = fs::read(&path).unwrap();
        for position in [0, "native code".len(), good.len() - 1] {
            let mut bytes = good.clone();
            bytes[position] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert!(cache.get("aa").is_none(), "{position}");
        }
        fs::write(&path, b"short").unwrap();
        assert!(cache.get("aa").is_none());
    }

    #[test]
    fn an_artifact_of_another_key_is_not_used_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (cache_with(folder.path(), 1), cache_with(folder.path(), 2));
        other.put("aa", &cached(b"planted code")).unwrap();
        assert!(own.get("aa").is_none());
        fs::copy(other.folder.join(other.name("aa")), own.folder.join(own.name("aa"))).unwrap();
        assert!(own.get("aa").is_none());
        own.put("aa", &cached(b"native code")).unwrap();
        assert_eq!(artifact(&own, "aa").as_deref(), Some(&b"native code"[..]));
    }

    #[test]
    fn an_artifact_under_another_name_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put("aa", &cached(b"native code")).unwrap();
        fs::copy(cache.folder.join(cache.name("aa")), cache.folder.join(cache.name("bb"))).unwrap();
        assert!(cache.get("bb").is_none());
    }

    #[test]
    fn the_artifact_that_was_not_used_for_longest_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        let code = vec![0; (SIZE / 3) as usize];
        let age = |digest: &str, seconds: u64| {
            let file = File::options().write(true).open(cache.folder.join(cache.name(digest))).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
        };
        for digest in ["aa", "bb"] {
            cache.put(digest, &cached(&code)).unwrap();
            age(digest, 60);
        }
        assert!(cache.get("aa").is_some(), "it is used now");
        cache.put("cc", &cached(&code)).unwrap();
        let kept = ["aa", "bb", "cc"].map(|digest| cache.get(digest).is_some());
        assert_eq!(kept, [true, false, true]);
        cache.put("dd", &cached(&vec![0; 2 * SIZE as usize])).unwrap();
        let kept = ["aa", "cc", "dd"].map(|digest| cache.get(digest).is_some());
        assert_eq!(kept, [false, false, true], "the newest stays, however large it is");
    }

    #[test]
    fn the_folder_of_a_compilation_is_removed_at_its_end_or_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let first = cache(folder.path());
        let workspace = first.workspace().unwrap();
        let (left, path) = (first.workspace().unwrap(), workspace.path(""));
        drop(workspace);
        assert!(!path.exists());
        let path = left.path("");
        std::mem::forget(left);
        drop(cache(folder.path()));
        assert!(path.exists(), "another process may use it");
        File::open(&path).unwrap().set_modified(SystemTime::now() - 2 * WORKSPACE_LIFE).unwrap();
        drop(cache(folder.path()));
        assert!(!path.exists());
    }
}
