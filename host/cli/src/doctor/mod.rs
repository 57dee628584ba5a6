//! The command `doctor`: finds what is wrong with a gateway and says what to do. It examines the
//! gateway of the configuration, or asks a running gateway (`--url`).
//!
//! No finding contains a secret: addresses are named by their hosts, and keys by their ids.
//!
//! - here: the command
//! - [`report`]: the findings, for people and as JSON
//! - [`machine`]: descriptors, memory, folders and their modes
//! - [`certificates`]: the certificates that the gateway presents
//! - [`database`]: the database, its clock, the master key and the API keys
//! - [`connectors`]: the connectors, their OAuth clients, and the hosts that they call
//! - [`running`]: a running gateway

mod certificates;
mod connectors;
mod database;
mod machine;
mod report;
mod running;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use authoring::gateway::GatewayError;
use authoring::options::{GatewayArguments, ListArguments};
use clap::Args;
use connector_gateway::Config;
use thiserror::Error;

use self::report::Report;

/// A key or a certificate that expires within this time is a problem, because someone has to
/// replace it in time.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// The options of `doctor`.
#[derive(Clone, Debug, Args)]
pub struct DoctorArguments {
    #[command(flatten)]
    pub list: ListArguments,
    #[command(flatten)]
    pub gateway: GatewayArguments,
}

/// Why the command failed.
#[derive(Debug, Error)]
pub(crate) enum DoctorError {
    /// Something is wrong, and the output says what.
    #[error("{}", match .0 { 1 => "1 problem was found".to_owned(), count => format!("{count} problems were found") })]
    Problems(usize),
    /// The running gateway cannot be asked with these arguments.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The result cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Runs the command.
///
/// # Errors
/// See [`DoctorError`].
pub(crate) async fn run(arguments: &DoctorArguments, config: Config) -> Result<(), DoctorError> {
    let mut report = Report::default();
    match &arguments.gateway.url {
        Some(url) => running::examine(url, &arguments.gateway, &mut report).await?,
        None => examine(config, &mut report).await,
    }
    report.print(arguments.list.json)?;
    match report.problems() {
        0 => Ok(()),
        count => Err(DoctorError::Problems(count)),
    }
}

/// A text with a capital letter at its begin, as an action has.
fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// Examines the gateway of the configuration.
async fn examine(config: Config, report: &mut Report) {
    let config = Arc::new(config);
    machine::examine(&config, report);
    certificates::examine(&config, report);
    let Some(examined) = database::examine(&config, report).await else { return };
    connectors::examine(&config, examined, report).await;
}
