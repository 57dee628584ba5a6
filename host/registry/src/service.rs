//! The registry as a part of the service: all gateways on one database serve the same modules.
//!
//! The store has the module of each connector with a generation that only grows. The folders of
//! this gateway are a second keeper of the same record. A change is committed to the store first,
//! in one transaction with the history and the grants. Then each gateway follows
//! ([`follow`](super::follow)). With SQLite, the folders decide, and the store counts generations.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::last_served::LastServed;
use super::origin::Origin;
use super::{ChangeError, Refusal, Registry};
use store::{LiveModule, ModuleChange, ModuleCondition, ModuleOutcome, Store, StoreError};

/// The part of a change that the store keeps for the service.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum ServiceStep {
    /// The modules of the service stay.
    #[default]
    Unchanged,
    /// The candidate becomes the module of the service.
    Publish {
        /// When the change is made.
        condition: ModuleCondition,
        /// `true` if the module may replace a shipped connector.
        replaces_shipped: bool,
    },
    /// The service has no foreign module for the connector any more.
    Withdraw(ModuleCondition),
    /// The service already has this generation.
    Follow(i64),
}

/// The state of the service, as this gateway knows it.
pub(super) struct Service {
    store: Store,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The present state of the connectors in the store, as it was read last.
    live: Arc<Vec<LiveModule>>,
    /// The versions that the gateway served before it started. `None` once the store was read.
    last_served: Option<LastServed>,
    /// The generation that this gateway serves of each connector. A removal has one too.
    served: HashMap<String, Served>,
    /// The generations that this gateway refused.
    refused: HashMap<String, RefusedGeneration>,
}

#[derive(Clone, Copy)]
struct Served {
    generation: i64,
    since: Instant,
}

/// A generation that this gateway refused.
#[derive(Clone)]
struct RefusedGeneration {
    generation: i64,
    reason: String,
    since: Instant,
    /// `true` if the gateway tries it again.
    is_temporary: bool,
}

/// The outcome of the present generation of a connector at a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It serves it.
    Live,
    /// It is about to.
    Compiling,
    /// It refused it, with the reason. The previous version keeps serving.
    Refused(String),
}

impl Service {
    /// `last_served` takes the place of the store until the store was read for the first time.
    pub(super) fn new(store: Store, last_served: Option<LastServed>) -> Self {
        Self { store, known: Mutex::new(Known { last_served, ..Known::default() }) }
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns `true` if other gateways may serve the same modules.
    pub(super) fn is_shared(&self) -> bool {
        self.store.database().is_shared()
    }

    /// The condition of a change that an operator makes: the connector is still in the present
    /// generation. Whatever the change is made of is read after this.
    ///
    /// # Errors
    /// `ChangedMeanwhile` if the operator named another generation, or if the store fails.
    pub(super) async fn condition(
        &self,
        identifier: &str,
        replaces: Option<i64>,
    ) -> Result<ModuleCondition, ChangeError> {
        let generation = self.present_generation(identifier).await?;
        if replaces.is_some_and(|named| named != generation) {
            return Err(ChangeError::ChangedMeanwhile { connector: identifier.to_owned(), generation });
        }
        Ok(ModuleCondition::Generation(generation))
    }

    /// The present generation of a connector in the store. 0 if it never changed.
    pub(super) async fn present_generation(&self, identifier: &str) -> Result<i64, StoreError> {
        Ok(self.store.modules().live_of(identifier).await?.map_or(0, |live| live.generation))
    }

    /// Makes a change in the store.
    pub(super) async fn change(&self, change: ModuleChange) -> Result<ModuleOutcome, StoreError> {
        self.store.modules().change(change).await
    }

    /// Reads the present state of all connectors from the store. If the gateway started without
    /// its database and has not reached it since, this is the state that it served before.
    pub(super) async fn read(&self) -> Result<Arc<Vec<LiveModule>>, StoreError> {
        let read = self.store.modules().live().await;
        let mut known = self.known.lock();
        let live = match (read, &known.last_served) {
            (Ok(live), _) => {
                known.last_served = None;
                live
            }
            (Err(_), Some(last)) => last.modules(),
            (Err(error), None) => return Err(error),
        };
        known.live = Arc::new(live);
        Ok(Arc::clone(&known.live))
    }

    /// Returns whether the store was read since the start.
    pub(super) fn has_been_read(&self) -> bool {
        self.known.lock().last_served.is_none()
    }

    /// Returns whether a module was the live one before the start, and the store was not read since.
    fn was_serving(&self, identifier: &str, digest: &str) -> bool {
        self.known.lock().last_served.as_ref().is_some_and(|last| last.digest(identifier) == Some(digest))
    }

    /// The present state of all connectors, as it was read last.
    pub(super) fn last_read(&self) -> Arc<Vec<LiveModule>> {
        Arc::clone(&self.known.lock().live)
    }

    /// The generation that this gateway serves of a connector. 0 if it never changed.
    pub(super) fn generation(&self, identifier: &str) -> i64 {
        self.known.lock().served.get(identifier).map_or(0, |served| served.generation)
    }

    /// Notes that this gateway serves a generation.
    pub(super) fn note_served(&self, identifier: &str, generation: i64) {
        let mut known = self.known.lock();
        known.refused.remove(identifier);
        let served = Served { generation, since: Instant::now() };
        let entry = known.served.entry(identifier.to_owned()).or_insert(served);
        if entry.generation < generation {
            *entry = served;
        }
    }

    /// Notes that this gateway refused a generation.
    pub(super) fn note_refused(&self, identifier: &str, generation: i64, reason: String, is_temporary: bool) {
        let refused = RefusedGeneration { generation, reason, since: Instant::now(), is_temporary };
        self.known.lock().refused.insert(identifier.to_owned(), refused);
    }

    /// Returns `true` if this gateway has not yet served or refused a generation.
    pub(super) fn is_open(&self, identifier: &str, generation: i64) -> bool {
        let known = self.known.lock();
        let refused = known.refused.get(identifier).is_some_and(|refused| refused.generation >= generation);
        !refused && known.served.get(identifier).is_none_or(|served| served.generation < generation)
    }

    /// Forgets refusals, so that the generations are tried again. `all` forgets also those whose
    /// reason was in the module. Returns `true` if there was one.
    pub(super) fn retry_refused(&self, all: bool) -> bool {
        let mut known = self.known.lock();
        let before = known.refused.len();
        known.refused.retain(|_, refused| !all && !refused.is_temporary);
        known.refused.len() < before
    }

    /// The outcome of the present generation of a connector at this gateway, and since when.
    pub(super) fn standing(&self, live: &LiveModule) -> (Standing, Option<Instant>) {
        let known = self.known.lock();
        let served = known.served.get(&live.connector);
        if let Some(served) = served.filter(|served| served.generation >= live.generation) {
            return (Standing::Live, Some(served.since));
        }
        match known.refused.get(&live.connector).filter(|refused| refused.generation >= live.generation) {
            Some(refused) => (Standing::Refused(refused.reason.clone()), Some(refused.since)),
            None => (Standing::Compiling, None),
        }
    }

    /// Returns `true` if a foreign module of the service replaces the shipped connector.
    fn replaces_shipped(&self, identifier: &str) -> bool {
        let known = self.known.lock();
        known.live.iter().any(|live| live.connector == identifier && live.digest.is_some() && live.replaces_shipped)
    }
}

impl Registry {
    /// The generation that this gateway serves of a connector. It grows with each change of the
    /// connector. 0 if it never changed.
    pub fn generation(&self, identifier: &str) -> i64 {
        self.service.generation(identifier)
    }

    /// The step for a module that the gateway found in a folder. `None` if the file changes
    /// nothing, because the service has or had the module.
    pub(super) async fn step_of_file(
        &self,
        origin: Origin,
        identifier: &str,
        digest: &str,
    ) -> Result<Option<ServiceStep>, Refusal> {
        let condition = match origin {
            Origin::Shipped if self.service.is_shared() && self.service.replaces_shipped(identifier) => {
                return Ok(None);
            }
            Origin::Shipped => return Ok(Some(ServiceStep::Unchanged)),
            Origin::Foreign if !self.service.is_shared() => ModuleCondition::OtherModule,
            Origin::Foreign => ModuleCondition::NewModule,
        };
        let store = self.service.store();
        let has_had = match self.service.is_shared() {
            false => false,
            true => match store.modules().has_had(identifier, digest).await {
                Ok(has_had) => has_had,
                // The gateway serves it without the store.
                Err(_) if self.service.was_serving(identifier, digest) => return Ok(None),
                Err(error) => return Err(Refusal::Store(error)),
            },
        };
        if has_had {
            let live = store.modules().live_of(identifier).await.map_err(Refusal::Store)?.and_then(|live| live.digest);
            if live.as_deref() != Some(digest) {
                tracing::info!(
                    connector = identifier,
                    sha256 = digest,
                    "a file in modules_dir changes nothing, because the service already had this version; \
                     `connector-gateway connectors add FILE` brings it back"
                );
            }
            return Ok(None);
        }
        let replaces_shipped = self.folders.shipped(identifier).is_some();
        Ok(Some(ServiceStep::Publish { condition, replaces_shipped }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn service() -> (tempfile::TempDir, Service) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        (folder, Service::new(store, None))
    }

    fn live(generation: i64) -> LiveModule {
        LiveModule {
            connector: "one".to_owned(),
            generation,
            digest: Some("aa".to_owned()),
            version: None,
            signature: None,
            replaces_shipped: false,
            changed_at: std::time::SystemTime::UNIX_EPOCH,
            changed_by: String::new(),
        }
    }

    #[tokio::test]
    async fn a_generation_that_comes_late_does_not_take_the_place_of_a_newer_one() {
        let (_folder, service) = service().await;
        assert!(service.is_open("one", 1));
        service.note_served("one", 2);
        service.note_served("one", 1);
        assert_eq!(service.generation("one"), 2);
        assert!(!service.is_open("one", 1) && !service.is_open("one", 2) && service.is_open("one", 3));
    }

    #[tokio::test]
    async fn a_refused_generation_is_open_again_when_it_is_retried_or_a_newer_one_comes() {
        let (_folder, service) = service().await;
        service.note_served("one", 1);
        assert_eq!(service.standing(&live(2)).0, Standing::Compiling);
        service.note_refused("one", 2, "it is wrong".to_owned(), false);
        assert_eq!(service.standing(&live(2)).0, Standing::Refused("it is wrong".to_owned()));
        assert!(!service.is_open("one", 2) && service.is_open("one", 3));
        assert!(!service.retry_refused(false));
        assert!(service.retry_refused(true) && service.is_open("one", 2));
        service.note_refused("one", 2, "later".to_owned(), true);
        assert!(service.retry_refused(false) && service.is_open("one", 2));
        service.note_served("one", 2);
        assert_eq!(service.standing(&live(2)).0, Standing::Live);
    }
}
