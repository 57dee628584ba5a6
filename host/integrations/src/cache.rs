//! A cache of the integrations that calls run on, with credentials that are ready for requests.
//!
//! Most calls need neither a database read nor a decryption. A choice is read again after
//! [`FRESH_FOR`], so that changes by another process, above all a deletion, take effect within that
//! time. Changes by this process take effect immediately. No call is refused because of a cached
//! choice: the choice is read again first, because another process may just have connected the
//! account.
//!
//! An entry is one choice of a holder: for calls that name an integration, or for calls that name
//! none. So a call costs the same however many integrations its holder has.
//!
//! A credential is unsealed once for each version of its row. It is dropped, and the memory of its
//! secret overwritten, when the row changes or is deleted, or when no call needed it for
//! [`IDLE`].

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use egress::Credential;
use store::{Choice, Holder, Integration};

/// Longest time that a choice is used without reading it again.
pub(super) const FRESH_FOR: Duration = Duration::from_secs(1);

/// An entry without calls for this long is forgotten.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// Largest number of entries. The next call of a forgotten entry costs a read and a decryption.
const CAPACITY: usize = 50_000;

/// Longest name of an integration whose choice is kept, in bytes. A caller may send names of any
/// length, and a choice that is not kept costs each call a read.
const MAX_NAME_BYTES: usize = 1024;

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

    /// An integration that was just read. If `previous` is the same version of the row, the
    /// credential is kept.
    fn reread(read: Integration, previous: Option<&Arc<Self>>) -> Arc<Self> {
        let same = previous.filter(|row| row.integration.id == read.id && row.integration.version == read.version);
        match same {
            None => Self::new(read),
            Some(row) if row.integration == read => Arc::clone(row),
            // The integration was selected, or sealed under another key. Its credential is the
            // same.
            Some(row) => Self::with_credential(read, row.credential.get().cloned()),
        }
    }
}

/// A choice as it was read.
pub(super) struct CachedChoice {
    /// SHA-256 of the connector's module. Another version may place API keys elsewhere, so its
    /// credentials differ.
    module: String,
    /// The integration, or the candidates if the choice is open.
    pub(super) chosen: Result<Arc<CachedIntegration>, Vec<String>>,
    /// The time at which the read began. `None` if this process has changed the integration since.
    read_at: Option<Instant>,
}

impl CachedChoice {
    fn new(module: &str, read: Choice, previous: Option<&Self>, read_at: Instant) -> Self {
        let previous =
            previous.filter(|previous| previous.module == module).and_then(|previous| previous.chosen.as_ref().ok());
        let chosen = match read {
            Choice::One(integration) => Ok(CachedIntegration::reread(*integration, previous)),
            Choice::Open { candidates } => Err(candidates),
        };
        Self { module: module.to_owned(), chosen, read_at: Some(read_at) }
    }

    /// Returns `true` if the choice was read at this time or later, and is not outdated.
    pub(super) fn was_read_since(&self, since: Instant) -> bool {
        self.read_at.is_some_and(|read_at| read_at >= since)
    }
}

/// The key of an entry.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CacheKey {
    holder: Holder,
    /// The integration that calls name, or `None` for calls without a name.
    named: Option<String>,
}

struct Entry {
    choice: ArcSwapOption<CachedChoice>,
    /// Held during a database read, so that concurrent calls share one read.
    reading: tokio::sync::Mutex<()>,
    /// Last use, in seconds since the cache was created.
    used: AtomicU64,
}

impl Entry {
    fn new(now: u64) -> Arc<Self> {
        Arc::new(Self { choice: ArcSwapOption::empty(), reading: tokio::sync::Mutex::default(), used: now.into() })
    }

    /// Makes the next call read the choice again.
    async fn outdate(&self) {
        // Waits for a read in progress, which may have seen the rows before the change.
        let _turn = self.reading.lock().await;
        if let Some(choice) = self.choice.load_full() {
            let outdated = CachedChoice { module: choice.module.clone(), chosen: choice.chosen.clone(), read_at: None };
            self.choice.store(Some(Arc::new(outdated)));
        }
    }
}

/// The choices of recent calls.
pub(super) struct Cache {
    entries: Mutex<HashMap<CacheKey, Arc<Entry>>>,
    created_at: Instant,
}

impl Cache {
    pub(super) fn new() -> Self {
        Self { entries: Mutex::default(), created_at: Instant::now() }
    }

    /// The choice of a holder's calls that name this integration, or none: from the cache if its
    /// read began at `since` or later, else from `read`.
    pub(super) async fn choice<E>(
        &self,
        holder: &Holder,
        named: Option<&str>,
        module: &str,
        since: Instant,
        read: impl Future<Output = Result<Choice, E>>,
    ) -> Result<Arc<CachedChoice>, E> {
        let entry = self.entry(holder, named);
        let current =
            || entry.choice.load_full().filter(|choice| choice.module == module && choice.was_read_since(since));
        if let Some(choice) = current() {
            return Ok(choice);
        }
        let _turn = entry.reading.lock().await;
        if let Some(choice) = current() {
            return Ok(choice);
        }
        let read_at = Instant::now();
        let found = read.await?;
        let choice = Arc::new(CachedChoice::new(module, found, entry.choice.load().as_deref(), read_at));
        entry.choice.store(Some(Arc::clone(&choice)));
        Ok(choice)
    }

    /// Makes the next calls read their choice again, after this process changed the integration:
    /// calls that name it, and calls that name none.
    pub(super) async fn changed(&self, holder: &Holder, user_identifier: &str) {
        for named in [Some(user_identifier.to_owned()), None] {
            let asked = CacheKey { holder: holder.clone(), named };
            let entry = self.entries.lock().get(&asked).cloned();
            if let Some(entry) = entry {
                entry.outdate().await;
            }
        }
    }

    /// Removes idle entries.
    pub(super) fn forget_idle(&self) {
        let now = self.now();
        self.entries.lock().retain(|_, entry| now.saturating_sub(entry.used.load(Ordering::Relaxed)) < IDLE.as_secs());
    }

    fn entry(&self, holder: &Holder, named: Option<&str>) -> Arc<Entry> {
        let now = self.now();
        if named.is_some_and(|named| named.len() > MAX_NAME_BYTES) {
            return Entry::new(now);
        }
        let asked = CacheKey { holder: holder.clone(), named: named.map(str::to_owned) };
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get(&asked) {
            // Reads before it writes: a write at every call would invalidate the cache line of the
            // other cores.
            if entry.used.load(Ordering::Relaxed) != now {
                entry.used.store(now, Ordering::Relaxed);
            }
            return Arc::clone(entry);
        }
        if entries.len() >= CAPACITY {
            drop_older_half(&mut entries);
        }
        let entry = Entry::new(now);
        entries.insert(asked, Arc::clone(&entry));
        entry
    }

    /// Seconds since the cache was created.
    fn now(&self) -> u64 {
        self.created_at.elapsed().as_secs()
    }
}

/// Drops half of the entries at a time, so that the search for the older ones is rare.
fn drop_older_half(entries: &mut HashMap<CacheKey, Arc<Entry>>) {
    let mut left_to_drop = entries.len() / 2;
    let mut used: Vec<u64> = entries.values().map(|entry| entry.used.load(Ordering::Relaxed)).collect();
    let (_, &mut newest_to_drop, _) = used.select_nth_unstable(left_to_drop);
    entries.retain(|_, entry| {
        let is_kept = left_to_drop == 0 || entry.used.load(Ordering::Relaxed) > newest_to_drop;
        left_to_drop -= usize::from(!is_kept);
        is_kept
    });
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;
    use crate::tests::integration;
    use store::Sealed;

    fn holder(connector: &str) -> Holder {
        Holder { tenant: "t".to_owned(), subject: "s".to_owned(), connector: connector.to_owned() }
    }

    /// Reads the choice of calls that name no integration.
    async fn read(cache: &Cache, module: &str, version: i64, reads: &Cell<u32>) -> Arc<CachedChoice> {
        read_since(cache, module, version, reads, cache.created_at).await
    }

    async fn read_since(
        cache: &Cache,
        module: &str,
        version: i64,
        reads: &Cell<u32>,
        since: Instant,
    ) -> Arc<CachedChoice> {
        let found = async {
            reads.set(reads.get() + 1);
            Ok::<_, Infallible>(Choice::One(Box::new(integration("int_1", version))))
        };
        cache.choice(&holder("c"), None, module, since, found).await.unwrap()
    }

    fn row(choice: &CachedChoice) -> Arc<CachedIntegration> {
        choice.chosen.clone().unwrap()
    }

    #[tokio::test]
    async fn a_choice_is_read_once_until_something_changed_or_it_is_too_old() {
        let (cache, reads) = (Cache::new(), Cell::new(0));
        let first = read(&cache, "m", 1, &reads).await;
        let second = read(&cache, "m", 1, &reads).await;
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(reads.get(), 1);
        cache.changed(&holder("c"), "u").await;
        read(&cache, "m", 1, &reads).await;
        assert_eq!(reads.get(), 2);
        read_since(&cache, "m", 1, &reads, Instant::now()).await;
        assert_eq!(reads.get(), 3);
    }

    #[tokio::test]
    async fn a_change_concerns_calls_that_name_the_integration_and_calls_that_name_none() {
        let (cache, reads) = (Cache::new(), Cell::new(0));
        let ask = async |named: Option<&str>| {
            let found = async {
                reads.set(reads.get() + 1);
                Ok::<_, Infallible>(Choice::Open { candidates: Vec::new() })
            };
            cache.choice(&holder("c"), named, "m", cache.created_at, found).await.unwrap();
            reads.get()
        };
        for (named, count) in [(Some("u"), 1), (Some("v"), 2), (None, 3), (Some("u"), 3)] {
            assert_eq!(ask(named).await, count);
        }
        cache.changed(&holder("c"), "u").await;
        for (named, count) in [(Some("v"), 3), (Some("u"), 4), (None, 5)] {
            assert_eq!(ask(named).await, count);
        }
    }

    #[tokio::test]
    async fn a_row_keeps_its_credential_while_its_version_and_its_module_stay_the_same() {
        let (cache, reads) = (Cache::new(), Cell::new(0));
        let first = read(&cache, "m", 1, &reads).await;
        let same = read_since(&cache, "m", 1, &reads, Instant::now()).await;
        assert!(Arc::ptr_eq(&row(&first), &row(&same)));
        let newer = read_since(&cache, "m", 2, &reads, Instant::now()).await;
        assert!(!Arc::ptr_eq(&row(&first), &row(&newer)));
        let swapped = read(&cache, "n", 2, &reads).await;
        assert!(!Arc::ptr_eq(&row(&newer), &row(&swapped)));
    }

    #[test]
    fn a_row_that_is_sealed_again_keeps_its_credential_and_has_the_new_bytes() {
        let credential =
            UnsealedCredential { credential: Credential::bearer("a-token".into()).unwrap(), is_refreshable: true };
        let before = CachedIntegration::with_credential(integration("int_1", 1), Some(credential));
        let mut resealed = integration("int_1", 1);
        resealed.details.secret = Some(Sealed { key_id: "new".to_owned(), bytes: vec![1] });
        let after = CachedIntegration::reread(resealed.clone(), Some(&before));
        assert_eq!(after.integration, resealed);
        assert!(after.credential.get().is_some());
    }

    #[test]
    fn a_choice_with_a_name_that_fills_memory_is_not_kept() {
        let cache = Cache::new();
        let long = "u".repeat(MAX_NAME_BYTES);
        cache.entry(&holder("c"), Some(&long));
        assert_eq!(cache.entries.lock().len(), 1);
        cache.entry(&holder("c"), Some(&format!("{long}u")));
        assert_eq!(cache.entries.lock().len(), 1);
    }

    #[test]
    fn the_cache_is_bounded() {
        let cache = Cache::new();
        for number in 0..=CAPACITY {
            cache.entry(&holder("c"), Some(&number.to_string()));
        }
        assert_eq!(cache.entries.lock().len(), CAPACITY / 2 + 1);
    }
}
