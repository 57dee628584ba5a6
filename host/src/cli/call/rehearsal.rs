//! A connector that runs without a server: the real registry, sandbox, pipeline and egress, in a folder that is removed afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::CallError;
use crate::cli::connectors::{ConnectorsError, read};
use crate::cli::output::remark;
use crate::cli::trial::Trial;
use crate::config::Config;
use crate::integrations::Integrations;
use crate::jobs;
use crate::pipeline::{self, Background, RunAs, Services};
use crate::problem::{pipeline_problem, unknown_operation};
use crate::recordings::{End, Json};
use crate::registry::{AuthorSettings, Connector};
use crate::serve::ServeError;
use crate::telemetry::Trace;
use crate::webhooks::Events;
use contract::words::{nearest, shortened};
use egress::{Credential, Egress, Transport};
use memory::MemoryBudget;
use sandbox::TrapReport;
use store::vault::Vault;

/// The instance that problem documents name, in place of a request's id.
const INSTANCE: &str = "call";

/// A connector that is ready to be called by its author.
pub(in crate::cli) struct Rehearsal {
    trial: Trial,
    file: PathBuf,
    module: Vec<u8>,
    connector: Arc<Connector>,
    integrations: Arc<Integrations>,
    egress: Egress,
}

/// The end of a call.
pub(in crate::cli) enum Reply {
    /// The answer.
    Answer(Bytes),
    /// The problem document.
    Problem(Value),
}

impl Rehearsal {
    /// Loads a module. All hosts that it names are granted.
    ///
    /// # Errors
    /// `Refused` if the gateway would refuse the module, `Call` for a setting that the connector does not have, and errors of the
    /// folder.
    pub(in crate::cli) async fn open(
        file: &Path,
        config: &Config,
        settings: &AuthorSettings,
    ) -> Result<Self, ConnectorsError> {
        let module = read(file)?;
        let trial = Trial::apart(config).await?;
        let connector = load(&trial, file, &module, settings).await?;
        let memory = MemoryBudget::new(trial.config.memory_bytes);
        let egress = Egress::new(&egress::Settings { memory, ..egress::Settings::default() })
            .map_err(|error| ConnectorsError::Start(ServeError::Egress(error)))?;
        let vault = Vault::open(&trial.config.master_key_path(), &trial.store).await?;
        let integrations = Arc::new(Integrations::new(
            Arc::clone(&trial.config),
            trial.store.clone(),
            egress.clone(),
            vault,
            Arc::clone(&trial.registry),
            Arc::clone(&trial.metrics),
            Events::default(),
        ));
        Ok(Self { file: file.to_owned(), module, connector, integrations, egress, trial })
    }

    /// Loads the module again with other settings. It is not compiled again.
    ///
    /// # Errors
    /// As [`Rehearsal::open`].
    pub(in crate::cli) async fn configure(&mut self, settings: &AuthorSettings) -> Result<(), ConnectorsError> {
        self.connector = load(&self.trial, &self.file, &self.module, settings).await?;
        Ok(())
    }

    /// The connector.
    pub(in crate::cli) fn connector(&self) -> &Arc<Connector> {
        &self.connector
    }

    /// Checks that the connector has an operation that is to be replayed.
    ///
    /// # Errors
    /// `NoOperation` with the nearest name.
    pub(in crate::cli) fn check_operation(&self, operation: &str) -> Result<(), CallError> {
        let connector = &self.connector;
        if connector.operation(operation).is_some() {
            return Ok(());
        }
        let known = nearest(operation, connector.operations().map(|known| known.manifest.path.as_str()));
        let known = known.map(|known| format!("such as `{known}`"));
        Err(CallError::NoOperation {
            connector: connector.name().to_string(),
            operation: shortened(operation).into_owned(),
            known: known.unwrap_or_else(|| "which `connectors check` lists".to_owned()),
        })
    }

    /// Runs an operation. `transport` takes its requests.
    pub(in crate::cli) async fn call(
        &self,
        operation: &str,
        input: &[u8],
        credential: Option<Credential>,
        transport: Arc<dyn Transport>,
    ) -> Reply {
        let connector = &self.connector;
        let Some(operation) = connector.operation(operation) else {
            return Reply::Problem(unknown_operation(connector, operation).document(INSTANCE));
        };
        let egress = self.egress.clone().with_transport(transport);
        let services = Services {
            registry: &self.trial.registry,
            integrations: &self.integrations,
            egress: &egress,
            store: &self.trial.store,
            metrics: &self.trial.metrics,
        };
        let (progress, mut reports) = watch::channel(None);
        let jobs = &self.trial.config.jobs;
        let (timeout, background) = match operation.manifest.background {
            false => (connector.timeout(), None),
            true => (jobs.timeout, Some(Background { cpu: jobs.cpu, requests: jobs::MAX_REQUESTS, progress })),
        };
        let call = pipeline::Call {
            connector,
            operation,
            run_as: RunAs::Author { credential },
            body: input,
            accept: None,
            range: None,
            deadline: Instant::now() + timeout,
            background,
            trace: Trace::default(),
        };
        let running = async {
            let answer = pipeline::run(services, &call).await?;
            Ok(Reply::Answer(answer.body.collect().await?.to_bytes()))
        };
        tokio::pin!(running);
        let ended = loop {
            tokio::select! {
                biased;
                ended = &mut running => break ended,
                Ok(()) = reports.changed() => {
                    if let Some(report) = &*reports.borrow_and_update() {
                        remark(format_args!("{:3.0} % {}", report.fraction * 100.0, report.message));
                    }
                }
                else => {}
            }
        };
        ended.unwrap_or_else(|error: pipeline::Error| {
            if let Some(trap) = error.trap() {
                remark(trap_report(trap).trim_end());
            }
            Reply::Problem(pipeline_problem(error, connector.name()).document(INSTANCE))
        })
    }
}

async fn load(
    trial: &Trial,
    file: &Path,
    module: &[u8],
    settings: &AuthorSettings,
) -> Result<Arc<Connector>, ConnectorsError> {
    let connector = trial.registry.try_out(module, settings).await.map_err(|refusal| ConnectorsError::Refused {
        module: file.display().to_string(),
        reason: refusal.to_string(),
    })?;
    let names = || connector.services().iter().map(|service| service.name.as_str());
    if let Some(unknown) = settings.upstreams.keys().find(|name| !names().any(|known| known == *name)) {
        let known = nearest(unknown, names()).map(str::to_owned);
        let known = known.unwrap_or_else(|| names().collect::<Vec<_>>().join(", "));
        return Err(CallError::Upstream { name: unknown.clone(), known }.into());
    }
    Ok(Arc::new(connector))
}

/// The report of a trap for the connector's author: the cause, and the last lines that the connector wrote.
pub(in crate::cli) fn trap_report(trap: &TrapReport) -> String {
    let mut report = format!("The connector trapped: {}\n", trap.backtrace);
    for line in &trap.last_lines {
        report.push_str(&format!("  it wrote: {}\n", line.replace("\\n", "\n    ")));
    }
    report
}

impl Reply {
    /// The end of the call as a recording has it.
    ///
    /// # Errors
    /// If the answer is not JSON.
    pub(in crate::cli) fn end(&self) -> Result<End, String> {
        match self {
            Self::Answer(body) => {
                Json::parse(body).map(End::Answer).map_err(|error| format!("the answer is not JSON: {error}"))
            }
            Self::Problem(problem) => {
                let mut problem = problem.clone();
                if let Value::Object(members) = &mut problem {
                    members.remove("instance");
                }
                Ok(End::Problem(Json::from(&problem)))
            }
        }
    }
}
