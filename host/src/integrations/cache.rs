//! What was last read of each holder's integrations, with their credentials ready for requests.
//!
//! A hot path neither reads the database nor decrypts. What another process changes, a deletion above all, is noticed within
//! [`FRESH_FOR`], since rows are read again after that; what this process changes at once. A credential is made ready once for
//! each version of its row, and dropped, and with it the memory of its secret overwritten, when the row changes, goes away,
//! or was not used for [`IDLE`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use tokio::sync::OnceCell;

use egress::Credential;
use store::{Holder, Integration};

/// How long a row is taken for what the database holds.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// A holder that was quiet for so long is forgotten.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// Holders that are remembered. One that is not costs a read and a decryption at its next call.
const CAPACITY: usize = 10_000;

/// An integration, and its credential once it was needed.
pub(super) struct CachedIntegration {
    pub(super) integration: Integration,
    pub(super) opened: OnceCell<UnsealedCredential>,
}

/// A credential that was unsealed.
#[derive(Clone)]
pub(super) struct UnsealedCredential {
    pub(super) credential: Credential,
    /// Whether there is a refresh token.
    pub(super) is_refreshable: bool,
}

impl CachedIntegration {
    pub(super) fn new(integration: Integration) -> Arc<Self> {
        Self::opened(integration, None)
    }

    /// A row whose credential is at hand.
    pub(super) fn opened(integration: Integration, opened: Option<UnsealedCredential>) -> Arc<Self> {
        Arc::new(Self { integration, opened: OnceCell::new_with(opened) })
    }
}

/// A holder's integrations, oldest first.
pub(super) struct CachedIntegrations {
    /// SHA-256 of the connector's module: another version may put keys elsewhere.
    pub(super) module: String,
    pub(super) rows: Vec<Arc<CachedIntegration>>,
    read_at: Instant,
}

impl CachedIntegrations {
    /// CachedIntegrations that were read now. Those that have not changed keep the credential that is ready.
    fn new(module: &str, integrations: Vec<Integration>, former: Option<&Self>, read_at: Instant) -> Self {
        let former = former.filter(|former| former.module == module).map_or(&[][..], |former| &former.rows);
        let keep = |read: Integration| {
            let same = |row: &&Arc<CachedIntegration>| {
                row.integration.id == read.id && row.integration.version == read.version
            };
            match former.iter().find(same) {
                None => CachedIntegration::new(read),
                Some(row) if row.integration == read => Arc::clone(row),
                // Selected, or sealed under another key: the credential is the same.
                Some(row) => CachedIntegration::opened(read, row.opened.get().cloned()),
            }
        };
        Self { module: module.to_owned(), rows: integrations.into_iter().map(keep).collect(), read_at }
    }

    fn is_good(&self, module: &str) -> bool {
        self.module == module && self.read_at.elapsed() < FRESH_FOR
    }
}

/// The place of one holder.
struct Slot {
    rows: ArcSwapOption<CachedIntegrations>,
    /// Held by whoever reads the database: the others wait for what it finds.
    reading: tokio::sync::Mutex<()>,
    /// When it was last used, in seconds.
    used: AtomicU64,
}

impl Slot {
    fn new(now: u64) -> Arc<Self> {
        Arc::new(Self { rows: ArcSwapOption::empty(), reading: tokio::sync::Mutex::default(), used: now.into() })
    }
}

/// What is remembered, by holder.
pub(super) struct Cache {
    slots: Mutex<HashMap<Holder, Arc<Slot>>>,
    started: Instant,
}

impl Cache {
    pub(super) fn new() -> Self {
        Self { slots: Mutex::default(), started: Instant::now() }
    }

    /// A holder's integrations: as they are remembered, or else as `read` finds them.
    pub(super) async fn rows<E>(
        &self,
        holder: &Holder,
        module: &str,
        read: impl Future<Output = Result<Vec<Integration>, E>>,
    ) -> Result<Arc<CachedIntegrations>, E> {
        let slot = self.slot(holder);
        let good = || slot.rows.load_full().filter(|rows| rows.is_good(module));
        if let Some(rows) = good() {
            return Ok(rows);
        }
        let _turn = slot.reading.lock().await;
        if let Some(rows) = good() {
            return Ok(rows);
        }
        let read_at = Instant::now();
        let found = read.await?;
        let rows = Arc::new(CachedIntegrations::new(module, found, slot.rows.load().as_deref(), read_at));
        slot.rows.store(Some(Arc::clone(&rows)));
        Ok(rows)
    }

    /// Has the rows read again, after this process changed one. Credentials of unchanged rows stay ready.
    pub(super) async fn changed(&self, holder: &Holder) {
        let Some(slot) = self.slots().get(holder).cloned() else { return };
        // Whoever reads at this moment may have seen what was before.
        let _turn = slot.reading.lock().await;
        if let Some(rows) = slot.rows.load_full() {
            let outdated = CachedIntegrations {
                module: rows.module.clone(),
                rows: rows.rows.clone(),
                read_at: rows.read_at.checked_sub(FRESH_FOR).unwrap_or(rows.read_at),
            };
            slot.rows.store(Some(Arc::new(outdated)));
        }
    }

    /// Forgets holders that were quiet.
    pub(super) fn forget_idle(&self) {
        let now = self.now();
        self.slots().retain(|_, slot| now.saturating_sub(slot.used.load(Ordering::Relaxed)) < IDLE.as_secs());
    }

    fn slot(&self, holder: &Holder) -> Arc<Slot> {
        let now = self.now();
        let mut slots = self.slots();
        if let Some(slot) = slots.get(holder) {
            slot.used.store(now, Ordering::Relaxed);
            return Arc::clone(slot);
        }
        if slots.len() >= CAPACITY {
            drop_older_half(&mut slots);
        }
        let slot = Slot::new(now);
        slots.insert(holder.clone(), Arc::clone(&slot));
        slot
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<Holder, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seconds since this began.
    fn now(&self) -> u64 {
        self.started.elapsed().as_secs()
    }
}

/// Half at a time, so that the search for the oldest is paid for seldom.
fn drop_older_half(slots: &mut HashMap<Holder, Arc<Slot>>) {
    let mut used: Vec<(u64, Holder)> =
        slots.iter().map(|(holder, slot)| (slot.used.load(Ordering::Relaxed), holder.clone())).collect();
    used.sort_unstable_by_key(|(used, _)| *used);
    for (_, holder) in used.into_iter().take(CAPACITY / 2) {
        slots.remove(&holder);
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
    async fn a_row_keeps_its_credential_as_long_as_its_version_and_its_module_stay() {
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
    async fn a_row_that_is_sealed_anew_keeps_its_credential_and_takes_on_the_new_bytes() {
        let opened =
            UnsealedCredential { credential: Credential::bearer("a-token".into()).unwrap(), is_refreshable: true };
        let read_at = Instant::now();
        let before = CachedIntegrations::new("m", vec![integration("int_1", 1)], None, read_at);
        assert!(before.rows[0].opened.set(opened).is_ok());
        let mut resealed = integration("int_1", 1);
        resealed.details.secret = Some(Sealed { key_id: "new".to_owned(), bytes: vec![1] });
        let after = CachedIntegrations::new("m", vec![resealed.clone()], Some(&before), read_at);
        assert_eq!(after.rows[0].integration, resealed);
        assert!(after.rows[0].opened.get().is_some());
    }

    #[test]
    fn the_cache_is_bounded() {
        let cache = Cache::new();
        for number in 0..=CAPACITY {
            cache.slot(&holder(&number.to_string()));
        }
        assert_eq!(cache.slots().len(), CAPACITY / 2 + 1);
    }
}
