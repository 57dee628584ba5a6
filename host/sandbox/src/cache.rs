//! Compiled modules on disk.
//!
//! A loaded compiled module runs as native code. So a file of the cache is loaded only if it has a message authentication code
//! that this installation made. Otherwise anybody who can write to the cache could run any code as the gateway.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ring::{hmac, rand};
use wasmtime::Engine;

/// Length of an HMAC-SHA-256 tag.
const TAG_BYTES: usize = 32;

/// Compiled modules in `data_dir/compiled`. A file's name has the digest of the module and the hash of the engine's settings.
pub(super) struct Cache {
    folder: PathBuf,
    key: hmac::Key,
    /// Hash of the engine's version and settings, so that the file of another build has another name.
    compatibility: u64,
}

impl Cache {
    /// Opens the cache. Makes its folder and its key at the first start.
    pub(super) fn open(data_dir: &Path, engine: &Engine) -> io::Result<Self> {
        let folder = data_dir.join("compiled");
        fs::create_dir_all(&folder)?;
        let mut hasher = std::hash::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Ok(Self { key: key(&folder.join("key"))?, folder, compatibility: hasher.finish() })
    }

    fn name(&self, digest: &str) -> String {
        format!("{digest}-{:016x}.cwasm", self.compatibility)
    }

    /// The key for one name, so that a file with the name of another fails the check.
    fn key(&self, name: &str) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&self.key, name.as_bytes()).as_ref())
    }

    /// The compiled module with this digest. `None` if there is none, or if it fails the check.
    pub(super) fn get(&self, digest: &str) -> Option<Vec<u8>> {
        let name = self.name(digest);
        let mut file = fs::read(self.folder.join(&name)).ok()?;
        let tag = file.split_off(file.len().checked_sub(TAG_BYTES)?);
        if hmac::verify(&self.key(&name), &file, &tag).is_err() {
            tracing::warn!(file = name, "a compiled module was altered; it is compiled again");
            return None;
        }
        Some(file)
    }

    /// Makes a folder for one compilation. It is removed when it is dropped.
    pub(super) fn workspace(&self) -> io::Result<Workspace> {
        let name = rand::generate::<[u8; 8]>(&rand::SystemRandom::new())
            .map_err(|_| io::Error::other("the operating system gives no random numbers"))?
            .expose();
        let folder = self.folder.join(format!(".{:016x}", u64::from_ne_bytes(name)));
        fs::create_dir(&folder)?;
        Ok(Workspace(folder))
    }

    /// Stores a compiled module. A crash leaves either the whole file or no file.
    pub(super) fn put(&self, digest: &str, artifact: &[u8]) -> io::Result<()> {
        let name = self.name(digest);
        let tag = hmac::sign(&self.key(&name), artifact);
        store::files::write_atomically(&self.folder.join(name), |file| {
            file.write_all(artifact)?;
            file.write_all(tag.as_ref())
        })
    }
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

fn key(path: &Path) -> io::Result<hmac::Key> {
    match fs::read(path) {
        Ok(bytes) if bytes.len() == TAG_BYTES => Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes)),
        // A crash cut the key short. No file has a code of it yet.
        Ok(_) => new_key(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => new_key(path),
        Err(error) => Err(error),
    }
}

fn new_key(path: &Path) -> io::Result<hmac::Key> {
    let bytes: [u8; TAG_BYTES] = rand::generate(&rand::SystemRandom::new())
        .map_err(|_| io::Error::other("the operating system gives no random numbers"))?
        .expose();
    store::files::write_atomically(path, |file| file.write_all(&bytes))?;
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(folder: &Path) -> Cache {
        Cache::open(folder, &Engine::default()).unwrap()
    }

    #[test]
    fn an_artifact_outlives_the_process_that_made_it() {
        let folder = tempfile::tempdir().unwrap();
        cache(folder.path()).put("aa", b"native code").unwrap();
        assert_eq!(cache(folder.path()).get("aa").as_deref(), Some(&b"native code"[..]));
        assert_eq!(cache(folder.path()).get("bb"), None);
    }

    #[test]
    fn an_altered_artifact_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put("aa", b"native code").unwrap();
        let path = cache.folder.join(cache.name("aa"));
        let mut bytes = fs::read(&path).unwrap();
        bytes[0] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(cache.get("aa"), None);
        fs::write(&path, b"short").unwrap();
        assert_eq!(cache.get("aa"), None);
    }

    #[test]
    fn an_artifact_under_another_name_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.put("aa", b"native code").unwrap();
        fs::copy(cache.folder.join(cache.name("aa")), cache.folder.join(cache.name("bb"))).unwrap();
        assert_eq!(cache.get("bb"), None);
    }
}
