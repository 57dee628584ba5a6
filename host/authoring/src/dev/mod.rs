//! `connectors dev`: builds a project whenever its author saves, and swaps the module into a
//! gateway.
//!
//! - here: the command
//! - [`arguments`]: its options
//! - [`error`]: why it ended early
//! - [`dev_loop`]: builds a project and swaps the module in, again and again
//! - [`pushes`]: tries recordings of notifications with the version that is live
//! - [`watch`]: notices saved sources and recordings
//! - [`temporary_gateway`]: the gateway of the command
//! - [`mod@provider`]: the stand-in for an OAuth provider
//! - [`account`]: an account with the author's credential
//! - [`greeting`]: requests to try

mod account;
mod arguments;
mod dev_loop;
mod error;
mod greeting;
mod provider;
mod pushes;
mod temporary_gateway;
mod watch;

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use connector_gateway::{AuthorSettings, Config, Connector, Extras, LogFormat, ServeError, Stop, serve};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

pub(crate) use self::arguments::DevArguments;
pub(crate) use self::error::DevError;

use self::account::OwnCredential;
use self::dev_loop::{DevLoop, FirstModule};
use self::provider::{Grant, Provider};
use crate::compile_cache;
use crate::gateway::Gateway;
use crate::output::Results;
use contract::AuthScheme;
use egress::{Outline, Watcher};

/// Shows the lines that the connector logs, and warnings, as text.
pub(crate) fn set_log(config: &mut Config) {
    config.log_format = LogFormat::Text;
    config.log = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("connector", LevelFilter::DEBUG)
        // This target also begins with the previous one, which would match it.
        .with_target("connector_gateway", LevelFilter::WARN)
        // The connector is added after the start, so its settings are unused then.
        .with_target("registry::unused_settings", LevelFilter::OFF);
}

/// Runs the command until SIGINT, SIGTERM or SIGHUP.
///
/// # Errors
/// See [`DevError`]. A build that fails and a module that is refused are printed, and are not
/// errors.
pub(crate) async fn run(arguments: &DevArguments) -> Result<(), DevError> {
    let mut stop = Stop::new()?;
    let folder = TempDir::new()?;
    let mut dev_loop = DevLoop::open(arguments, &folder)?;
    if let Some(url) = &arguments.url {
        let gateway = Gateway::running(url, &arguments.access)?;
        let developing = async {
            dev_loop.deliver(&gateway, Instant::now()).await?;
            dev_loop.follow(&gateway).await
        };
        return tokio::select! {
            result = developing => result,
            () = stop.wait() => Ok(()),
        };
    }
    let config = temporary_gateway::config(folder.path(), arguments.port.unwrap_or_default())?;
    let settings = arguments.connector.settings();
    let first = tokio::select! {
        first = dev_loop.first(&config, &settings) => first?,
        () = stop.wait() => return Ok(()),
    };
    run_gateway(arguments, &config, &settings, &mut dev_loop, first).await?;
    // The folder has a database. An error here would leave it behind.
    Ok(folder.close()?)
}

/// Runs a temporary gateway with the module. The gateway stops after a signal.
async fn run_gateway(
    arguments: &DevArguments,
    config: &Config,
    settings: &AuthorSettings,
    dev_loop: &mut DevLoop,
    first: FirstModule,
) -> Result<(), DevError> {
    let FirstModule { built, connector } = first;
    let credential = arguments.credential_file.as_deref().map(OwnCredential::read).transpose()?;
    let provider = provider(arguments, &connector, credential.as_ref()).await?;
    let config = temporary_gateway::for_connector(config, &connector, settings, provider.as_ref());
    let (notify_ready, ready) = oneshot::channel();
    let extras = Extras {
        new_database: false,
        compiled: compile_cache::open(),
        transport: Some(Arc::new(Watcher {
            report: |outline: &Outline| print_line(format_args!("  {outline}")),
            next: None,
        })),
        ready: Box::new(move |config, _, key| {
            // This fails if the work below has failed, which ends the command.
            let _ = notify_ready.send((config.public_url.clone(), key.cloned().unwrap_or_default()));
        }),
    };
    let developing = async {
        // If the gateway failed before it was ready, its error ends the command.
        let Ok((url, key)) = ready.await else { return std::future::pending().await };
        let gateway = Gateway::at(url.clone(), &key)?;
        let address = url.as_str().trim_end_matches('/');
        dev_loop.add(&gateway, built).await?;
        if let Some(credential) = &credential {
            let account = arguments.connector.address();
            account::connect(address, &key, &connector, &account, credential, provider.as_ref()).await?;
            print_line("An account is connected.");
        }
        print_line(greeting::text(address, key.shown(), &connector, provider.as_ref()));
        dev_loop.follow(&gateway).await
    };
    tokio::select! {
        served = serve(config, extras) => served.map_err(|error| not_served(error, arguments.port)),
        result = developing => result,
    }
}

/// The error of the temporary gateway. It names the command's option if the port is taken.
fn not_served(error: ServeError, port: Option<u16>) -> DevError {
    match (error, port) {
        (ServeError::Io(error), Some(port)) if error.kind() == io::ErrorKind::AddrInUse => DevError::PortTaken(port),
        (error, _) => error.into(),
    }
}

/// The stand-in for the provider, if the options request it or have a token that it hands out.
async fn provider(
    arguments: &DevArguments,
    connector: &Connector,
    credential: Option<&OwnCredential>,
) -> Result<Option<Provider>, DevError> {
    let grant = match credential {
        Some(token) => Grant::Real(token.clone()),
        None if arguments.oauth => Grant::Made(Duration::from_secs(arguments.token_lifetime.into())),
        None => return Ok(None),
    };
    match &connector.manifest().auth {
        AuthScheme::Oauth2(scheme) => Ok(Some(Provider::start(scheme.clone(), grant).await?)),
        _ if arguments.oauth => Err(DevError::NoProvider),
        _ => Ok(None),
    }
}

/// Writes a line to standard output. It is dropped if standard output is closed.
fn print_line(line: impl fmt::Display) {
    let _ = writeln!(Results::new(), "{line}");
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[tokio::test]
    async fn the_message_about_a_taken_port_names_the_option() {
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = other.local_addr().unwrap().port();
        let folder = TempDir::new().unwrap();
        let config = temporary_gateway::config(folder.path(), port).unwrap();
        let extras = Extras { transport: None, new_database: false, compiled: None, ready: Box::new(|_, _, _| {}) };
        let error = not_served(serve(config, extras).await.unwrap_err(), Some(port)).to_string();
        assert!(error.starts_with(&format!("--port: another process listens at port {port};")), "{error}");
    }
}
