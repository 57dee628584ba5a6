//! A call of the tool of an operation: a call of the pipeline.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::Response;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::files::FileCall;
use super::lifecycle::Client;
use super::result::Form;
use super::wait::JobWait;
use super::{Done, Exchange, Failed, Stop, confirm, connect, headers, own_tools, result, tasks};
use body::Body;
use body::media_type::essence;
use contract::words::{nearest, shortened};
use endpoint::answer::AcceptedJob;
use endpoint::authorize::AuthorizedCaller;
use endpoint::headers::CallHeaders;
use endpoint::recorded::OpenCall;
use gateway::Gateway;
use mcp::encoded::decoded;
use mcp::input_schema::ACCOUNT;
use mcp::message::{INVALID_PARAMS, MAX_ID_BYTES, Params, RpcError};
use mcp::own::call_name;
use mcp::{Catalogue, Tool};
use metrics::RequestLabels;
use problem::{self, Problem};
use registry::Connector;
use rest::operations::{OperationCall, find_allowed};

/// One call of a tool.
pub(super) struct ToolCall<'a> {
    pub(super) exchange: &'a Exchange<'a>,
    pub(super) client: &'a Client,
    pub(super) call_headers: CallHeaders,
    pub(super) idempotency_key: Option<String>,
    /// The id of the call's record.
    pub(super) request_id: &'a str,
    /// The digest with which the client confirms the call.
    pub(super) confirm: Option<String>,
    /// The token of the client's request for progress, as JSON text.
    progress_token: Option<String>,
}

impl<'a> ToolCall<'a> {
    pub(super) fn new(
        exchange: &'a Exchange<'a>,
        client: &'a Client,
        call_headers: CallHeaders,
        idempotency_key: Option<String>,
        request_id: &'a str,
    ) -> Self {
        Self { exchange, client, call_headers, idempotency_key, request_id, confirm: None, progress_token: None }
    }
}

impl ToolCall<'_> {
    /// Runs the call. What the model can mend is a result, and no error.
    pub(super) async fn run(mut self, params: &Params<'_>) -> Result<Done, Failed> {
        match self.call_tool(params).await {
            Ok(done) => Ok(done),
            Err(Stop::Said(text)) => Ok(Done::Text(result::error(self.client.revision, &text))),
            Err(Stop::Failed(failed)) => Err(failed),
        }
    }

    async fn call_tool(&mut self, params: &Params<'_>) -> Result<Done, Stop> {
        let invalid = |text: &str| RpcError::new(INVALID_PARAMS, text);
        let name = params.text("name").ok_or_else(|| invalid("`params.name` must name a tool."))?;
        let arguments = params.raw("arguments");
        if arguments.is_some_and(|arguments| !arguments.get().starts_with('{')) {
            return Err(invalid("`params.arguments` must be an object.").into());
        }
        let named_by_header = self.call_headers.user_identifier.take();
        for account in [self.exchange.fixed_account(), named_by_header.as_deref()].into_iter().flatten() {
            self.use_account(account)?;
        }
        let token = &params.value_with("_meta", PROGRESS_TOKEN)[PROGRESS_TOKEN];
        if (token.is_string() || token.is_i64() || token.is_u64()) && headers::takes_events(self.exchange.headers) {
            let token = token.to_string();
            if token.len() > MAX_ID_BYTES {
                return Err(
                    invalid(&format!("`params._meta.{PROGRESS_TOKEN}` has more than {MAX_ID_BYTES} bytes.")).into()
                );
            }
            self.progress_token = Some(token);
        }
        let pending = Box::pin(connect::read_state(self, &name, params)).await?;
        if let Some(declined) = pending.declined() {
            return Err(Stop::Said(declined.to_owned()));
        }
        let catalogue = self.exchange.catalogue().await;
        let step = connect::Step { tool: &name, arguments, pending: &pending };
        if let Some(own) = catalogue.own(&name) {
            return Box::pin(own_tools::run(self, &catalogue, own, &step)).await;
        }
        match catalogue.find(&name).filter(|tool| tool.name == name) {
            Some(tool) if tool.is_direct => self.call_operation(tool, arguments, &step).await,
            Some(tool) => {
                let (name, call_name) = (shortened(&name), call_name(tool.effect));
                Err(invalid(&format!("`{name}` is no tool here; call it with `{call_name}`.")).into())
            }
            None => Err(invalid(&unknown(&catalogue, &name)).into()),
        }
    }

    /// The account of the call. `None` if no one has named one so far.
    pub(super) fn account(&self) -> Option<&str> {
        self.call_headers.user_identifier.as_deref()
    }

    /// Uses this account if no one has named one before: the tool set, the header of the request,
    /// the argument, and the user's answer to a question may do so, in this order.
    ///
    /// # Errors
    /// If another account was named before.
    pub(super) fn use_account(&mut self, account: &str) -> Result<(), Stop> {
        let account = account.trim();
        if account.is_empty() {
            return Ok(());
        }
        let Some(decided) = self.account() else {
            self.call_headers.user_identifier = Some(account.into());
            return Ok(());
        };
        if decided == account {
            return Ok(());
        }
        let shown = shortened(account);
        Err(Stop::Said(match self.exchange.fixed_account() {
            Some(fixed) => {
                format!("Every call here uses the account `{fixed}`, and not `{shown}`; leave the account out.")
            }
            None => format!("The call uses the account `{decided}`, and not `{shown}`; leave the account out."),
        }))
    }

    /// Calls an operation with these arguments.
    pub(super) async fn call_operation(
        &mut self,
        tool: &Tool,
        arguments: Option<&RawValue>,
        step: &connect::Step<'_, '_>,
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

/// The message about a tool that is not there.
fn unknown(catalogue: &Catalogue, name: &str) -> String {
    let shown = shortened(name);
    let known = match nearest(name, catalogue.names()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "`tools/list` lists those that you may use.".to_owned(),
    };
    format!("There is no tool `{shown}` here; {known}")
}

/// The member of `_meta` with which a client asks for progress.
const PROGRESS_TOKEN: &str = "progressToken";

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
