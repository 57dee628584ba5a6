//! Jobs as tasks, for clients that declare the extension `io.modelcontextprotocol/tasks`. The id of
//! a task is the id of its job. The extension has no list of tasks: `tools/call` answers a task,
//! and the client asks for it by its id.

use serde_json::{Value, json};

use super::lifecycle::{Client, TASKS};
use super::result::Form;
use super::wait::progress_in;
use super::{Exchange, Failed, Stop, result};
use contract::words::shortened;
use jobs::job_problem;
use mcp::Revision;
use mcp::message::{INVALID_PARAMS, METHOD_NOT_FOUND, Request, RpcError};

/// The time after which a client asks again, in milliseconds.
const POLL_INTERVAL_MS: u64 = 1000;

/// Returns `true` if the extension has the method, or could have it.
pub(super) fn is_about_tasks(method: &str) -> bool {
    method.starts_with("tasks/")
}

/// Answers a request about a task.
pub(super) async fn answer(exchange: &Exchange<'_>, client: &Client, request: &Request<'_>) -> Result<String, Failed> {
    if !client.can.tasks {
        return Err(RpcError::missing_extension(TASKS).into());
    }
    let Some(id) = request.params.text("taskId") else {
        return Err(RpcError::new(INVALID_PARAMS, "`params.taskId` must name a task.").into());
    };
    match request.method.as_str() {
        "tasks/get" => {
            let record = find(exchange, &id).await?;
            Ok(document(exchange, client.revision, &record, "complete").await.to_string())
        }
        "tasks/update" => {
            // No task waits for input, so every answer to a question is unknown, and ignored.
            find(exchange, &id).await?;
            Ok(r#"{"resultType":"complete"}"#.to_owned())
        }
        "tasks/cancel" => {
            let cancelled = exchange.gateway.jobs.cancel(exchange.jobs(), &id).await;
            match cancelled.map_err(job_problem)? {
                Some(_) => Ok(r#"{"resultType":"complete"}"#.to_owned()),
                None => Err(unknown(&id).into()),
            }
        }
        method => {
            let method = shortened(method);
            Err(RpcError::new(METHOD_NOT_FOUND, format!("There is no method `{method}`.")).into())
        }
    }
}

/// The result of a call whose operation runs as this job.
pub(super) async fn created(exchange: &Exchange<'_>, revision: Revision, job_id: &str) -> Result<String, Stop> {
    let record = find(exchange, job_id).await.map_err(|failed| match failed {
        // It was removed a moment after it was added.
        Failed::Rpc(_, error) => Stop::Said(error.message),
        failed => failed.into(),
    })?;
    Ok(document(exchange, revision, &record, "task").await.to_string())
}

async fn find(exchange: &Exchange<'_>, id: &str) -> Result<String, Failed> {
    let found = exchange.gateway.jobs.get(exchange.jobs(), id).await.map_err(job_problem)?;
    found.ok_or_else(|| unknown(id).into())
}

fn unknown(id: &str) -> RpcError {
    let id = shortened(id);
    RpcError::new(INVALID_PARAMS, format!("There is no task `{id}`; a task is removed some time after its end."))
}

/// A task, from the record of its job.
async fn document(exchange: &Exchange<'_>, revision: Revision, record: &str, result_type: &str) -> Value {
    let members = json_text::members(record).unwrap_or_default();
    let text = |name: &str| -> Option<String> {
        let (_, raw) = members.iter().find(|(member, _)| member == name)?;
        serde_json::from_str(raw.get()).ok()
    };
    let created = text("created_at").unwrap_or_default();
    let updated = text("finished_at").or_else(|| text("started_at")).unwrap_or_else(|| created.clone());
    let time = |text: &str| humantime::parse_rfc3339(text).ok();
    let ttl_ms = text("expires_at").and_then(|end| time(&end)?.duration_since(time(&created)?).ok());
    let mut task = json!({
        "resultType": result_type,
        "taskId": text("job_id"),
        "status": "working",
        "createdAt": created,
        "lastUpdatedAt": updated,
        "ttlMs": ttl_ms.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)),
        "pollIntervalMs": POLL_INTERVAL_MS,
    });
    if let Some((fraction, words)) = progress_in(record) {
        task["statusMessage"] = format!("{:.0} %: {words}", fraction * 100.0).trim_end_matches([':', ' ']).into();
    }
    let form = match (text("connector"), text("operation")) {
        (Some(connector), Some(operation)) => form(exchange, &connector, &operation).await,
        _ => Form::default(),
    };
    let error = members.iter().find(|(name, _)| name == "error").map(|(_, raw)| raw.get());
    let is_cancelled = error.is_some_and(|error| error.contains(":problem:cancelled\""));
    if is_cancelled {
        task["status"] = "cancelled".into();
    } else if let Some(ended) = result::of_job(exchange.gateway, revision, record, &form) {
        // A call that has failed is a result that says so.
        task["status"] = "completed".into();
        task["result"] = serde_json::from_str(&ended).unwrap_or_default();
    }
    task
}

/// The form of the results of an operation.
async fn form(exchange: &Exchange<'_>, connector: &str, operation: &str) -> Form {
    let catalogue = exchange.catalogue().await;
    let output = catalogue.find(&format!("{connector}/{operation}")).and_then(|tool| tool.output.clone());
    let connector = exchange.gateway.registry.get(connector);
    let operation = connector.as_ref().and_then(|connector| connector.operation(operation));
    operation.map_or_else(Form::default, |operation| Form::of(operation, output))
}
