//! /proxy/{connector}/{upstream}/{path}: a caller's own request to a service, with the user's
//! credential.

mod form;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, RANGE};
use hyper::http::request::Parts;
use hyper::{Method, Response};
use tokio::time::{Instant, timeout_at};

use super::connectors;
use super::operations::InFlight;
use ::body::Body;
use calls::Recording;
use contract::Effect;
use contract::words::{nearest, sentence, shortened};
use contract_rules::path;
use egress::{BrokenBody, EgressError, Headers, StreamedBody};
use endpoint::answer::AnswerDeadline;
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::{self, ADVICE, StreamedRequest, Unread};
use endpoint::headers::{CallHeaders, RequestedTimeout};
use endpoint::idempotency::{self, DidNothing};
use endpoint::path::below_upstream;
use endpoint::route::HttpCall;
use gateway::Gateway;
use memory::Reservation;
use pipeline::proxy::{self, ProxyAnswer, ProxyCall};
use pipeline::{self, RunAs};
use problem::{self, Problem, invalid, pipeline_problem};
use registry::Connector;
use sandbox::http::CallerRequest;
use telemetry::Trace;

/// The most bytes of a body that is kept, so that the request can be sent again.
const KEPT_BYTES: usize = 64 << 10;

/// The media type of a body whose caller names none.
const BYTES: &str = "application/octet-stream";

/// Further headers for the service have this prefix.
const PREFIX: &str = "x-proxy-header-";

/// Sends the request to the service, and answers with the response of the service, or with a
/// problem. No cache may show the answer to another caller.
pub async fn send_request(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    answer(call, caller).await.map_err(|problem| {
        let mut headers = HeaderMap::new();
        proxy::keep_private(&mut headers);
        headers.iter().fold(problem, |problem, (name, value)| problem.header(name.clone(), value.clone()))
    })
}

async fn answer(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, arguments, arrived, trace, recording, .. } = call;
    let connector = connectors::live_connector(gateway, arguments.connector)?;
    recording.runs(&connector.manifest().version);
    recording.is_known();
    let effect = effect_of(&head.method);
    caller.require_proxy(connector.name(), effect)?;
    trace.calls(connector.name(), proxy::PROXY);
    let takes_forms = find_upstream(&connector, arguments.upstream)?;
    let path = path_of(&head)?;
    let headers = headers_of(&head.headers)?;
    let CallHeaders { user_identifier, requested_timeout, .. } = CallHeaders::parse(&head.headers)?;
    let limit = connector.timeout();
    // A preference is the service's to apply. It may answer at the end of the time.
    let requested_timeout = requested_timeout.filter(|timeout| !timeout.is_preference && time_of(*timeout) < limit);
    let deadline = arrived + requested_timeout.map_or(limit, time_of);
    body.end_by(deadline);
    let key = if effect == Effect::Read { None } else { idempotency::key_in_headers(&head.headers)? };
    let proxied = Proxied {
        gateway: Arc::clone(gateway),
        caller,
        connector,
        upstream: arguments.upstream.to_owned(),
        user_identifier,
        method: head.method.clone(),
        path,
        headers,
        effect,
        deadline,
        requested_timeout,
        trace: trace.clone(),
        recording: recording.clone(),
    };
    if key.is_none() && !takes_forms {
        let pause = gateway.config.caller_timeout;
        let read = Limited::read(&head.headers, body.take(pause), gateway, deadline, recording).await?;
        return proxied.send(read).await;
    }
    // The body is a part of what makes two requests the same, or a form that gets one more field.
    let limit_mb = gateway.config.max_body_mb;
    let whole = body::read_body(&head.headers, body, limit_mb, ADVICE, gateway.egress.memory()).await?;
    let content_type = content_type_of(&head.headers)?;
    recording.received(whole.len());
    let sent = if takes_forms {
        let memory = gateway.egress.memory();
        let read = compute::run(whole.len(), || form::read(content_type.as_deref(), &whole, memory));
        let read = timeout_at(deadline, read).await;
        let out_of_time = |_| Err(proxied.explain(pipeline::Error::OutOfTime));
        let (body, held) = read.unwrap_or_else(out_of_time)?;
        Limited { held: Some(held), ..Limited::of(body) }
    } else {
        Limited::of(typed(content_type, whole.clone()))
    };
    let Some(key) = key.map(str::to_owned) else { return proxied.send(sent).await };
    proxied.recording.has_key();
    let (gateway, caller) = (Arc::clone(gateway), proxied.caller.clone());
    let user_identifier = proxied.user_identifier.clone().unwrap_or_default();
    // Not the URI: over HTTP/2 it has the name of the gateway, and a path may be written in several
    // ways.
    let path = format!("/proxy/{}/{}{}", proxied.connector.name(), proxied.upstream, proxied.path);
    let method = proxied.method.clone();
    let meaning = meaning_of(&head.headers);
    let mut request = vec![method.as_str().as_bytes(), path.as_bytes(), user_identifier.as_bytes(), &whole[..]];
    request.extend(meaning.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]));
    let running = async move { proxied.send(sent).await };
    Box::pin(idempotency::answer_idempotently(&gateway, &caller, &key, &request, running)).await
}

/// A request whose head is read.
struct Proxied {
    gateway: Arc<Gateway>,
    caller: AuthorizedCaller,
    connector: Arc<Connector>,
    upstream: String,
    user_identifier: Option<Box<str>>,
    method: Method,
    path: String,
    headers: Headers,
    effect: Effect,
    deadline: Instant,
    /// The time that the caller allows, if the deadline follows from it.
    requested_timeout: Option<RequestedTimeout>,
    trace: Trace,
    recording: Recording,
}

impl Proxied {
    async fn send(self, body: Limited) -> Result<Response<Body>, Problem> {
        let Self { gateway, caller, connector, upstream, user_identifier, method, path, headers, .. } = &self;
        let metrics = gateway.metrics.operation(connector.name(), proxy::PROXY);
        let _in_flight = InFlight::new(&metrics.in_flight);
        let call = ProxyCall {
            connector,
            upstream,
            run_as: RunAs::Caller {
                tenant: caller.tenant(),
                subject: caller.subject(),
                user_identifier: user_identifier.as_deref(),
            },
            effect: self.effect,
            deadline: self.deadline,
            trace: self.trace.clone(),
            recording: &self.recording,
        };
        let Limited { body, unread, held: _held } = body;
        let request = CallerRequest { method: method.clone(), path: path.clone(), headers: headers.clone(), body };
        let sent = Box::pin(proxy::send(gateway.services(), &call, request)).await;
        let ProxyAnswer { answer, did_nothing } = sent.map_err(|error| match unread.get() {
            Some(unread) => unread.into_problem(gateway.config.max_body_mb, ADVICE).of_unknown_outcome(),
            None => self.explain(error),
        })?;
        let mut response = Response::new(answer.body);
        response.extensions_mut().insert(AnswerDeadline(self.deadline));
        if did_nothing {
            response.extensions_mut().insert(DidNothing);
        }
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        Ok(response)
    }

    /// A part of the request that egress refuses was composed by the caller, not by the connector.
    fn explain(&self, error: pipeline::Error) -> Problem {
        let passed = self.requested_timeout.filter(|_| error.is_late());
        let problem = match error {
            pipeline::Error::Egress(EgressError::InvalidRequest { detail }) => invalid("", sentence(&detail)),
            error => pipeline_problem(error, self.connector.name()),
        };
        match passed {
            Some(timeout) => problem.requested_timeout_passed(timeout.seconds, timeout.header()),
            None => problem,
        }
    }
}

/// The time that the caller allows.
fn time_of(timeout: RequestedTimeout) -> Duration {
    Duration::from_secs(timeout.seconds)
}

/// The effect of a method (RFC 9110, section 9.2.1).
fn effect_of(method: &Method) -> Effect {
    match *method {
        Method::GET | Method::HEAD => Effect::Read,
        Method::DELETE => Effect::Destructive,
        _ => Effect::Write,
    }
}

/// Returns `true` if requests to the upstream carry the credential in a form.
///
/// # Errors
/// 404 if the connector has no such upstream.
fn find_upstream(connector: &Connector, name: &str) -> Result<bool, Problem> {
    if let Some(upstream) = connector.upstreams().get(name) {
        return Ok(upstream.takes_forms());
    }
    let known: Vec<&str> = connector.upstreams().keys().map(String::as_str).collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("it has {}.", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    };
    let name = shortened(name);
    Err(problem::UNKNOWN_UPSTREAM.with_detail(format!("`{}` has no upstream `{name}`; {hint}", connector.name())))
}

/// The path below the base URL of the upstream, with the query, as the caller has sent it.
///
/// # Errors
/// 422 if the path could lead out of the base URL.
fn path_of(head: &Parts) -> Result<String, Problem> {
    let mut below = below_upstream(head.uri.path()).map(|path| format!("/{path}")).unwrap_or_default();
    if below.contains("//") {
        return Err(invalid("/path", "Must not contain `//`.".to_owned()));
    }
    if let Some(query) = head.uri.query() {
        below = format!("{below}?{query}");
    }
    path::check(&below).map_err(|broken| invalid("/path", sentence(broken.rule())))?;
    Ok(below)
}

/// The headers for the service: those about the wanted response, and those with the prefix.
///
/// # Errors
/// 422 for a header that the gateway sets itself, or with a value that is not text.
fn headers_of(given: &HeaderMap) -> Result<Headers, Problem> {
    let mut pairs = Vec::new();
    for (name, value) in given {
        let is_named = [ACCEPT, RANGE].contains(name) || name == "prefer" || name.as_str().starts_with("if-");
        let sent = if is_named { Some(name.as_str()) } else { name.as_str().strip_prefix(PREFIX) };
        let Some(sent) = sent else { continue };
        let value =
            str::from_utf8(value.as_bytes()).map_err(|_| invalid("", format!("The header `{name}` is not UTF-8.")))?;
        pairs.push((sent.to_owned(), value.to_owned()));
    }
    Headers::untrusted(pairs).map_err(|error| invalid("", sentence(&error.to_string())))
}

/// The headers by which two requests with the same body mean different things to the service: the
/// conditions, the form of the body, and those that the caller chose. In the order of their names.
fn meaning_of(given: &HeaderMap) -> Vec<(&str, &HeaderValue)> {
    let counts = |name: &str| name.starts_with("if-") || name.starts_with(PREFIX) || name == CONTENT_TYPE.as_str();
    let mut headers: Vec<_> =
        given.iter().map(|(name, value)| (name.as_str(), value)).filter(|(name, _)| counts(name)).collect();
    // Stable, so that values of the same name keep their order.
    headers.sort_by_key(|(name, _)| *name);
    headers
}

fn content_type_of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(None) };
    let text = value.to_str().map_err(|_| invalid("", "The header `Content-Type` is not ASCII.".to_owned()))?;
    Ok(Some(text.to_owned()))
}

/// A body in memory.
fn typed(content_type: Option<String>, bytes: Bytes) -> egress::Body {
    if bytes.is_empty() && content_type.is_none() {
        return egress::Body::Empty;
    }
    egress::Body::Typed { content_type: content_type.unwrap_or_else(|| BYTES.to_owned()), bytes }
}

/// A body that is limited by `max_body_mb`.
struct Limited {
    body: egress::Body,
    /// Why a part of a streamed body is not read, once that is known.
    unread: Arc<OnceLock<Unread>>,
    /// The memory of the fields of a form, until the response arrives. Other bodies hold their own.
    held: Option<Reservation>,
}

impl Limited {
    /// A body that was read within the limit.
    fn of(body: egress::Body) -> Self {
        Self { body, unread: Arc::default(), held: None }
    }

    /// Reads the beginning of a body. A short body is kept, so that the request can be sent again. A
    /// longer one is streamed.
    async fn read(
        headers: &HeaderMap,
        mut request: StreamedRequest,
        gateway: &Gateway,
        deadline: Instant,
        recording: &Recording,
    ) -> Result<Self, Problem> {
        body::require_unencoded(headers)?;
        let content_type = content_type_of(headers)?;
        let limit_mb = gateway.config.max_body_mb;
        let limit = limit_mb << 20;
        let announced = request.announced();
        if announced.is_some_and(|bytes| bytes > limit as u64) {
            return Err(Unread::TooLarge.into_problem(limit_mb, ADVICE));
        }
        let mut held = gateway.egress.memory().part_before_admission();
        let mut beginning = BytesMut::new();
        while beginning.len() <= KEPT_BYTES {
            let piece = timeout_at(deadline, request.piece()).await.unwrap_or(Err(Unread::Late));
            let Some(piece) = piece.map_err(|unread| unread.into_problem(limit_mb, ADVICE))? else {
                let body = typed(content_type, held.tie_to(beginning.freeze()));
                return Ok(Self::of(body));
            };
            held.grow_to(beginning.len() + piece.len()).map_err(problem::no_memory)?;
            recording.received(piece.len());
            beginning.extend_from_slice(&piece);
        }
        let unread = Arc::default();
        let rest = Rest {
            request: Some(request),
            remaining: limit,
            unread: Arc::clone(&unread),
            recording: recording.clone(),
        };
        let content = StreamedBody::new(rest.pieces(held.tie_to(beginning.freeze())), announced);
        let content_type = content_type.unwrap_or_else(|| BYTES.to_owned());
        Ok(Self { body: egress::Body::Streamed { content_type, content }, unread, held: None })
    }
}

/// The rest of a streamed body.
struct Rest {
    /// `None` once a part of the body is not read. What is left of it is then read and dropped.
    request: Option<StreamedRequest>,
    /// Bytes up to the limit.
    remaining: usize,
    /// See [`Limited::unread`].
    unread: Arc<OnceLock<Unread>>,
    /// Counts the bytes that arrive before the service answers.
    recording: Recording,
}

impl Rest {
    /// The pieces of the whole body, which begins with `first`.
    fn pieces(self, first: Bytes) -> impl stream::Stream<Item = Result<Bytes, BrokenBody>> + Send {
        stream::unfold((Some(first), self), |(first, mut rest)| async move {
            let piece = match first {
                Some(first) => Some(first),
                None => match rest.request.as_mut()?.piece().await {
                    Ok(piece) => {
                        rest.recording.received(piece.as_ref().map_or(0, Bytes::len));
                        piece
                    }
                    Err(unread) => return Some((Err(rest.break_off(unread)), (None, rest))),
                },
            }?;
            let Some(remaining) = rest.remaining.checked_sub(piece.len()) else {
                return Some((Err(rest.break_off(Unread::TooLarge)), (None, rest)));
            };
            rest.remaining = remaining;
            Some((Ok(piece), (None, rest)))
        })
    }

    /// Leaves the rest of the body unread. The error ends the request to the service.
    fn break_off(&mut self, unread: Unread) -> BrokenBody {
        self.request = None;
        // It breaks off once.
        let _ = self.unread.set(unread);
        "the body of the caller did not arrive, or is over `max_body_mb`".into()
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use hyper::header::HeaderName;

    use super::*;

    fn path(uri: &str) -> Result<String, Problem> {
        path_of(&Request::get(uri).body(()).unwrap().into_parts().0)
    }

    #[test]
    fn the_path_is_sent_as_the_caller_has_written_it() {
        for (uri, expected) in [
            ("/proxy/a/api", ""),
            ("/proxy/a/api?b=1", "?b=1"),
            ("/proxy/a/api/", "/"),
            ("/proxy/a/api/b%2Fc/%41?x=%20&y=../z", "/b%2Fc/%41?x=%20&y=../z"),
            ("/pr%6Fxy/%61/api/b%3Fc%23/d", "/b%3Fc%23/d"),
        ] {
            assert_eq!(path(uri).unwrap(), expected, "{uri}");
        }
        for uri in [
            "/..",
            "/a/../b",
            "/%2e%2e/b",
            "/a/%2E%2e",
            "//b.example/",
            "/a//b",
            "/a%5c../b",
            "/.",
            "/a%0a",
            "/a/..%3fb",
            "/%2e%23",
        ] {
            assert!(path(&format!("/proxy/a/api{uri}")).is_err(), "{uri}");
        }
    }

    #[test]
    fn headers_that_change_the_meaning_of_a_request_are_a_part_of_it() {
        let mut given = HeaderMap::new();
        for (name, value) in [
            ("x-proxy-header-b", "2"),
            ("if-match", "\"1\""),
            ("accept", "a/b"),
            ("content-type", "text/csv"),
            ("x-proxy-header-b", "1"),
            ("prefer", "wait=3"),
        ] {
            given.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let meaning: Vec<_> = meaning_of(&given).into_iter().map(|(name, value)| (name, value.as_bytes())).collect();
        let expected: [(&str, &[u8]); 4] = [
            ("content-type", b"text/csv"),
            ("if-match", b"\"1\""),
            ("x-proxy-header-b", b"2"),
            ("x-proxy-header-b", b"1"),
        ];
        assert_eq!(meaning, expected);
    }

    #[test]
    fn a_header_reaches_the_service_only_by_name_and_never_with_a_credential() {
        let given = |pairs: &[(&'static str, &'static str)]| {
            let pairs =
                pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
            headers_of(&HeaderMap::from_iter(pairs))
        };
        let sent = given(&[
            ("accept", "a/b"),
            ("if-match", "\"1\""),
            ("prefer", "x"),
            ("range", "bytes=0-1"),
            ("x-own", "1"),
            ("authorization", "Bearer cgw"),
            ("cookie", "a=b"),
            ("x-proxy-header-x-version", "2"),
        ])
        .unwrap();
        let mut names: Vec<_> = sent.map().keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "if-match", "prefer", "range", "x-version"]);
        for name in
            ["x-proxy-header-authorization", "x-proxy-header-cookie", "x-proxy-header-host", "x-proxy-header-te"]
        {
            assert!(given(&[(name, "x")]).is_err(), "{name}");
        }
    }
}
