//! The commands `connectors …`. They change the modules folder and the store, with or without a running gateway. A running
//! gateway notices a change within a second.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use thiserror::Error;

use super::arguments::{ConnectorsCommand, ListArguments};
use super::new::{self, NewError};
use super::table::Table;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::registry::{ChangeError, Connector, Installation, Refusal, Registry, Service};
use crate::serve::{ServeError, open_registry};
use crate::webhooks::Events;
use contract::AuthScheme;
use store::vault::{Vault, VaultError};
use store::{Store, StoreError};

/// Why a command failed. Each message is one line that says what to do.
#[derive(Debug, Error)]
pub enum ConnectorsError {
    /// The store does not open.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The master key, which compiled modules are authenticated with, is missing or wrong.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The sandbox does not start.
    #[error(transparent)]
    Start(#[from] ServeError),
    /// The change was not made.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The template could not be written.
    #[error(transparent)]
    New(#[from] NewError),
    /// The module is refused.
    #[error("`{}` is refused: {reason}", file.display())]
    Refused {
        /// The module.
        file: PathBuf,
        /// The cause, for the author of the connector.
        reason: String,
    },
    /// The file cannot be read or written.
    #[error("`{}`: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Standard output is closed.
    #[error("the result cannot be written to standard output: {0}")]
    Output(#[from] std::io::Error),
}

/// Runs one command.
///
/// # Errors
/// See [`ConnectorsError`].
pub async fn run(command: &ConnectorsCommand, config: Config) -> Result<(), ConnectorsError> {
    match command {
        ConnectorsCommand::New { id } => {
            let folder = new::write(Path::new("."), id)?;
            eprintln!("Created `{}`. Build its module with `make build`.", folder.display());
            return Ok(());
        }
        ConnectorsCommand::Pack { file, output } => return pack(file, output),
        _ => {}
    }
    let store = Store::connect(&config.store()).await?;
    let vault = Vault::open(&config.master_key_path(), &store).await?;
    let registry = open_registry(&Arc::new(config), store, &vault, &Arc::new(Metrics::default()), Events::default())?;
    match command {
        ConnectorsCommand::New { .. } | ConnectorsCommand::Pack { .. } => Ok(()),
        ConnectorsCommand::List(arguments) => list(&registry, *arguments).await,
        ConnectorsCommand::Check { file } => {
            let connector = check(&registry, file).await?;
            describe(&connector)?;
            if registry.would_replace_shipped(&connector) {
                println!(
                    "  replaces    the connector that came with the gateway (add the module with --replace-shipped)"
                );
            }
            Ok(())
        }
        ConnectorsCommand::Add { file, grants, replace_shipped } => {
            let module = read(file)?;
            let grants = (!grants.is_empty()).then_some(grants.as_slice());
            let word = Installation { grants, replaces_shipped: *replace_shipped };
            let connector = registry.install(module.into(), word).await.map_err(|error| match error {
                ChangeError::Refused(reason) => ConnectorsError::Refused { file: file.clone(), reason },
                error => error.into(),
            })?;
            describe(&connector)?;
            eprintln!("Added. A running gateway swaps it in within a second.");
            Ok(())
        }
        ConnectorsCommand::Remove { id } => {
            registry.remove(id).await?;
            eprintln!("Removed `{id}`. A running gateway finishes the calls under way.");
            Ok(())
        }
        ConnectorsCommand::Rollback { id } => {
            let connector = registry.rollback(id).await?;
            let manifest = connector.manifest();
            eprintln!("Brought back `{id}` {} ({}).", manifest.version, connector.digest());
            Ok(())
        }
    }
}

fn read(file: &Path) -> Result<Vec<u8>, ConnectorsError> {
    fs::read(file).map_err(|source| ConnectorsError::File { file: file.to_owned(), source })
}

fn pack(file: &Path, output: &Path) -> Result<(), ConnectorsError> {
    let component = sandbox::pack(&read(file)?)
        .map_err(|error| ConnectorsError::Refused { file: file.to_owned(), reason: format!("{error:#}") })?;
    // An unchanged file is left alone, so that a gateway that watches the folder does not load it again.
    if fs::read(output).is_ok_and(|present| present == component) {
        return Ok(());
    }
    let write = |file: &mut fs::File| {
        // Readable for all: a module is no secret, and the gateway may run as another user than the builder.
        file.set_permissions(Permissions::from_mode(0o644))?;
        file.write_all(&component)
    };
    store::files::write_atomically(output, write)
        .map_err(|source| ConnectorsError::File { file: output.to_owned(), source })
}

async fn check(registry: &Registry, file: &Path) -> Result<Connector, ConnectorsError> {
    let refused = |refusal: Refusal| ConnectorsError::Refused { file: file.to_owned(), reason: refusal.to_string() };
    registry.check(&read(file)?).await.map_err(refused)
}

/// Prints what a connector is, and the hosts that it asks for.
fn describe(connector: &Connector) -> Result<(), ConnectorsError> {
    let manifest = connector.manifest();
    let auth = match &manifest.auth {
        AuthScheme::None => "none",
        AuthScheme::Oauth2(_) => "OAuth 2.0",
        AuthScheme::ApiKey(_) => "API key",
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} {}: {}", manifest.identifier, manifest.version, manifest.title)?;
    writeln!(out, "  sha256      {}", connector.digest())?;
    writeln!(out, "  users       {auth}")?;
    writeln!(out, "  operations  {}", connector.operations().count())?;
    let imprint = &manifest.imprint;
    for (name, text) in [
        ("author", imprint.author.as_deref()),
        ("license", Some(imprint.license.as_str()).filter(|license| !license.is_empty())),
        ("homepage", imprint.homepage.as_deref()),
    ] {
        if let Some(text) = text {
            writeln!(out, "  {name:<11} {text}")?;
        }
    }
    for service in connector.services() {
        writeln!(out, "  credential  {}", credential(service))?;
    }
    for setting in &manifest.settings {
        let default = setting.default.as_deref().map(|text| format!(", {text} unless it is set")).unwrap_or_default();
        let documentation = setting.documentation.lines().next().unwrap_or_default();
        writeln!(out, "  setting     `{}`{default}: {documentation}", setting.name)?;
    }
    for host in connector.granted_hosts() {
        writeln!(out, "  reaches     {host}")?;
    }
    for host in connector.missing_hosts() {
        writeln!(out, "  asks for    {host} (not granted: add the module with --grant {host})")?;
    }
    Ok(())
}

/// The use of the user's credential in requests to a service.
fn credential(service: &Service) -> String {
    let host = service.host.as_deref().unwrap_or("no address yet");
    let place = match &service.credential {
        None => "none".to_owned(),
        Some(place) => format!("{} `{}`", place.part.replace('_', " "), place.name),
    };
    format!("upstream `{}` ({host}): {place}", service.name)
}

async fn list(registry: &Arc<Registry>, arguments: ListArguments) -> Result<(), ConnectorsError> {
    registry.load_folders().await?;
    let live = registry.live();
    let mut connectors: Vec<_> = live.values().collect();
    connectors.sort_by_key(|connector| connector.name());
    let refused = registry.refused();
    if arguments.json {
        let connectors: Vec<Value> = connectors
            .iter()
            .map(|connector| {
                json!({
                    "connector": connector.manifest().identifier,
                    "version": connector.manifest().version,
                    "sha256": connector.digest(),
                    "shipped": connector.is_shipped(),
                    "operations": connector.operations().count(),
                    "missing_hosts": connector.missing_hosts(),
                })
            })
            .collect();
        let refused: Vec<Value> =
            refused.iter().map(|refused| json!({"file": refused.file, "reason": refused.reason})).collect();
        println!("{}", json!({"connectors": connectors, "refused": refused}));
        return Ok(());
    }
    let mut table = Table::new(["CONNECTOR", "VERSION", "SHA-256", "OPERATIONS", "NOTE"]);
    for connector in connectors {
        let missing = connector.missing_hosts();
        table.row([
            connector.manifest().identifier.clone(),
            connector.manifest().version.clone(),
            connector.digest().chars().take(12).collect(),
            connector.operations().count().to_string(),
            if missing.is_empty() { String::new() } else { format!("not granted: {}", missing.join(" ")) },
        ]);
    }
    print!("{table}");
    for refused in refused.iter() {
        println!("refused: {}: {}", refused.file, refused.reason);
    }
    Ok(())
}
