//! The commands `gateways …`.

use authoring::gateway::RunningGateway;
use authoring::options::{ListArguments, RunningGatewayArguments};
use authoring::output::print_json;
use serde_json::Value;

use super::arguments::GatewaysCommand;
use super::error::OperatorError;
use super::{all_entries, cell, print_page, print_table};
use crate::table::Table;

/// Runs a command `gateways …`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn gateways(command: &GatewaysCommand) -> Result<(), OperatorError> {
    match command {
        GatewaysCommand::List { list, gateway } => show_gateways(*list, gateway).await,
        GatewaysCommand::Settings { changed, list, gateway } => settings(*changed, *list, gateway).await,
        GatewaysCommand::Samples { list, gateway } => samples(*list, gateway).await,
    }
}

async fn show_gateways(list: ListArguments, gateway: &RunningGatewayArguments) -> Result<(), OperatorError> {
    let mut found = all_entries(&RunningGateway::at(gateway)?, &["admin", "gateways"], "gateways").await?;
    if !list.json {
        for gateway in &mut found.entries {
            let counts = &gateway["connectors"];
            let text = ["live", "compiling", "refused"].map(|state| format!("{} {state}", counts[state]));
            gateway["connectors"] = text.join(", ").into();
        }
    }
    let columns = [
        ("ID", "id"),
        ("NAME", "name"),
        ("STATE", "state"),
        ("VERSION", "version"),
        ("CONNECTORS", "connectors"),
        ("CALLS", "calls"),
        ("JOBS", "jobs"),
        ("SEEN", "seen_at"),
    ];
    print_page(found, "gateways", list, columns)
}

async fn settings(
    only_changed: bool,
    list: ListArguments,
    gateway: &RunningGatewayArguments,
) -> Result<(), OperatorError> {
    let mut found = RunningGateway::at(gateway)?.get(&["admin", "settings"], &[]).await?;
    let is_shown = |setting: &Value| !only_changed || setting["changed"] == true;
    for section in found["sections"].as_array_mut().into_iter().flatten() {
        if let Some(settings) = section["settings"].as_array_mut() {
            settings.retain(is_shown);
        }
    }
    if list.json {
        return Ok(print_json(format_args!("{found:#}"))?);
    }
    let mut table = Table::new(["SECTION", "KEY", "VALUE", "ORIGIN"]);
    for section in found["sections"].as_array().into_iter().flatten() {
        for setting in section["settings"].as_array().into_iter().flatten() {
            let value = match setting["secret"].as_str() {
                Some("set") => "(a secret is set)".to_owned(),
                _ => cell(&setting["value"]),
            };
            let origin = if setting["changed"] == true { "set" } else { "default" };
            table.row([cell(&section["section"]), cell(&setting["key"]), value, origin.to_owned()]);
        }
    }
    Ok(table.print()?)
}

async fn samples(list: ListArguments, gateway: &RunningGatewayArguments) -> Result<(), OperatorError> {
    let mut found = RunningGateway::at(gateway)?.get(&["admin", "samples"], &[]).await?;
    if list.json {
        return Ok(print_json(format_args!("{found:#}"))?);
    }
    let columns = [
        ("AT", "at"),
        ("ANSWERS", "answers"),
        ("FAULTS", "faults"),
        ("HALF WITHIN MS", "median_ms"),
        ("95 % WITHIN MS", "p95_ms"),
        ("IN PROGRESS", "in_flight"),
        ("MEMORY HELD", "memory_held_bytes"),
    ];
    let samples = found["samples"].as_array_mut().map(std::mem::take).unwrap_or_default();
    print_table(&samples, columns)
}
