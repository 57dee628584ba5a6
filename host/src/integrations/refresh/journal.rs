//! Files that keep new tokens between the provider's response and the database.
//!
//! After a refresh, the new tokens are only in the memory of this process until the database has
//! stored them, and the provider may no longer accept the previous ones. That takes milliseconds,
//! and longer on a busy machine or with a database that does not respond. So the tokens are first
//! written, sealed, to a small file of their integration. The file survives a kill of the process;
//! the next start stores its tokens. It is not flushed to the disk, because the database is about
//! to do so: a power loss in between still loses the tokens.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use store::{Details, Integration, Sealed, Status};

/// The folder in `data_dir`.
const FOLDER: &str = "refreshed";

/// Largest file that is read. Providers' tokens have a few kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// The files of this gateway.
pub(in crate::integrations) struct Journal {
    folder: PathBuf,
}

/// The file of one refresh. It stays when this is dropped: a shutdown may cut off the storing of
/// the tokens, and the next start then stores them.
#[must_use = "the file stays until it is removed"]
pub(super) struct JournalFile(Option<PathBuf>);

impl JournalFile {
    /// Removes the file. Its tokens are in the database, or no longer needed.
    pub(super) fn remove(self) {
        if let Some(path) = self.0
            && let Err(error) = fs::remove_file(path)
        {
            tracing::warn!(%error, "the file of a stored token cannot be removed; the next start removes it");
        }
    }
}

/// The tokens of one refresh, and the state of the row that they belong to.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::integrations) struct Entry {
    pub(in crate::integrations) id: String,
    pub(in crate::integrations) version: i64,
    pub(in crate::integrations) fence: i64,
    scopes: Vec<String>,
    expires_at_ms: Option<u64>,
    refreshed_at_ms: Option<u64>,
    next_refresh_at_ms: Option<u64>,
    key_id: String,
    secret: String,
}

impl Journal {
    pub(in crate::integrations) fn new(data_dir: &Path) -> Self {
        Self { folder: data_dir.join(FOLDER) }
    }

    /// Writes the new details of an integration. A failure is only logged, because the database
    /// may still take the tokens.
    pub(super) fn keep(&self, integration: &Integration, fence: i64, details: &Details) -> JournalFile {
        let written = Entry::new(integration, fence, details).map(|entry| self.write(&entry));
        match written {
            None => JournalFile(None),
            Some(Ok(path)) => JournalFile(Some(path)),
            Some(Err(error)) => {
                tracing::warn!(integration = integration.id, %error, "new tokens cannot be written to `data_dir` first");
                JournalFile(None)
            }
        }
    }

    fn write(&self, entry: &Entry) -> io::Result<PathBuf> {
        let path = self.folder.join(format!("{}.json", entry.id));
        let text = serde_json::to_vec(entry)?;
        let mut file = match files::create_regular(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
                files::create_regular(&path)?
            }
            opened => opened?,
        };
        file.write_all(&text)?;
        Ok(path)
    }

    /// The tokens that an earlier process could not store any more. Incomplete files are removed:
    /// the process was killed while it wrote them.
    pub(in crate::integrations) fn entries(&self) -> Vec<Entry> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        files.filter_map(|file| self.read(&file.path())).collect()
    }

    fn read(&self, path: &Path) -> Option<Entry> {
        let read = files::read_regular(path, MAX_BYTES);
        let entry = read.and_then(|text| Ok(serde_json::from_slice::<Entry>(&text)?));
        entry
            .inspect_err(|error| {
                tracing::warn!(file = %path.display(), %error, "a file of new tokens cannot be read and is removed");
                let _ = fs::remove_file(path);
            })
            .ok()
    }

    /// Removes the file of an entry, whose tokens are stored or no longer needed.
    pub(in crate::integrations) fn remove(&self, entry: &Entry) {
        JournalFile(Some(self.folder.join(format!("{}.json", entry.id)))).remove();
    }
}

impl Entry {
    /// `None` if the details have no secret.
    fn new(integration: &Integration, fence: i64, details: &Details) -> Option<Self> {
        let Sealed { key_id, bytes } = details.secret.as_ref()?;
        let ms = |time: Option<SystemTime>| {
            time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|time| time.as_millis() as u64)
        };
        Some(Self {
            id: integration.id.clone(),
            version: integration.version,
            fence,
            scopes: details.scopes.clone(),
            expires_at_ms: ms(details.expires_at),
            refreshed_at_ms: ms(details.last_refreshed_at),
            next_refresh_at_ms: ms(details.next_refresh_at),
            key_id: key_id.clone(),
            secret: BASE64_STANDARD.encode(bytes),
        })
    }

    /// The details of the row with the new tokens. `None` if the entry is damaged.
    pub(in crate::integrations) fn details(&self, row: &Integration) -> Option<Details> {
        let time = |ms: Option<u64>| ms.map(|ms| UNIX_EPOCH + Duration::from_millis(ms));
        let bytes = BASE64_STANDARD.decode(&self.secret).ok()?;
        Some(Details {
            status: Status::Active,
            reason: None,
            account: row.details.account.clone(),
            scopes: self.scopes.clone(),
            expires_at: time(self.expires_at_ms),
            last_refreshed_at: time(self.refreshed_at_ms),
            next_refresh_at: time(self.next_refresh_at_ms),
            secret: Some(Sealed { key_id: self.key_id.clone(), bytes }),
        })
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::integrations::tests::integration;

    fn details() -> Details {
        let at = |seconds| Some(UNIX_EPOCH + Duration::from_secs(seconds));
        Details {
            scopes: vec!["read".to_owned()],
            expires_at: at(100),
            last_refreshed_at: at(50),
            next_refresh_at: at(75),
            secret: Some(Sealed { key_id: "dk_1".to_owned(), bytes: vec![0, 1, 255] }),
            ..integration("int_1", 3).details
        }
    }

    #[test]
    fn tokens_whose_storing_was_cut_off_are_read_again_and_stored_ones_are_gone() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::new(folder.path());
        assert!(journal.entries().is_empty(), "there is no folder yet");
        let row = integration("int_1", 3);
        journal.keep(&row, 7, &details()).remove();
        assert!(journal.entries().is_empty(), "they are stored");

        drop(journal.keep(&row, 7, &details()));
        let [entry] = &journal.entries()[..] else { panic!("there is no entry") };
        assert_eq!((entry.id.as_str(), entry.version, entry.fence), ("int_1", 3, 7));
        assert_eq!(entry.details(&row).unwrap(), details());
        journal.remove(entry);
        assert!(journal.entries().is_empty());
    }

    #[test]
    fn a_file_that_is_not_whole_is_removed() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::new(folder.path());
        drop(journal.keep(&integration("int_1", 3), 7, &details()));
        let path = folder.path().join(FOLDER).join("int_1.json");
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() / 2]).unwrap();
        assert!(journal.entries().is_empty());
        assert!(!path.exists());
    }

    #[test]
    fn what_is_not_a_file_of_the_folder_is_removed_unread_and_blocks_nothing() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::new(folder.path());
        let row = integration("int_1", 3);
        drop(journal.keep(&row, 7, &details()));
        let at = |name: &str| folder.path().join(FOLDER).join(name);
        fs::rename(at("int_1.json"), folder.path().join("elsewhere.json")).unwrap();
        std::os::unix::fs::symlink("../elsewhere.json", at("int_1.json")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("int_2.json")).status().unwrap().success());
        // A file that cannot be written is no reason to wait or to write elsewhere.
        for id in ["int_1", "int_2"] {
            journal.keep(&integration(id, 3), 8, &details()).remove();
        }
        assert!(fs::read_to_string(folder.path().join("elsewhere.json")).unwrap().contains("\"fence\":7"));
        assert!(journal.entries().is_empty());
        assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 0);
    }
}
