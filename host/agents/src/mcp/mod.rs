//! `/mcp`: agents use operations as tools (Model Context Protocol, Streamable HTTP).
//!
//! No session is kept: each request says everything that the gateway needs, so that each may go to
//! another gateway. A call of a tool is a call of the pipeline.
//!
//! - this file: from a POST to its message, and back
//! - [`batch`]: several messages in one POST
//! - [`lifecycle`]: the revision of a request, and what its client can do
//! - [`headers`]: headers that must agree with the body
//! - [`view`]: the tools of the caller at an address
//! - [`tool_call`]: one call of a tool, with the account that it uses
//! - [`dispatch`]: from the parameters of a call to the tool that they name
//! - [`call`]: a call of the tool of an operation
//! - [`own_tools`]: calls of the tools of the gateway itself
//! - [`connect`]: what the user must do before a call can run
//! - [`confirm`]: calls that a user must confirm first
//! - [`question`]: questions to the client of a call, and the next round with the answers
//! - [`wait`]: a call that waits for its job
//! - [`tasks`]: jobs as tasks
//! - [`listen`]: streams that tell a client about changes of its tools
//! - [`events`]: an answer as a stream of events
//! - [`result`]: from an answer to the result of a tool
//! - [`refusal`]: a refused call of an operation in words
//! - [`files`]: the addresses of files
//! - [`service_events`]: events of services, polled or sent to a URL of the agent
//! - [`metadata`]: where clients get tokens (RFC 9728)
//!
//! The messages are read and written here, and not by a library: the arguments of a tool and the
//! answer of an operation stay the texts that they are, so that no number loses a digit. A request
//! runs on the core that accepted it, and its memory is a part of the gateway's budget.
//!
//! # The life of a tool call
//! An agent's `tools/call` is a POST to `/mcp`. `agents/mcp` turns it into a call of the same
//! pipeline.
//!
//! 1. `lifecycle` finds the revision, and what the client can do: in `_meta`, or in the sealed
//!    session id of an older client. Nothing is kept. `tool_sets` reads the tool set of the path
//!    from the database, at each request, so that a deleted set is gone at once.
//! 2. `mcp::Catalogue` has the tools of the caller's view: the connector of the path, the tool set,
//!    `/readonly`, and the limits of the key. It is made once for each view and each set of live
//!    connectors. A tool that is not in the view is unknown.
//! 3. `confirm` asks first, if the operation is destructive and the set or the key says so. The
//!    database has the hash of a digest and of the call. The second call deletes the row, so it
//!    runs once over all gateways.
//! 4. `call` takes out `account` and the digest, gives arguments the names of the operation, and
//!    decodes objects and lists that the model wrote as texts of JSON. It makes an
//!    `operations::OperationCall`. The arguments stay a slice of the request, so that the
//!    pipeline sees the text that the client sent. The call has its own record.
//! 5. `result` reads the answer up to `mcp.max_result_kb` and drops the rest. A problem becomes a
//!    result in words. A file that no model reads is not read at all: `files` makes an address that
//!    has the call, sealed. `GET /mcp-files/{token}` runs it again, after `authorize_link` has
//!    checked the key again.
//! 6. A background operation is a task (`tasks`) for a client that knows tasks. Else `wait` looks
//!    at the job for up to 25 s. With a `progressToken` its answer is a stream of events
//!    (`events`), and each look that shows more progress is an event. If the stream is dropped, the
//!    job is cancelled.
//! 7. If the user must connect or choose an account, `connect` asks the client, or says so in
//!    words. What the client sends back is sealed, and bound to the caller, the tool and the
//!    arguments.
//!
//! `events/poll` and `events/subscribe` (`service_events`) make triggers, as `POST /triggers` does.
//! The same caller, URL, type and arguments lead to the same trigger, so that no client keeps an
//! id. The crate `triggers` (`agents`) ends it if the agent does not ask again in time. A receiver
//! must answer a challenge first, and its webhooks are signed with the agent's secret
//! (`webhooks::agents`).
//!
//! `subscriptions/listen` (`listen`) is the one stream that stays open. `Registry::changes` wakes
//! it after a swap. It then compares the digest of its view's catalogue with the one that the
//! client knows. Streams take turns (`mcp::streams`), so that a thousand of the same view make one
//! catalogue.

mod batch;
mod call;
mod confirm;
mod connect;
mod dispatch;
mod events;
pub mod files;
mod headers;
mod lifecycle;
mod listen;
pub mod metadata;
mod own_tools;
mod question;
mod refusal;
mod result;
mod service_events;
mod tasks;
mod tool_call;
mod view;
mod wait;

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::lifecycle::Client;
use self::view::catalogue_of;
use self::wait::JobWait;
use super::tool_sets::find_set;
use auth::Limits;
use body::{Body, full};
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::read_json_body;
use endpoint::headers::CallHeaders;
use endpoint::idempotency;
use endpoint::route::HttpCall;
use gateway::Gateway;
use mcp::message::{self, Incoming, METHOD_NOT_FOUND, PARSE_ERROR, Request, RpcError};
use mcp::{Revision, ToolSet};
use memory::MemoryBudget;
use problem::Problem;
use rest::connectors::live_connector;
use telemetry::Trace;

/// The time for which a client may keep a list, in milliseconds.
const LIST_TTL_MS: u64 = 60_000;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// POST /mcp, /mcp/{connector} and /mcp/sets/{set}.
pub async fn post_all(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    post(call, caller, false).await
}

/// The same with `/readonly` at the end.
pub async fn post_readonly(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    post(call, caller, true).await
}

async fn post(call: HttpCall<'_>, caller: AuthorizedCaller, is_readonly: bool) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, arguments, arrived, trace, request_id, .. } = call;
    if let Err(error) = headers::check_origin(&gateway.config, &head.headers) {
        return Ok(rpc_text(StatusCode::FORBIDDEN, message::failure(None, &error)));
    }
    headers::check_accept(&head.headers)?;
    let connector = match arguments.connector {
        "" => None,
        named => Some(live_connector(gateway, named)?.name().to_string()),
    };
    let set = match arguments.set {
        "" => None,
        named => Some((named, find_set(gateway, &caller, named).await?)),
    };
    let body = read_json_body(&head.headers, body, gateway).await?;
    let bound = set.as_ref().filter(|_| caller.session().is_some());
    let job_limits =
        bound.and_then(|(_, set)| Limits::narrowed(caller.limits(), Some(&set.allow), set.effects.as_deref()));
    let exchange = Exchange {
        gateway,
        caller: &caller,
        connector,
        set,
        job_limits,
        is_readonly,
        headers: &head.headers,
        body: &body,
        arrived,
        trace,
        request_id,
    };
    exchange.answer().await
}

/// One POST.
struct Exchange<'a> {
    gateway: &'a Arc<Gateway>,
    caller: &'a AuthorizedCaller,
    /// The connector that the path names.
    connector: Option<String>,
    /// The tool set that the path names.
    set: Option<(&'a str, ToolSet)>,
    /// The limits of the jobs of an agent session that is bound to a tool set.
    job_limits: Option<Limits>,
    is_readonly: bool,
    headers: &'a HeaderMap,
    body: &'a Bytes,
    arrived: Instant,
    trace: &'a Trace,
    request_id: &'a str,
}

/// The result of a request.
enum Done {
    /// Its text.
    Text(String),
    /// The client is told how far the job is while it waits.
    Waiting(Box<JobWait>),
}

/// Why a request has no result.
enum Failed {
    /// The request gets an answer of JSON-RPC with this status.
    Rpc(StatusCode, RpcError),
    /// The request gets a problem document.
    Problem(Box<Problem>),
}

/// Why a call of a tool ends before its result.
enum Stop {
    /// The request has no result.
    Failed(Failed),
    /// The result is an error, which the model reads and can mend.
    Said(String),
}

impl<E: Into<Failed>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl From<RpcError> for Failed {
    fn from(error: RpcError) -> Self {
        Self::Rpc(StatusCode::OK, error)
    }
}

// The futures of rare requests are in boxes, so that the futures of calls stay small.
impl Exchange<'_> {
    async fn answer(&self) -> Result<Response<Body>, Problem> {
        let refused = |error: &RpcError| Ok(rpc_text(StatusCode::BAD_REQUEST, message::failure(None, error)));
        let checked = compute::run(self.body.len(), || {
            let text = std::str::from_utf8(self.body).map_err(|error| error.to_string())?;
            let value: &RawValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
            Ok::<_, String>(value.get())
        });
        let text = match checked.await {
            Ok(text) => text,
            Err(reason) => return refused(&RpcError::new(PARSE_ERROR, format!("The body is not JSON: {reason}."))),
        };
        if text.starts_with('[') {
            return Box::pin(self.answer_batch(text)).await;
        }
        let request = match message::read(text) {
            Ok(Incoming::Request(request)) => request,
            Ok(Incoming::Notification | Incoming::Response) => {
                return match lifecycle::revision_of_header(self.headers) {
                    Ok(_) => Ok(accepted()),
                    Err(error) => refused(&error),
                };
            }
            Err((id, error)) => return Ok(rpc_text(StatusCode::BAD_REQUEST, message::failure(id, &error))),
        };
        // With a revision in `_meta`, the client is of a revision that has no `initialize`.
        if request.method == "initialize" && !lifecycle::names_revision(&request) {
            return Box::pin(self.initialize(&request)).await;
        }
        let id = request.id;
        let client = match lifecycle::client_of(self, &request).await {
            Ok(client) => client,
            Err(failed) => return answer_of_failure(id, failed),
        };
        if request.method == "subscriptions/listen" && client.revision.is_stateless() {
            let opened = Box::pin(listen::open(self, &client, &request)).await;
            return opened.or_else(|failed| answer_of_failure(id, failed.with_status_of(client.revision)));
        }
        let idempotency_key = idempotency::key_in_headers(self.headers)?.map(str::to_owned);
        match self.dispatch(&client, &request, idempotency_key, self.request_id).await {
            Ok(Done::Text(result)) => Ok(rpc_text(StatusCode::OK, message::success(id, &result))),
            Ok(Done::Waiting(wait)) => Ok(wait.answer_with_events(id, self.request_id)),
            Err(failed) => answer_of_failure(id, failed.with_status_of(client.revision)),
        }
    }

    /// Runs one request of a client that is known.
    async fn dispatch(
        &self,
        client: &Client,
        request: &Request<'_>,
        idempotency_key: Option<String>,
        request_id: &str,
    ) -> Result<Done, Failed> {
        match request.method.as_str() {
            "server/discover" if client.revision.is_stateless() => Ok(Done::Text(lifecycle::discovered())),
            "ping" if !client.revision.is_stateless() => Ok(Done::Text("{}".to_owned())),
            "tools/list" => Box::pin(self.list_tools(client, request)).await.map(Done::Text),
            method if client.revision.is_stateless() && tasks::is_about_tasks(method) => {
                Box::pin(tasks::answer(self, client, request)).await.map(Done::Text)
            }
            method if service_events::is_about_events(method) => {
                Box::pin(service_events::answer(self, client, request, request_id)).await.map(Done::Text)
            }
            "tools/call" => {
                let call_headers = CallHeaders::parse(self.headers)?;
                let call = tool_call::ToolCall::new(self, client, call_headers, idempotency_key, request_id);
                call.run(&request.params).await
            }
            method => {
                let method = contract::words::shortened(method);
                Err(RpcError::new(METHOD_NOT_FOUND, format!("There is no method `{method}`.")).into())
            }
        }
    }

    async fn list_tools(&self, client: &Client, request: &Request<'_>) -> Result<String, Failed> {
        if request.params.raw("cursor").is_some() {
            let error = "The list of tools has one page; leave `cursor` out.";
            return Err(RpcError::new(message::INVALID_PARAMS, error).into());
        }
        let catalogue = catalogue_of(self.gateway, self.view_of_list().await?).await;
        let list = &catalogue.list;
        Ok(match client.revision.is_stateless() {
            true => {
                format!(r#"{{"resultType":"complete","ttlMs":{LIST_TTL_MS},"cacheScope":"private","tools":{list}}}"#)
            }
            false => format!(r#"{{"tools":{list}}}"#),
        })
    }

    async fn initialize(&self, request: &Request<'_>) -> Result<Response<Body>, Problem> {
        let requested = request.params.text("protocolVersion").unwrap_or_default();
        let named = self.headers.get(lifecycle::PROTOCOL_VERSION).map(HeaderValue::as_bytes);
        if named.is_some_and(|named| named != requested.as_bytes()) {
            let error = RpcError::new(
                message::HEADER_MISMATCH,
                "The header MCP-Protocol-Version must be the `protocolVersion` of `initialize`.",
            );
            return Ok(rpc_text(StatusCode::BAD_REQUEST, message::failure(Some(request.id), &error)));
        }
        let revision = Revision::negotiated(&requested);
        let session = lifecycle::session(self, &request.params.value("capabilities"))?;
        let result = lifecycle::initialized(revision);
        let mut response = rpc_text(StatusCode::OK, message::success(request.id, &result));
        response.headers_mut().insert(SESSION_ID, session);
        Ok(response)
    }

    fn memory(&self) -> &MemoryBudget {
        self.gateway.egress.memory()
    }
}

impl Failed {
    /// Clients of the newest revision read the status of the response, too.
    fn with_status_of(self, revision: Revision) -> Self {
        match self {
            Self::Rpc(StatusCode::OK, error) if revision.is_stateless() && error.code == METHOD_NOT_FOUND => {
                Self::Rpc(StatusCode::NOT_FOUND, error)
            }
            Self::Rpc(StatusCode::OK, error) if error.code == message::MISSING_CAPABILITY => {
                Self::Rpc(StatusCode::BAD_REQUEST, error)
            }
            other => other,
        }
    }
}

fn answer_of_failure(id: &RawValue, failed: Failed) -> Result<Response<Body>, Problem> {
    match failed {
        Failed::Rpc(status, error) => Ok(rpc_text(status, message::failure(Some(id), &error))),
        Failed::Problem(problem) => Err(*problem),
    }
}

/// A problem as an error of JSON-RPC.
fn rpc_error(problem: &Problem) -> RpcError {
    let code = if problem.code() < 500 { message::INVALID_PARAMS } else { message::INTERNAL_ERROR };
    RpcError { code, message: problem.detail().to_owned(), data: Some(json!({"problem": problem.name()})) }
}

/// A response without content, to messages that have no answer.
fn accepted() -> Response<Body> {
    let mut response = Response::new(full(Bytes::new()));
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// A response of JSON text.
fn rpc_text(status: StatusCode, text: String) -> Response<Body> {
    rpc_response(status, full(text))
}

fn rpc_response(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The name of the server, as clients show it.
fn server_info() -> Value {
    json!({"name": "connector-gateway", "title": "Connector Gateway", "version": env!("CARGO_PKG_VERSION")})
}
