//! The versions of modules that were live, stored for a rollback.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Maximum number of stored versions of a connector, with the live one.
const MAX_VERSIONS: usize = 5;

/// The files `data_dir/versions/{connector}/{sha256}.wasm`. The modification time of a file is the last time it became live.
pub(super) struct Versions {
    folder: PathBuf,
}

impl Versions {
    pub(super) fn open(data_dir: &Path) -> io::Result<Self> {
        let folder = data_dir.join("versions");
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// Stores a version that became live, and removes the oldest ones.
    pub(super) fn activated(&self, connector: &str, digest: &str, module: &[u8]) -> io::Result<()> {
        let folder = self.folder.join(connector);
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{digest}.wasm"));
        match fs::File::options().write(true).open(&path) {
            Ok(file) => file.set_modified(SystemTime::now())?,
            Err(_) => store::files::write_atomically(&path, |file| file.write_all(module))?,
        }
        for (_, _, old) in self.newest_first(connector)?.into_iter().skip(MAX_VERSIONS) {
            fs::remove_file(old)?;
        }
        Ok(())
    }

    /// The newest version with another digest than this one.
    pub(super) fn before(&self, connector: &str, digest: Option<&str>) -> io::Result<Option<Vec<u8>>> {
        self.newest_first(connector)?
            .into_iter()
            .find(|(_, version, _)| Some(version.as_str()) != digest)
            .map(|(_, _, path)| fs::read(path))
            .transpose()
    }

    fn newest_first(&self, connector: &str) -> io::Result<Vec<(SystemTime, String, PathBuf)>> {
        let entries = match fs::read_dir(self.folder.join(connector)) {
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
                versions.push((fs::metadata(&path)?.modified()?, digest.to_owned(), path.clone()));
            }
        }
        versions.sort_by(|one, other| other.cmp(one));
        Ok(versions)
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_rollback_leads_to_the_version_before_and_a_second_one_back_again() {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::open(folder.path()).unwrap();
        assert_eq!(versions.before("one", None).unwrap(), None);
        versions.activated("one", "aa", b"a").unwrap();
        assert_eq!(versions.before("one", Some("aa")).unwrap(), None);
        sleep(Duration::from_millis(5));
        versions.activated("one", "bb", b"b").unwrap();
        assert_eq!(versions.before("one", Some("bb")).unwrap().as_deref(), Some(&b"a"[..]));
        sleep(Duration::from_millis(5));
        versions.activated("one", "aa", b"a").unwrap();
        assert_eq!(versions.before("one", Some("aa")).unwrap().as_deref(), Some(&b"b"[..]));
        assert_eq!(versions.before("two", None).unwrap(), None);
    }

    #[test]
    fn the_oldest_versions_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::open(folder.path()).unwrap();
        for digest in ["a", "b", "c", "d", "e", "f"] {
            versions.activated("one", digest, digest.as_bytes()).unwrap();
            sleep(Duration::from_millis(5));
        }
        let kept: Vec<String> =
            versions.newest_first("one").unwrap().into_iter().map(|(_, digest, _)| digest).collect();
        assert_eq!(kept, ["f", "e", "d", "c", "b"]);
    }
}
