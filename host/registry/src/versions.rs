//! The folder with the versions of modules that were live, for a rollback.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::folders::remove_file;
use super::origin::Origin;
use super::record::Record;
use super::trust;
use store::StoredModule;

/// Maximum number of stored versions of a connector from one origin, with the live one. A shared
/// database keeps as many.
const MAX_VERSIONS: usize = 10;

/// The subfolder of versions that came with the gateway.
const SHIPPED: &str = "shipped";

/// The files `data_dir/versions/{connector}/{sha256}.wasm`, and
/// `…/{connector}/shipped/{sha256}.wasm` of shipped modules. The modification time of a file is the
/// last time it became live. The signature of a module is next to its file.
pub(super) struct Versions {
    folder: PathBuf,
}

/// A stored version.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) live_at: SystemTime,
    pub(super) digest: String,
    pub(super) path: PathBuf,
    pub(super) origin: Origin,
}

impl Versions {
    pub(super) fn open(data_dir: &Path) -> io::Result<Self> {
        let versions = Self::at(data_dir);
        fs::create_dir_all(&versions.folder)?;
        Ok(versions)
    }

    /// The versions in a data directory, which may be missing.
    pub(super) fn at(data_dir: &Path) -> Self {
        Self { folder: data_dir.join("versions") }
    }

    /// Stores a version that became live, and removes the oldest ones.
    pub(super) fn store(&self, record: &Record<'_>) -> io::Result<()> {
        let &Record { identifier, origin, digest, module, signature } = record;
        fs::create_dir_all(self.folder_of(identifier, origin))?;
        let path = self.file(identifier, origin, digest);
        if let Some(signature) = signature {
            files::write_atomically(&trust::file(&path), |file| file.write_all(signature.as_bytes()))?;
        }
        let newest = self.newest_first(identifier)?.into_iter().next();
        let is_newest = newest.is_some_and(|newest| (newest.origin, newest.digest.as_str()) == (origin, digest));
        match files::open_regular(&path) {
            // The version was live before. Each start and each command loads it again.
            Ok(_) if is_newest => {}
            Ok(file) => file.set_modified(clock::now())?,
            Err(_) => files::write_atomically(&path, |file| file.write_all(module))?,
        }
        let mut versions = self.of_origin(identifier, origin)?;
        versions.sort_by(|one, other| other.cmp(one));
        for old in versions.into_iter().skip(MAX_VERSIONS) {
            fs::remove_file(&old.path)?;
            remove_file(&trust::file(&old.path))?;
        }
        Ok(())
    }

    /// The time at which a version became live last. `None` if it is not stored.
    pub(super) fn live_at(&self, record: &Record<'_>) -> Option<SystemTime> {
        fs::metadata(self.file(record.identifier, record.origin, record.digest)).ok()?.modified().ok()
    }

    /// Takes a stored version back, which did not become live after all: it is again the version
    /// of that time, or is removed.
    pub(super) fn take_back(&self, record: &Record<'_>, live_at: Option<SystemTime>) -> io::Result<()> {
        let path = self.file(record.identifier, record.origin, record.digest);
        match live_at {
            Some(live_at) => files::open_regular(&path)?.set_modified(live_at),
            None => remove_file(&path).and_then(|()| remove_file(&trust::file(&path))),
        }
    }

    /// Maximum number of versions of a connector from one origin.
    pub(super) fn capacity(&self) -> usize {
        MAX_VERSIONS
    }

    /// Returns `true` if a foreign version of the service is stored. The stored file
    /// gets the time of `version`.
    pub(super) fn has(&self, connector: &str, version: &StoredModule) -> io::Result<bool> {
        match files::open_regular(&self.file(connector, Origin::Foreign, &version.digest)) {
            Ok(file) => file.set_modified(version.live_at).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Stores a foreign version of the service, which this gateway need not have served.
    pub(super) fn mirror(&self, connector: &str, version: &StoredModule, module: &[u8]) -> io::Result<()> {
        let StoredModule { digest, signature, .. } = version;
        let signature = signature.as_deref();
        self.store(&Record { identifier: connector, origin: Origin::Foreign, digest, module, signature })?;
        self.has(connector, version).map(drop)
    }

    /// The version that was live before the one with this origin and digest.
    pub(super) fn previous(&self, connector: &str, present: Option<(Origin, &str)>) -> io::Result<Option<Version>> {
        let versions = self.newest_first(connector)?;
        Ok(versions.into_iter().find(|version| Some((version.origin, version.digest.as_str())) != present))
    }

    /// The stored versions of a connector. The newest is first.
    pub(super) fn newest_first(&self, connector: &str) -> io::Result<Vec<Version>> {
        let mut versions = self.of_origin(connector, Origin::Shipped)?;
        versions.extend(self.of_origin(connector, Origin::Foreign)?);
        versions.sort_by(|one, other| other.cmp(one));
        Ok(versions)
    }

    /// The file of a stored version.
    pub(super) fn file(&self, connector: &str, origin: Origin, digest: &str) -> PathBuf {
        self.folder_of(connector, origin).join(format!("{digest}.wasm"))
    }

    fn folder_of(&self, connector: &str, origin: Origin) -> PathBuf {
        let folder = self.folder.join(connector);
        match origin {
            Origin::Shipped => folder.join(SHIPPED),
            Origin::Foreign => folder,
        }
    }

    fn of_origin(&self, connector: &str, origin: Origin) -> io::Result<Vec<Version>> {
        let entries = match fs::read_dir(self.folder_of(connector, origin)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut versions = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if let Some(digest) = name.and_then(|name| name.strip_suffix(".wasm"))
                && !digest.starts_with('.')
            {
                let live_at = fs::metadata(&path)?.modified()?;
                versions.push(Version { live_at, digest: digest.to_owned(), path: path.clone(), origin });
            }
        }
        Ok(versions)
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;
    use Origin::{Foreign, Shipped};

    fn store(versions: &Versions, origin: Origin, digest: &str, module: &[u8], signature: Option<&str>) {
        versions.store(&Record { identifier: "one", origin, digest, module, signature }).unwrap();
    }

    fn previous(versions: &Versions, present: Option<(Origin, &str)>) -> Option<Vec<u8>> {
        versions.previous("one", present).unwrap().map(|version| fs::read(version.path).unwrap())
    }

    #[test]
    fn a_rollback_leads_to_the_previous_version_and_a_second_one_back_again() {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::open(folder.path()).unwrap();
        assert_eq!(previous(&versions, None), None);
        store(&versions, Foreign, "aa", b"a", None);
        assert_eq!(previous(&versions, Some((Foreign, "aa"))), None);
        sleep(Duration::from_millis(5));
        store(&versions, Foreign, "bb", b"b", None);
        assert_eq!(previous(&versions, Some((Foreign, "bb"))).as_deref(), Some(&b"a"[..]));
        sleep(Duration::from_millis(5));
        store(&versions, Foreign, "aa", b"a", None);
        assert_eq!(previous(&versions, Some((Foreign, "aa"))).as_deref(), Some(&b"b"[..]));
        assert_eq!(versions.previous("two", None).unwrap(), None);
    }

    #[test]
    fn a_version_that_is_loaded_again_is_live_since_it_replaced_the_previous_one() {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::open(folder.path()).unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let live_at = || versions.newest_first("one").unwrap().remove(0).live_at;
        store(&versions, Foreign, "aa", b"a", None);
        let file = fs::File::options().write(true).open(versions.file("one", Foreign, "aa")).unwrap();
        file.set_modified(then).unwrap();
        store(&versions, Foreign, "aa", b"a", None);
        assert_eq!(live_at(), then);
        store(&versions, Foreign, "bb", b"b", None);
        store(&versions, Foreign, "aa", b"a", None);
        assert!(live_at() > then);
    }

    #[test]
    fn the_previous_version_may_be_of_the_other_origin() {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::open(folder.path()).unwrap();
        store(&versions, Shipped, "aa", b"shipped", None);
        sleep(Duration::from_millis(5));
        store(&versions, Foreign, "aa", b"foreign", None);
        assert_eq!(previous(&versions, Some((Foreign, "aa"))).as_deref(), Some(&b"shipped"[..]));
        assert_eq!(previous(&versions, Some((Shipped, "aa"))).as_deref(), Some(&b"foreign"[..]));
    }

    #[test]
    fn a_version_keeps_its_signature_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::open(folder.path()).unwrap();
        let signature = || trust::signature_of(&versions.file("one", Foreign, "aa")).unwrap();
        store(&versions, Foreign, "aa", b"a", Some("signed"));
        store(&versions, Foreign, "aa", b"a", None);
        assert_eq!(signature().as_deref(), Some("signed"));
        for number in 0..MAX_VERSIONS {
            sleep(Duration::from_millis(5));
            store(&versions, Foreign, &number.to_string(), b"module", None);
        }
        assert_eq!(signature(), None);
    }

    #[test]
    fn the_oldest_versions_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::open(folder.path()).unwrap();
        for number in 0..=MAX_VERSIONS {
            store(&versions, Foreign, &number.to_string(), b"module", None);
            sleep(Duration::from_millis(5));
        }
        let kept: Vec<String> = versions.newest_first("one").unwrap().into_iter().map(|kept| kept.digest).collect();
        let newest: Vec<String> = (1..=MAX_VERSIONS).rev().map(|number| number.to_string()).collect();
        assert_eq!(kept, newest);
    }
}
