//! The commands `connectors …`. They change the modules folder and the store, with or without a running gateway. A running
//! gateway notices a change within a second.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use thiserror::Error;

use super::arguments::{ConnectorsCommand, ListArguments};
use super::build::{BuildError, Project};
use super::call::{self, CallError};
use super::check;
use super::check::report::Report;
use super::new::{self, NewError};
use super::oci::RegistryError;
use super::push;
use super::source::{self, Arrived};
use super::table::Table;
use crate::api;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::registry::{ChangeError, Connector, GRANT_COMMAND, Installation, Registry};
use crate::serve::{ServeError, open_registry};
use crate::webhooks::Events;
use store::vault::{Vault, VaultError};
use store::{Store, StoreError};

/// The states of a host in `connectors grants`.
const GRANTED: &str = "granted";
const BY_CONFIGURATION: &str = "by the configuration or the manifest";
const MISSING: &str = "not granted";
const UNNAMED: &str = "granted, and no upstream names it";

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
    /// The project was not created.
    #[error(transparent)]
    New(#[from] NewError),
    /// The project was not built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The registry did not take or give the module.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The operation was not called, or has failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The module is refused.
    #[error("`{module}` is refused: {reason}")]
    Refused {
        /// The module.
        module: String,
        /// The cause, for the author of the connector.
        reason: String,
    },
    /// The module asks for more than the version before.
    #[error(
        "`{connector}` asks for more than the version before, which stays; if the lines with + are right, run `{command}`"
    )]
    NotAccepted {
        /// The connector's identifier.
        connector: String,
        /// The command that accepts it.
        command: String,
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

/// Runs one command. `program` begins the commands that messages name.
///
/// # Errors
/// See [`ConnectorsError`].
pub async fn run(command: &ConnectorsCommand, config: Config, program: &str) -> Result<(), ConnectorsError> {
    match command {
        ConnectorsCommand::New(arguments) => {
            let created = new::write(arguments)?;
            created.left_out.iter().for_each(|line| eprintln!("left out: {line}"));
            let folder = created.folder.to_string_lossy();
            eprintln!("Created `{folder}`. Build its module with `{program} connectors build {}`.", word(&folder));
            return Ok(());
        }
        ConnectorsCommand::Build { folder, output } => {
            let project = Project::find(folder)?;
            let output = output.clone().unwrap_or_else(|| project.module());
            if let Some(core_module) = project.build(&output)? {
                pack(&core_module, &output)?;
            }
            println!("{}", output.display());
            return Ok(());
        }
        ConnectorsCommand::Call(arguments) => return call::run(arguments, &config).await,
        ConnectorsCommand::Pack { file, output } => return pack(file, output),
        ConnectorsCommand::Push(arguments) => return push::run(arguments, &config, program).await,
        ConnectorsCommand::Check { module, list, registry } => {
            let arrived = source::read(module, registry, config.compile.max_module_mb).await?;
            let report = check::run(module, &arrived, &config, program).await?;
            match list.json {
                true => println!("{:#}", json!(report)),
                false => print!("{report}"),
            }
            return Ok(());
        }
        _ => {}
    }
    let limit_mb = config.compile.max_module_mb;
    let store = Store::connect(&config.store()).await?;
    let vault = Vault::open(&config.master_key_path(), &store).await?;
    let registry = open_registry(&Arc::new(config), store, &vault, &Arc::new(Metrics::default()), Events::default())?;
    match command {
        ConnectorsCommand::New(_)
        | ConnectorsCommand::Build { .. }
        | ConnectorsCommand::Call(_)
        | ConnectorsCommand::Pack { .. }
        | ConnectorsCommand::Push(_)
        | ConnectorsCommand::Check { .. } => Ok(()),
        ConnectorsCommand::List(arguments) => list(&registry, *arguments).await,
        ConnectorsCommand::Add { module: source, grants, accept, replace_shipped, registry: login } => {
            let Arrived { module, signature, pulled } = source::read(source, login, limit_mb).await?;
            let (accepts, replaces_shipped, signature) = (*accept, *replace_shipped, signature.as_deref());
            let installation = Installation { grants, accepts, replaces_shipped, signature };
            let connector = registry.install(module.into(), installation).await.map_err(|error| match error {
                ChangeError::AsksForMore { connector, more, .. } => {
                    more.iter().for_each(|ask| println!("  + {ask}"));
                    let grants = grants.iter().map(|host| format!(" --grant {host}")).collect::<String>();
                    let replace = if *replace_shipped { " --replace-shipped" } else { "" };
                    let source = word(&pulled.as_ref().map_or_else(|| source.to_string(), ToString::to_string));
                    ConnectorsError::NotAccepted {
                        connector,
                        command: format!("{program} connectors add {source}{grants}{replace} --accept"),
                    }
                }
                ChangeError::Refused(reason) => ConnectorsError::Refused { module: source.to_string(), reason },
                error => error.into(),
            })?;
            print!("{}", Report::of(&connector).short());
            if let Some(pulled) = &pulled {
                println!("  pulled      {pulled}");
            }
            to_grant(program, &connector);
            eprintln!("Added. A running gateway swaps it in within a second.");
            Ok(())
        }
        ConnectorsCommand::Grant { id, hosts } => {
            let connector = registry.grant(id, hosts).await?;
            for host in connector.granted_hosts() {
                println!("  reaches     {host}");
            }
            for host in connector.missing_hosts() {
                println!("  asks for    {host} (not granted)");
            }
            to_grant(program, &connector);
            eprintln!("Granted. A running gateway notices it within two seconds.");
            Ok(())
        }
        ConnectorsCommand::Revoke { id, hosts } => {
            registry.revoke(id, hosts).await?;
            eprintln!("Revoked. A running gateway notices it within two seconds.");
            Ok(())
        }
        ConnectorsCommand::Grants { id, list } => grants(&registry, program, id.as_deref(), *list).await,
        ConnectorsCommand::Remove { id } => {
            registry.remove(id).await?;
            eprintln!("Removed `{id}`. A running gateway finishes the calls under way.");
            Ok(())
        }
        ConnectorsCommand::Versions { id, list } => versions(&registry, id, *list).await,
        ConnectorsCommand::Rollback { id, to } => {
            let connector = registry.rollback(id, to.as_deref()).await?;
            let manifest = connector.manifest();
            eprintln!("Brought back `{id}` {} ({}).", manifest.version, connector.digest());
            Ok(())
        }
    }
}

pub(super) fn read(file: &Path) -> Result<Vec<u8>, ConnectorsError> {
    fs::read(file).map_err(|source| ConnectorsError::File { file: file.to_owned(), source })
}

fn pack(file: &Path, output: &Path) -> Result<(), ConnectorsError> {
    let component = sandbox::pack(&read(file)?).map_err(|error| ConnectorsError::Refused {
        module: file.display().to_string(),
        reason: format!("{error:#}"),
    })?;
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

/// Prints the command that grants what an installed connector asks for.
fn to_grant(program: &str, connector: &Connector) {
    let missing = connector.missing_hosts();
    if !missing.is_empty() {
        let command = GRANT_COMMAND.trim_start_matches("connector-gateway");
        println!("  to grant    {program}{command} {} {}", connector.name(), missing.join(" "));
    }
}

/// A word as shells read it.
pub(super) fn word(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-./:@%+,".contains(character);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Lists the hosts of the connectors that need grants, or of one of them.
async fn grants(
    registry: &Arc<Registry>,
    program: &str,
    id: Option<&str>,
    arguments: ListArguments,
) -> Result<(), ConnectorsError> {
    registry.load_folders().await?;
    let live = registry.live();
    if let Some(id) = id.filter(|id| !live.contains_key(*id)) {
        return Err(ChangeError::Unknown(id.to_owned()).into());
    }
    let mut connectors: Vec<&Arc<Connector>> =
        live.values().filter(|live| id.map_or(!live.is_shipped(), |id| *live.name() == *id)).collect();
    connectors.sort_by_key(|connector| connector.name());
    let mut rows = Vec::new();
    for connector in connectors {
        let granted = registry.grants(&connector.name()).await?;
        let mut hosts: BTreeMap<&str, &str> = granted.iter().map(|host| (host.as_str(), UNNAMED)).collect();
        hosts.extend(connector.granted_hosts().into_iter().map(|host| (host, BY_CONFIGURATION)));
        hosts.extend(connector.missing_hosts().into_iter().map(|host| (host, MISSING)));
        let named = connector.named_hosts();
        for host in granted.iter().filter(|host| named.contains(*host)) {
            hosts.insert(host, GRANTED);
        }
        rows.extend(hosts.into_iter().map(|(host, state)| (connector, host.to_owned(), state)));
    }
    if arguments.json {
        let row = |(connector, host, state): &(&Arc<Connector>, String, &str)| json!({"connector": &*connector.name(), "host": host, "state": state});
        println!("{}", Value::Array(rows.iter().map(row).collect()));
        return Ok(());
    }
    let mut table = Table::new(["CONNECTOR", "HOST", "STATE"]);
    for (connector, host, state) in &rows {
        table.row([connector.name().to_string(), host.clone(), (*state).to_owned()]);
    }
    print!("{table}");
    let mut asking: Vec<&Arc<Connector>> = rows.iter().map(|(connector, ..)| *connector).collect();
    asking.dedup_by_key(|connector| connector.name());
    asking.into_iter().for_each(|connector| to_grant(program, connector));
    Ok(())
}

/// Lists the stored versions of a connector.
async fn versions(registry: &Arc<Registry>, id: &str, arguments: ListArguments) -> Result<(), ConnectorsError> {
    registry.load_folders().await?;
    let stored = registry.stored_versions(id).await?;
    if arguments.json {
        println!("{}", Value::Array(stored.iter().map(api::stored_version).collect()));
        return Ok(());
    }
    let mut table = Table::new(["VERSION", "SHA-256", "LIVE SINCE", "NOTE"]);
    for version in &stored {
        let notes =
            [(version.is_live, "live"), (version.is_shipped, "shipped"), (version.version.is_none(), "refused now")];
        let notes: Vec<&str> = notes.into_iter().filter_map(|(holds, note)| holds.then_some(note)).collect();
        table.row([
            version.version.clone().unwrap_or_default(),
            version.digest.chars().take(12).collect(),
            humantime::format_rfc3339_seconds(version.live_at).to_string(),
            notes.join(", "),
        ]);
    }
    print!("{table}");
    Ok(())
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
