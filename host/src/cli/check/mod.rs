//! `connectors check`: tries a module apart from all files of the gateway, and reports what it is.
//!
//! - here: the check; [`report`]: what it found; [`summary`]: its first lines; [`difference`]: the changes since the version before;
//!   [`notes`]: what its author could do better

mod difference;
mod notes;
pub(super) mod report;
pub(super) mod summary;

use std::time::Instant;

use self::report::Report;
use self::summary::Module;
use super::connectors::ConnectorsError;
use super::source::{Arrived, ModuleSource};
use super::trial::Trial;
use crate::config::Config;
use crate::registry::{Connector, Refusal, present_module};
use sandbox::provenance::Provenance;

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
    let trial = Trial::beside(config).await?;
    let refused =
        |refusal: Refusal| ConnectorsError::Refused { module: source.to_string(), reason: refusal.to_string() };
    let started = Instant::now();
    let connector = trial.registry.check(module, signature.as_deref()).await.map_err(refused)?;
    let size = Module {
        bytes: module.len() as u64,
        compiled_bytes: trial.compiled_bytes()?,
        checked_in_ms: started.elapsed().as_millis() as u64,
    };
    let before = match present_module(config, connector.name()).await? {
        None => None,
        // A version that this gateway would refuse is no version to compare with.
        Some(module) => trial.registry.look_at(&module).await.ok(),
    };
    let mut report = Report::of(&connector);
    report.summary.module = Some(size);
    report.summary.signature_unreadable = signature.is_some() && connector.signed().is_none();
    report.summary.provenance = Provenance::read(module);
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
