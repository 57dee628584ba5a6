//! The versions of modules that were live, stored for a rollback.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::folders::{Origin, remove_file};
use super::trust;

/// Maximum number of stored versions of a connector from one origin, with the live one.
const MAX_VERSIONS: usize = 5;

/// The folder of the versions that came with the gateway, beside those that did not.
const SHIPPED: &str = "shipped";

/// The files `data_dir/versions/{connector}/{sha256}.wasm`, and `…/{connector}/shipped/{sha256}.wasm` of shipped modules. The
/// modification time of a file is the last time it became live. The signature of a module is beside it.
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
    pub(super) fn activated(
        &self,
        connector: &str,
        origin: Origin,
        digest: &str,
        module: &[u8],
        signature: Option<&str>,
    ) -> io::Result<()> {
        let folder = self.folder_of(connector, origin);
        fs::create_dir_all(&folder)?;
        let path = self.file(connector, origin, digest);
        if let Some(signature) = signature {
            files::write_atomically(&trust::file(&path), |file| file.write_all(signature.as_bytes()))?;
        }
        let newest = self.newest_first(connector)?.into_iter().next();
        let is_newest = newest.is_some_and(|newest| (newest.origin, newest.digest.as_str()) == (origin, digest));
        match fs::File::options().write(true).open(&path) {
            // It is live since then. A start and each command load it again.
            Ok(_) if is_newest => {}
            Ok(file) => file.set_modified(SystemTime::now())?,
            Err(_) => files::write_atomically(&path, |file| file.write_all(module))?,
        }
        let mut versions = self.from(connector, origin)?;
        versions.sort_by(|one, other| other.cmp(one));
        for old in versions.into_iter().skip(MAX_VERSIONS) {
            fs::remove_file(&old.path)?;
            remove_file(&trust::file(&old.path))?;
        }
        Ok(())
    }

    /// The version that was live before one with this digest and origin.
    pub(super) fn before(&self, connector: &str, present: Option<(Origin, &str)>) -> io::Result<Option<Version>> {
        let versions = self.newest_first(connector)?;
        Ok(versions.into_iter().find(|version| Some((version.origin, version.digest.as_str())) != present))
    }

    /// The stored versions of a connector.
    pub(super) fn newest_first(&self, connector: &str) -> io::Result<Vec<Version>> {
        let mut versions = self.from(connector, Origin::Shipped)?;
        versions.extend(self.from(connector, Origin::Foreign)?);
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

    fn from(&self, connector: &str, origin: Origin) -> io::Result<Vec<Version>> {
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

    fn before(versions: &Versions, present: Option<(Origin, &str)>) -> Option<Vec<u8>> {
        versions.before("one", present).unwrap().map(|version| fs::read(version.path).unwrap())
    }

    #[test]
    fn a_rollback_leads_to_the_version_before_and_a_second_one_back_again() {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::open(folder.path()).unwrap();
        assert_eq!(before(&versions, None), None);
        versions.activated("one", Foreign, "aa", b"a", None).unwrap();
        assert_eq!(before(&versions, Some((Foreign, "aa"))), None);
        sleep(Duration::from_millis(5));
        versions.activated("one", Foreign, "bb", b"b", None).unwrap();
        assert_eq!(before(&versions, Some((Foreign, "bb"))).as_deref(), Some(&b"a"[..]));
        sleep(Duration::from_millis(5));
        versions.activated("one", Foreign, "aa", b"a", None).unwrap();
        assert_eq!(before(&versions, Some((Foreign, "aa"))).as_deref(), Some(&b"b"[..]));
        assert_eq!(versions.before("two", None).unwrap(), None);
    }

    #[test]
    fn a_version_that_is_loaded_again_is_live_since_it_replaced_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::open(folder.path()).unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let live_at = || versions.newest_first("one").unwrap().remove(0).live_at;
        versions.activated("one", Foreign, "aa", b"a", None).unwrap();
        let file = fs::File::options().write(true).open(versions.file("one", Foreign, "aa")).unwrap();
        file.set_modified(then).unwrap();
        versions.activated("one", Foreign, "aa", b"a", None).unwrap();
        assert_eq!(live_at(), then);
        versions.activated("one", Foreign, "bb", b"b", None).unwrap();
        versions.activated("one", Foreign, "aa", b"a", None).unwrap();
        assert!(live_at() > then);
    }

    #[test]
    fn the_version_before_may_be_of_the_other_origin() {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::open(folder.path()).unwrap();
        versions.activated("one", Shipped, "aa", b"shipped", None).unwrap();
        sleep(Duration::from_millis(5));
        versions.activated("one", Foreign, "aa", b"foreign", None).unwrap();
        assert_eq!(before(&versions, Some((Foreign, "aa"))).as_deref(), Some(&b"shipped"[..]));
        assert_eq!(before(&versions, Some((Shipped, "aa"))).as_deref(), Some(&b"foreign"[..]));
    }

    #[test]
    fn a_version_keeps_its_signature_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::open(folder.path()).unwrap();
        let signature = || trust::signature_of(&versions.file("one", Foreign, "aa")).unwrap();
        versions.activated("one", Foreign, "aa", b"a", Some("signed")).unwrap();
        versions.activated("one", Foreign, "aa", b"a", None).unwrap();
        assert_eq!(signature().as_deref(), Some("signed"));
        for digest in ["b", "c", "d", "e", "f"] {
            sleep(Duration::from_millis(5));
            versions.activated("one", Foreign, digest, digest.as_bytes(), None).unwrap();
        }
        assert_eq!(signature(), None);
    }

    #[test]
    fn the_oldest_versions_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::open(folder.path()).unwrap();
        for digest in ["a", "b", "c", "d", "e", "f"] {
            versions.activated("one", Foreign, digest, digest.as_bytes(), None).unwrap();
            sleep(Duration::from_millis(5));
        }
        let kept: Vec<String> = versions.newest_first("one").unwrap().into_iter().map(|kept| kept.digest).collect();
        assert_eq!(kept, ["f", "e", "d", "c", "b"]);
    }
}
