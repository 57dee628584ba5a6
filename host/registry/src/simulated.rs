//! The parts of modules that `simulation` replaces and uses: a gateway that follows the modules of
//! the service as the registry does, but compiles nothing; and a connector without a file.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::connector::Described;
use super::follow::{self, Follower};
use super::origin::Origin;
use super::service::Service;
use super::{ChangeError, Connector, Live, Refusal, Registry};
use sandbox::Loaded;
use store::digest::sha256_hex;
use store::{GrantStep, LiveModule, ModuleChange, ModuleCondition, ModuleOutcome, NewChange, NewModule, Store};

/// The replacement of the sandbox and the table of live connectors.
pub trait Machine: Send + Sync + 'static {
    /// Waits as long as a compilation takes. Returns `false` if it has a temporary failure.
    fn compile(&self) -> impl Future<Output = bool> + Send;

    /// Sees each swap. No digest means that the connector was removed.
    fn swapped(&self, connector: &str, generation: i64, digest: Option<&str>);
}

/// A generation, and the digest of its module. No digest means that the connector was removed.
pub type Serving = (i64, Option<String>);

/// See the documentation of the module.
pub struct SimulatedRegistry<M> {
    service: Service,
    /// As the lock of the registry's commits.
    commits: tokio::sync::Mutex<()>,
    live: Mutex<HashMap<String, Serving>>,
    machine: M,
}

impl<M: Machine> SimulatedRegistry<M> {
    /// A gateway that serves nothing yet.
    pub fn new(store: Store, machine: M) -> Arc<Self> {
        let service = Service::new(store, None);
        Arc::new(Self { service, commits: Default::default(), live: Mutex::default(), machine })
    }

    /// Follows the modules of the service, until the future is dropped.
    pub async fn follow_modules(self: &Arc<Self>) {
        follow::follow(self).await;
    }

    /// The version of a connector that the gateway serves.
    pub fn serving(&self, connector: &str) -> Option<Serving> {
        self.live.lock().get(connector).cloned()
    }

    /// The generation that the gateway serves of a connector. 0 if it serves none.
    pub fn generation(&self, connector: &str) -> i64 {
        self.service.generation(connector)
    }

    /// An operator changes the module of a connector at this gateway. Returns the generation that
    /// the change was compared with as well.
    pub async fn change(
        &self,
        connector: &str,
        digest: Option<&str>,
        replaces: Option<i64>,
    ) -> Result<(i64, ModuleOutcome), ChangeError> {
        loop {
            let condition = match self.service.condition(connector, replaces).await {
                Err(ChangeError::ChangedMeanwhile { generation, .. }) => {
                    return Ok((replaces.unwrap_or_default(), ModuleOutcome::Unchanged(generation)));
                }
                condition => condition?,
            };
            let ModuleCondition::Generation(compared) = condition else { continue };
            self.machine.compile().await;
            let _commit = self.commits.lock().await;
            let outcome = self.service.change(change_of(connector, digest, condition)).await?;
            match outcome {
                ModuleOutcome::Changed(generation) => self.swap(connector, generation, digest),
                // As a change of the registry that another one preceded.
                ModuleOutcome::Unchanged(_) if replaces.is_none() => continue,
                ModuleOutcome::Unchanged(_) => {}
            }
            return Ok((compared, outcome));
        }
    }

    fn swap(&self, connector: &str, generation: i64, digest: Option<&str>) {
        self.machine.swapped(connector, generation, digest);
        self.live.lock().insert(connector.to_owned(), (generation, digest.map(str::to_owned)));
        self.service.note_served(connector, generation);
    }

    /// `Err` has the reason of a refusal that passes.
    async fn fetch(&self, digest: &str) -> Result<(), String> {
        let stored = self.service.store().modules().bytes(digest).await.map_err(|error| error.to_string())?;
        if stored.as_deref() != Some(digest.as_bytes()) {
            return Err(format!("the database does not have the module {digest}"));
        }
        if self.machine.compile().await { Ok(()) } else { Err("it could not be compiled now".to_owned()) }
    }
}

fn change_of(connector: &str, digest: Option<&str>, condition: ModuleCondition) -> ModuleChange {
    let module = digest.map(|digest| NewModule {
        digest: digest.to_owned(),
        version: "1.0.0".to_owned(),
        bytes: digest.as_bytes().into(),
        signature: None,
        replaces_shipped: false,
    });
    let entry = NewChange {
        connector: connector.to_owned(),
        action: "replaced",
        actor_kind: "command",
        actor: "operator".to_owned(),
        version: "1.0.0".to_owned(),
        digest: digest.unwrap_or_default().to_owned(),
        installed: digest.is_some(),
        detail: String::new(),
    };
    let (is_noticed, grants) = (false, GrantStep::Unchanged);
    ModuleChange { connector: connector.to_owned(), module, condition, entry, is_noticed, grants }
}

impl<M: Machine> Follower for SimulatedRegistry<M> {
    fn service(&self) -> &Service {
        &self.service
    }

    fn has_started(&self) -> bool {
        true
    }

    async fn follow(self: Arc<Self>, live: LiveModule) {
        let LiveModule { connector, generation, digest, .. } = &live;
        let fetched = match digest {
            Some(digest) => self.fetch(digest).await,
            None => Ok(()),
        };
        let _commit = self.commits.lock().await;
        match fetched {
            Ok(()) if *generation > self.service.generation(connector) => {
                self.swap(connector, *generation, digest.as_deref());
            }
            Ok(()) => {}
            Err(reason) => self.service.note_refused(connector, *generation, reason, true),
        }
    }
}

impl Registry {
    /// Makes a connector live that has no file. Its module is compiled in this process, and its
    /// schemas are not tried.
    ///
    /// # Errors
    /// The reason why the module is refused.
    pub async fn add_simulated(&self, module: &[u8]) -> Result<(), Refusal> {
        let digest = sha256_hex(module);
        let loaded = self.sandbox.load_here(module)?;
        let (manifest, additions) = self.describe(&loaded, &digest, None).await?;
        let identifier = manifest.identifier.clone();
        let Loaded { module, compiled, .. } = loaded;
        let described = Described {
            manifest,
            additions,
            module,
            compiled,
            digest,
            origin: Origin::Shipped,
            signed: None,
            has_answer_schemas: false,
            granted: Vec::new(),
            config: &self.config,
            metrics: &self.metrics,
            previous: None,
            exchange: None,
        };
        let connector = Arc::new(Connector::build(described)?);
        self.live.rcu(|live| {
            let mut live = Live::clone(live);
            live.insert(identifier.clone(), Arc::clone(&connector));
            live
        });
        Ok(())
    }
}
