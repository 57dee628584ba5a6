//! A call of the tool of an operation: a call of the pipeline.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Response;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::lifecycle::Client;
use super::{Exchange, Outcome, connect, own_tools, result};
use crate::api::answer::AnswerDeadline;
use crate::api::authorize::AuthorizedCaller;
use crate::api::headers::CallHeaders;
use crate::api::operations::{OperationOfTool, call_for_tool};
use crate::api::recorded::OpenCall;
use crate::body::Body;
use crate::gateway::Gateway;
use crate::jobs::job_problem;
use crate::mcp::input_schema::ACCOUNT;
use crate::mcp::message::{INVALID_PARAMS, Params, RpcError};
use crate::mcp::own::call_name;
use crate::mcp::{Catalogue, Mode, Tool};
use crate::metrics::RequestLabels;
use crate::problem::{self, Problem};
use crate::registry::Connector;
use contract::words::{nearest, shortened};

/// The longest time that a call waits for an operation that runs in the background.
const JOB_WAIT: Duration = Duration::from_secs(25);

/// The time between two looks at a job: at first, and at most.
const LOOKS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// One call of a tool.
pub(super) struct ToolCall<'a> {
    pub(super) exchange: &'a Exchange<'a>,
    pub(super) client: &'a Client,
    pub(super) call_headers: CallHeaders,
    pub(super) idempotency_key: Option<String>,
    /// The id of the call's record.
    pub(super) request_id: &'a str,
}

impl ToolCall<'_> {
    /// Runs the call. What the model can mend is a result, and no error.
    pub(super) async fn run(mut self, params: &Params<'_>) -> Result<Outcome, Problem> {
        let invalid = |text: String| Ok(Err(RpcError::new(INVALID_PARAMS, text)));
        let Some(name) = params.text("name") else { return invalid("`params.name` must name a tool.".to_owned()) };
        let arguments = params.raw("arguments");
        if arguments.is_some_and(|arguments| !arguments.get().starts_with('{')) {
            return invalid("`params.arguments` must be an object.".to_owned());
        }
        let pending = match connect::read_state(&self, &name, params).await? {
            Ok(pending) => pending,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(declined) = pending.declined() {
            return Ok(Ok(result::error(self.client.revision, declined)));
        }
        if let Some(account) = pending.account() {
            self.call_headers.user_identifier = Some(account.into());
        }
        let catalogue = self.exchange.catalogue(BTreeSet::new()).await;
        let step = connect::Step { tool: &name, arguments, pending: &pending };
        if let Some(own) = catalogue.own(&name) {
            return own_tools::run(self, &catalogue, own, &step).await;
        }
        match catalogue.find(&name).filter(|tool| tool.name == name) {
            Some(tool) if catalogue.mode == Mode::Direct => self.call_operation(tool, arguments, &step).await,
            Some(tool) => {
                invalid(format!("`{}` is no tool here; call it with `{}`.", shortened(&name), call_name(tool.effect)))
            }
            None => invalid(self.unknown(&catalogue, &name)),
        }
    }

    /// The message about a tool that is not there.
    pub(super) fn unknown(&self, catalogue: &Catalogue, name: &str) -> String {
        let shown = shortened(name);
        let known = match nearest(name, catalogue.names()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "`tools/list` lists those that you may use.".to_owned(),
        };
        format!("There is no tool `{shown}` here; {known}")
    }

    /// Calls an operation with these arguments.
    pub(super) async fn call_operation(
        mut self,
        tool: &Tool,
        arguments: Option<&RawValue>,
        step: &connect::Step<'_, '_>,
    ) -> Result<Outcome, Problem> {
        let Exchange { gateway, caller, trace, arrived, .. } = self.exchange;
        let revision = self.client.revision;
        let connector = gateway.registry.get(&tool.connector);
        let Some(connector) = connector.filter(|connector| connector.operation(&tool.operation).is_some()) else {
            let text = format!("`{}` was removed a moment ago; list the tools again.", tool.name);
            return Ok(Err(RpcError::new(INVALID_PARAMS, text)));
        };
        let body = match self.body(tool, arguments) {
            Ok(body) => gateway.egress.memory().hold_bytes(body).map_err(problem::no_memory)?,
            Err(reason) => return Ok(Ok(result::error(revision, &reason))),
        };
        self.call_headers.accept = Some(result::READABLE_FILES.into());
        self.call_headers.range = None;
        let mut open = OpenCall::begin(
            &gateway.calls,
            self.request_id,
            (tool.connector.as_str(), tool.operation.as_str()),
            *arrived,
        );
        open.is_of(caller);
        let call = OperationOfTool {
            gateway,
            caller,
            connector: &connector,
            operation: &tool.operation,
            call_headers: std::mem::take(&mut self.call_headers),
            idempotency_key: self.idempotency_key.take(),
            body,
            arrived: *arrived,
            trace,
            recording: open.recording.clone(),
        };
        let answered = match Box::pin(call_for_tool(call)).await {
            Ok(response) => {
                open.end(&response, None);
                self.result_of(&connector, tool, response).await
            }
            Err(problem) => {
                open.fail(&problem);
                count_failure(gateway, tool, &problem);
                Err(problem)
            }
        };
        match answered {
            Ok(result) => Ok(Ok(result)),
            Err(problem) => connect::after(&self, tool, step, problem).await,
        }
    }

    async fn result_of(&self, connector: &Connector, tool: &Tool, response: Response<Body>) -> Result<String, Problem> {
        let (gateway, revision) = (self.exchange.gateway, self.client.revision);
        let is_background = connector.operation(&tool.operation).is_some_and(|operation| operation.manifest.background);
        if !is_background {
            let deadline = response.extensions().get::<AnswerDeadline>().map(|AnswerDeadline(deadline)| *deadline);
            let reading = result::of_answer(gateway, revision, response);
            let Some(deadline) = deadline else { return reading.await };
            return timeout_at(deadline, reading).await.unwrap_or_else(|_| {
                Err(problem::UPSTREAM_TIMED_OUT
                    .with_detail("The answer did not arrive before the call ended; ask for less."))
            });
        }
        let accepted =
            response.into_body().collect().await.map_err(|error| {
                problem::INTERNAL.with_detail(format!("The id of the job cannot be read: {error}."))
            })?;
        let accepted: Value = serde_json::from_slice(&accepted.to_bytes()).unwrap_or_default();
        let job_id = accepted["job_id"].as_str().unwrap_or_default();
        Box::pin(self.wait_for_job(job_id)).await
    }

    /// Waits for a job, and answers its result, or its id if it takes longer.
    async fn wait_for_job(&self, id: &str) -> Result<String, Problem> {
        let (Exchange { gateway, caller, .. }, revision) = (self.exchange, self.client.revision);
        let abandoned = CancelOnDrop { gateway: Arc::clone(gateway), caller: (*caller).clone(), job_id: id.to_owned() };
        let end = Instant::now() + JOB_WAIT;
        let mut pause = LOOKS.0;
        loop {
            let record = gateway.jobs.get(caller.tenant(), caller.subject(), id).await.map_err(job_problem)?;
            if let Some(result) = record.and_then(|record| ended_job(gateway, revision, &record)) {
                abandoned.disarm();
                return Ok(result);
            }
            let now = Instant::now();
            if now >= end {
                abandoned.disarm();
                let text =
                    format!("The operation still runs, as the job `{id}`. Call `get_job` with this id for its result.");
                return Ok(result::text(revision, &text));
            }
            sleep_until((now + pause).min(end)).await;
            pause = (2 * pause).min(LOOKS.1);
        }
    }

    /// The body for the operation. The account is taken out, and arguments get the names of the
    /// operation.
    fn body(&mut self, tool: &Tool, arguments: Option<&RawValue>) -> Result<Bytes, String> {
        let Some(arguments) = arguments else { return Ok(Bytes::new()) };
        let members =
            json_text::members(arguments.get()).map_err(|error| format!("The arguments are no object: {error}."))?;
        let is_account = |name: &str| name == ACCOUNT && !tool.has_own_account;
        let is_changed = |name: &str| {
            is_account(name)
                || tool.is_background && name == WAITING
                || tool.renamed.iter().any(|(shown, _)| shown == name)
        };
        if !members.iter().any(|(name, _)| is_changed(name)) {
            return Ok(self.exchange.body.slice_ref(arguments.get().as_bytes()));
        }
        let mut kept = Vec::with_capacity(members.len());
        for (name, raw) in &members {
            if is_account(name) {
                let account: Option<String> = serde_json::from_str(raw.get())
                    .map_err(|_| "The argument `account` must be a string, as `list_accounts` names it.".to_owned())?;
                let account = account.as_deref().map(str::trim).filter(|account| !account.is_empty()).map(Box::from);
                self.call_headers.user_identifier = account.or(self.call_headers.user_identifier.take());
            } else if !(tool.is_background && name == WAITING) {
                let renamed = tool.renamed.iter().find(|(shown, _)| shown == name).map(|(_, member)| member.as_str());
                kept.push((renamed.unwrap_or(name), *raw));
            }
        }
        Ok(json_text::object(kept).into())
    }
}

/// A call of a tool waits for a while anyway, so the model need not ask for it.
const WAITING: &str = "waiting";

/// The result of a job that has ended. `None` if it has not.
fn ended_job(gateway: &Gateway, revision: crate::mcp::Revision, record: &str) -> Option<String> {
    let members = json_text::members(record).ok()?;
    let member = |name: &str| members.iter().find(|(member, _)| member == name).map(|(_, raw)| raw.get());
    match member("status")? {
        "\"succeeded\"" => Some(result::of_json(gateway, revision, member("result")?)),
        "\"failed\"" => {
            let document: Value = serde_json::from_str(member("error")?).ok()?;
            Some(result::error(revision, &result::in_words(&document, None)))
        }
        _ => None,
    }
}

/// Cancels a job whose caller has gone while it waited.
struct CancelOnDrop {
    gateway: Arc<Gateway>,
    caller: AuthorizedCaller,
    job_id: String,
}

impl CancelOnDrop {
    /// The caller knows the job, or the job has ended.
    fn disarm(mut self) {
        self.job_id.clear();
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if self.job_id.is_empty() {
            return;
        }
        let (gateway, caller, id) = (Arc::clone(&self.gateway), self.caller.clone(), std::mem::take(&mut self.job_id));
        self.gateway.background.spawn(async move {
            if let Err(error) = gateway.jobs.cancel(caller.tenant(), caller.subject(), &id).await {
                tracing::warn!(%error, job_id = id, "a job whose caller has gone could not be cancelled");
            }
        });
    }
}

/// Counts a call that failed, and writes a line. The request itself succeeds with a result that
/// says so.
fn count_failure(gateway: &Gateway, tool: &Tool, problem: &Problem) {
    let labels =
        RequestLabels { connector: tool.connector.clone(), operation: tool.operation.clone(), status: problem.code() };
    gateway.metrics.requests.get_or_create_owned(&labels).inc();
    let (connector, operation, status) = (&*tool.connector, &*tool.operation, problem.code());
    let (problem, detail) = (problem.name(), problem.detail());
    if status >= 500 {
        tracing::warn!(connector, operation, status, problem, detail, "the call of a tool failed");
    } else {
        tracing::info!(connector, operation, status, problem, detail, "the call of a tool was refused");
    }
}
