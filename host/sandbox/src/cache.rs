//! Compiled modules on disk.
//!
//! Loading a compiled module runs it as native code, so an artifact is loaded only with a message authentication code
//! that this installation made. Were it missing, whoever can write to the cache could run anything as the gateway.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ring::{hmac, rand};
use wasmtime::Engine;

/// Length of an HMAC-SHA-256 tag.
const TAG_BYTES: usize = 32;

/// Artifacts in `data_dir/compiled`, named by the module's digest and by what it was compiled against.
pub(super) struct Cache {
    folder: PathBuf,
    key: hmac::Key,
    /// Changes with the engine's version and settings, so that an artifact of another build is not even opened.
    compatibility: u64,
}

impl Cache {
    /// Opens the cache, making its folder and its key at the first start.
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

    /// The key for one name, so that an artifact under another's name fails its check.
    fn key(&self, name: &str) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&self.key, name.as_bytes()).as_ref())
    }

    /// The artifact of the module with this digest; none when it was never compiled or fails its check.
    pub(super) fn get(&self, digest: &str) -> Option<Vec<u8>> {
        let name = self.name(digest);
        let mut file = fs::read(self.folder.join(&name)).ok()?;
        let tag = file.split_off(file.len().checked_sub(TAG_BYTES)?);
        if hmac::verify(&self.key(&name), &file, &tag).is_err() {
            tracing::warn!(file = name, "a compiled module was altered and is not used; it is compiled anew");
            return None;
        }
        Some(file)
    }

    /// A folder for one compilation, gone when it is dropped.
    pub(super) fn workspace(&self) -> io::Result<Workspace> {
        let name = rand::generate::<[u8; 8]>(&rand::SystemRandom::new())
            .map_err(|_| io::Error::other("the system has no randomness to give"))?
            .expose();
        let folder = self.folder.join(format!(".{:016x}", u64::from_ne_bytes(name)));
        fs::create_dir(&folder)?;
        Ok(Workspace(folder))
    }

    /// Keeps an artifact. A crash leaves either the whole file or none.
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
        // What stays behind is hidden and never read.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn key(path: &Path) -> io::Result<hmac::Key> {
    match fs::read(path) {
        Ok(bytes) if bytes.len() == TAG_BYTES => Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes)),
        // A key cut short by a crash protects nothing yet: artifacts made with it are compiled anew.
        Ok(_) => new_key(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => new_key(path),
        Err(error) => Err(error),
    }
}

fn new_key(path: &Path) -> io::Result<hmac::Key> {
    let bytes: [u8; TAG_BYTES] = rand::generate(&rand::SystemRandom::new())
        .map_err(|_| io::Error::other("the system has no randomness to give"))?
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
