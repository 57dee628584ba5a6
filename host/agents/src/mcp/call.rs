//! A call of the tool of an operation: a call of the pipeline.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::Response;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::files::FileCall;
use super::question::Step;
use super::result::Form;
use super::tool_call::ToolCall;
use super::wait::JobWait;
use super::{Done, Exchange, Failed, Stop, confirm, connect, result, tasks};
use body::Body;
use body::media_type::essence;
use endpoint::answer::AcceptedJob;
use endpoint::authorize::AuthorizedCaller;
use endpoint::recorded::OpenCall;
use gateway::Gateway;
use mcp::Tool;
use mcp::encoded::decoded;
use mcp::input_schema::ACCOUNT;
use mcp::message::{INVALID_PARAMS, RpcError};
use metrics::RequestLabels;
use problem::{self, Problem};
use registry::Connector;
use rest::operations::{OperationCall, find_allowed};

impl ToolCall<'_> {
    /// Calls an operation with these arguments.
    pub(super) async fn call_operation(
        &mut self,
        tool: &Tool,
        arguments: Option<&RawValue>,
        step: &Step<'_, '_>,
    ) -> Result<Done, Stop> {
        let Exchange { gateway, caller, trace, arrived, .. } = self.exchange;
        let connector = gateway.registry.get(&tool.connector);
        let Some(connector) = connector.filter(|connector| connector.operation(&tool.operation).is_some()) else {
            let text = format!("`{}` was removed a moment ago; list the tools again.", tool.name);
            return Err(RpcError::new(INVALID_PARAMS, text).into());
        };
        let body = self.body(tool, arguments)?;
        let body = gateway.egress.memory().hold_bytes(body).map_err(problem::no_memory)?;
        if let Some(account) = step.pending.account() {
            self.use_account(account)?;
        }
        if tool.confirm_argument.is_some()
            && let Some(operation) = connector.operation(&tool.operation)
            && let Some(asked) = Box::pin(confirm::require(self, tool, operation, &body, step)).await?
        {
            return Ok(asked);
        }
        let file = FileCall::of(self, tool, &body);
        self.call_headers.accept = Some(result::READABLE_FILES.into());
        self.call_headers.range = None;
        let mut open = OpenCall::begin(
            &gateway.calls,
            self.request_id,
            (tool.connector.as_str(), tool.operation.as_str()),
            *arrived,
        );
        open.is_of(caller);
        let (call_headers, key) = (std::mem::take(&mut self.call_headers), self.idempotency_key.take());
        // A page on which the user connects this account may follow.
        self.call_headers.user_identifier.clone_from(&call_headers.user_identifier);
        let (recording, takes_any_file) = (open.recording.clone(), file.is_some());
        let answering = async {
            let operation = find_allowed(caller, &connector, &tool.operation, trace, &recording)?;
            let caller = AuthorizedCaller::clone(caller);
            let mut call = OperationCall::new(gateway, caller, &connector, call_headers, *arrived, trace, &recording);
            call.use_key(operation, key);
            (call.body, call.takes_any_file) = (body, takes_any_file);
            Ok((call.answer(&connector, operation).await?, call.deadline))
        };
        let answered = match Box::pin(answering).await {
            Ok((mut response, deadline)) => {
                open.end_of_part(&mut response);
                self.result_of(&connector, tool, file.as_ref(), response, deadline).await
            }
            Err(problem) => {
                open.fail(&problem);
                count_failure(gateway, tool, &problem);
                Err(problem.into())
            }
        };
        match answered {
            Err(Stop::Failed(Failed::Problem(problem))) => Box::pin(connect::after(self, tool, step, *problem)).await,
            answered => answered,
        }
    }

    async fn result_of(
        &self,
        connector: &Connector,
        tool: &Tool,
        file: Option<&FileCall>,
        mut response: Response<Body>,
        deadline: Instant,
    ) -> Result<Done, Stop> {
        let (gateway, revision) = (self.exchange.gateway, self.client.revision);
        let operation = connector.operation(&tool.operation);
        let form = operation.map_or_else(Form::default, |operation| Form::of(operation, tool.output.clone()));
        if let Some(file) = file.filter(|_| is_for_a_link(&response)) {
            // The content is not read: the address asks for it again.
            let link = file.link(self, response.headers())?;
            return Ok(Done::Text(result::complete(revision, &link, false)));
        }
        let Some(AcceptedJob(job_id)) = response.extensions_mut().remove() else {
            let reading = result::of_answer(gateway, revision, response, &form);
            let read = timeout_at(deadline, reading).await.unwrap_or_else(|_| {
                Err(problem::UPSTREAM_TIMED_OUT
                    .with_detail("The answer did not arrive before the call ended; ask for less."))
            });
            return Ok(Done::Text(read?));
        };
        if self.client.can.tasks {
            return Box::pin(tasks::created(self.exchange, revision, &job_id)).await.map(Done::Text);
        }
        let token = self.progress_token.clone();
        let is_told = token.is_some();
        let wait = JobWait::new(gateway, self.exchange.caller, job_id, revision, form, token);
        if is_told {
            return Ok(Done::Waiting(Box::new(wait)));
        }
        Ok(Done::Text(Box::pin(wait.end()).await?))
    }

    /// The body for the operation. The account is taken out, arguments get the names of the operation,
    /// and objects and lists are decoded that the model wrote as texts of JSON.
    fn body(&mut self, tool: &Tool, arguments: Option<&RawValue>) -> Result<Bytes, Stop> {
        let Some(arguments) = arguments else { return Ok(Bytes::new()) };
        let members = json_text::members(arguments.get())
            .map_err(|error| Stop::Said(format!("The arguments are no object: {error}.")))?;
        let is_account = |name: &str| name == ACCOUNT && !tool.has_own_account;
        let is_confirm = |name: &str| tool.is_direct && tool.confirm_argument == Some(name);
        let is_changed = |name: &str, raw: &RawValue| {
            is_account(name)
                || is_confirm(name)
                || tool.is_background && name == WAITING
                || tool.renamed.iter().any(|(shown, _)| shown == name)
                || raw.get().starts_with('"') && is_structure(tool, name)
        };
        if !members.iter().any(|(name, raw)| is_changed(name, raw)) {
            let (text, body) = (arguments.get().as_bytes(), self.exchange.body);
            // Arguments that were decoded are no part of the request.
            let is_part = body.as_ptr_range().contains(&text.as_ptr());
            return Ok(if is_part { body.slice_ref(text) } else { Bytes::copy_from_slice(text) });
        }
        let is_encoded = |(name, raw): &(Cow<'_, str>, &RawValue)| {
            let renamed = tool.renamed.iter().find(|(shown, _)| shown == name);
            is_structure(tool, renamed.map_or(&**name, |(_, member)| member.as_str())).then(|| decoded(raw)).flatten()
        };
        let structures: Vec<Option<Box<RawValue>>> = members.iter().map(is_encoded).collect();
        let mut kept = Vec::with_capacity(members.len());
        for ((name, raw), structure) in members.iter().zip(&structures) {
            if is_account(name) {
                let account: Option<String> = serde_json::from_str(raw.get()).map_err(|_| {
                    Stop::Said("The argument `account` must be a string, as `list_accounts` names it.".to_owned())
                })?;
                self.use_account(account.as_deref().unwrap_or_default())?;
            } else if is_confirm(name) {
                self.confirm = serde_json::from_str(raw.get()).ok();
            } else if !(tool.is_background && name == WAITING) {
                let renamed = tool.renamed.iter().find(|(shown, _)| shown == name).map(|(_, member)| member.as_str());
                kept.push((renamed.unwrap_or(name), structure.as_deref().unwrap_or(raw)));
            }
        }
        Ok(json_text::object(kept).into())
    }
}

/// Returns `true` if a member of an operation is an object or a list, and never a text.
fn is_structure(tool: &Tool, member: &str) -> bool {
    tool.structures.iter().any(|structure| structure == member)
}

/// Returns `true` if an answer is a file that a model cannot read, or an image that is too large.
fn is_for_a_link(response: &Response<Body>) -> bool {
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let media_type = text(CONTENT_TYPE).map(essence).unwrap_or_default();
    let is_large =
        || text(CONTENT_LENGTH).and_then(|size| size.parse().ok()).is_some_and(|size: usize| size > result::MAX_IMAGE);
    !result::is_readable(media_type) || media_type.starts_with("image/") && is_large()
}

/// A call of a tool waits for a while anyway, so the model need not ask for it.
const WAITING: &str = "waiting";

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
