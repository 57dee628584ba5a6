//! `connectors check`: tries a module without the files of the gateway, and reports what it is.
//!
//! - here: the check
//! - [`report`]: its result
//! - [`summary`]: the first lines of the report
//! - [`difference`]: the changes since the previous version
//! - [`notes`]: advice for the author

mod difference;
mod notes;
pub(crate) mod report;
mod summary;

use std::io::{self, Write};
use std::time::Instant;

use clap::Args;
use connector_gateway::{Config, Connector, Refusal, present_module};
use serde_json::json;
use thiserror::Error;

pub use self::summary::Summary;

use self::report::Report;
use self::summary::Module;
use crate::module_file::{FileError, RefusedModule, read};
use crate::module_source::{self, FetchedModule, ModuleSource, SourceError};
use crate::options::{ListArguments, RegistryArguments};
use crate::output::{Results, print_json};
use crate::scratch_registry::{ScratchError, ScratchRegistry};
use crate::shell;
use sandbox::provenance::Provenance;

/// The options of `connectors check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArguments {
    /// The module, a WebAssembly component: a file, or its name in a registry
    pub module: ModuleSource,
    #[command(flatten)]
    pub list: ListArguments,
    #[command(flatten)]
    pub registry: RegistryArguments,
}

/// Why a module was not checked, or is refused.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The module was not read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// There is no registry to try it in.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The module is refused.
    #[error(transparent)]
    Refused(#[from] RefusedModule),
    /// The previous version cannot be read.
    #[error(transparent)]
    Previous(#[from] FileError),
    /// The report cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Runs the command. `program` begins the commands that the report names.
///
/// # Errors
/// See [`CheckError`].
pub(crate) async fn run(arguments: &CheckArguments, config: &Config, program: &str) -> Result<(), CheckError> {
    let CheckArguments { module: source, list, registry } = arguments;
    let fetched = module_source::read(source, registry, config.compile.max_module_mb).await?;
    let mut report = check(source, &fetched, config, program).await?;
    if !report.command.is_empty() {
        report.command.push_str(&registry.options());
    }
    match list.json {
        true => print_json(format_args!("{:#}", json!(report)))?,
        false => write!(Results::new(), "{report}")?,
    }
    Ok(())
}

/// Tries a module. `program` begins the commands that the report names.
///
/// # Errors
/// See [`CheckError`].
pub(crate) async fn check(
    source: &ModuleSource,
    fetched: &FetchedModule,
    config: &Config,
    program: &str,
) -> Result<Report, CheckError> {
    let FetchedModule { module, signature, .. } = fetched;
    let scratch = ScratchRegistry::with_grants(config).await?;
    let refused = |refusal: Refusal| RefusedModule { module: source.to_string(), reason: refusal.to_string() };
    scratch.announce(module);
    let started = Instant::now();
    let connector = scratch.registry.check(module, signature.as_deref()).await.map_err(refused)?;
    let size = Module {
        bytes: module.len() as u64,
        compiled_bytes: connector.compiled().bytes,
        checked_in_ms: started.elapsed().as_millis() as u64,
    };
    let previous = match present_module(config, connector.name()) {
        None => None,
        // A version that this gateway would refuse is not compared.
        Some(path) => scratch.registry.look_at(&read(&path)?).await.ok(),
    };
    let mut report = Report::new(&connector);
    report.summary.module = Some(size);
    report.summary.signature_unreadable = signature.is_some() && connector.signed().is_none();
    report.summary.provenance = Provenance::read(module);
    report.notes = notes::notes(&connector);
    report.replaces_shipped = scratch.registry.would_replace_shipped(&connector);
    if let Some(previous) = previous.filter(|previous| previous.digest() != connector.digest()) {
        report.compare(&previous, &connector);
    }
    if !connector.is_shipped() {
        report.command = add_command(source, &connector, &report, program);
    }
    Ok(report)
}

/// The command that adds the module with everything that it asks for.
fn add_command(source: &ModuleSource, connector: &Connector, report: &Report, program: &str) -> String {
    let mut command = format!("{program} connectors add {}", shell::quoted(&source.to_string()));
    for host in connector.missing_hosts() {
        command.push_str(&format!(" --grant {}", shell::quoted(host)));
    }
    if report.asks_for_more() {
        command.push_str(" --accept");
    }
    if report.replaces_shipped {
        command.push_str(" --replace-shipped");
    }
    command
}
