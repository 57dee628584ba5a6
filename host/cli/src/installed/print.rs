//! The results of the commands, for people and as JSON.

use std::collections::BTreeMap;
use std::io;

use authoring::gateway::{Gateway, Gateways, InService};
use authoring::output::{print, print_json};
use authoring::shell;
use connector_gateway::GRANT_COMMAND;
use connector_gateway::records::{ChangeRecord, ConnectorsRecord, GrantRecord, GrantStateRecord, VersionRecord};
use contract::words::one_line;
use serde_json::json;

use crate::table::Table;

/// Number of characters of a digest in a list.
const SHORT_DIGEST: usize = 12;

/// The hosts that a connector needs and that were not granted.
pub(super) fn missing(hosts: &[GrantRecord], id: &str) -> Vec<String> {
    let is_missing = |grant: &&GrantRecord| grant.state == GrantStateRecord::Missing && grant.connector == id;
    hosts.iter().filter(is_missing).map(|grant| grant.host.clone()).collect()
}

/// Prints the command that grants the missing hosts.
pub(super) fn print_command_to_grant(program: &str, gateway: &Gateway, id: &str, missing: &[String]) -> io::Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let command = GRANT_COMMAND.trim_start_matches("connector-gateway");
    // A shell would take a wildcard for names of files.
    let hosts: Vec<String> = missing.iter().map(|host| shell::quoted(host)).collect();
    print(format_args!("  to grant    {program}{command} {id} {}{}", hosts.join(" "), gateway.options()))
}

/// Prints what each gateway made of a change.
pub(super) fn gateways(gateways: Gateways) -> io::Result<()> {
    for at in gateways.unwrap_or_default() {
        let reason = at.reason.as_deref().map(|reason| format!(" ({})", one_line(reason))).unwrap_or_default();
        print(format_args!("  gateway     {}: {}{reason}", at.gateway, at.state))?;
    }
    Ok(())
}

pub(super) fn list_json(record: &ConnectorsRecord, service: &BTreeMap<String, InService>) -> io::Result<()> {
    let connectors = record.connectors.iter().map(|connector| {
        let in_service = service.get(&connector.connector).cloned().unwrap_or_default();
        json!({
            "connector": connector.connector,
            "version": connector.version,
            "sha256": connector.sha256,
            "shipped": connector.shipped,
            "operations": connector.operations.len(),
            "missing_hosts": connector.hosts.missing,
            "generation": in_service.generation,
            "gateways": in_service.gateways,
        })
    });
    let refused = record.refused.iter().map(|refused| json!({"file": refused.file, "reason": refused.reason}));
    print_json(json!({"connectors": connectors.collect::<Vec<_>>(), "refused": refused.collect::<Vec<_>>()}))
}

pub(super) fn list(record: &ConnectorsRecord, service: &BTreeMap<String, InService>) -> io::Result<()> {
    let mut table = Table::new(["CONNECTOR", "VERSION", "SHA-256", "OPERATIONS", "GENERATION", "GATEWAYS", "NOTE"]);
    for connector in &record.connectors {
        let missing = &connector.hosts.missing;
        let in_service = service.get(&connector.connector).cloned().unwrap_or_default();
        let gateways = in_service.gateways.iter().map(|(state, count)| format!("{count} {state}"));
        table.row([
            connector.connector.clone(),
            connector.version.clone(),
            connector.sha256.chars().take(SHORT_DIGEST).collect(),
            connector.operations.len().to_string(),
            in_service.generation.to_string(),
            gateways.collect::<Vec<_>>().join(", "),
            if missing.is_empty() { String::new() } else { format!("not granted: {}", missing.join(" ")) },
        ]);
    }
    table.print()?;
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

pub(super) fn grants_json(hosts: &[GrantRecord]) -> io::Result<()> {
    let row = |grant: &GrantRecord| json!({"connector": grant.connector, "host": grant.host, "state": state(grant)});
    print_json(json!(hosts.iter().map(row).collect::<Vec<_>>()))
}

pub(super) fn grants(hosts: &[GrantRecord], program: &str, gateway: &Gateway) -> io::Result<()> {
    let mut table = Table::new(["CONNECTOR", "HOST", "STATE"]);
    for grant in hosts {
        table.row([grant.connector.clone(), grant.host.clone(), state(grant).to_owned()]);
    }
    table.print()?;
    let mut connectors: Vec<&str> = hosts.iter().map(|grant| grant.connector.as_str()).collect();
    connectors.dedup();
    connectors.into_iter().try_for_each(|id| print_command_to_grant(program, gateway, id, &missing(hosts, id)))
}

pub(super) fn versions(versions: &[VersionRecord]) -> io::Result<()> {
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
    table.print()
}

pub(super) fn history(changes: &[ChangeRecord]) -> io::Result<()> {
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
    table.print()
}
