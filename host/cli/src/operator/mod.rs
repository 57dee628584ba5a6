//! The commands `integrations …`, `jobs …`, `webhooks …`, `calls …`, `tenants …`, `tool-sets …`,
//! `gateways …` and `audit`. They read and change a running gateway by its routes (`--url`).
//! `audit` also reads the database of the configuration.
//!
//! - here: the commands
//! - [`mod@gateways`]: the commands `gateways …`
//! - [`mod@tenants`]: the commands `tenants …`
//! - [`mod@tool_sets`]: the commands `tool-sets …`
//! - [`transfer`]: the commands `integrations import` and `integrations export`
//! - [`age`]: the encryption of an export
//! - [`arguments`]: their options
//! - [`error`]: why a command failed

mod age;
mod arguments;
mod error;
mod gateways;
mod tenants;
mod tool_sets;
mod transfer;

use authoring::database;
use authoring::gateway::{GatewayError, RunningGateway};
use authoring::options::{GatewayArguments, ListArguments};
use authoring::output::{print, print_json, remark};
use connector_gateway::Config;
use connector_gateway::operator_records::AuditEntryRecord;
use serde_json::{Value, json};
use store::AuditFilter;

pub(crate) use self::arguments::{
    AuditArguments, CallsCommand, GatewaysCommand, IntegrationsCommand, JobsCommand, TenantsCommand, ToolSetsCommand,
    WebhooksCommand,
};
pub(crate) use self::gateways::gateways;
pub(crate) use self::tenants::tenants;
pub(crate) use self::tool_sets::tool_sets;

use self::arguments::{ListIntegrationsArguments, OneArguments, PageArguments};
use self::error::OperatorError;
use crate::table::Table;

/// The largest page of a route.
const PAGE: usize = 200;

/// The parameters of a query. `None` if a filter is not set.
type Filters<'a> = [(&'a str, Option<&'a str>)];

/// Runs a command `integrations …`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn integrations(command: &IntegrationsCommand, config: &Config) -> Result<(), OperatorError> {
    match command {
        IntegrationsCommand::List(arguments) => {
            let ListIntegrationsArguments { tenant, subject, connector, status, user_identifier, overdue, page } =
                arguments;
            let filters = [
                ("tenant", tenant.as_deref()),
                ("subject", subject.as_deref()),
                ("connector", connector.as_deref()),
                ("status", status.as_deref()),
                ("user_identifier", user_identifier.as_deref()),
                ("overdue", overdue.then_some("true")),
            ];
            let columns = [
                ("ID", "id"),
                ("TENANT", "tenant"),
                ("SUBJECT", "subject"),
                ("CONNECTOR", "connector"),
                ("NAME", "user_identifier"),
                ("STATUS", "status"),
                ("CREATED", "created_at"),
                ("LAST ERROR", "last_error"),
            ];
            list(page, "integrations", &filters, columns).await
        }
        IntegrationsCommand::Import(arguments) => transfer::import(arguments).await,
        IntegrationsCommand::Export(arguments) => transfer::export(arguments, config).await,
        IntegrationsCommand::Show(one) => show(one, "integrations").await,
        IntegrationsCommand::Renew(OneArguments { id, list, gateway }) => {
            let record = running(gateway)?.post(&["admin", "integrations", id, "renew"], None).await?;
            remark(format_args!("Renewed {id}."));
            print_record(&record, *list)
        }
        IntegrationsCommand::Remove(OneArguments { id, list, gateway }) => {
            let record = running(gateway)?.delete(&["admin", "integrations", id]).await?;
            let rest =
                if record["revoked"] == true { "" } else { " The service did not confirm that the access ended." };
            remark(format_args!("Removed {id}.{rest}"));
            if list.json { print_record(&record, *list) } else { Ok(()) }
        }
    }
}

/// Runs a command `jobs …`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn jobs(command: &JobsCommand) -> Result<(), OperatorError> {
    match command {
        JobsCommand::List(arguments) => {
            let filters = [("status", arguments.status.as_deref()), ("tenant", arguments.tenant.as_deref())];
            let columns = [
                ("ID", "job_id"),
                ("TENANT", "tenant"),
                ("SUBJECT", "subject"),
                ("CONNECTOR", "connector"),
                ("OPERATION", "operation"),
                ("STATUS", "status"),
                ("CREATED", "created_at"),
                ("FINISHED", "finished_at"),
            ];
            list(&arguments.page, "jobs", &filters, columns).await
        }
        JobsCommand::Show(one) => show(one, "jobs").await,
        JobsCommand::Cancel(OneArguments { id, list, gateway }) => {
            let record = running(gateway)?.delete(&["admin", "jobs", id]).await?;
            let done = if record["cancelled"] == true { "Cancelled" } else { "Not cancelled, because it had ended:" };
            remark(format_args!("{done} {id}."));
            if list.json { print_record(&record, *list) } else { Ok(()) }
        }
    }
}

/// Runs a command `webhooks …`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn webhooks(command: &WebhooksCommand) -> Result<(), OperatorError> {
    match command {
        WebhooksCommand::List(arguments) => {
            let filters = [
                ("status", arguments.status.as_deref()),
                ("tenant", arguments.tenant.as_deref()),
                ("url", arguments.to.as_deref()),
            ];
            let columns = [
                ("ID", "id"),
                ("TENANT", "tenant"),
                ("KIND", "kind"),
                ("JOB", "job_id"),
                ("RECEIVER", "receiver"),
                ("STATUS", "status"),
                ("CREATED", "created_at"),
                ("NEXT ATTEMPT", "next_attempt_at"),
            ];
            list(&arguments.page, "webhooks", &filters, columns).await
        }
        WebhooksCommand::Resend(OneArguments { id, list, gateway }) => {
            let record = running(gateway)?.post(&["admin", "webhooks", id, "resend"], None).await?;
            remark(format_args!("{id} is sent now."));
            print_record(&record, *list)
        }
    }
}

/// Runs a command `calls …`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn calls(command: &CallsCommand) -> Result<(), OperatorError> {
    match command {
        CallsCommand::List(arguments) => {
            let filters = [
                ("status", arguments.status.as_deref()),
                ("problem", arguments.problem.as_deref()),
                ("owner", arguments.owner.as_deref()),
                ("tenant", arguments.tenant.as_deref()),
                ("connector", arguments.connector.as_deref()),
                ("operation", arguments.operation.as_deref()),
                ("since", arguments.since.as_deref()),
                ("until", arguments.until.as_deref()),
            ];
            let columns = [
                ("AT", "at"),
                ("REQUEST", "request_id"),
                ("TENANT", "tenant"),
                ("SUBJECT", "subject"),
                ("CONNECTOR", "connector"),
                ("OPERATION", "operation"),
                ("STATUS", "status"),
                ("PROBLEM", "problem"),
                ("OWNER", "owner"),
            ];
            list(&arguments.page, "calls", &filters, columns).await
        }
        CallsCommand::Show(OneArguments { id, list, gateway }) => {
            let mut record = running(gateway)?.get(&["admin", "calls", id], &[]).await?;
            if !list.json {
                record["stages"] = described_stages(&record["stages"]).into();
                record["upstream"] = described_requests(&record["upstream"]).into();
            }
            print_record(&record, *list)
        }
    }
}

/// The stages of a call in one line.
fn described_stages(stages: &Value) -> String {
    let stages = stages.as_object().into_iter().flatten();
    stages.map(|(name, ms)| format!("{name} {ms} ms")).collect::<Vec<_>>().join(", ")
}

/// The requests of a call to upstreams in one line.
fn described_requests(requests: &Value) -> String {
    let described = requests.as_array().into_iter().flatten().map(|request| {
        let [method, host, path] = ["method", "host", "path"].map(|member| cell(&request[member]));
        let status = if request["status"].is_null() { "no response".to_owned() } else { cell(&request["status"]) };
        format!("{method} {host}{path}: {status} after {} ms", request["ms"])
    });
    described.collect::<Vec<_>>().join(", ")
}

/// Runs the command `audit`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn audit(arguments: &AuditArguments, config: &Config) -> Result<(), OperatorError> {
    let AuditArguments { actor, action, tenant, target, since, until, page } = arguments;
    let columns = [
        ("AT", "at"),
        ("ACTOR", "actor"),
        ("ACTION", "action"),
        ("TARGET", "target"),
        ("TENANT", "tenant"),
        ("DETAIL", "detail"),
    ];
    if let Some(gateway) = RunningGateway::open(&page.gateway)? {
        let filters = [
            ("actor", actor.as_deref()),
            ("action", action.as_deref()),
            ("tenant", tenant.as_deref()),
            ("target", target.as_deref()),
            ("since", since.as_deref()),
            ("until", until.as_deref()),
        ];
        let entries = all_pages(&gateway, &["admin", "audit"], "entries", &filters, page.limit as usize).await?;
        return print_list(&entries, page.list, columns);
    }
    let time = |text: &Option<String>| text.as_ref().and_then(|text| humantime::parse_rfc3339(text).ok());
    let filter = AuditFilter {
        actor: actor.clone(),
        action: action.clone(),
        tenant: tenant.clone(),
        target: target.clone(),
        since: time(since),
        until: time(until),
        before: None,
        limit: page.limit,
    };
    let entries = database::open(config).await?.audit(filter).await?;
    let entries: Vec<Value> = entries.into_iter().map(|entry| json!(AuditEntryRecord::from(entry))).collect();
    print_list(&entries, page.list, columns)
}

async fn list<const N: usize>(
    page: &PageArguments,
    name: &str,
    filters: &Filters<'_>,
    columns: [(&str, &str); N],
) -> Result<(), OperatorError> {
    let gateway = running(&page.gateway)?;
    let found = all_pages(&gateway, &["admin", name], name, filters, page.limit as usize).await?;
    print_list(&found, page.list, columns)
}

async fn show(one: &OneArguments, name: &str) -> Result<(), OperatorError> {
    let record = running(&one.gateway)?.get(&["admin", name, &one.id], &[]).await?;
    print_record(&record, one.list)
}

fn running(gateway: &GatewayArguments) -> Result<RunningGateway, OperatorError> {
    RunningGateway::open(gateway)?.ok_or(OperatorError::NoUrl)
}

/// Reads the pages of a list until it has `limit` entries.
///
/// # Errors
/// If the gateway refuses or does not respond.
pub(crate) async fn all_pages(
    gateway: &RunningGateway,
    path: &[&str],
    member: &str,
    filters: &Filters<'_>,
    limit: usize,
) -> Result<Vec<Value>, GatewayError> {
    let mut found = Vec::new();
    let mut cursor: Option<String> = None;
    while found.len() < limit {
        let size = (limit - found.len()).min(PAGE).to_string();
        let mut query = vec![("limit", size.as_str())];
        query.extend(filters.iter().filter_map(|(name, value)| Some((*name, (*value)?))));
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let mut page = gateway.get(path, &query).await?;
        if let Value::Array(entries) = page[member].take() {
            found.extend(entries);
        }
        let Value::String(next) = page["next_cursor"].take() else { break };
        cursor = Some(next);
    }
    Ok(found)
}

fn print_list<const N: usize>(
    found: &[Value],
    list: ListArguments,
    columns: [(&str, &str); N],
) -> Result<(), OperatorError> {
    if list.json {
        return Ok(print_json(format_args!("{:#}", Value::from(found)))?);
    }
    let mut table = Table::new(columns.map(|(heading, _)| heading));
    for record in found {
        table.row(columns.map(|(_, member)| cell(&record[member])));
    }
    Ok(print(table)?)
}

fn print_record(record: &Value, list: ListArguments) -> Result<(), OperatorError> {
    match list.json {
        true => print_json(format_args!("{record:#}"))?,
        false => print(members(record))?,
    }
    Ok(())
}

/// A value of a record in a table.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// The members of a record, one in a row.
pub(crate) fn members(record: &Value) -> Table {
    let mut table = Table::new(["MEMBER", "VALUE"]);
    for (name, value) in record.as_object().into_iter().flatten() {
        table.row([name.clone(), cell(value)]);
    }
    table
}
