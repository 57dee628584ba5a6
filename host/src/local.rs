//! Parts of a gateway for commands that do not serve: its registry, and calls of an operation by
//! the connector's author.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::SecretBox;
use serde_json::Value;
use tokio::time::Instant;

use crate::serve::{ServeError, open_egress, start_registry};
use calls::Recording;
use config::Config;
use egress::{Credential, Egress, Transport};
use integrations::Integrations;
use metrics::Metrics;
use pipeline::budgets::Budgets;
use pipeline::{self, Background, RunAs, Services};
use problem::{pipeline_problem, unknown_operation};
use registry::{Connector, Registry};
use sandbox::progress::ProgressSender;
use sandbox::{CacheKey, CompiledModules, Sandbox, Setup};
use store::vault::Vault;
use store::{AccountAddress, Store};
use telemetry::Trace;
use webhooks::Events;

/// The instance that problem documents of [`LocalCalls`] name, in place of a request's id.
const INSTANCE: &str = "call";

/// Opens the registry of the gateway with this configuration and store. It loads no module yet. It
/// also takes compiled modules of `shared`, which the user of this process owns.
///
/// # Errors
/// If the master key is wrong, the sandbox does not start, or a folder of modules is missing.
pub async fn open_registry(
    config: &Arc<Config>,
    store: Store,
    shared: Option<&CompiledModules>,
) -> Result<Arc<Registry>, ServeError> {
    let vault = Vault::open(&config.master_key_path(), &store).await?;
    let (metrics, budgets) = (Arc::new(Metrics::default()), Budgets::default());
    start_registry(config, store, &vault, shared, &metrics, Events::default(), &budgets)
}

/// Opens a registry that compiles modules into a folder of this user. Without such a folder it
/// compiles them into the folder of data, under a random key: no later process can use what it
/// compiles then.
///
/// # Errors
/// If the sandbox does not start, or a folder of modules is missing.
pub fn open_scratch_registry(
    config: &Arc<Config>,
    store: Store,
    modules: Option<&CompiledModules>,
) -> Result<Arc<Registry>, ServeError> {
    let setup = config.sandbox_setup();
    let sandbox = match modules {
        Some(modules) => Sandbox::start(Setup { data_dir: modules.data_dir.clone(), ..setup }, &modules.key)?,
        None => Sandbox::start(setup, &random_key()?)?,
    };
    let metrics = Arc::new(Metrics::default());
    Ok(Arc::new(Registry::new(Arc::clone(config), sandbox, store, metrics, Events::default())?))
}

fn random_key() -> io::Result<CacheKey> {
    let mut key = Box::new([0; 32]);
    let random = SystemRandom::new().fill(&mut *key);
    random.map_err(|_| io::Error::other("the operating system gives no random numbers"))?;
    Ok(SecretBox::new(key))
}

/// Runs operations for the author of a connector, with the pipeline and the egress of the gateway
/// and without a server.
pub struct LocalCalls {
    config: Arc<Config>,
    registry: Arc<Registry>,
    budgets: Budgets,
    store: Store,
    metrics: Arc<Metrics>,
    integrations: Arc<Integrations>,
    egress: Egress,
}

/// The account of a connector's author.
pub struct AuthorAccount {
    /// Its credential. `None` if users need no account, or if nothing is sent.
    pub credential: Option<Credential>,
    /// The parts of its address at the service.
    pub address: AccountAddress,
}

/// The end of a call that has no answer.
pub struct LocalFailure {
    /// The problem document that callers of the gateway get.
    pub problem: Value,
    /// The report for the author if the connector trapped: the cause, and the last lines that the
    /// connector wrote.
    pub trap: Option<String>,
}

impl LocalCalls {
    /// Calls of connectors of this registry.
    ///
    /// # Errors
    /// If the HTTP client or the master key cannot be made.
    pub async fn new(config: &Arc<Config>, registry: Arc<Registry>, store: Store) -> Result<Self, ServeError> {
        let egress = open_egress(config)?;
        let vault = Vault::open(&config.master_key_path(), &store).await?;
        let metrics = Arc::new(Metrics::default());
        let integrations = Arc::new(Integrations::new(
            Arc::clone(config),
            store.clone(),
            egress.clone(),
            vault,
            Arc::clone(&registry),
            Arc::clone(&metrics),
            Events::default(),
        ));
        let budgets = Budgets::default();
        Ok(Self { config: Arc::clone(config), registry, budgets, store, metrics, integrations, egress })
    }

    /// Runs an operation as the author, and returns the body of its answer. `transport` takes its
    /// requests, `progress` its reports if it runs in the background.
    ///
    /// # Errors
    /// See [`LocalFailure`].
    pub async fn call(
        &self,
        connector: &Arc<Connector>,
        operation: &str,
        input: &[u8],
        account: AuthorAccount,
        transport: Arc<dyn Transport>,
        progress: ProgressSender,
    ) -> Result<Bytes, LocalFailure> {
        // Callers cannot run an internal operation, and its author can.
        let found = connector.operation(operation).or_else(|| connector.internal_operation(operation));
        let Some(operation) = found else {
            let problem = unknown_operation(connector, operation).document(INSTANCE);
            return Err(LocalFailure { problem, trap: None });
        };
        let egress = self.egress.clone().with_transport(transport);
        let services = Services {
            registry: &self.registry,
            budgets: &self.budgets,
            integrations: &self.integrations,
            egress: &egress,
            store: &self.store,
            metrics: &self.metrics,
        };
        let jobs = &self.config.jobs;
        let (timeout, background) = match operation.manifest.background {
            false => (connector.timeout(), None),
            true => (jobs.timeout, Some(Background { cpu: jobs.cpu, requests: jobs::MAX_REQUESTS, progress })),
        };
        let call = pipeline::Call {
            connector,
            operation,
            run_as: RunAs::Author { credential: account.credential, address: &account.address },
            body: input,
            accept: pipeline::Accept::Named(None),
            range: None,
            deadline: Instant::now() + timeout,
            background,
            hook: None,
            gives_way: false,
            trace: Trace::default(),
            recording: &Recording::default(),
        };
        let answer = async { Ok(pipeline::run(services, &call).await?.body.collect().await?.to_bytes()) };
        answer.await.map_err(|error: pipeline::Error| {
            let trap = error.trap().map(|trap| {
                let mut report = format!("The connector trapped: {}", trap.backtrace);
                for line in &trap.last_lines {
                    report.push_str(&format!("\n  it wrote: {}", line.replace("\\n", "\n    ")));
                }
                report
            });
            LocalFailure { problem: pipeline_problem(error, connector.name()).document(INSTANCE), trap }
        })
    }
}
