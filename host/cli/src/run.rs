//! Starts the work of a command.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use authoring::gateway::RunningGateway;
use authoring::output::{Remarks, Results, print_json, remark};
use authoring::{database, person, shell};
use connector_gateway::{
    Config, Extras, description, environment, open_registry, serve, start_logging, try_schemas, typed_description,
};
use store::acting;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

use crate::arguments::{Arguments, Command, ConnectorsCommand};
use crate::stop::unless_stopped;
use crate::{backup, doctor, installed, keys, operator};

/// Runs the command of the command line.
pub fn run(arguments: &Arguments) -> ExitCode {
    // These processes read no configuration and no environment. Only the compiler starts threads.
    match &arguments.command {
        Command::Compile(compile) => {
            return sandbox::compile_child(&compile.input, &compile.output, compile.limits.into());
        }
        Command::TrySchemas(trial) => {
            return sandbox::child::work(trial.limits.into(), || try_schemas(&trial.input));
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

/// How much a thread yields to calls: where they need all cores, it gets a quarter of each.
const NICENESS: i32 = 5;

type AnyError = Box<dyn std::error::Error>;

fn with_configuration(arguments: &Arguments) -> Result<(), AnyError> {
    let mut config = load(arguments.config.as_deref())?;
    if !matches!(arguments.command, Command::Serve { .. }) {
        // Commands print their remarks. Their log is only for errors.
        config.log = Targets::new().with_default(LevelFilter::ERROR);
        if let Command::Connectors(ConnectorsCommand::Author(command)) = &arguments.command {
            command.set_log(&mut config);
        }
    }
    start_logging(&config)?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if matches!(arguments.command, Command::Serve { .. }) {
        let priority = rustix::process::getpriority_process(None).unwrap_or_default() + NICENESS;
        runtime.on_thread_start(move || yield_to_calls(priority));
    }
    let runtime = runtime.enable_all().build()?;
    let result = match &arguments.command {
        Command::Serve { .. } => runtime.block_on(dispatch(arguments, config)),
        _ => runtime.block_on(acting(person(), dispatch(arguments, config))),
    };
    // A thread that waits for a name server must not delay the exit.
    runtime.shutdown_background();
    result
}

/// Lets this thread yield to those that serve calls, which are threads of other runtimes. It loads
/// modules and runs jobs, and the processes that it starts for compilations yield too. Otherwise
/// calls would wait for a core while a module is swapped.
fn yield_to_calls(priority: i32) {
    // On Linux this is the priority of one thread. A thread inherits it from the one that starts it,
    // so it is set and not lowered. A container may forbid it. The work is the same then.
    let _ = rustix::process::setpriority_process(None, priority);
}

fn load(file: Option<&Path>) -> Result<Config, AnyError> {
    Ok(Config::load(file, environment())?)
}

/// The beginning of a further command with the same configuration.
fn program(arguments: &Arguments) -> String {
    match &arguments.config {
        Some(file) => format!("connector-gateway --config {}", shell::quoted(&file.to_string_lossy())),
        None => "connector-gateway".to_owned(),
    }
}

async fn dispatch(arguments: &Arguments, config: Config) -> Result<(), AnyError> {
    match &arguments.command {
        Command::Serve { new_database } => {
            let ready = Box::new(connector_gateway::print_welcome);
            serve(config, Extras { transport: None, new_database: *new_database, compiled: None, ready }).await?;
        }
        Command::Backup(options) => {
            unless_stopped(backup::make(options, &config, arguments.config.as_deref())).await?;
        }
        Command::Restore(options) => unless_stopped(backup::restore(options, config)).await?,
        Command::Doctor(arguments) => doctor::run(arguments, config).await?,
        Command::Keys(command) => {
            let running = command.gateway().map(RunningGateway::open).transpose()?.flatten();
            match running {
                Some(gateway) => keys::run_remote(command, &gateway, &mut Results::new(), &mut Remarks).await?,
                None => {
                    let store = database::open(&config).await?;
                    keys::run(command, &config, &store, &mut Results::new(), &mut Remarks).await?;
                }
            }
        }
        Command::Integrations(command) => operator::integrations(command, &config).await?,
        Command::Jobs(command) => operator::jobs(command).await?,
        Command::Gateways(command) => operator::gateways(command).await?,
        Command::Tenants(command) => operator::tenants(command).await?,
        Command::ToolSets(command) => operator::tool_sets(command).await?,
        Command::Calls(command) => operator::calls(command).await?,
        Command::Webhooks(command) => operator::webhooks(command).await?,
        Command::Triggers(command) => operator::triggers(command).await?,
        Command::Inboxes(command) => operator::inboxes(command).await?,
        Command::Usage(arguments) => operator::usage(arguments).await?,
        Command::Audit(arguments) => operator::audit(arguments, &config).await?,
        Command::Connectors(ConnectorsCommand::Author(command)) => command.run(config, &program(arguments)).await?,
        Command::Connectors(ConnectorsCommand::Installed(command)) => {
            installed::run(command, config, &program(arguments)).await?;
        }
        Command::Openapi { typed } => {
            let config = Arc::new(config);
            let store = database::open(&config).await?;
            let registry = open_registry(&config, store, None).await?;
            registry.load_folders().await?;
            let describe = if *typed { typed_description } else { description };
            print_json(format_args!("{:#}", describe(&config, &registry)))?;
        }
        // `run` has handled it, before the configuration was read.
        Command::Compile(_) | Command::TrySchemas(_) => {}
    }
    Ok(())
}
