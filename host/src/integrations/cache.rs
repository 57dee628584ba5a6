//! A cache of each holder's integrations, with credentials that are ready for requests.
//!
//! Most calls need neither a database read nor a decryption. Rows are read again after [`FRESH_FOR`], so that changes by
//! another process, above all a deletion, take effect within that time. Changes by this process take effect at once.
//!
//! A credential is unsealed once for each version of its row. It is dropped, and the memory of its secret overwritten, when the
//! row changes or is deleted, or when the holder was idle for [`IDLE`].

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use egress::Credential;
use store::{Holder, Integration};

/// Longest time that rows are used without reading them again.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// A holder without calls for this long is forgotten.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// Most holders in the cache. The next call of a forgotten holder costs a read and a decryption.
const CAPACITY: usize = 10_000;

/// An integration, and its credential once an operation has needed it.
pub(super) struct CachedIntegration {
    pub(super) integration: Integration,
    pub(super) credential: OnceCell<UnsealedCredential>,
}

/// A credential that was unsealed.
#[derive(Clone)]
pub(super) struct UnsealedCredential {
    pub(super) credential: Credential,
    /// `true` if there is a refresh token, so that a refusal by the service need not be final.
    pub(super) is_refreshable: bool,
}

impl CachedIntegration {
    pub(super) fn new(integration: Integration) -> Arc<Self> {
        Self::with_credential(integration, None)
    }

    pub(super) fn with_credential(integration: Integration, credential: Option<UnsealedCredential>) -> Arc<Self> {
        Arc::new(Self { integration, credential: OnceCell::new_with(credential) })
    }
}

/// A holder's integrations, oldest first.
pub(super) struct CachedIntegrations {
    /// SHA-256 of the connector's module. Another version may place API keys elsewhere, so its credentials differ.
    module: String,
    pub(super) rows: Vec<Arc<CachedIntegration>>,
    read_at: Instant,
}

impl CachedIntegrations {
    /// Rows that were just read. Unchanged rows keep their credential.
    fn new(module: &str, integrations: Vec<Integration>, former: Option<&Self>, read_at: Instant) -> Self {
        let former = former.filter(|former| former.module == module).map_or(&[][..], |former| &former.rows);
        let reuse = |read: Integration| {
            let is_same = |row: &&Arc<CachedIntegration>| {
                row.integration.id == read.id && row.integration.version == read.version
            };
            match former.iter().find(is_same) {
                None => CachedIntegration::new(read),
                Some(row) if row.integration == read => Arc::clone(row),
                // The integration was selected, or sealed under another key. Its credential is the same.
                Some(row) => CachedIntegration::with_credential(read, row.credential.get().cloned()),
            }
        };
        Self { module: module.to_owned(), rows: integrations.into_iter().map(reuse).collect(), read_at }
    }

    fn is_current(&self, module: &str) -> bool {
        self.module == module && self.read_at.elapsed() < FRESH_FOR
    }
}

/// The cache entry of one holder.
struct Entry {
    rows: ArcSwapOption<CachedIntegrations>,
    /// Held during a database read, so that concurrent calls share one read.
    reading: tokio::sync::Mutex<()>,
    /// Last use, in seconds since the cache was created.
    used: AtomicU64,
}

impl Entry {
    fn new(now: u64) -> Arc<Self> {
        Arc::new(Self { rows: ArcSwapOption::empty(), reading: tokio::sync::Mutex::default(), used: now.into() })
    }
}

/// The integrations of recently used holders.
pub(super) struct Cache {
    entries: Mutex<HashMap<Holder, Arc<Entry>>>,
    created_at: Instant,
}

impl Cache {
    pub(super) fn new() -> Self {
        Self { entries: Mutex::default(), created_at: Instant::now() }
    }

    /// A holder's integrations, from the cache or else from `read`.
    pub(super) async fn rows<E>(
        &self,
        holder: &Holder,
        module: &str,
        read: impl Future<Output = Result<Vec<Integration>, E>>,
    ) -> Result<Arc<CachedIntegrations>, E> {
        let entry = self.entry(holder);
        let current = || entry.rows.load_full().filter(|rows| rows.is_current(module));
        if let Some(rows) = current() {
            return Ok(rows);
        }
        let _turn = entry.reading.lock().await;
        if let Some(rows) = current() {
            return Ok(rows);
        }
        let read_at = Instant::now();
        let found = read.await?;
        let rows = Arc::new(CachedIntegrations::new(module, found, entry.rows.load().as_deref(), read_at));
        entry.rows.store(Some(Arc::clone(&rows)));
        Ok(rows)
    }

    /// Makes the next call read the rows again, after this process changed one. Unchanged rows keep their credentials.
    pub(super) async fn changed(&self, holder: &Holder) {
        let Some(entry) = self.entries.lock().get(holder).cloned() else { return };
        // Waits for a read under way: it may have seen the rows before the change.
        let _turn = entry.reading.lock().await;
        if let Some(rows) = entry.rows.load_full() {
            let outdated = CachedIntegrations {
                module: rows.module.clone(),
                rows: rows.rows.clone(),
                read_at: rows.read_at.checked_sub(FRESH_FOR).unwrap_or(rows.read_at),
            };
            entry.rows.store(Some(Arc::new(outdated)));
        }
    }

    /// Forgets holders that were idle.
    pub(super) fn forget_idle(&self) {
        let now = self.now();
        self.entries.lock().retain(|_, entry| now.saturating_sub(entry.used.load(Ordering::Relaxed)) < IDLE.as_secs());
    }

    fn entry(&self, holder: &Holder) -> Arc<Entry> {
        let now = self.now();
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get(holder) {
            entry.used.store(now, Ordering::Relaxed);
            return Arc::clone(entry);
        }
        if entries.len() >= CAPACITY {
            drop_older_half(&mut entries);
        }
        let entry = Entry::new(now);
        entries.insert(holder.clone(), Arc::clone(&entry));
        entry
    }

    /// Seconds since the cache was created.
    fn now(&self) -> u64 {
        self.created_at.elapsed().as_secs()
    }
}

/// Drops half of the entries at a time, so that the sort by last use is rare.
fn drop_older_half(entries: &mut HashMap<Holder, Arc<Entry>>) {
    let mut used: Vec<(u64, Holder)> =
        entries.iter().map(|(holder, entry)| (entry.used.load(Ordering::Relaxed), holder.clone())).collect();
    used.sort_unstable_by_key(|(used, _)| *used);
    for (_, holder) in used.into_iter().take(CAPACITY / 2) {
        entries.remove(&holder);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;
    use crate::integrations::tests::integration;
    use store::Sealed;

    fn holder(connector: &str) -> Holder {
        Holder { tenant: "t".to_owned(), subject: "s".to_owned(), connector: connector.to_owned() }
    }

    async fn read(cache: &Cache, module: &str, version: i64, reads: &Cell<u32>) -> Arc<CachedIntegrations> {
        let found = async {
            reads.set(reads.get() + 1);
            Ok::<_, Infallible>(vec![integration("int_1", version)])
        };
        cache.rows(&holder("c"), module, found).await.unwrap()
    }

    #[tokio::test]
    async fn rows_are_read_once_until_something_changed() {
        let (cache, reads) = (Cache::new(), Cell::new(0));
        let first = read(&cache, "m", 1, &reads).await;
        let second = read(&cache, "m", 1, &reads).await;
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(reads.get(), 1);
        cache.changed(&holder("c")).await;
        read(&cache, "m", 1, &reads).await;
        assert_eq!(reads.get(), 2);
    }

    #[tokio::test]
    async fn a_row_keeps_its_credential_while_its_version_and_its_module_stay_the_same() {
        let (cache, reads) = (Cache::new(), Cell::new(0));
        let first = read(&cache, "m", 1, &reads).await;
        cache.changed(&holder("c")).await;
        let same = read(&cache, "m", 1, &reads).await;
        assert!(Arc::ptr_eq(&first.rows[0], &same.rows[0]));
        cache.changed(&holder("c")).await;
        let newer = read(&cache, "m", 2, &reads).await;
        assert!(!Arc::ptr_eq(&first.rows[0], &newer.rows[0]));
        let swapped = read(&cache, "n", 2, &reads).await;
        assert!(!Arc::ptr_eq(&newer.rows[0], &swapped.rows[0]));
    }

    #[tokio::test]
    async fn a_row_that_is_sealed_again_keeps_its_credential_and_has_the_new_bytes() {
        let credential =
            UnsealedCredential { credential: Credential::bearer("a-token".into()).unwrap(), is_refreshable: true };
        let read_at = Instant::now();
        let before = CachedIntegrations::new("m", vec![integration("int_1", 1)], None, read_at);
        assert!(before.rows[0].credential.set(credential).is_ok());
        let mut resealed = integration("int_1", 1);
        resealed.details.secret = Some(Sealed { key_id: "new".to_owned(), bytes: vec![1] });
        let after = CachedIntegrations::new("m", vec![resealed.clone()], Some(&before), read_at);
        assert_eq!(after.rows[0].integration, resealed);
        assert!(after.rows[0].credential.get().is_some());
    }

    #[test]
    fn the_cache_is_bounded() {
        let cache = Cache::new();
        for number in 0..=CAPACITY {
            cache.entry(&holder(&number.to_string()));
        }
        assert_eq!(cache.entries.lock().len(), CAPACITY / 2 + 1);
    }
}
