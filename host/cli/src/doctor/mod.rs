//! The command `doctor`: finds what is wrong with a gateway and says what to do. It examines the
//! gateway of the configuration, or asks a running gateway (`--url`).
//!
//! The checks are in the library of the gateway, because a running gateway examines itself too.
//!
//! - here: the command
//! - [`configured`]: the gateway of the configuration
//! - [`running`]: a running gateway
//! - [`mod@print`]: the output

mod configured;
mod print;
mod running;

use std::io;

use authoring::gateway::GatewayError;
use authoring::options::{GatewayArguments, ListArguments};
use clap::Args;
use connector_gateway::{Config, DoctorReport};
use thiserror::Error;

use self::print::print_report;

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
    let mut report = DoctorReport::default();
    match &arguments.gateway.url {
        Some(url) => running::examine(url, &arguments.gateway, &mut report).await?,
        None => configured::examine(config, &mut report).await,
    }
    print_report(&report, arguments.list.json)?;
    match report.problems() {
        0 => Ok(()),
        count => Err(DoctorError::Problems(count)),
    }
}
