//! A request that a caller composed, to an upstream of a connector. It goes around the operations:
//! the sandbox is not entered, and the response is not read. Account, permit, rate limits,
//! credential and egress are the same as for operations.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{
    ACCEPT_RANGES, AGE, ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH,
    CONTENT_LOCATION, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, EXPIRES, HeaderMap, HeaderName,
    HeaderValue, LAST_MODIFIED, LINK, LOCATION, RETRY_AFTER, VARY, WARNING,
};
use tokio::time::Instant;

use super::refusal::upstream_error;
use super::stages::Stages;
use super::{CallAnswer, Error, RunAs, Services, account, call_record, forwarded_headers, rate};
use body::media_type::essence;
use body::streamed;
use calls::Recording;
use contract::Effect;
use egress::Remaining;
use metrics::OperationMetrics;
use registry::{Connector, Permit};
use sandbox::http::{CallerRequest, Outbound};
use telemetry::Trace;

/// The name of these requests in metrics and traces, where operations have theirs.
pub const PROXY: &str = "proxy";

/// The headers of a response that a caller gets. They describe the response or its resource. Others
/// may speak to the caller's browser or to a proxy in front of the gateway, about the gateway.
const FORWARDED: [HeaderName; 24] = [
    ACCEPT_RANGES,
    AGE,
    ALLOW,
    CONTENT_DISPOSITION,
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    CONTENT_LENGTH,
    CONTENT_LOCATION,
    CONTENT_RANGE,
    CONTENT_TYPE,
    ETAG,
    EXPIRES,
    LAST_MODIFIED,
    LINK,
    LOCATION,
    RETRY_AFTER,
    VARY,
    WARNING,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("deprecation"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("preference-applied"),
    HeaderName::from_static("repr-digest"),
    HeaderName::from_static("sunset"),
];

/// The beginnings of the names of further ones, which count requests, items and parts of an upload.
const FORWARDED_PREFIXES: [&str; 6] = ["x-ratelimit-", "x-rate-limit-", "x-total", "x-next-page", "upload-", "tus-"];

/// The headers by which two answers to the same path differ.
const VARIES: HeaderValue = HeaderValue::from_static("Authorization, X-User-Identifier");

/// Directives of `Cache-Control` that would let a cache store an answer for other callers.
const SHARING: [&str; 4] = ["public", "private", "proxy-revalidate", "s-maxage"];

const ERROR_SOURCE: HeaderName = HeaderName::from_static("x-error-source");

/// A page of an upstream must not run in the origin of the gateway.
const SANDBOXED: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'");

/// A request of a caller to an upstream.
pub struct ProxyCall<'a> {
    /// The version of the connector that was live when the call arrived.
    pub connector: &'a Arc<Connector>,
    /// The name of an upstream of the connector.
    pub upstream: &'a str,
    /// The account of the request.
    pub run_as: RunAs<'a>,
    /// The effect of the request, by its method.
    pub effect: Effect,
    /// The instant at which everything that the call does ends.
    pub deadline: Instant,
    /// The span that the stages of the call are in.
    pub trace: Trace,
    /// The notes for the record of the call.
    pub recording: &'a Recording,
}

/// The answer to a request, which is the response of the service.
pub struct ProxyAnswer {
    /// The response.
    pub answer: CallAnswer,
    /// `true` if the service has surely not acted on the request, so that the caller may send the same
    /// request again.
    pub did_nothing: bool,
}

/// Statuses by which a service says that it has not acted on a request: it did not arrive in time,
/// it came too early, or there were too many.
const NOT_TAKEN: [StatusCode; 3] = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];

/// Sends the request, and returns the response as it is, whatever its status.
///
/// # Errors
/// See [`enum@Error`]. If the upstream refuses the user's credential with 401, also after a
/// refresh, the error says who must act.
pub async fn send(services: Services<'_>, call: &ProxyCall<'_>, request: CallerRequest) -> Result<ProxyAnswer, Error> {
    let ProxyCall { connector, run_as, deadline, trace, recording, .. } = call;
    let metrics = services.metrics.operation(connector.name(), PROXY);
    let mut stages = Stages::begin(trace, recording, &metrics.account);
    let chosen = account::choose_account(services, connector, run_as, *deadline, recording).await?;
    stages.next(&metrics.admit);
    let (permit, left) = admit(services, connector, run_as.tenant()).await?;
    stages.next(&metrics.credential);
    let account = chosen.prepare_credential(services, connector, *deadline).await?;
    let upstreams = Arc::clone(&account.upstreams);
    let credentials = account.credentials.clone();
    let record = call_record(recording);
    let mut outbound = Outbound::new(services.egress.clone(), upstreams, *deadline, credentials, record);
    recording.sends(outbound.record());
    let answer = forward(call, request, &mut outbound, permit, &mut stages, &metrics).await;
    let answer = answer.map_err(|error| account.explain_refusal(services, error));
    let (mut answer, status) = answer.map_err(|error| error.after(&outbound, call.effect))?;
    if let Some(left) = left {
        rate::add_headers(&mut answer.headers, &left);
    }
    // A redirect may have led to the refusal, and the request before it may have changed data.
    let did_nothing = NOT_TAKEN.contains(&status) && !outbound.record().may_have_changed_data(true);
    Ok(ProxyAnswer { answer, did_nothing })
}

/// Returns the answer, and its status. A rate limit has the status 429, even if the service sent
/// another one.
async fn forward<'s>(
    call: &'s ProxyCall<'_>,
    request: CallerRequest,
    outbound: &mut Outbound,
    permit: Permit,
    stages: &mut Stages<'s>,
    metrics: &'s OperationMetrics,
) -> Result<(CallAnswer, StatusCode), Error> {
    outbound.trace(stages.next(&metrics.forward).tracing());
    let limit = call.connector.limits().download_bytes;
    let mut response = Box::new(outbound.send_of_caller(call.upstream, request, limit).await?);
    if !is_event_stream(&response.headers) {
        response.body.settle().await?;
    }
    stages.end(true);
    if response.status == StatusCode::UNAUTHORIZED && response.carried_credential {
        return Err(upstream_error(*response).await);
    }
    let headers = forwarded(&response.headers, response.upstream_status);
    let status = response.status;
    let answer = CallAnswer { status: response.upstream_status, headers, body: streamed(response.body, permit) };
    Ok((answer, status))
}

/// Returns `true` for a body whose parts the caller gets when they arrive.
fn is_event_stream(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(essence);
    media_type.is_some_and(|media_type| media_type.eq_ignore_ascii_case("text/event-stream"))
}

/// Takes a permit of the connector, and counts the request in each of its rate limits. Returns the
/// limit with the fewest remaining calls.
async fn admit<'a>(
    services: Services<'_>,
    connector: &'a Connector,
    tenant: &str,
) -> Result<(Permit, Option<Remaining<'a>>), Error> {
    let permit = connector.admit(tenant).map_err(Error::NoPermit)?;
    let left = services.budgets.count(|| connector.quotas().check_all(tenant)).await.map_err(Error::rate_limited)?;
    Ok((permit, left))
}

/// Adds the headers that keep an answer out of the caches that callers share.
pub fn keep_private(headers: &mut HeaderMap) {
    let given = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let directives = given.flat_map(|value| value.split(',')).map(str::trim).filter(|directive| {
        let name = directive.split('=').next().unwrap_or_default().trim();
        !name.is_empty() && !SHARING.iter().any(|sharing| sharing.eq_ignore_ascii_case(name))
    });
    let private = ["private"].into_iter().chain(directives).collect::<Vec<_>>().join(", ");
    headers.insert(CACHE_CONTROL, HeaderValue::try_from(private).unwrap_or(HeaderValue::from_static("private")));
    headers.append(VARY, VARIES);
}

/// The headers of the answer: the headers of the response that a caller may see.
fn forwarded(headers: &HeaderMap, status: StatusCode) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for (name, value) in headers {
        let is_counter = FORWARDED_PREFIXES.iter().any(|prefix| name.as_str().starts_with(prefix));
        if is_counter || *name == CACHE_CONTROL || FORWARDED.contains(name) {
            kept.append(name.clone(), value.clone());
        }
    }
    forwarded_headers::each(headers, |name, value| {
        kept.append(name, value);
    });
    keep_private(&mut kept);
    kept.insert(CONTENT_SECURITY_POLICY, SANDBOXED);
    if status.is_client_error() || status.is_server_error() {
        kept.insert(ERROR_SOURCE, HeaderValue::from_static("upstream"));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = given.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn only_headers_about_the_response_are_passed_on() {
        let given = headers(&[
            ("content-type", "text/html"),
            ("etag", "\"1\""),
            ("link", "</next>; rel=next"),
            ("x-ratelimit-remaining", "7"),
            ("x-service-request-id", "r"),
            ("x-total-count", "12"),
            ("set-cookie", "a=b"),
            ("connection", "close, ETag"),
            ("keep-alive", "timeout=5"),
            ("access-control-allow-origin", "*"),
            ("x-error-source", "gateway"),
            ("content-security-policy", "default-src *"),
            ("strict-transport-security", "max-age=1"),
            ("clear-site-data", "\"*\""),
            ("alt-svc", "h3=\":443\""),
            ("refresh", "0; url=/"),
            ("service-worker-allowed", "/"),
            ("www-authenticate", "Basic"),
            ("x-accel-redirect", "/internal"),
            ("x-sendfile", "/etc/passwd"),
            ("x-own", "1"),
        ]);
        let mut kept: Vec<_> = forwarded(&given, StatusCode::OK).keys().map(|name| name.to_string()).collect();
        kept.sort();
        let expected = [
            "cache-control",
            "content-security-policy",
            "content-type",
            "etag",
            "link",
            "vary",
            "x-ratelimit-remaining",
            "x-total-count",
            "x-upstream-link",
            "x-upstream-ratelimit-remaining",
            "x-upstream-request-id",
        ];
        assert_eq!(kept, expected);
        let refused = forwarded(&given, StatusCode::NOT_FOUND);
        assert_eq!(refused["x-error-source"], "upstream");
        assert_eq!(refused["content-security-policy"], SANDBOXED);
    }

    #[test]
    fn an_answer_is_never_for_a_cache_that_callers_share() {
        for (given, expected) in [
            ("public, max-age=60, s-maxage=600", "private, max-age=60"),
            ("Private=\"x\", no-store", "private, no-store"),
            ("no-cache", "private, no-cache"),
            ("", "private"),
        ] {
            let kept = forwarded(&headers(&[("cache-control", given)]), StatusCode::OK);
            assert_eq!(kept[CACHE_CONTROL], expected);
        }
        let kept = forwarded(&headers(&[("vary", "Accept")]), StatusCode::OK);
        assert_eq!(kept.get_all(VARY).iter().collect::<Vec<_>>(), ["Accept", "Authorization, X-User-Identifier"]);
        assert_eq!(kept[CACHE_CONTROL], "private");
    }
}
