//! The commands `integrations …`, `jobs …`, `webhooks …`, `triggers …`, `inboxes …`, `calls …`,
//! `tenants …`, `tool-sets …`, `gateways …`, `usage` and `audit`. They read and change a running
//! gateway by its routes (`--url`). `audit` also reads the database of the configuration.
//!
//! - here: the commands
//! - [`mod@gateways`]: the commands `gateways …`
//! - [`mod@tenants`]: the commands `tenants …`
//! - [`mod@tool_sets`]: the commands `tool-sets …`
//! - [`mod@triggers`]: the commands `triggers …`
//! - [`listen`]: the command `triggers listen`
//! - [`mod@inboxes`]: the commands `inboxes …`
//! - [`mod@integrations`]: the commands `integrations …`
//! - [`transfer`]: the commands `integrations import` and `integrations export`
//! - [`age`]: the encryption of an export
//! - [`arguments`]: their options
//! - [`mod@filters`]: the options that select a part of a list
//! - [`hints`]: what is said of an empty list
//! - [`error`]: why a command failed

mod age;
mod arguments;
mod error;
mod filters;
mod gateways;
mod hints;
mod inboxes;
mod integrations;
mod listen;
mod tenants;
mod tool_sets;
mod transfer;
mod triggers;

use authoring::database;
use authoring::gateway::{GatewayError, RunningGateway};
use authoring::options::ListArguments;
use authoring::output::{print_json, remark};
use connector_gateway::lists::{self, List};
use connector_gateway::operator_lists::{Audit, Usage};
use connector_gateway::operator_records::AuditPageRecord;
use connector_gateway::{Config, audit_page};
use serde_json::{Value, json};
use store::AuditFilter;

pub(crate) use self::arguments::{
    AuditArguments, CallsCommand, GatewaysCommand, InboxesCommand, IntegrationsCommand, JobsCommand, TenantsCommand,
    ToolSetsCommand, TriggersCommand, WebhooksCommand,
};
pub(crate) use self::filters::ListOptions;
pub(crate) use self::gateways::gateways;
pub(crate) use self::inboxes::inboxes;
pub(crate) use self::integrations::integrations;
pub(crate) use self::tenants::tenants;
pub(crate) use self::tool_sets::tool_sets;
pub(crate) use self::triggers::triggers;

use self::arguments::{OneArguments, PageArguments, PagedListArguments};
use self::error::OperatorError;
use self::filters::Given;
use crate::table::Table;

/// The largest page of a route.
const PAGE: usize = 200;

/// Runs a command `jobs …`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn jobs(command: &JobsCommand) -> Result<(), OperatorError> {
    match command {
        JobsCommand::List(ListOptions { filters, list }) => {
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
            print_page_of(list, "jobs", &filters.given, columns).await
        }
        JobsCommand::Show(one) => show(one, "jobs").await,
        JobsCommand::Cancel(OneArguments { id, list, gateway }) => {
            let record = RunningGateway::at(gateway)?.delete(&["admin", "jobs", id]).await?;
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
        WebhooksCommand::List(ListOptions { filters, list }) => {
            let columns = [
                ("ID", "id"),
                ("TENANT", "tenant"),
                ("KIND", "kind"),
                ("JOB", "job_id"),
                ("RECEIVER", "receiver"),
                ("STATUS", "status"),
                ("CREATED", "created_at"),
                ("NEXT ATTEMPT", "next_attempt_at"),
                ("LAST ANSWER", "last_answer"),
            ];
            let PagedListArguments { page, list, gateway } = list;
            let gateway = RunningGateway::at(gateway)?;
            let mut found = page_of(&gateway, &["admin", "webhooks"], "webhooks", &filters.given, page).await?;
            if !list.json {
                found.entries.iter_mut().for_each(|webhook| webhook["last_answer"] = last_answer(webhook));
            }
            print_page(found, "webhooks", *list, columns)
        }
        WebhooksCommand::Resend(OneArguments { id, list, gateway }) => {
            let record = RunningGateway::at(gateway)?.post(&["admin", "webhooks", id, "resend"], None).await?;
            remark(format_args!("{id} is queued. `webhooks list --id {id}` shows the answer once it was sent."));
            print_record(&record, *list)
        }
    }
}

/// The answer of a receiver to the last attempt of a webhook: a status, or why there is none.
fn last_answer(webhook: &Value) -> Value {
    let last = webhook["attempts"].as_array().and_then(|attempts| attempts.last());
    let answer = last.and_then(|attempt| attempt.get("status").or_else(|| attempt.get("error")));
    answer.cloned().unwrap_or_default()
}

/// Runs a command `calls …`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn calls(command: &CallsCommand) -> Result<(), OperatorError> {
    match command {
        CallsCommand::List(ListOptions { filters, list }) => {
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
            print_page_of(list, "calls", &filters.given, columns).await
        }
        CallsCommand::Show(OneArguments { id, list, gateway }) => {
            let mut record = RunningGateway::at(gateway)?.get(&["admin", "calls", id], &[]).await?;
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

/// Runs the command `usage`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn usage(options: &ListOptions<Usage>) -> Result<(), OperatorError> {
    let ListOptions { filters, list } = options;
    let filters = &filters.given;
    let by = filters.iter().find_map(|(name, by)| (*name == "by").then_some(by.as_str()));
    let [day, tenant] = [("DAY", "day"), ("TENANT", "tenant")];
    let [calls, failed, requests, bytes_in, bytes_out, jobs, events] = [
        ("CALLS", "calls"),
        ("FAILED", "failed"),
        ("REQUESTS", "upstream_requests"),
        ("BYTES IN", "bytes_in"),
        ("BYTES OUT", "bytes_out"),
        ("JOBS", "jobs"),
        ("EVENTS", "events"),
    ];
    let [connector, operation, subject] =
        [("CONNECTOR", "connector"), ("OPERATION", "operation"), ("SUBJECT", "subject")];
    match by {
        Some("connector") => {
            let columns = [day, tenant, connector, calls, failed, requests, bytes_in, bytes_out, jobs, events];
            print_page_of(list, "usage", filters, columns).await
        }
        Some("operation") => {
            let columns =
                [day, tenant, connector, operation, calls, failed, requests, bytes_in, bytes_out, jobs, events];
            print_page_of(list, "usage", filters, columns).await
        }
        Some("subject") => {
            let columns = [day, tenant, subject, calls, failed, requests, bytes_in, bytes_out, jobs, events];
            print_page_of(list, "usage", filters, columns).await
        }
        _ => {
            let columns = [day, tenant, calls, failed, requests, bytes_in, bytes_out, jobs, events];
            print_page_of(list, "usage", filters, columns).await
        }
    }
}

/// Runs the command `audit`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn audit(arguments: &AuditArguments, config: &Config) -> Result<(), OperatorError> {
    let AuditArguments { filters, page, list, gateway } = arguments;
    let columns = [
        ("AT", "at"),
        ("ACTOR", "actor"),
        ("ACTION", "action"),
        ("TARGET", "target"),
        ("TENANT", "tenant"),
        ("DETAIL", "detail"),
    ];
    if let Some(gateway) = RunningGateway::open(gateway)? {
        let found = page_of(&gateway, &["admin", "audit"], AUDIT, &filters.given, page).await?;
        return print_page(found, AUDIT, *list, columns);
    }
    let mut filter = AuditFilter { limit: page.limit, ..AuditFilter::default() };
    let wrong = |option: &'static str| move |detail| OperatorError::Value { option, detail };
    for (name, value) in &filters.given {
        lists::set::<Audit>(&mut filter, name, value).map_err(wrong(name))?;
    }
    if let Some(cursor) = &page.cursor {
        Audit::CURSOR(&mut filter, cursor).map_err(wrong("cursor"))?;
    }
    let AuditPageRecord { entries, next_cursor } = audit_page(&database::open(config).await?, filter).await?;
    let entries = entries.into_iter().map(|entry| json!(entry)).collect();
    print_page(Page { entries, next_cursor }, AUDIT, *list, columns)
}

/// The member with the entries of the audit.
const AUDIT: &str = "entries";

/// Prints a page of an admin route whose list has the same name.
async fn print_page_of<const N: usize>(
    arguments: &PagedListArguments,
    name: &str,
    filters: &[Given],
    columns: [(&str, &str); N],
) -> Result<(), OperatorError> {
    let PagedListArguments { page, list, gateway } = arguments;
    let found = page_of(&RunningGateway::at(gateway)?, &["admin", name], name, filters, page).await?;
    print_page(found, name, *list, columns)
}

async fn show(one: &OneArguments, name: &str) -> Result<(), OperatorError> {
    let record = RunningGateway::at(&one.gateway)?.get(&["admin", name, &one.id], &[]).await?;
    print_record(&record, one.list)
}

/// Entries of a list.
pub(crate) struct Page {
    pub(crate) entries: Vec<Value>,
    /// The cursor of the entries after them. `None` at the end of the list.
    next_cursor: Option<String>,
}

/// Reads pages of a route until they have as many entries as the command prints. If there are none,
/// says which filter names nothing.
async fn page_of(
    gateway: &RunningGateway,
    path: &[&str],
    member: &str,
    filters: &[Given],
    page: &PageArguments,
) -> Result<Page, GatewayError> {
    let found = read_pages(gateway, path, member, filters, page).await?;
    if found.entries.is_empty() && page.cursor.is_none() {
        hints::about_empty_list(gateway, filters).await;
    }
    Ok(found)
}

/// Reads pages of a route until they have as many entries as the limit says.
async fn read_pages(
    gateway: &RunningGateway,
    path: &[&str],
    member: &str,
    filters: &[Given],
    PageArguments { limit, cursor }: &PageArguments,
) -> Result<Page, GatewayError> {
    let limit = *limit as usize;
    let mut found = Page { entries: Vec::new(), next_cursor: cursor.clone() };
    loop {
        let size = (limit - found.entries.len()).min(PAGE).to_string();
        let mut query = vec![("limit", size.as_str())];
        query.extend(filters.iter().map(|(name, value)| (*name, value.as_str())));
        query.extend(found.next_cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let (entries, next_cursor) = gateway.page(path, &query, member).await?;
        found.entries.extend(entries);
        found.next_cursor = next_cursor;
        if found.next_cursor.is_none() || found.entries.len() >= limit {
            return Ok(found);
        }
    }
}

/// Reads a list to its end.
///
/// # Errors
/// If the gateway refuses or does not respond.
pub(crate) async fn all_entries(gateway: &RunningGateway, path: &[&str], member: &str) -> Result<Page, GatewayError> {
    read_pages(gateway, path, member, &[], &PageArguments { limit: u32::MAX, cursor: None }).await
}

/// Prints a page of a list, as JSON with its cursor as the route answers it.
fn print_page<const N: usize>(
    Page { entries, next_cursor }: Page,
    member: &str,
    list: ListArguments,
    columns: [(&str, &str); N],
) -> Result<(), OperatorError> {
    if list.json {
        return Ok(print_json(format_args!("{:#}", json!({member: entries, "next_cursor": next_cursor})))?);
    }
    print_table(&entries, columns)?;
    if let Some(cursor) = next_cursor {
        remark(format_args!("There are more. Raise --limit, or add --cursor {cursor}"));
    }
    Ok(())
}

/// Prints a record with `--json`. For commands whose remark says the same.
fn print_if_json(record: &Value, list: ListArguments) -> Result<(), OperatorError> {
    if list.json { print_record(record, list) } else { Ok(()) }
}

fn print_table<const N: usize>(entries: &[Value], columns: [(&str, &str); N]) -> Result<(), OperatorError> {
    let mut table = Table::new(columns.map(|(heading, _)| heading));
    for record in entries {
        table.row(columns.map(|(_, member)| cell(&record[member])));
    }
    Ok(table.print()?)
}

fn print_record(record: &Value, list: ListArguments) -> Result<(), OperatorError> {
    match list.json {
        true => print_json(format_args!("{record:#}"))?,
        false => members(record).print()?,
    }
    Ok(())
}

/// Puts a member of each record in a list in the place of the record, for a table.
fn shorten(entries: &mut [Value], list: &str, member: &str) {
    for entry in entries {
        let records = entry[list].as_array().into_iter().flatten();
        entry[list] = records.map(|record| record[member].clone()).collect::<Vec<_>>().into();
    }
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
