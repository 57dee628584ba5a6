//! A copy of an issue's comments in the storage. Each integration has its own storage, so no user
//! sees comments that another user's token has read.
//!
//! A value in the storage is small, so a copy consists of a head and numbered parts. The head has a
//! fingerprint of the parts. If two invocations write at the same time, the fingerprint does not
//! match the mixture, and the mixture is not used.

use connector_sdk::{log, storage};
use serde::{Deserialize, Serialize};

use crate::{fingerprint, github};

/// Maximum size of a value in the storage.
const PART_BYTES: usize = 64 << 10;

/// Maximum size of a copy. The storage has room for sixteen copies of this size.
const MAX_BYTES: usize = 4 << 20;

/// Further lifetime of an old copy that GitHub can confirm by its ETag.
const CONFIRMABLE_SECONDS: u32 = 24 * 3600;

/// All comments of an issue at one time.
pub(crate) struct Copy {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub(crate) fetched_at: u64,
    /// ETag of the first page.
    pub(crate) etag: Option<String>,
    /// The pages in their order. Each is the JSON text of an array.
    pub(crate) pages: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    fetched_at: u64,
    etag: Option<String>,
    fingerprint: u64,
    /// Size of each page in bytes.
    pages: Vec<usize>,
}

/// The key of a copy. GitHub ignores the case of names, so the key has them in lower case.
pub(crate) fn key(owner: &str, repo: &str, number: i64) -> String {
    format!("comments/{}/{}/{number}", owner.to_lowercase(), repo.to_lowercase())
}

impl Copy {
    /// The copy with this key. `None` if there is no complete copy, if the comments have changed since
    /// it was read, or if the storage fails.
    pub(crate) fn load(key: &str) -> Option<Self> {
        let head = Head::load(key)?;
        if changed_at(key).is_some_and(|time| head.fetched_at <= time) {
            return None;
        }
        let mut pages = Vec::with_capacity(head.pages.len());
        let mut number = 0;
        for length in &head.pages {
            let mut page = Vec::with_capacity((*length).min(MAX_BYTES));
            for _ in 0..length.div_ceil(PART_BYTES) {
                page.extend(storage::get(&part(key, number)).ok()??);
                number += 1;
            }
            pages.push(String::from_utf8(page).ok()?);
        }
        let copy = Self { fetched_at: head.fetched_at, etag: head.etag, pages };
        (copy.fingerprint() == head.fingerprint).then_some(copy)
    }

    /// Stores the copy. A copy that is too large for the storage is dropped. Answers do not depend
    /// on it.
    pub(crate) fn save(&self, key: &str, max_age_seconds: u32) {
        if self.pages.iter().map(String::len).sum::<usize>() > MAX_BYTES {
            return forget(key);
        }
        let further = if self.confirmable().is_some() { CONFIRMABLE_SECONDS } else { 0 };
        if let Err(error) = self.write(key, max_age_seconds.saturating_add(further)) {
            log::warn(&format!("the copy of {key} could not be stored: {error:?}"));
            forget(key);
        }
    }

    /// The ETag by which GitHub confirms that the copy is still current. `None` for a copy of several
    /// pages, and for one whose page is full: the ETag of a full page does not change when another page
    /// follows it.
    pub(crate) fn confirmable(&self) -> Option<&str> {
        let [page] = self.pages.as_slice() else { return None };
        let has_room = github::items(page).is_ok_and(|items| items.len() < github::MAX_PER_PAGE as usize);
        self.etag.as_deref().filter(|_| has_room)
    }

    fn write(&self, key: &str, life: u32) -> Result<(), storage::Error> {
        let parts = self.pages.iter().flat_map(|page| page.as_bytes().chunks(PART_BYTES));
        for (number, bytes) in parts.enumerate() {
            storage::set(&part(key, number), bytes, Some(life))?;
        }
        let head = Head {
            fetched_at: self.fetched_at,
            etag: self.etag.clone(),
            fingerprint: self.fingerprint(),
            pages: self.pages.iter().map(String::len).collect(),
        };
        let head = serde_json::to_vec(&head).map_err(|error| storage::Error::Invalid(error.to_string()))?;
        storage::set(key, &head, Some(life))
    }

    fn fingerprint(&self) -> u64 {
        fingerprint::of(self.pages.iter().map(String::as_bytes))
    }
}

impl Head {
    fn load(key: &str) -> Option<Self> {
        serde_json::from_slice(&storage::get(key).ok()??).ok()
    }
}

/// Deletes the copy with this key. Parts that cannot be deleted have no effect without the head,
/// and expire.
fn forget(key: &str) {
    let head = Head::load(key);
    if let Err(error) = storage::delete(key) {
        log::warn(&format!("the copy of {key} was not deleted and is used until it expires: {error:?}"));
    }
    let parts = head.map_or(0, |head| head.pages.iter().map(|length| length.div_ceil(PART_BYTES)).sum());
    for number in 0..parts {
        // A part that remains has no effect.
        let _ = storage::delete(&part(key, number));
    }
}

/// Notes that a call begins to change the comments: no copy is used until it ends. The note of a call
/// that is cut off stays for as long as a copy without its change could be used.
pub(crate) fn begin_change(key: &str, max_age_seconds: u32) {
    note_change(key, u64::MAX, max_age_seconds);
}

/// Notes that the comments have changed at this time, and deletes the copy. A call that began to read
/// before it may still store a copy without the change, which is not used.
pub(crate) fn end_change(key: &str, now: u64, max_age_seconds: u32) {
    note_change(key, now, max_age_seconds);
    forget(key);
}

/// Notes that the comments have not changed.
pub(crate) fn refuse_change(key: &str) {
    if let Err(error) = storage::delete(&change_key(key)) {
        log::warn(&format!("the copy of {key} is not used for some time: {error:?}"));
    }
}

fn note_change(key: &str, time: u64, max_age_seconds: u32) {
    if let Err(error) = storage::set(&change_key(key), time.to_string().as_bytes(), Some(max_age_seconds.max(1))) {
        log::warn(&format!("a copy of {key} without a change may be used until it is too old: {error:?}"));
    }
}

/// The time of the last change, in milliseconds since 1970-01-01T00:00:00Z. The latest of all times if a
/// change has not ended.
fn changed_at(key: &str) -> Option<u64> {
    let time = storage::get(&change_key(key)).ok()??;
    std::str::from_utf8(&time).ok()?.parse().ok()
}

fn change_key(key: &str) -> String {
    format!("{key}/changed")
}

fn part(key: &str, number: usize) -> String {
    format!("{key}/{number}")
}

#[cfg(test)]
mod tests {
    use connector_sdk::storage;
    use connector_sdk::testing::Gateway;

    use super::{Copy, MAX_BYTES, PART_BYTES, begin_change, end_change, forget, key, refuse_change};

    fn copy(pages: &[String]) -> Copy {
        Copy { fetched_at: 7, etag: Some("\"e\"".to_owned()), pages: pages.to_vec() }
    }

    #[test]
    fn a_copy_of_any_size_comes_back() {
        let _gateway = Gateway::new();
        // Parts are cut within characters of three bytes.
        for pages in [vec!["[]".to_owned()], vec!["€".repeat(PART_BYTES), "[1]".to_owned(), "€".repeat(30_000)]] {
            copy(&pages).save("k", 300);
            let found = Copy::load("k").expect("a copy");
            assert_eq!((found.fetched_at, found.etag.as_deref()), (7, Some("\"e\"")));
            assert!(found.pages == pages);
        }
    }

    #[test]
    fn an_incomplete_copy_is_not_used() {
        let gateway = Gateway::new();
        copy(&["x".repeat(PART_BYTES + 1)]).save("k", 300);
        storage::set("k/1", b"y", None).expect("set");
        assert!(Copy::load("k").is_none());
        storage::delete("k/1").expect("deleted");
        assert!(Copy::load("k").is_none());
        assert!(gateway.stored("k").is_some());
    }

    #[test]
    fn a_copy_that_is_too_large_deletes_the_copy_before_it() {
        let gateway = Gateway::new();
        copy(&["[1]".to_owned()]).save("k", 300);
        copy(&["x".repeat(MAX_BYTES + 1)]).save("k", 300);
        assert!(gateway.stored("k").is_none() && gateway.stored("k/0").is_none());
    }

    #[test]
    fn no_copy_is_used_while_the_comments_change() {
        let _gateway = Gateway::new();
        let save = || copy(&["[]".to_owned()]).save("k", 300);
        save();
        begin_change("k", 300);
        assert!(Copy::load("k").is_none(), "also if the call that changes them is cut off");
        refuse_change("k");
        assert!(Copy::load("k").is_some());
        for (changed_at, is_used) in [(6, true), (7, false), (8, false)] {
            end_change("k", changed_at, 300);
            assert!(Copy::load("k").is_none(), "the copy is deleted");
            save();
            assert_eq!(Copy::load("k").is_some(), is_used, "{changed_at}");
        }
    }

    #[test]
    fn deleting_a_copy_leaves_no_value() {
        let gateway = Gateway::new();
        let key = key("Octocat", "Hello", 7);
        assert_eq!(key, "comments/octocat/hello/7");
        copy(&["x".repeat(PART_BYTES + 1)]).save(&key, 300);
        forget(&key);
        assert!(["", "/0", "/1"].iter().all(|part| gateway.stored(&format!("{key}{part}")).is_none()));
    }
}
