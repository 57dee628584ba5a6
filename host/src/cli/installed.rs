//! The commands about the connectors of a gateway: `connectors list`, `add`, `remove`, `grant`, `revoke`, `grants`, `versions`,
//! `rollback` and `history`. The gateway is that of the configuration, or another one (`--url`).

use std::io::{self, Write};

use serde_json::json;

use super::arguments::{AddArguments, ConnectorsCommand};
use super::check::summary::Summary;
use super::connectors::{ConnectorsError, word};
use super::gateway::{AddError, Gateway};
use super::output::{Results, print};
use super::source::{self, Arrived};
use super::table::Table;
use crate::api::records::{ChangeRecord, ConnectorsRecord, GrantRecord, GrantStateRecord, VersionRecord};
use crate::config::Config;
use crate::registry::{ChangeError, GRANT_COMMAND, Installation};
use contract::words::one_line;

/// Number of the characters of a digest in a list.
const SHORT_DIGEST: usize = 12;

/// Runs one command. `program` begins the commands that messages name.
///
/// # Errors
/// See [`ConnectorsError`].
pub(super) async fn run(command: &ConnectorsCommand, config: Config, program: &str) -> Result<(), ConnectorsError> {
    let Some(arguments) = command.gateway() else { return Ok(()) };
    let limit_mb = config.compile.max_module_mb;
    let gateway = Gateway::open(arguments, config).await?;
    match command {
        ConnectorsCommand::List { list, .. } => {
            let record = gateway.list().await?;
            match list.json {
                true => print_list_json(&record)?,
                false => print_list(&record)?,
            }
        }
        ConnectorsCommand::Add(arguments) => add(&gateway, arguments, limit_mb, program).await?,
        ConnectorsCommand::Grant { id, hosts, .. } => {
            let hosts = gateway.grant(id, hosts).await?;
            for GrantRecord { host, state, .. } in &hosts {
                match state {
                    GrantStateRecord::Missing => print(format_args!("  asks for    {host} (not granted)"))?,
                    GrantStateRecord::Granted | GrantStateRecord::Configured => {
                        print(format_args!("  reaches     {host}"))?;
                    }
                    GrantStateRecord::Unnamed => {}
                }
            }
            to_grant(program, &gateway, id, missing(&hosts, id))?;
            gateway.remark("Granted in", "A running gateway notices it within two seconds.");
        }
        ConnectorsCommand::Revoke { id, hosts, .. } => {
            gateway.revoke(id, hosts).await?;
            gateway.remark("Revoked in", "A running gateway notices it within two seconds.");
        }
        ConnectorsCommand::Grants { id, list, .. } => {
            let hosts = gateway.grants(id.as_deref()).await?;
            match list.json {
                true => print_grants_json(&hosts)?,
                false => print_grants(&hosts, program, &gateway)?,
            }
        }
        ConnectorsCommand::Remove { id, .. } => {
            gateway.remove(id).await?;
            let done = format!("Removed `{id}` from");
            gateway.remark(&done, "A running gateway finishes the calls under way.");
        }
        ConnectorsCommand::Versions { id, list, .. } => {
            let versions = gateway.versions(id).await?;
            match list.json {
                true => print(json!(versions))?,
                false => print_versions(&versions)?,
            }
        }
        ConnectorsCommand::Rollback { id, to, .. } => {
            let live = gateway.rollback(id, to.as_deref()).await?.connector;
            let done = format!("Brought back `{id}` {} ({}) in", live.version, live.sha256);
            gateway.remark(&done, "A running gateway swaps it in within a second.");
        }
        ConnectorsCommand::History { id, limit, list, .. } => {
            let changes = gateway.history(id.as_deref(), *limit).await?;
            match list.json {
                true => print(json!(changes))?,
                false => print_history(&changes)?,
            }
        }
        ConnectorsCommand::New(_)
        | ConnectorsCommand::Build { .. }
        | ConnectorsCommand::Pack { .. }
        | ConnectorsCommand::Call(_)
        | ConnectorsCommand::Test(_)
        | ConnectorsCommand::Dev(_)
        | ConnectorsCommand::Push(_)
        | ConnectorsCommand::Check { .. } => {}
    }
    Ok(())
}

async fn add(gateway: &Gateway, arguments: &AddArguments, limit_mb: u64, program: &str) -> Result<(), ConnectorsError> {
    let AddArguments { module: source, grants, accept, replace_shipped, registry, .. } = arguments;
    let Arrived { module, signature, pulled } = source::read(source, registry, limit_mb).await?;
    let (accepts, replaces_shipped, signature) = (*accept, *replace_shipped, signature.as_deref());
    let installation = Installation { grants, accepts, replaces_shipped, signature };
    let installed = gateway.add(module, installation).await.map_err(|error| match error {
        AddError::AsksForMore(more) => {
            for ask in &more {
                if let Err(error) = print(format_args!("  + {ask}")) {
                    return error.into();
                }
            }
            let grants = grants.iter().map(|host| format!(" --grant {host}")).collect::<String>();
            let replace = if *replace_shipped { " --replace-shipped" } else { "" };
            let name = word(&pulled.as_ref().map_or_else(|| source.to_string(), ToString::to_string));
            let command = format!("{program} connectors add {name}{grants}{replace} --accept{}", gateway.options());
            ConnectorsError::NotAccepted { module: source.to_string(), command }
        }
        AddError::Other(ConnectorsError::Change(ChangeError::Refused(reason))) => {
            ConnectorsError::Refused { module: source.to_string(), reason }
        }
        AddError::Other(error) => error,
    })?;
    let (id, missing) = (installed.connector.connector.clone(), installed.connector.hosts.missing.clone());
    write!(Results::new(), "{}", Summary::from(installed))?;
    if let Some(pulled) = &pulled {
        print(format_args!("  pulled      {pulled}"))?;
    }
    to_grant(program, gateway, &id, missing)?;
    gateway.remark("Added to", "A running gateway swaps it in within a second.");
    Ok(())
}

/// The hosts that a connector needs and that were not granted.
fn missing(hosts: &[GrantRecord], id: &str) -> Vec<String> {
    let is_missing = |grant: &&GrantRecord| grant.state == GrantStateRecord::Missing && grant.connector == id;
    hosts.iter().filter(is_missing).map(|grant| grant.host.clone()).collect()
}

/// Prints the command that grants what a connector asks for.
fn to_grant(program: &str, gateway: &Gateway, id: &str, missing: Vec<String>) -> io::Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let command = GRANT_COMMAND.trim_start_matches("connector-gateway");
    print(format_args!("  to grant    {program}{command} {id} {}{}", missing.join(" "), gateway.options()))
}

fn print_list_json(record: &ConnectorsRecord) -> io::Result<()> {
    let connectors = record.connectors.iter().map(|connector| {
        json!({
            "connector": connector.connector,
            "version": connector.version,
            "sha256": connector.sha256,
            "shipped": connector.shipped,
            "operations": connector.operations.len(),
            "missing_hosts": connector.hosts.missing,
        })
    });
    let refused = record.refused.iter().map(|refused| json!({"file": refused.file, "reason": refused.reason}));
    print(json!({"connectors": connectors.collect::<Vec<_>>(), "refused": refused.collect::<Vec<_>>()}))
}

fn print_list(record: &ConnectorsRecord) -> io::Result<()> {
    let mut table = Table::new(["CONNECTOR", "VERSION", "SHA-256", "OPERATIONS", "NOTE"]);
    for connector in &record.connectors {
        let missing = &connector.hosts.missing;
        table.row([
            connector.connector.clone(),
            connector.version.clone(),
            connector.sha256.chars().take(SHORT_DIGEST).collect(),
            connector.operations.len().to_string(),
            if missing.is_empty() { String::new() } else { format!("not granted: {}", missing.join(" ")) },
        ]);
    }
    write!(Results::new(), "{table}")?;
    for refused in &record.refused {
        print(format_args!("refused: {}: {}", one_line(&refused.file), one_line(&refused.reason)))?;
    }
    Ok(())
}

/// The state of a host, in words.
fn state(grant: &GrantRecord) -> &'static str {
    match grant.state {
        GrantStateRecord::Granted => "granted",
        GrantStateRecord::Configured => "by the configuration or the manifest",
        GrantStateRecord::Missing => "not granted",
        GrantStateRecord::Unnamed => "granted, and no upstream names it",
    }
}

fn print_grants_json(hosts: &[GrantRecord]) -> io::Result<()> {
    let row = |grant: &GrantRecord| json!({"connector": grant.connector, "host": grant.host, "state": state(grant)});
    print(json!(hosts.iter().map(row).collect::<Vec<_>>()))
}

fn print_grants(hosts: &[GrantRecord], program: &str, gateway: &Gateway) -> io::Result<()> {
    let mut table = Table::new(["CONNECTOR", "HOST", "STATE"]);
    for grant in hosts {
        table.row([grant.connector.clone(), grant.host.clone(), state(grant).to_owned()]);
    }
    write!(Results::new(), "{table}")?;
    let mut connectors: Vec<&str> = hosts.iter().map(|grant| grant.connector.as_str()).collect();
    connectors.dedup();
    connectors.into_iter().try_for_each(|id| to_grant(program, gateway, id, missing(hosts, id)))
}

fn print_versions(versions: &[VersionRecord]) -> io::Result<()> {
    let mut table = Table::new(["VERSION", "SHA-256", "LIVE SINCE", "BY", "NOTE"]);
    for version in versions {
        let notes = [(version.live, "live"), (version.shipped, "shipped"), (version.version.is_none(), "refused now")];
        let notes: Vec<&str> = notes.into_iter().filter_map(|(holds, note)| holds.then_some(note)).collect();
        table.row([
            version.version.clone().unwrap_or_default(),
            version.sha256.chars().take(SHORT_DIGEST).collect(),
            version.live_at.to_string(),
            version.by.clone().unwrap_or_default(),
            notes.join(", "),
        ]);
    }
    write!(Results::new(), "{table}")
}

fn print_history(changes: &[ChangeRecord]) -> io::Result<()> {
    let mut table = Table::new(["TIME", "CONNECTOR", "CHANGE", "VERSION", "SHA-256", "BY", "DETAIL"]);
    for change in changes {
        table.row([
            change.at.to_string(),
            change.connector.clone(),
            change.action.replace('_', " "),
            change.version.clone(),
            change.sha256.chars().take(SHORT_DIGEST).collect(),
            change.by.name.clone(),
            change.detail.clone(),
        ]);
    }
    write!(Results::new(), "{table}")
}
