//! Starts the work of a command.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

use super::arguments::{Arguments, Command, ConnectorsCommand};
use super::output::{Remarks, Results, print, remark};
use super::{call, connectors, database, dev, keys};
use crate::api;
use crate::config::{self, Config};
use crate::metrics::Metrics;
use crate::webhooks::Events;
use crate::{logging, registry, serve, welcome};
use store::vault::Vault;

/// Runs the command of the command line.
pub fn run(arguments: &Arguments) -> ExitCode {
    // These processes read no configuration and no environment, and start no threads besides the compiler's.
    match &arguments.command {
        Command::Compile(compile) => {
            return sandbox::compile_child(&compile.input, &compile.output, compile.limits.into());
        }
        Command::TrySchemas(trial) => {
            return sandbox::child::work(trial.limits.into(), || registry::try_schemas(&trial.input));
        }
        _ => {}
    }
    match with_configuration(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            remark(format_args!("connector-gateway: {error}"));
            ExitCode::FAILURE
        }
    }
}

type AnyError = Box<dyn std::error::Error>;

fn with_configuration(arguments: &Arguments) -> Result<(), AnyError> {
    let mut config = load(arguments.config.as_deref())?;
    if !matches!(arguments.command, Command::Serve { .. }) {
        // Commands print their remarks themselves. Their log is only for errors.
        config.log = Targets::new().with_default(LevelFilter::ERROR);
        match arguments.command {
            Command::Connectors(ConnectorsCommand::Call(_) | ConnectorsCommand::Test(_)) => call::log(&mut config),
            Command::Connectors(ConnectorsCommand::Dev(_)) => dev::log(&mut config),
            _ => {}
        }
    }
    logging::start(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(dispatch(arguments, config));
    // A thread that waits for a name server must not delay the exit.
    runtime.shutdown_background();
    result
}

fn load(file: Option<&Path>) -> Result<Config, AnyError> {
    Ok(Config::load(file, config::environment())?)
}

/// The beginning of a further command with the same configuration.
fn program(arguments: &Arguments) -> String {
    match &arguments.config {
        Some(file) => format!("connector-gateway --config {}", connectors::word(&file.to_string_lossy())),
        None => "connector-gateway".to_owned(),
    }
}

async fn dispatch(arguments: &Arguments, config: Config) -> Result<(), AnyError> {
    match &arguments.command {
        Command::Serve { new_database } => {
            let ready = Box::new(welcome::print);
            serve::serve(config, serve::Extras { transport: None, new_database: *new_database, ready }).await?;
        }
        Command::Keys(command) => {
            let store = database::open(&config).await?;
            keys::run(command, &config, &store, &mut Results::new(), &mut Remarks).await?;
        }
        Command::Connectors(command) => connectors::run(command, config, &program(arguments)).await?,
        Command::Openapi => {
            let config = Arc::new(config);
            let store = database::open(&config).await?;
            let vault = Vault::open(&config.master_key_path(), &store).await?;
            let registry =
                serve::open_registry(&config, store, &vault, &Arc::new(Metrics::default()), Events::default())?;
            registry.load_folders().await?;
            print(format_args!("{:#}", api::description(&config, &registry)))?;
        }
        // `run` has handled it, before the configuration was read.
        Command::Compile(_) | Command::TrySchemas(_) => {}
    }
    Ok(())
}
