//! Files that keep new tokens between the provider's response and the database.
//!
//! After a refresh, the new tokens are only in the memory of this process until the database has
//! stored them, and the provider may no longer accept the previous ones. That takes milliseconds,
//! and longer on a busy machine or with a database that does not respond. So the tokens are first
//! written, sealed, to a small file of their integration. The file survives a kill of the process;
//! the next start stores its tokens. It is not flushed to the disk, because the database is about
//! to do so: a power loss in between still loses the tokens.
//!
//! The file and its place on the disk are reserved before the provider is asked. Without them the
//! provider is not asked: on a full disk, it would take the refresh token, and a kill would then
//! lose the new tokens.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use crate::account_secret::SecretDigest;
use store::{Details, Integration, Sealed, Status};

/// The folder in `data_dir`.
const FOLDER: &str = "refreshed";

/// The beginning of the name of a file in `data_dir` with tokens that could not be stored.
const UNSTORED: &str = "unstored-";

/// Size of a new file, and the largest file that is read. Providers' tokens have a few kilobytes,
/// and an answer with tokens has at most 256 KiB.
const MAX_BYTES: u64 = 512 << 10;

/// The disk has no room for new tokens, so the provider must not be asked for them.
pub(super) struct NoRoom;

/// The files of this gateway.
pub(crate) struct Journal {
    folder: PathBuf,
    /// `true` after a file could not be reserved. The log says so once.
    is_failing: AtomicBool,
}

/// The file of one refresh. It is there, with its place on the disk, before the provider is asked.
/// If it got tokens, it stays when this is dropped: a shutdown may cut off the storing of the
/// tokens, and the next start then stores them.
pub(super) struct JournalFile {
    path: PathBuf,
    file: File,
    holds_tokens: bool,
}

impl JournalFile {
    /// Writes the new details of an integration. A failure is only logged, because the database
    /// may still take the tokens.
    pub(super) fn keep(&mut self, integration: &Integration, fence: i64, details: &Details, previous: &SecretDigest) {
        let Some(entry) = JournalEntry::new(integration, fence, details, previous) else { return };
        self.holds_tokens = true;
        if let Err(error) = self.write(&entry) {
            tracing::warn!(integration = integration.id, %error, "new tokens cannot be written to `data_dir` first");
        }
    }

    fn write(&mut self, entry: &JournalEntry) -> io::Result<()> {
        let text = serde_json::to_vec(entry)?;
        self.file.write_all(&text)?;
        self.file.set_len(text.len() as u64)
    }

    /// Removes the file. Its tokens are in the database, or no longer needed.
    pub(super) fn remove(mut self) {
        self.holds_tokens = false;
    }
}

impl Drop for JournalFile {
    fn drop(&mut self) {
        if !self.holds_tokens {
            remove(&self.path);
        }
    }
}

/// Removes a file whose tokens are stored or no longer needed.
pub(super) fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::warn!(%error, "a file of stored tokens cannot be removed; the next start removes it");
    }
}

/// Moves a file whose tokens cannot be stored out of the folder, where it would stop all refreshes.
/// Returns its new path. An operator who brings back a deleted data key can still use it.
pub(super) fn put_aside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = path.parent().and_then(Path::parent).unwrap_or(path).join(format!("{UNSTORED}{name}"));
    if let Err(error) = fs::rename(path, &aside) {
        tracing::warn!(%error, "a file of tokens that cannot be stored cannot be moved");
    }
    aside
}

/// The tokens of one refresh, and the state of the row that they belong to.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JournalEntry {
    pub(crate) id: String,
    pub(crate) version: i64,
    pub(crate) fence: i64,
    scopes: Vec<String>,
    expires_at_ms: Option<u64>,
    refreshed_at_ms: Option<u64>,
    next_refresh_at_ms: Option<u64>,
    key_id: String,
    secret: String,
    /// The digest of the tokens that the row had before. Empty in a file of the release before.
    #[serde(default)]
    previous: String,
}

impl Journal {
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self { folder: data_dir.join(FOLDER), is_failing: AtomicBool::new(false) }
    }

    /// Makes the file of a refresh, with room for its tokens.
    ///
    /// # Errors
    /// If the file cannot be made, or if the disk has no room for it.
    pub(super) fn reserve(&self, id: &str, fence: i64) -> Result<JournalFile, NoRoom> {
        let reserved = self.make(&format!("{id}.{fence}.json"));
        let was_failing = self.is_failing.swap(reserved.is_err(), Ordering::Relaxed);
        reserved.map_err(|error| {
            if !was_failing {
                tracing::error!(
                    folder = %self.folder.display(), %error,
                    "no tokens are refreshed, because a file for new tokens cannot be made; free some space on the disk"
                );
            }
            NoRoom
        })
    }

    fn make(&self, name: &str) -> io::Result<JournalFile> {
        let path = self.folder.join(name);
        let file = match files::create_regular(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
                files::create_regular(&path)?
            }
            opened => opened?,
        };
        // Dropping it removes the file if there is no room.
        let mut made = JournalFile { path, file, holds_tokens: false };
        files::allocate(&mut made.file, MAX_BYTES)?;
        Ok(made)
    }

    /// The tokens that an earlier process could not store any more, with their files. Files without
    /// tokens are removed: the process was killed before the provider had answered. Incomplete
    /// files are removed as well: it was killed while it wrote them.
    pub(crate) fn entries(&self) -> Vec<(PathBuf, JournalEntry)> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        files.filter_map(|file| Some((file.path(), self.read(&file.path())?))).collect()
    }

    fn read(&self, path: &Path) -> Option<JournalEntry> {
        let read = files::read_regular(path, MAX_BYTES);
        if read.as_ref().is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0)) {
            remove(path);
            return None;
        }
        let entry = read.and_then(|bytes| {
            // Zeros at the end are the rest of the reserved place.
            let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            Ok(serde_json::from_slice::<JournalEntry>(&bytes[..length])?)
        });
        entry
            .inspect_err(|error| {
                tracing::warn!(file = %path.display(), %error, "a file of new tokens cannot be read and is removed");
                remove(path);
            })
            .ok()
    }
}

impl JournalEntry {
    /// `None` if the details have no secret.
    fn new(integration: &Integration, fence: i64, details: &Details, previous: &SecretDigest) -> Option<Self> {
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
            previous: BASE64_STANDARD.encode(previous),
        })
    }

    /// The digest of the tokens that the row had before. `None` if the entry has none.
    pub(crate) fn previous(&self) -> Option<SecretDigest> {
        BASE64_STANDARD.decode(&self.previous).ok()?.try_into().ok()
    }

    /// The details of the row with the new tokens. `None` if the entry is damaged.
    pub(crate) fn details(&self, row: &Integration) -> Option<Details> {
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
            refresh_failing_since: None,
            secret: Some(Sealed { key_id: self.key_id.clone(), bytes }),
        })
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::tests::integration;

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

    const PREVIOUS: SecretDigest = [7; 32];

    fn keep(journal: &Journal, id: &str) -> JournalFile {
        let mut file = journal.reserve(id, 7).unwrap_or_else(|NoRoom| panic!("the disk has room"));
        file.keep(&integration(id, 3), 7, &details(), &PREVIOUS);
        file
    }

    #[test]
    fn tokens_whose_storing_was_cut_off_are_read_again_and_stored_ones_are_gone() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::new(folder.path());
        assert!(journal.entries().is_empty(), "there is no folder yet");
        keep(&journal, "int_1").remove();
        assert!(journal.entries().is_empty(), "they are stored");

        drop(keep(&journal, "int_1"));
        let [(path, entry)] = &journal.entries()[..] else { panic!("there is no entry") };
        assert_eq!((entry.id.as_str(), entry.version, entry.fence, entry.previous()), ("int_1", 3, 7, Some(PREVIOUS)));
        assert_eq!(entry.details(&integration("int_1", 3)).unwrap(), details());
        assert!(fs::metadata(path).unwrap().len() < 1000, "the rest of the place is free again");
        remove(path);
        assert!(journal.entries().is_empty());
    }

    #[test]
    fn a_file_has_its_place_on_the_disk_before_the_tokens_and_leaves_nothing_without_them() {
        use std::os::unix::fs::MetadataExt;

        let folder = TempDir::new().unwrap();
        let journal = Journal::new(folder.path());
        let reserved = journal.reserve("int_1", 7).unwrap_or_else(|NoRoom| panic!("the disk has room"));
        let found = fs::metadata(&reserved.path).unwrap();
        assert!(found.len() == MAX_BYTES && found.blocks() * 512 >= MAX_BYTES, "{found:?}");
        // A kill leaves the file. The next start removes it without a word about damage.
        let path = reserved.path.clone();
        std::mem::forget(reserved);
        assert!(journal.entries().is_empty() && !path.exists());
        drop(journal.reserve("int_1", 8).unwrap_or_else(|NoRoom| panic!("the disk has room")));
        assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 0, "no token came");
    }

    #[test]
    fn tokens_are_read_although_a_kill_came_before_the_rest_of_the_place_was_free() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::new(folder.path());
        let file = keep(&journal, "int_1");
        file.file.set_len(MAX_BYTES).unwrap();
        drop(file);
        assert_eq!(journal.entries()[0].1.id, "int_1");
    }

    #[test]
    fn a_file_that_is_not_whole_is_removed() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::new(folder.path());
        let path = keep(&journal, "int_1").path.clone();
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() / 2]).unwrap();
        assert!(journal.entries().is_empty());
        assert!(!path.exists());
    }

    #[test]
    fn what_is_not_a_file_of_the_folder_is_removed_unread_and_nothing_is_written_elsewhere() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::new(folder.path());
        drop(keep(&journal, "int_1"));
        let at = |name: &str| folder.path().join(FOLDER).join(name);
        fs::rename(at("int_1.7.json"), folder.path().join("elsewhere.json")).unwrap();
        std::os::unix::fs::symlink("../elsewhere.json", at("int_1.7.json")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("int_2.7.json")).status().unwrap().success());
        // Without a file, the provider is not asked.
        for id in ["int_1", "int_2"] {
            assert!(journal.reserve(id, 7).is_err(), "{id}");
        }
        assert!(fs::read_to_string(folder.path().join("elsewhere.json")).unwrap().contains("\"fence\":7"));
        assert!(journal.entries().is_empty());
        assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 0);
    }
}
