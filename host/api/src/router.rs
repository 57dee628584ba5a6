//! Finds the route of a request, calls its handler, and makes a response of every outcome.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, CONNECTION, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Version};
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::admin_host;
use super::caller_address;
use super::compression::{self, Encoding};
use super::cors;
use super::routes::{self, INTEGRATIONS, ROUTES};
use agents::mcp;
use auth::Scope;
use body::{Body, HeldBody};
use calls::CONNECT;
use endpoint::authorize::{AuthorizedCaller, authorize};
use endpoint::body::RequestBody;
use endpoint::headers;
use endpoint::path::normalized;
use endpoint::recorded::{self, OpenCall};
use endpoint::route::{Endpoint, Family, Handler, HttpCall, Listener, PathArguments, Peer, Query, Route};
use gateway::Gateway;
use metrics::RequestLabels;
use problem::{self, Problem};
use rest::hooks;
use store::{Acting, acting};
use telemetry::Trace;
use telemetry::logging::REQUEST_SPAN;

/// Names in paths are cut to this length in the log. Names of connectors and operations are
/// shorter.
const MAX_SHOWN_CHARACTERS: usize = 128;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A path that was found in the table.
type MatchedRoute<'a> = Option<(&'static Route, PathArguments<'a>)>;

/// Answers a request. Returns the body of the request too, because a part of it may be left.
pub(super) async fn answer_request(
    gateway: &Arc<Gateway>,
    peer: Peer,
    request: Request<Incoming>,
) -> (Response<HeldBody>, RequestBody) {
    let arrived = Instant::now();
    let (head, incoming) = request.into_parts();
    let RoutingHeaders { request_id, encoding, is_held_back } = RoutingHeaders::parse(&head.headers);
    let request_id = gateway.requests.id(request_id);
    let method = head.method.clone();
    let mut body = RequestBody::new(incoming, arrived + gateway.config.caller_timeout, is_held_back);
    // A copy. A part of the request would keep the connection's memory for as long as the call
    // waits.
    let path = normalized(head.uri.path()).into_owned();
    let has_admin_listener = gateway.config.admin_listen.is_some();
    let found = routes::find_route(&path).filter(|(route, _)| route.is_served_by(peer.listener, has_admin_listener));
    let is_hook = peer.listener == Listener::Hooks || found.is_some_and(|(route, _)| route.family == Family::Hooks);
    // The answers to services say as little as possible, so they have no id either.
    let encoding = encoding.filter(|_| head.method != Method::HEAD && !is_hook);
    let origin = if is_hook { None } else { cors::allowed_origin(&gateway.config, &head.headers) };
    let caller_address = caller_address::of(&gateway.config.trusted_proxies, peer.address, &head.headers);
    let span = request_span(&request_id, found, caller_address);
    let trace = trace_of_request(gateway, found, &request_id, &head);
    let mut open = match (operation_names(found), connection_names(&method, found)) {
        (Some(names), _) => OpenCall::begin(&gateway.calls, &request_id, names, arrived),
        (None, Some(names)) => OpenCall::begin(&gateway.calls, &request_id, names, arrived).connecting(),
        (None, None) => OpenCall::unrecorded(arrived),
    };
    let answering = async {
        let result = match preflight(&head, found).filter(|_| origin.is_some()) {
            Some(response) => Ok(response),
            None => {
                let context =
                    RequestContext { request_id: &request_id, caller_address, arrived, trace: &trace, open: &open };
                call_handler(gateway, peer, head, &mut body, found, context).await
            }
        };
        let is_counted = result.is_ok() && found.is_some_and(|(route, _)| route.family == Family::Operations);
        let (mut response, mut problem) = match result {
            Ok(response) => (response, None),
            Err(problem) => {
                let ended = (problem.name(), recorded::ended(&problem));
                (problem.into_response(&request_id), Some(ended))
            }
        };
        let mut measured = open.measure(&mut response);
        if let Some(encoding) = encoding {
            response = Box::pin(compression::compressed(response, encoding, gateway.egress.memory())).await;
        }
        let is_for_operator = found.is_some_and(|(route, _)| serves_without_room(route));
        let (mut response, is_replaced) = match held(response, gateway, is_for_operator) {
            Ok(response) => (response, false),
            Err(no_memory) => {
                problem = Some((no_memory.name(), recorded::ended(&no_memory)));
                let mut response = no_memory.into_response(&request_id);
                measured = open.measure(&mut response);
                (held_document(response, gateway), true)
            }
        };
        // The log, the record and the metrics have the status that the caller gets.
        let status = response.status();
        log_answer(&method, status, problem.as_ref().map(|(name, ended)| (*name, ended.detail.as_str())), arrived);
        trace.answered(status, problem.as_ref().map(|(name, _)| *name));
        open.end_measured(status, problem.map(|(_, ended)| ended), measured);
        // `operations::invoke_operation` has already counted its success with the operation's own
        // metrics.
        if !is_counted || is_replaced {
            count_answer(gateway, found, status);
        }
        // Last, so that an answer that takes the place of another one has them too.
        add_headers(&mut response, (!is_hook).then_some(&*request_id), origin);
        response
    };
    let response = answering.instrument(span).await;
    (response, body)
}

/// Adds the headers that all answers to a caller have.
fn add_headers(response: &mut Response<HeldBody>, request_id: Option<&str>, origin: Option<HeaderValue>) {
    if let Some(Ok(id)) = request_id.map(HeaderValue::from_str) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    if let Some(origin) = origin {
        cors::let_page_read(origin, response.headers_mut());
    }
}

/// Returns `true` if a route is served while connections or memory are used up, so that an operator
/// sees why.
fn serves_without_room(route: &Route) -> bool {
    matches!(route.family, Family::Admin | Family::System)
}

/// The response with a body that is a part of the memory budget.
///
/// # Errors
/// If the budget is used up. The caller is told so in place of the response.
fn held(response: Response<Body>, gateway: &Gateway, is_for_operator: bool) -> Result<Response<HeldBody>, Problem> {
    let memory = gateway.egress.memory();
    let (parts, body) = response.into_parts();
    let part = if is_for_operator { memory.part_beyond_limit() } else { memory.part() };
    Ok(Response::from_parts(parts, body.hold(part).map_err(problem::no_memory)?))
}

/// The response with the document of a problem, which is so small that it is not counted.
fn held_document(response: Response<Body>, gateway: &Gateway) -> Response<HeldBody> {
    let part = gateway.egress.memory().part();
    response.map(|body| body.hold(part).unwrap_or_else(|_| HeldBody::of_program("")))
}

/// The headers that matter to every route, found in one pass over all headers.
#[derive(Default)]
struct RoutingHeaders<'a> {
    request_id: Option<&'a HeaderValue>,
    encoding: Option<Encoding>,
    /// The caller waits for permission to send the body.
    is_held_back: bool,
}

impl<'a> RoutingHeaders<'a> {
    fn parse(headers: &'a HeaderMap) -> Self {
        let mut routing = Self::default();
        for (name, value) in headers {
            if name == REQUEST_ID {
                routing.request_id = Some(value);
            } else if name == ACCEPT_ENCODING {
                routing.encoding = routing.encoding.or_else(|| Encoding::negotiated(Some(value)));
            } else if name == EXPECT {
                routing.is_held_back = true;
            }
        }
        routing
    }
}

fn preflight(head: &Parts, found: MatchedRoute<'_>) -> Option<Response<Body>> {
    cors::preflight_answer(&head.method, &head.headers, found?.0)
}

/// The beginning of a name in a path, which may be any text of any caller.
fn shown(name: &str) -> &str {
    name.char_indices().nth(MAX_SHOWN_CHARACTERS).map_or(name, |(end, _)| &name[..end])
}

/// The connector and the operation that a request calls, if it calls one.
fn operation_names(found: MatchedRoute<'_>) -> Option<(&str, &str)> {
    let (Route { family, .. }, PathArguments { connector, operation, .. }) = found?;
    let is_call = matches!(family, Family::Operations | Family::Proxy);
    is_call.then(|| (shown(connector), family.label().unwrap_or_else(|| shown(operation))))
}

/// The connector and the name of a request that connects an account.
fn connection_names<'a>(method: &Method, found: MatchedRoute<'a>) -> Option<(&'a str, &'static str)> {
    let (route, PathArguments { connector, .. }) = found?;
    let connects = route.path == INTEGRATIONS && *method == Method::POST;
    connects.then(|| (shown(connector), CONNECT))
}

/// The span of a request. Each log line below it carries its fields. The tenant is recorded once
/// the caller is known.
fn request_span(request_id: &str, found: MatchedRoute<'_>, caller_address: IpAddr) -> Span {
    let family = found.map(|(route, _)| route.family);
    let calls_connector = family.is_some_and(Family::calls_connector);
    let arguments = found.map(|(_, arguments)| arguments).unwrap_or_default();
    let connector = Some(shown(arguments.connector)).filter(|name| !name.is_empty());
    let connector = connector.filter(|_| calls_connector || family == Some(Family::Admin));
    let operation =
        family.filter(|_| calls_connector).map(|family| family.label().unwrap_or(shown(arguments.operation)));
    // At the level of errors, so that lines of every level are inside.
    tracing::error_span!(
        target: REQUEST_SPAN,
        "request",
        request_id,
        connector,
        operation,
        %caller_address,
        tenant = Empty
    )
}

/// The trace of a request. Paths without a route are left out, routes of the system, which probes
/// call every few seconds, and notifications, whose senders are not known.
fn trace_of_request(gateway: &Gateway, found: MatchedRoute<'_>, request_id: &str, head: &Parts) -> Trace {
    match found {
        Some((route, _)) if !matches!(route.family, Family::System | Family::Hooks) => {
            gateway.telemetry.request(&head.method, route.path, request_id, &head.headers)
        }
        _ => Trace::default(),
    }
}

/// The facts about a request that are known before its route is called.
#[derive(Clone, Copy)]
struct RequestContext<'a> {
    request_id: &'a str,
    caller_address: IpAddr,
    arrived: Instant,
    trace: &'a Trace,
    open: &'a OpenCall<'a>,
}

/// Finds the endpoint, authorizes the caller, and calls the endpoint's handler.
async fn call_handler(
    gateway: &Arc<Gateway>,
    peer: Peer,
    head: Parts,
    body: &mut RequestBody,
    found: MatchedRoute<'_>,
    context: RequestContext<'_>,
) -> Result<Response<Body>, Problem> {
    let RequestContext { request_id, caller_address, arrived, trace, open } = context;
    let (route, endpoint, arguments) = match find_endpoint(gateway, peer, &head, found) {
        Ok(found) => found,
        Err(refused) => return refused,
    };
    let call = HttpCall {
        gateway,
        listener: peer.listener,
        caller_address,
        head,
        body,
        arguments,
        request_id,
        arrived,
        trace,
        recording: &open.recording,
        routes: ROUTES,
    };
    let (scope, handler) = match endpoint.handler {
        Handler::Public(handler) => {
            check_query(endpoint.query, &call.head)?;
            return Box::pin(acting(Acting::anonymous(request_id), handler(call))).await;
        }
        Handler::Operator(handler) => {
            if peer.listener == Listener::Callers {
                trace.around("auth", authorize(gateway, &call.head, route.family, Some(Scope::Admin))).await?;
            }
            check_query(endpoint.query, &call.head)?;
            return handler(call).await;
        }
        Handler::Known(handler) => (None, handler),
        Handler::Scoped(scope, handler) => (Some(scope), handler),
    };
    let caller = trace.around("auth", authorize(gateway, &call.head, route.family, scope)).await;
    let caller = caller.map_err(|problem| match route.family {
        Family::Mcp => problem.with_resource_metadata(&mcp::metadata::url(&gateway.config, call.head.uri.path())),
        _ => problem,
    })?;
    if scope == Some(Scope::Admin) && route.path.starts_with("/admin/") && !call.head.method.is_safe() {
        caller.require_unlimited()?;
    }
    Span::current().record("tenant", caller.tenant());
    trace.is_of(caller.tenant());
    open.is_of(&caller);
    check_query(endpoint.query, &call.head)?;
    let by = match route.family {
        Family::Operations | Family::Proxy => None,
        _ => Some(actor(&caller, &call.head, request_id)?),
    };
    let handling = handler(call, caller);
    match by {
        Some(by) => Box::pin(acting(by, handling)).await,
        // A call of an operation changes nothing that the audit has.
        None => handling.await,
    }
}

/// The endpoint of a request that may be called at this address.
///
/// # Errors
/// The answer to a request that gets to no handler.
fn find_endpoint<'a>(
    gateway: &Gateway,
    peer: Peer,
    head: &Parts,
    found: MatchedRoute<'a>,
) -> Result<(&'static Route, &'static Endpoint, PathArguments<'a>), Result<Response<Body>, Problem>> {
    if head.version == Version::HTTP_11 && !has_one_host(&head.headers) {
        return Err(Err(problem::BAD_REQUEST
            .with_detail("HTTP/1.1 requires exactly one header Host (RFC 9112, section 3.2); send it.")));
    }
    let Some((route, arguments)) = found else {
        return Err(if peer.listener == Listener::Hooks { Ok(hooks::not_found()) } else { Err(problem::no_route()) });
    };
    let Some(endpoint) = route.endpoint(&head.method) else {
        if route.family == Family::Hooks {
            return Err(Ok(hooks::not_found()));
        }
        let allowed = route.allowed();
        let detail = format!("This path takes {allowed}, not {}.", head.method);
        return Err(Err(problem::METHOD_NOT_ALLOWED.with_detail(detail).allow(&allowed)));
    };
    if peer.is_of_reserve && route.family == Family::Hooks {
        return Err(Ok(hooks::busy()));
    }
    if peer.is_of_reserve && !serves_without_room(route) {
        return Err(Err(problem::BUSY
            .with_detail("All connections for callers are in use (`max_connections`); try again.")
            .retry_after(1)
            .header(CONNECTION, HeaderValue::from_static("close"))));
    }
    if route.is_for_operators() && !admin_host::is_own(&gateway.config, head) {
        return Err(Err(problem::BAD_REQUEST.with_detail(
            "The routes of the operator are called by a name of the gateway, and `Host` has another one; use its IP address or \
             the host of `public_url`, or add the name to `admin_hosts` in the configuration.",
        )));
    }
    Ok((route, endpoint, arguments))
}

/// Refuses the parameters of an endpoint that has none. A parameter that is ignored would let a
/// caller believe that it counts.
fn check_query(query: Query, head: &Parts) -> Result<(), Problem> {
    match (query, head.uri.query()) {
        (Query::None, Some(parameters)) => problem::read_query(parameters, &[], |_, _| Ok(())),
        _ => Ok(()),
    }
}

/// The caller, as the audit names it, with its reason for a change.
///
/// # Errors
/// 422 if the reason is not valid.
fn actor(caller: &AuthorizedCaller, head: &Parts, request_id: &str) -> Result<Acting, Problem> {
    let by = match (caller.person(), caller.key_id()) {
        (Some(person), _) => Acting::operator(person, request_id),
        (None, Some(id)) => Acting::key(&id.0, request_id),
        (None, None) => Acting::token(caller.tenant(), caller.subject(), request_id),
    };
    let reason = if head.method.is_safe() { None } else { headers::reason(&head.headers)? };
    Ok(match reason {
        Some(reason) => by.because(reason),
        None => by,
    })
}

fn has_one_host(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    hosts.next().is_some() && hosts.next().is_none()
}

/// Counts an answer. Names that no live connector has are left out: callers could invent any number
/// of them.
fn count_answer(gateway: &Gateway, found: MatchedRoute<'_>, status: StatusCode) {
    let (connector, operation) = match found {
        None => (String::new(), String::new()),
        Some((Route { family, .. }, PathArguments { connector, operation, .. })) => {
            let live = gateway.registry.get(connector).filter(|_| family.calls_connector());
            let known = live.as_ref().and_then(|live| live.operation(operation));
            let path = known.map(|known| known.manifest.path.as_str()).unwrap_or_default();
            (
                live.as_ref().map(|live| live.name().to_string()).unwrap_or_default(),
                family.label().unwrap_or(path).to_owned(),
            )
        }
    };
    let labels = RequestLabels { connector, operation, status: status.as_u16() };
    gateway.metrics.requests.get_or_create_owned(&labels).inc();
}

/// Writes one line for each request. The default level shows requests that failed or were refused.
fn log_answer(method: &Method, status: StatusCode, problem: Option<(&'static str, &str)>, arrived: Instant) {
    let status = status.as_u16();
    // The clock is read only for a line that is written.
    let ms = || arrived.elapsed().as_micros() as f64 / 1000.0;
    match problem {
        None => tracing::debug!(%method, status, ms = ms(), "answered"),
        Some((problem, detail)) if status >= 500 => {
            tracing::warn!(%method, status, ms = ms(), problem, detail, "failed")
        }
        Some((problem, detail)) => tracing::info!(%method, status, ms = ms(), problem, detail, "refused"),
    }
}
