//! `connectors dev`: builds a project whenever its author saves, and swaps the module into a gateway.
//!
//! - here: the loop of builds; [`arguments`]: the options; [`watch`]: notices saved sources
//! - [`throwaway`]: the gateway of the command; [`mod@provider`]: the stand-in for an OAuth provider; [`account`]: an account of the author's
//!   own; [`greeting`]: requests to try

mod account;
mod arguments;
mod greeting;
mod provider;
mod throwaway;
mod watch;

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;
use thiserror::Error;
use tokio::sync::oneshot;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

pub use self::arguments::DevArguments;

use self::provider::{Grant, Provider};
use self::watch::Sources;
use super::build::Project;
use super::connectors::{ConnectorsError, component_of, read};
use super::gateway::{AddError, Gateway};
use crate::config::{Config, LogFormat};
use crate::registry::{AuthorSettings, Connector, Installation};
use crate::serve::{self, ServeError};
use crate::signals::Stop;
use contract::AuthScheme;
use contract::words::printable;
use egress::{Outline, Watcher};

/// Why the command ended early.
#[derive(Debug, Error)]
pub enum DevError {
    /// The sources cannot be watched.
    #[error("the folder `{}` cannot be watched: {source}", folder.display())]
    Watch {
        /// The project.
        folder: PathBuf,
        /// The cause.
        source: notify::Error,
    },
    /// An upstream is not in the manifest.
    #[error("--upstream: the connector has no upstream `{name}`; it has {known}")]
    Upstream {
        /// The name.
        name: String,
        /// Those that it has.
        known: String,
    },
    /// A stand-in is asked for, and users do not authorize.
    #[error("--oauth: users of this connector do not authorize at a provider; leave the option out")]
    NoProvider,
    /// The gateway cannot listen at the port.
    #[error(
        "--port: another process listens at port {0}; choose another port, or leave the option out to take a free one"
    )]
    PortTaken(u16),
    /// No account was connected.
    #[error("no account was connected: {0}")]
    Account(String),
}

/// Shows the connector's lines and what goes wrong, as text.
pub(super) fn log(config: &mut Config) {
    config.log_format = LogFormat::Text;
    config.log = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("connector", LevelFilter::DEBUG)
        // The name before is also the beginning of this one.
        .with_target("connector_gateway", LevelFilter::WARN)
        // The connector comes after the start.
        .with_target("connector_gateway::registry::unused_settings", LevelFilter::OFF);
}

/// Runs the command until SIGINT, SIGTERM or SIGHUP.
///
/// # Errors
/// See [`ConnectorsError`]. A build that fails and a module that is refused are printed, and are no errors.
pub(super) async fn run(arguments: &DevArguments, config: Config) -> Result<(), ConnectorsError> {
    let mut stop = Stop::new().map_err(ServeError::Io)?;
    let folder = TempDir::new()?;
    let mut workshop = Workshop::open(arguments, &folder)?;
    if arguments.gateway.url.is_some() {
        let gateway = Gateway::open(&arguments.gateway, config).await?;
        let developing = async {
            workshop.deliver(&gateway, Instant::now()).await?;
            workshop.follow(&gateway).await
        };
        return tokio::select! {
            ended = developing => ended,
            () = stop.wait() => Ok(()),
        };
    }
    let config = throwaway::config(folder.path(), arguments.port.unwrap_or_default())?;
    let settings = arguments.surroundings.settings();
    let first = tokio::select! {
        first = workshop.first(&config, &settings) => first?,
        () = stop.wait() => return Ok(()),
    };
    run_gateway(arguments, &config, &settings, &mut workshop, first).await?;
    // The folder has a database. An error here would leave it behind.
    Ok(folder.close()?)
}

/// Runs a gateway of the command's own, which ends by itself after a signal.
async fn run_gateway(
    arguments: &DevArguments,
    config: &Config,
    settings: &AuthorSettings,
    workshop: &mut Workshop,
    first: First,
) -> Result<(), ConnectorsError> {
    let First { built, connector } = first;
    let credential = arguments.credential_file.as_deref().map(account::credential).transpose()?;
    let provider = provider(arguments, &connector, credential.as_ref()).await?;
    let config = throwaway::for_connector(config, &connector, settings, provider.as_ref());
    let (tell, told) = oneshot::channel();
    let extras = serve::Extras {
        new_database: false,
        carrier: Some(Arc::new(Watcher { report: |outline: &Outline| say(format_args!("  {outline}")), next: None })),
        ready: Box::new(move |config, _, key| {
            // This fails if the work below has failed, which ends the command.
            let _ = tell.send((config.public_url.clone(), key.cloned().unwrap_or_default()));
        }),
    };
    let developing = async {
        // Without an answer, the gateway has failed, and its error ends the command.
        let Ok((url, key)) = told.await else { return std::future::pending().await };
        let gateway = Gateway::at(url.clone(), key.clone())?;
        let address = url.as_str().trim_end_matches('/');
        workshop.add(&gateway, built).await?;
        if let Some(credential) = &credential {
            let auth = &connector.manifest().auth;
            account::connect(address, &key, connector.name(), auth, credential, provider.as_ref()).await?;
            say("An account is connected.");
        }
        say(greeting::text(address, key.expose_secret(), &connector, provider.as_ref()));
        workshop.follow(&gateway).await
    };
    tokio::select! {
        served = serve::serve(config, extras) => served.map_err(|error| not_served(error, arguments.port)),
        ended = developing => ended,
    }
}

/// The error of the command's own gateway, in the words of the command's options.
fn not_served(error: ServeError, port: Option<u16>) -> ConnectorsError {
    match (error, port) {
        (ServeError::Io(error), Some(port)) if error.kind() == io::ErrorKind::AddrInUse => {
            DevError::PortTaken(port).into()
        }
        (error, _) => error.into(),
    }
}

/// The stand-in for the provider, if the author asks for it or gives a token that it shall hand out.
async fn provider(
    arguments: &DevArguments,
    connector: &Connector,
    credential: Option<&SecretString>,
) -> Result<Option<Provider>, ConnectorsError> {
    let grant = match credential {
        Some(token) => Grant::Real(token.clone()),
        None if arguments.oauth => Grant::Own(Duration::from_secs(arguments.token_lifetime.into())),
        None => return Ok(None),
    };
    match &connector.manifest().auth {
        AuthScheme::Oauth2(scheme) => Ok(Some(Provider::start(scheme.clone(), grant).await?)),
        _ if arguments.oauth => Err(DevError::NoProvider.into()),
        _ => Ok(None),
    }
}

/// A module that was built, and the time that it took since its author saved.
struct Built {
    module: Vec<u8>,
    saved: Instant,
    build: Duration,
}

/// The first module that can be swapped in.
struct First {
    built: Built,
    connector: Connector,
}

/// A project that is built again and again.
struct Workshop {
    project: Arc<Project>,
    sources: Sources,
    /// The file that modules are built into. The project's own file is for modules that its author builds.
    output: PathBuf,
    /// The gateway is the command's own, so that the author's word holds for everything.
    is_own: bool,
    /// A version was swapped in.
    is_live: bool,
}

impl Workshop {
    fn open(arguments: &DevArguments, folder: &TempDir) -> Result<Self, ConnectorsError> {
        let project = Arc::new(Project::find(&arguments.folder)?);
        let sources = Sources::watch(project.folder())
            .map_err(|source| DevError::Watch { folder: project.folder().to_owned(), source })?;
        let is_own = arguments.gateway.url.is_none();
        Ok(Self { project, sources, output: folder.path().join("module.wasm"), is_own, is_live: false })
    }

    /// Builds until a module could be live.
    async fn first(&mut self, config: &Config, settings: &AuthorSettings) -> Result<First, ConnectorsError> {
        let mut saved = Instant::now();
        loop {
            if let Some(built) = self.build(saved).await {
                let registry = throwaway::registry(config).await?;
                match registry.try_out(&built.module, settings).await {
                    Ok(connector) => {
                        check_upstreams(&connector, settings)?;
                        return Ok(First { built, connector });
                    }
                    Err(refusal) => self.failed(&refusal),
                }
            }
            saved = self.saved().await;
        }
    }

    /// Swaps each version that the author saves into the gateway.
    async fn follow(&mut self, gateway: &Gateway) -> Result<(), ConnectorsError> {
        loop {
            let saved = self.saved().await;
            self.deliver(gateway, saved).await?;
        }
    }

    /// Builds the present sources, and swaps the module into the gateway.
    async fn deliver(&mut self, gateway: &Gateway, saved: Instant) -> Result<(), ConnectorsError> {
        match self.build(saved).await {
            Some(built) => self.add(gateway, built).await,
            None => Ok(()),
        }
    }

    /// Waits until the author saves a source.
    async fn saved(&mut self) -> Instant {
        self.sources.changed().await;
        Instant::now()
    }

    /// Builds the module. The tools print their messages. `None` if they fail.
    async fn build(&self, saved: Instant) -> Option<Built> {
        say("Building …");
        let (project, output) = (Arc::clone(&self.project), self.output.clone());
        let building = tokio::task::spawn_blocking(move || match project.build(&output)? {
            Some(core_module) => component_of(&core_module),
            None => read(&output),
        });
        let result = match building.await {
            Ok(result) => result,
            Err(error) => Err(io::Error::other(error).into()),
        };
        match result {
            Ok(module) => Some(Built { module, saved, build: saved.elapsed() }),
            Err(error) => {
                self.failed(&error);
                None
            }
        }
    }

    /// Says why a version is not live.
    fn failed(&self, reason: &dyn fmt::Display) {
        let then = if self.is_live { "The version before stays live." } else { "The next save builds it again." };
        say(format_args!("Not live: {reason}. {then}"));
    }

    /// Swaps a module into the gateway.
    async fn add(&mut self, gateway: &Gateway, built: Built) -> Result<(), ConnectorsError> {
        let Built { module, saved, build } = built;
        let began = Instant::now();
        let word = Installation { accepts: self.is_own, ..Installation::default() };
        let live = match gateway.add(module, word).await {
            Ok(installed) => installed.connector,
            Err(AddError::AsksForMore(more)) => {
                more.iter().for_each(|ask| say(format_args!("  + {ask}")));
                say(
                    "The module asks for more than the version before, which stays; add it once with `connectors add --accept`.",
                );
                return Ok(());
            }
            Err(AddError::Other(error)) => {
                self.failed(&error);
                return Ok(());
            }
        };
        self.is_live = true;
        let missing = &live.hosts.missing;
        if self.is_own && !missing.is_empty() {
            gateway.grant(&live.connector, missing).await?;
        }
        let seconds = |time: Duration| time.as_secs_f64();
        say(format_args!(
            "{} {} is live after {:.1} s (build {:.1} s, check and swap {:.1} s)",
            live.connector,
            live.version,
            seconds(saved.elapsed()),
            seconds(build),
            seconds(began.elapsed())
        ));
        if !self.is_own && !missing.is_empty() {
            say(format_args!("  not granted: {}", missing.join(" ")));
        }
        Ok(())
    }
}

/// Checks the names of replaced upstreams.
fn check_upstreams(connector: &Connector, settings: &AuthorSettings) -> Result<(), DevError> {
    let known: Vec<&str> = connector.services().iter().map(|service| service.name.as_str()).collect();
    match settings.upstreams.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(DevError::Upstream { name: name.clone(), known: known.join(", ") }),
        None => Ok(()),
    }
}

/// Writes a line to the screen. If standard output is closed, nobody reads it.
fn say(line: impl fmt::Display) {
    let _ = writeln!(io::stdout(), "{}", printable(&line.to_string()));
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[tokio::test]
    async fn a_port_that_another_process_has_is_told_with_the_option() {
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = other.local_addr().unwrap().port();
        let folder = TempDir::new().unwrap();
        let config = throwaway::config(folder.path(), port).unwrap();
        let extras = serve::Extras { carrier: None, new_database: false, ready: Box::new(|_, _, _| {}) };
        let error = not_served(serve::serve(config, extras).await.unwrap_err(), Some(port)).to_string();
        assert!(error.starts_with(&format!("--port: another process listens at port {port};")), "{error}");
    }
}
