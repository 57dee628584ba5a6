//! POST /connectors/{connector}/{operation}: from HTTP to the pipeline and back.

use std::sync::Arc;

use hyper::Response;
use hyper::header::ACCEPT;
use prometheus_client::metrics::gauge::Gauge;

use super::authorize::AuthorizedCaller;
use super::problem::{self, Problem, pipeline_problem};
use super::route::HttpCall;
use super::server::AnswerDeadline;
use super::{body, connectors, headers};
use crate::metrics;
use crate::pipeline::body::Body;
use crate::pipeline::{self, RunAs};
use crate::registry::{Connector, Operation};
use contract::words::nearest;

/// Answers one call. It ends at its deadline, which is counted from its arrival.
pub(super) async fn invoke(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, request, arguments, arrived, .. } = call;
    // The call keeps this version until it ends, also if another version is swapped in.
    let connector = connectors::live(gateway, arguments.connector)?;
    let operation = find(&connector, arguments.operation)?;
    let deadline = arrived + connector.timeout();
    let (head, body) = request.into_parts();
    let body = body::read_json(
        &head.headers,
        body,
        gateway.config.max_body_mb,
        deadline.min(arrived + gateway.config.caller_timeout),
    )
    .await?;
    let _in_flight = InFlight::new(&operation.metrics.in_flight);
    let call = pipeline::Call {
        connector: &connector,
        operation,
        run_as: RunAs::Caller {
            tenant: caller.tenant(),
            subject: caller.subject(),
            user_identifier: headers::user_identifier(&head.headers)?,
        },
        body: &body,
        accept: head.headers.get(ACCEPT).and_then(|value| value.to_str().ok()),
        deadline,
    };
    let answer = pipeline::run(gateway.services(), call).await;
    let answer = answer.map_err(|error| pipeline_problem(error, &connector.name()))?;
    operation.metrics.succeeded.inc();
    metrics::record(&operation.metrics.seconds, arrived.elapsed());
    let mut response = Response::new(answer.body);
    response.extensions_mut().insert(AnswerDeadline(deadline));
    *response.headers_mut() = answer.headers;
    Ok(response)
}

/// The operation at a path, or a problem that names the nearest one.
fn find<'a>(connector: &'a Arc<Connector>, path: &str) -> Result<&'a Operation, Problem> {
    connector.operation(path).ok_or_else(|| {
        let name = connector.name();
        let known = nearest(path, connector.operations().map(|known| known.manifest.path.as_str()));
        problem::UNKNOWN_OPERATION.because(match known {
            Some(known) => format!("`{name}` has no operation `{path}`; did you mean `{known}`?"),
            None => format!("`{name}` has no operation `{path}`; GET /connectors lists its operations."),
        })
    })
}

/// Counts a call while it runs.
struct InFlight<'a>(&'a Gauge);

impl<'a> InFlight<'a> {
    fn new(gauge: &'a Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}
