//! An issue's comments as GitHub gave them, kept in the storage: no user sees what another user's token has read.
//!
//! A value of the storage is small, so a copy is a head and numbered parts. The head has a fingerprint of the parts: of two
//! invocations that write at the same time neither leaves a mixture that is taken for a copy.

use connector_sdk::{log, storage};
use serde::{Deserialize, Serialize};

use crate::fingerprint;

/// The largest value of the storage.
const PART_BYTES: usize = 64 << 10;

/// Larger copies are not kept: the storage has room for sixteen of these.
const MOST_BYTES: usize = 4 << 20;

/// A copy that GitHub can be asked about is worth keeping when it is too old to be answered from.
const ASKABLE_SECONDS: u32 = 24 * 3600;

/// All comments of an issue, at a moment.
pub(crate) struct Copy {
    /// Milliseconds since 1970.
    pub(crate) fetched_at: u64,
    /// By which GitHub tells whether its only page is still the same.
    pub(crate) etag: Option<String>,
    /// The pages, each the JSON text of a list.
    pub(crate) pages: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    fetched_at: u64,
    etag: Option<String>,
    fingerprint: u64,
    /// Bytes of each page.
    pages: Vec<usize>,
}

/// Names the copy of an issue's comments. GitHub does not tell the case of names apart.
pub(crate) fn key(owner: &str, repo: &str, number: i64) -> String {
    format!("comments/{}/{}/{number}", owner.to_lowercase(), repo.to_lowercase())
}

impl Copy {
    /// The copy of this key, if there is one. A storage that fails has none.
    pub(crate) fn load(key: &str) -> Option<Self> {
        let head = Head::load(key)?;
        let mut pages = Vec::with_capacity(head.pages.len());
        let mut number = 0;
        for length in &head.pages {
            let mut page = Vec::with_capacity((*length).min(MOST_BYTES));
            for _ in 0..length.div_ceil(PART_BYTES) {
                page.extend(storage::get(&part(key, number)).ok()??);
                number += 1;
            }
            pages.push(String::from_utf8(page).ok()?);
        }
        let copy = Self { fetched_at: head.fetched_at, etag: head.etag, pages };
        (copy.fingerprint() == head.fingerprint).then_some(copy)
    }

    /// Keeps the copy, unless it is too large or the storage has no room. It is a copy: no answer depends on it.
    pub(crate) fn save(&self, key: &str, max_age_seconds: u32) {
        if self.pages.iter().map(String::len).sum::<usize>() > MOST_BYTES {
            return forget(key);
        }
        let is_askable = self.etag.is_some() && self.pages.len() == 1;
        let life = if is_askable { max_age_seconds.saturating_add(ASKABLE_SECONDS) } else { max_age_seconds };
        if let Err(error) = self.write(key, life) {
            log::warn(&format!("the comments of {key} are not kept: {error:?}"));
            forget(key);
        }
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

/// Drops the copy of this key. Without its head it is none; parts that cannot be dropped expire.
pub(crate) fn forget(key: &str) {
    let head = Head::load(key);
    if let Err(error) = storage::delete(key) {
        log::warn(&format!("the copy of {key} stays until it is too old: {error:?}"));
    }
    let parts = head.map_or(0, |head| head.pages.iter().map(|length| length.div_ceil(PART_BYTES)).sum());
    for number in 0..parts {
        // One that stays does no harm.
        let _ = storage::delete(&part(key, number));
    }
}

fn part(key: &str, number: usize) -> String {
    format!("{key}/{number}")
}

#[cfg(test)]
mod tests {
    use connector_sdk::storage;
    use connector_sdk::testing::Gateway;

    use super::{Copy, MOST_BYTES, PART_BYTES, forget, key};

    fn copy(pages: &[String]) -> Copy {
        Copy { fetched_at: 7, etag: Some("\"e\"".to_owned()), pages: pages.to_vec() }
    }

    #[test]
    fn a_copy_comes_back_whatever_its_size() {
        let _gateway = Gateway::new();
        // Characters of three bytes lie across the borders of parts.
        for pages in [vec!["[]".to_owned()], vec!["€".repeat(PART_BYTES), "[1]".to_owned(), "€".repeat(30_000)]] {
            copy(&pages).save("k", 300);
            let found = Copy::load("k").expect("a copy");
            assert_eq!((found.fetched_at, found.etag.as_deref()), (7, Some("\"e\"")));
            assert!(found.pages == pages);
        }
    }

    #[test]
    fn a_copy_that_is_not_whole_is_none() {
        let gateway = Gateway::new();
        copy(&["x".repeat(PART_BYTES + 1)]).save("k", 300);
        storage::set("k/1", b"y", None).expect("set");
        assert!(Copy::load("k").is_none());
        storage::delete("k/1").expect("deleted");
        assert!(Copy::load("k").is_none());
        assert!(gateway.stored("k").is_some());
    }

    #[test]
    fn a_large_copy_is_not_kept_and_takes_the_former_with_it() {
        let gateway = Gateway::new();
        copy(&["[1]".to_owned()]).save("k", 300);
        copy(&["x".repeat(MOST_BYTES + 1)]).save("k", 300);
        assert!(gateway.stored("k").is_none() && gateway.stored("k/0").is_none());
    }

    #[test]
    fn what_is_forgotten_leaves_nothing() {
        let gateway = Gateway::new();
        let key = key("Octocat", "Hello", 7);
        assert_eq!(key, "comments/octocat/hello/7");
        copy(&["x".repeat(PART_BYTES + 1)]).save(&key, 300);
        forget(&key);
        assert!(["", "/0", "/1"].iter().all(|part| gateway.stored(&format!("{key}{part}")).is_none()));
    }
}
