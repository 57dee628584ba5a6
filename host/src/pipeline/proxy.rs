//! A request that a caller composed, to an upstream of a connector. It goes around the operations:
//! the sandbox is not entered, and the response is not read. Account, permit, rate limits,
//! credential and egress are the same as those of operations.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{
    CONNECTION, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, SET_COOKIE, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use tokio::time::Instant;

use super::refusal::upstream_error;
use super::stages::Stages;
use super::{Answer, Error, RunAs, Services, account, call_record, rate};
use crate::body::streamed;
use crate::calls::Recording;
use crate::metrics::OperationMetrics;
use crate::registry::{Connector, Permit};
use crate::telemetry::Trace;
use contract::Effect;
use egress::Remaining;
use sandbox::http::{CallerRequest, Outbound};

/// The name of these requests in metrics and traces, where operations have theirs.
pub const PROXY: &str = "proxy";

/// Headers of a response that are about its connection (RFC 9110, section 7.6.1), and those that
/// the gateway sets itself.
const NOT_FORWARDED: [HeaderName; 10] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("proxy-authenticate"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    SET_COOKIE,
    ERROR_SOURCE,
];

const ERROR_SOURCE: HeaderName = HeaderName::from_static("x-error-source");

/// A page of an upstream must not run in the origin of the gateway.
const SANDBOXED: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'");

/// A request of a caller to an upstream.
pub struct ProxyCall<'a> {
    /// The version of the connector that was live when the call arrived.
    pub connector: &'a Arc<Connector>,
    /// The name of an upstream of the connector.
    pub upstream: &'a str,
    pub run_as: RunAs<'a>,
    /// What the request may change, by its method.
    pub effect: Effect,
    /// The instant at which everything that the call does ends.
    pub deadline: Instant,
    /// The span that the stages of the call are in.
    pub trace: Trace,
    /// The notes for the record of the call.
    pub recording: &'a Recording,
}

/// Sends the request, and returns the response as it is, whatever its status.
///
/// # Errors
/// See [`enum@Error`]. If the upstream refuses the user's credential with 401, also after a
/// refresh, the error says who must act.
pub async fn send(services: Services<'_>, call: &ProxyCall<'_>, request: CallerRequest) -> Result<Answer, Error> {
    let ProxyCall { connector, run_as, deadline, trace, recording, .. } = call;
    let metrics = services.metrics.operation(connector.name(), PROXY);
    let mut stages = Stages::begin(trace, recording, &metrics.account);
    let chosen = account::choose_account(services, connector, run_as, *deadline).await?;
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
    let mut answer = answer.map_err(|error| error.after(&outbound, call.effect))?;
    if let Some(left) = left {
        rate::add_headers(&mut answer.headers, &left);
    }
    Ok(answer)
}

async fn forward<'s>(
    call: &'s ProxyCall<'_>,
    request: CallerRequest,
    outbound: &mut Outbound,
    permit: Permit,
    stages: &mut Stages<'s>,
    metrics: &'s OperationMetrics,
) -> Result<Answer, Error> {
    outbound.trace(stages.next(&metrics.forward).tracing());
    let limit = call.connector.limits().download_bytes;
    let response = Box::new(outbound.send_of_caller(call.upstream, request, limit).await?);
    stages.end(true);
    if response.status == StatusCode::UNAUTHORIZED && response.carried_credential {
        return Err(upstream_error(*response).await);
    }
    let headers = forwarded(&response.headers, response.upstream_status);
    Ok(Answer { status: response.upstream_status, headers, body: streamed(response.body, permit) })
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

/// The headers of the answer: those of the response that a caller may see.
fn forwarded(headers: &HeaderMap, status: StatusCode) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(|name| name.trim().to_ascii_lowercase()))
        .collect();
    let mut kept = HeaderMap::new();
    for (name, value) in headers {
        let is_of_connection = NOT_FORWARDED.contains(name) || named.iter().any(|named| named == name.as_str());
        // A page of another origin reads what the gateway allows.
        if !is_of_connection && !name.as_str().starts_with("access-control-") {
            kept.append(name.clone(), value.clone());
        }
    }
    kept.insert(CONTENT_SECURITY_POLICY, SANDBOXED);
    if status.is_client_error() || status.is_server_error() {
        kept.insert(ERROR_SOURCE, HeaderValue::from_static("upstream"));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_connection_cookies_and_permissions_for_pages_are_left_out() {
        let given = [
            ("content-type", "text/html"),
            ("etag", "\"1\""),
            ("set-cookie", "a=b"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("keep-alive", "timeout=5"),
            ("access-control-allow-origin", "*"),
            ("x-error-source", "gateway"),
            ("content-security-policy", "default-src *"),
        ];
        let pairs = given.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let headers = HeaderMap::from_iter(pairs);
        let mut kept: Vec<_> = forwarded(&headers, StatusCode::OK).keys().map(|name| name.to_string()).collect();
        kept.sort();
        assert_eq!(kept, ["content-security-policy", "content-type", "etag"]);
        let refused = forwarded(&headers, StatusCode::NOT_FOUND);
        assert_eq!(refused["x-error-source"], "upstream");
        assert_eq!(refused["content-security-policy"], SANDBOXED);
    }
}
