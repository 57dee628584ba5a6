//! Follows the modules of the service: fetches, checks and swaps in what another gateway or a
//! command has changed.
//!
//! The gateway reads a number in the database once a second. The number grows with each change.
//! Correctness does not depend on when the gateway reads it: a gateway swaps only to a higher
//! generation than the one that it serves. The simulation runs the same code with a [`Follower`]
//! that does not compile.
//!
//! Each connector is followed in a separate task: a module that compiles for a minute delays no
//! change of another connector.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep};

use super::commit::{Candidate, Change, Committed, Expected, FoldersStep};
use super::files::FileState;
use super::load::{GrantSource, ModuleSource};
use super::origin::Origin;
use super::service::{Service, ServiceStep};
use super::{ChangeError, Refusal, Registry, folders};
use store::digest::sha256_hex;
use store::{LiveModule, StoreError};

/// Time between two reads of the number.
const POLL: Duration = Duration::from_secs(1);

/// A gateway that follows the modules of the service.
pub(super) trait Follower: Send + Sync + 'static {
    /// The service, as this gateway knows it.
    fn service(&self) -> &Service;

    /// Returns `false` until the modules that this gateway had at its start are loaded.
    fn has_started(&self) -> bool;

    /// Makes the present generation of a connector live, or refuses it.
    fn follow(self: Arc<Self>, live: LiveModule) -> impl Future<Output = ()> + Send;
}

/// Follows the modules of the service, until the future is dropped.
pub async fn follow_modules(registry: Arc<Registry>) {
    if registry.service.is_shared() {
        follow(&registry).await;
    }
}

/// As [`follow_modules`], for any follower.
pub(super) async fn follow(follower: &Arc<impl Follower>) {
    let mut followed = None;
    let mut retried = Instant::now();
    let mut ongoing = Ongoing::default();
    loop {
        sleep(POLL).await;
        if !follower.has_started() {
            continue;
        }
        let service = follower.service();
        if retried.elapsed() >= folders::POLL {
            retried = Instant::now();
            if service.retry_refused(false) {
                followed = None;
            }
        }
        let follow = async {
            let revision = service.store().modules().revision().await?;
            if followed != Some(revision) {
                service.read().await?;
                // Without the database, this is the state from before the start.
                followed = service.has_been_read().then_some(revision);
            }
            Ok::<_, StoreError>(())
        };
        match follow.await {
            Ok(()) => ongoing.begin(follower),
            // `/readyz` reports that the database does not answer.
            Err(error) => {
                tracing::debug!(%error, "the modules of the service cannot be read; they are read again");
            }
        }
    }
}

/// The connectors that are being followed. Their tasks end with it.
#[derive(Default)]
struct Ongoing {
    tasks: JoinSet<()>,
    by_connector: HashMap<String, AbortHandle>,
}

impl Ongoing {
    /// Begins to follow each connector that was read in a generation which this gateway neither
    /// serves nor refuses. A connector that is being followed waits for its turn.
    fn begin(&mut self, follower: &Arc<impl Follower>) {
        while self.tasks.try_join_next().is_some() {}
        self.by_connector.retain(|_, task| !task.is_finished());
        let service = follower.service();
        let live = service.last_read();
        for live in live.iter().filter(|live| service.is_open(&live.connector, live.generation)) {
            if let Entry::Vacant(place) = self.by_connector.entry(live.connector.clone()) {
                place.insert(self.tasks.spawn(Arc::clone(follower).follow(live.clone())));
            }
        }
    }
}

/// Swaps in all modules of the service that this gateway does not serve yet. Returns when each of
/// them is live or refused here.
pub(super) async fn follow_once(follower: &Arc<impl Follower>) -> Result<(), StoreError> {
    let service = follower.service();
    let live = service.read().await?;
    let mut following = JoinSet::new();
    for live in live.iter().filter(|live| service.is_open(&live.connector, live.generation)) {
        following.spawn(Arc::clone(follower).follow(live.clone()));
    }
    while following.join_next().await.is_some() {}
    Ok(())
}

impl Follower for Registry {
    fn service(&self) -> &Service {
        &self.service
    }

    fn has_started(&self) -> bool {
        self.has_started.load(Ordering::Relaxed)
    }

    async fn follow(self: Arc<Self>, live: LiveModule) {
        let _loading = self.loading.add(&self.folders.foreign(&live.connector));
        // The semaphore is never closed, so this does not fail.
        let _permit = Arc::clone(&self.following).acquire_owned().await;
        self.follow_connector(&live).await;
    }
}

impl Registry {
    async fn follow_connector(&self, live: &LiveModule) {
        let LiveModule { connector, generation, .. } = live;
        while self.service.is_open(connector, *generation) {
            let expected = Expected::now(self);
            let committed = match &live.digest {
                None => self.follow_removal(&expected, live).await,
                Some(digest) => self.follow_module(&expected, live, digest).await,
            };
            let refusal = match committed {
                Ok(Committed::Done(())) => return,
                Ok(Committed::Retry) => continue,
                Err(refusal) => refusal,
            };
            let path = self.folders.foreign(connector);
            let digest = live.digest.as_deref().unwrap_or_default();
            let reason = refusal.to_string();
            let is_temporary = refusal.is_temporary();
            if self.reject_file(&expected, &path, digest, refusal).await == Committed::Done(()) {
                self.service.note_refused(connector, *generation, reason, is_temporary);
                return;
            }
        }
    }

    /// Makes the module of a generation live.
    async fn follow_module(
        &self,
        expected: &Expected,
        live: &LiveModule,
        digest: &str,
    ) -> Result<Committed<()>, Refusal> {
        let LiveModule { connector, generation, signature, replaces_shipped, .. } = live;
        if !replaces_shipped {
            self.folders.check_identifier(Origin::Foreign, connector, digest)?;
        }
        let module = self.fetch(connector, digest).await?;
        let source = ModuleSource::Foreign(signature.as_deref());
        let candidate = self.load(&module, Some(connector), GrantSource::Stored, source).await?;
        let outcome = if expected.live(connector).is_some() { "swapped" } else { "added" };
        let change =
            Change { folders: FoldersStep::Write, service: ServiceStep::Follow(*generation), ..Change::default() };
        let candidate = Candidate { connector: candidate, module: &module, outcome };
        let committed = self.commit(expected, candidate, change).await.map_err(refusal_of)?;
        Ok(committed.map(drop))
    }

    /// Removes the foreign module of a connector that the service no longer has. The shipped
    /// connector of this identifier is live again.
    async fn follow_removal(&self, expected: &Expected, live: &LiveModule) -> Result<Committed<()>, Refusal> {
        let LiveModule { connector, generation, .. } = live;
        let is_foreign = expected.live(connector).is_some_and(|live| !live.is_shipped());
        let Some(path) = self.folders.shipped(connector).filter(|_| is_foreign) else {
            return self.commit_followed_removal(expected, connector, *generation).await.map_err(refusal_of);
        };
        let unreadable = |error: std::io::Error| Refusal::Temporary(error.to_string());
        let state = FileState::read(&path, Origin::Shipped).map_err(unreadable)?;
        let module = self.read_module(&path).map_err(unreadable)?;
        let shipped = self.load(&module, Some(connector), GrantSource::Exactly(&[]), ModuleSource::Shipped).await?;
        let change = Change {
            folders: FoldersStep::Restore(path, state),
            service: ServiceStep::Follow(*generation),
            ..Change::default()
        };
        let candidate = Candidate { connector: shipped, module: &module, outcome: "restored" };
        Ok(self.commit(expected, candidate, change).await.map_err(refusal_of)?.map(drop))
    }

    /// The module with this digest: from the versions on this disk, from `modules_dir`, or from the
    /// store.
    pub(super) async fn fetch(&self, identifier: &str, digest: &str) -> Result<Vec<u8>, Refusal> {
        let on_disk = [self.versions.file(identifier, Origin::Foreign, digest), self.folders.foreign(identifier)];
        for path in on_disk {
            if let Ok(module) = self.read_module(&path)
                && sha256_hex(&module) == digest
            {
                return Ok(module);
            }
        }
        let stored = self.service.store().modules().bytes(digest).await.map_err(Refusal::Store)?;
        let module = stored.ok_or_else(|| {
            Refusal::Temporary(format!("the database does not have the module {digest} of the service"))
        })?;
        let found = sha256_hex(&module);
        if found != digest {
            return Err(Refusal::Temporary(format!(
                "the database has other bytes for the module {digest} of the service, with the digest {found}; send \
                 the module again with `connector-gateway connectors add FILE`"
            )));
        }
        let (mb, max_mb) = ((module.len() as u64).div_ceil(1 << 20), self.config.compile.max_module_mb);
        if mb > max_mb {
            return Err(Refusal::Module(format!(
                "it has {mb} MB, over the limit of {max_mb} MB (`compile.max_module_mb`)"
            )));
        }
        Ok(module)
    }

    /// Copies the versions of a connector that the service has to the versions on this disk, so
    /// that a rollback finds them.
    pub(super) async fn mirror_versions(&self, identifier: &str) -> Result<(), ChangeError> {
        if !self.service.is_shared() || contract_rules::name::identifier(identifier).is_err() {
            return Ok(());
        }
        let stored = self.service.store().modules().stored(identifier).await?;
        for version in stored.iter().take(self.versions.capacity()).rev() {
            if self.versions.has(identifier, version)? {
                continue;
            }
            let Some(module) = self.service.store().modules().bytes(&version.digest).await? else { continue };
            if sha256_hex(&module) == version.digest {
                self.versions.mirror(identifier, version, &module)?;
            }
        }
        Ok(())
    }
}

fn refusal_of(error: ChangeError) -> Refusal {
    match error {
        ChangeError::Store(error) => Refusal::Store(error),
        error => Refusal::Temporary(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;
    use tokio::time::timeout;

    use super::*;
    use store::{GrantStep, ModuleChange, ModuleCondition, NewChange, Store};

    /// A follower for which the modules of the connector `slow` compile forever.
    struct Machine {
        service: Service,
        /// The connectors whose modules have begun to compile.
        begun: watch::Sender<Vec<String>>,
    }

    impl Follower for Machine {
        fn service(&self) -> &Service {
            &self.service
        }

        fn has_started(&self) -> bool {
            true
        }

        async fn follow(self: Arc<Self>, live: LiveModule) {
            self.begun.send_modify(|begun| begun.push(live.connector.clone()));
            if live.connector == "slow" {
                std::future::pending::<()>().await;
            }
            self.service.note_served(&live.connector, live.generation);
        }
    }

    /// Changes a connector, as another gateway does.
    async fn change(store: &Store, connector: &str) {
        let connector = connector.to_owned();
        let entry = NewChange {
            connector: connector.clone(),
            action: "replaced",
            actor_kind: "command",
            actor: "operator".to_owned(),
            version: "1.0.0".to_owned(),
            digest: String::new(),
            installed: false,
            detail: String::new(),
        };
        let (condition, grants) = (ModuleCondition::Always, GrantStep::Unchanged);
        let change = ModuleChange { connector, module: None, condition, entry, is_noticed: false, grants };
        store.modules().change(change).await.unwrap();
    }

    #[tokio::test]
    async fn a_module_that_compiles_for_long_delays_no_other_connector() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let service = Service::new(store.clone(), None);
        let machine = Arc::new(Machine { service, begun: watch::Sender::default() });
        let mut begun = machine.begun.subscribe();
        let follower = Arc::clone(&machine);
        let following = tokio::spawn(async move { follow(&follower).await });
        let mut changed = async |connector: &'static str| {
            change(&store, connector).await;
            let has_begun = begun.wait_for(|begun: &Vec<String>| begun.iter().any(|name| name == connector));
            timeout(Duration::from_secs(60), has_begun).await.unwrap().map(drop).unwrap();
        };
        changed("slow").await;
        changed("quick").await;
        changed("slow").await;
        changed("last").await;
        let of_slow = machine.begun.borrow().iter().filter(|name| *name == "slow").count();
        assert_eq!(of_slow, 1, "the next module of a connector waits for the previous one");
        following.abort();
    }
}
