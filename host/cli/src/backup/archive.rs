//! The format of a backup: a tar archive, compressed with gzip.
//!
//! | path | content |
//! |---|---|
//! | `gateway.toml` | the configuration file, if there is one |
//! | `data/gateway.db` | the database |
//! | `data/versions/…`, `data/accepted/…`, `data/replacements/…`, `data/refreshed/…` | these folders of `data_dir` |
//! | `data/master.key` | the master key, with `--with-master-key` only |
//! | `modules/…` | the files of `modules_dir` |
//! | `backup.json` | the [`Manifest`]; it is the last entry, because it has the digests of all others |

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

/// The version of the format.
pub(super) const FORMAT: u32 = 1;

/// The entry with the manifest.
pub(super) const MANIFEST: &str = "backup.json";

/// The entry with the configuration file.
pub(super) const CONFIGURATION: &str = "gateway.toml";

/// The entry with the database.
pub(super) const DATABASE: &str = "data/gateway.db";

/// The entry with the master key.
pub(super) const MASTER_KEY: &str = "data/master.key";

/// The folders of `data_dir` that are backed up, and the folder of tokens that are not stored yet.
pub(super) const DATA_FOLDERS: [&str; 4] = ["versions", "accepted", "replacements", "refreshed"];

/// Largest manifest. An entry in it has about 200 bytes.
pub(super) const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// The description of the archive and of its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// See [`FORMAT`].
    pub(super) format: u32,
    /// The version of the gateway that made the archive.
    pub(super) gateway_version: String,
    /// The time of the backup, in RFC 3339.
    pub(super) made_at: String,
    /// The ids of the master keys that the database needs.
    pub(super) master_keys: Vec<String>,
    /// All other entries, by their paths.
    pub(super) files: BTreeMap<String, FileRecord>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRecord {
    /// Its length in bytes.
    pub(super) size: u64,
    /// Its SHA-256 in hexadecimal digits.
    pub(super) sha256: String,
}

/// Returns `true` if a restore may write a file at this path of the archive: below the folders that
/// a backup has, and nowhere else.
pub(super) fn is_known(path: &str) -> bool {
    let parts: Option<Vec<&str>> = Path::new(path)
        .components()
        .map(|part| match part {
            // A backup leaves out names with a dot, which hide a file.
            Component::Normal(name) => name.to_str().filter(|name| !name.starts_with('.')),
            _ => None,
        })
        .collect();
    match parts.as_deref() {
        _ if path == CONFIGURATION || path == DATABASE || path == MASTER_KEY => true,
        Some(["data", folder, _, ..]) => DATA_FOLDERS.contains(folder),
        Some(["modules", _]) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_backup_are_restored() {
        for path in ["gateway.toml", "data/gateway.db", "data/master.key", "data/versions/a/b.wasm", "modules/a.wasm"] {
            assert!(is_known(path), "{path}");
        }
        for path in [
            "/etc/passwd",
            "../gateway.toml",
            "data/../../x",
            "data/versions/../../../x",
            "modules/../x",
            "modules/a/b",
            "modules/.a.wasm",
            "data/versions/.a",
            "data/other/x",
            "data/versions",
            "data/gateway.db-wal",
            "",
        ] {
            assert!(!is_known(path), "{path}");
        }
    }
}
