//! `connectors check`: tries a module apart from all files of the gateway, and reports what it is.
//!
//! - here: the trial; [`report`]: what it found; [`difference`]: the changes since the version before; [`notes`]: what its author
//!   could do better

mod difference;
mod notes;
pub(super) mod report;

use std::fs;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use ring::rand::{SecureRandom, SystemRandom};
use secrecy::SecretBox;
use tempfile::TempDir;

use self::report::{Module, Report};
use super::connectors::{ConnectorsError, read};
use super::source::{Arrived, ModuleSource};
use crate::config::Config;
use crate::metrics::Metrics;
use crate::registry::{Connector, Refusal, Registry, present_module};
use crate::serve::ServeError;
use crate::webhooks::Events;
use sandbox::Sandbox;
use sandbox::provenance::Provenance;
use store::Store;

/// Tries a module. `program` begins the commands that the report names.
///
/// # Errors
/// `Refused` if the gateway would refuse the module, and the errors of the trial's own folder.
pub(super) async fn run(
    source: &ModuleSource,
    arrived: &Arrived,
    config: &Config,
    program: &str,
) -> Result<Report, ConnectorsError> {
    let Arrived { module, signature, .. } = arrived;
    let trial = Trial::open(config).await?;
    let refused =
        |refusal: Refusal| ConnectorsError::Refused { module: source.to_string(), reason: refusal.to_string() };
    let started = Instant::now();
    let connector = trial.registry.check(module, signature.as_deref()).await.map_err(refused)?;
    let size = Module {
        bytes: module.len() as u64,
        compiled_bytes: trial.compiled_bytes()?,
        checked_in_ms: started.elapsed().as_millis() as u64,
    };
    let before = match present_module(config, &connector.name()) {
        None => None,
        // A version that this gateway would refuse is no version to compare with.
        Some(path) => trial.registry.look_at(&read(&path)?).await.ok(),
    };
    let mut report = Report::of(&connector);
    report.module = Some(size);
    report.provenance = Provenance::read(module);
    report.notes = notes::of(&connector);
    report.replaces_shipped = trial.registry.would_replace_shipped(&connector);
    if let Some(before) = before.filter(|before| before.digest() != connector.digest()) {
        report.compare(&before, &connector);
    }
    if !connector.is_shipped() {
        report.command = command(source, &connector, &report, program);
    }
    Ok(report)
}

/// The command that adds the module with all that it asks for.
fn command(source: &ModuleSource, connector: &Connector, report: &Report, program: &str) -> String {
    let mut command = format!("{program} connectors add {}", super::connectors::word(&source.to_string()));
    for host in connector.missing_hosts() {
        command.push_str(&format!(" --grant {host}"));
    }
    if report.asks_for_more() {
        command.push_str(" --accept");
    }
    if report.replaces_shipped {
        command.push_str(" --replace-shipped");
    }
    command
}

/// A registry in a folder of its own, which is removed with it. It knows the grants of the gateway's store, if there is one.
struct Trial {
    registry: Registry,
    folder: TempDir,
}

impl Trial {
    async fn open(config: &Config) -> Result<Self, ConnectorsError> {
        let folder = TempDir::new()?;
        let modules_dir = folder.path().join("modules");
        fs::create_dir(&modules_dir)?;
        let own = Config { data_dir: folder.path().to_owned(), modules_dir, ..config.clone() };
        let present = config.store();
        let store =
            if present.is_there() { Store::connect(&present).await? } else { Store::open(&own.data_dir).await? };
        // Nothing that this key authenticates outlives the trial.
        let mut key = Box::new([0; 32]);
        SystemRandom::new()
            .fill(&mut *key)
            .map_err(|_| io::Error::other("the operating system gives no random numbers"))?;
        let sandbox = Sandbox::start(own.sandbox_setup(), &SecretBox::new(key))
            .map_err(|error| ConnectorsError::Start(error.into()))?;
        let metrics = Arc::new(Metrics::default());
        let registry = Registry::new(Arc::new(own), sandbox, store, metrics, Events::default())
            .map_err(|error| ConnectorsError::Start(ServeError::Io(error)))?;
        Ok(Self { registry, folder })
    }

    /// Size of the native code of all modules that were tried.
    fn compiled_bytes(&self) -> io::Result<u64> {
        fs::read_dir(self.folder.path().join("compiled"))?.map(|entry| Ok(entry?.metadata()?.len())).sum()
    }
}
