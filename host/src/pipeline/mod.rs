//! The life of one operation, top to bottom.

pub mod answer;
pub mod body;
pub mod connect;
mod disposition;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value};
use thiserror::Error;

pub use self::answer::Answer;

use self::answer::Form;
use crate::integrations::{AccessError, Integrations, LiveCredential};
use crate::metrics::{self, Metrics, OutcomeLabels};
use crate::registry::{Connector, Operation, Registry};
use crate::schema::{self, Rejection, Violation};
use contract::limit::FAULT_MEMBERS_BYTES;
use contract::{AuthScheme, Effect};
use egress::{Credential, EgressError};
use sandbox::http::{self, CredentialSource, Outbound};
use sandbox::{Call, Failure, Fault, Outcome, storage};
use store::Holder;

/// Of a sentence that a connector wrote, this much is passed on.
const MAX_DETAIL_BYTES: usize = 4 << 10;

/// Why an operation has no answer.
#[derive(Debug, Error)]
pub enum Error {
    /// The body is not JSON.
    #[error("{0}")]
    NotJson(String),
    /// The body is not what the operation takes.
    #[error("the body is not valid")]
    Invalid(Vec<Violation>),
    /// There is no account to run on, or no good credential for it.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// Over a rate limit of the manifest.
    #[error("over the rate limit `{limit}`")]
    RateLimited {
        /// Its name.
        limit: String,
        /// When a request would be taken again.
        retry_after: Duration,
    },
    /// All places for this connector are taken.
    #[error("{0}")]
    Busy(String),
    /// The connector gave no answer.
    #[error(transparent)]
    Connector(#[from] Failure),
    /// The connector says that it failed.
    #[error("{0}")]
    ConnectorFault(String),
    /// The connector says that the thing that the caller asked for does not exist.
    #[error("{}", .0.detail)]
    NotFound(Explanation),
    /// The connector says that the request conflicts with the state of the service, or is ambiguous.
    #[error("{}", .0.detail)]
    Conflict(Explanation),
    /// A call failed, in a way that the connector has nothing to add to.
    #[error("{0}")]
    Http(http::Error),
    /// The upstream answered with a status of 4xx or 5xx, or the connector says as much.
    #[error("{detail}")]
    Upstream {
        /// Its status.
        status: u16,
        /// What happened.
        detail: String,
        /// Its body, as JSON or text.
        body: Option<serde_json::Value>,
        /// When it would take a request again.
        retry_after: Option<Duration>,
    },
    /// The answer is not JSON where it has to be.
    #[error("{0}")]
    NotUnderstood(String),
}

/// The words of a connector for a problem.
#[derive(Debug)]
pub struct Explanation {
    /// A sentence that says what happened and what to do.
    pub detail: String,
    /// Further members of the problem document.
    pub members: Map<String, Value>,
}

impl From<EgressError> for Error {
    fn from(error: EgressError) -> Self {
        Self::Http(http::to_guest(error))
    }
}

/// What operations are run with.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// The live connectors.
    pub registry: &'a Registry,
    /// Users' accounts.
    pub integrations: &'a Arc<Integrations>,
    /// What is counted.
    pub metrics: &'a Metrics,
}

/// On whose behalf an operation runs.
pub enum Behalf<'a> {
    /// A caller's, on one of its integrations where the connector's users need one.
    Caller {
        /// Whose data this is about.
        tenant: &'a str,
        /// The tenant's user; empty for the tenant itself.
        subject: &'a str,
        /// The integration that is asked for.
        named: Option<&'a str>,
    },
    /// The gateway's own, with a credential that belongs to no integration yet.
    Candidate(Credential),
}

/// One call of an operation.
pub struct Request<'a> {
    /// Names it in the log.
    pub id: &'a Arc<str>,
    /// On whose behalf.
    pub behalf: Behalf<'a>,
    /// Its body.
    pub body: &'a [u8],
    /// The media types that the caller accepts.
    pub accept: Option<&'a str>,
}

/// Runs an operation: checks the body, runs the connector in its sandbox, calls the service, and shapes the answer.
///
/// # Errors
/// See [`enum@Error`]; the gateway goes on serving after each.
pub async fn run(
    parts: Parts<'_>,
    connector: &Arc<Connector>,
    operation: &Operation,
    request: Request<'_>,
) -> Result<Answer, Error> {
    let Parts { registry, metrics, .. } = parts;
    let mut stage = Instant::now();
    let input = operation.schema.read(request.body).map_err(|rejection| match rejection {
        Rejection::NotJson(detail) => Error::NotJson(detail),
        Rejection::Invalid(violations) => Error::Invalid(violations),
    })?;
    let account = Account::of(parts, connector, &request.behalf).await?;
    let permit = connector.admit().ok_or_else(|| {
        Error::Busy(
            "All places for calls of this connector are taken; try again, or raise `limits.concurrency`.".to_owned(),
        )
    })?;
    if let Some(limit) = &operation.manifest.rate_limit {
        connector
            .budgets()
            .check(limit)
            .map_err(|retry_after| Error::RateLimited { limit: limit.clone(), retry_after })?;
    }
    metrics::lap(&operation.metrics.validate, &mut stage);

    let limits = connector.limits();
    let deadline = stage + limits.timeout;
    let credentials = account.credentials.clone();
    let outbound =
        Outbound::new(registry.egress().clone(), Arc::clone(connector.upstreams()), deadline.into(), credentials);
    let make_call = || Call {
        connector: connector.name(),
        request_id: Arc::clone(request.id),
        settings: Arc::clone(connector.settings()),
        outbound: outbound.clone(),
        storage: account.partition.clone().map(|partition| storage::Scope {
            store: registry.store().clone(),
            connector: connector.name(),
            partition,
        }),
    };
    let invoke = || async {
        connector
            .module()
            .invoke(make_call, limits, &operation.manifest.path, &input.text, operation.manifest.immediate)
            .await
            .inspect_err(|failure| count_failure(metrics, connector, failure))
    };
    let mut outcome = invoke().await?;
    if is_unauthorized(&outcome)
        && account.refresh(deadline).await
        && (operation.manifest.effect == Effect::Read || outbound.sent() <= 1)
    {
        // All that was asked of the service was refused, or changes nothing: it can be asked again.
        outcome = invoke().await?;
    }
    metrics::lap(&operation.metrics.sandbox, &mut stage);

    let form = Form { shape: &input.shape, accept: request.accept, limits, operation };
    match outcome {
        Err(fault) => Err(account.explain_fault(error_of(fault))),
        Ok(Outcome::Forward(forward)) => {
            let response = outbound.send(forward, limits.download_bytes).await?;
            metrics::lap(&operation.metrics.upstream, &mut stage);
            answer::of_response(response, &form, permit).await.map_err(|error| account.explain(error))
        }
        Ok(Outcome::Reply(json)) => answer::of_reply(json, &form),
        Ok(Outcome::File(file)) => Box::pin(answer::of_reply_file(file, &form, permit)).await,
    }
}

/// What an invocation may use of a user's: nothing where users need no account.
struct Account {
    live_credential: Option<Arc<LiveCredential>>,
    credentials: Option<Arc<dyn CredentialSource>>,
    /// Of the connector's storage; none where nothing is kept.
    partition: Option<Arc<str>>,
}

impl Account {
    async fn of(parts: Parts<'_>, connector: &Arc<Connector>, behalf: &Behalf<'_>) -> Result<Self, Error> {
        let (tenant, subject, named) = match behalf {
            Behalf::Caller { tenant, subject, named } => (*tenant, *subject, *named),
            Behalf::Candidate(credential) => {
                let credentials: Arc<dyn CredentialSource> = Arc::new(credential.clone());
                return Ok(Self { live_credential: None, credentials: Some(credentials), partition: None });
            }
        };
        if matches!(connector.manifest().auth, AuthScheme::None) {
            return Ok(Self { live_credential: None, credentials: None, partition: Some(tenant.into()) });
        }
        let holder = Holder {
            tenant: tenant.to_owned(),
            subject: subject.to_owned(),
            connector: connector.manifest().identifier.clone(),
        };
        // Where the credential has expired, the service is asked for the next one, which takes its time too.
        let live_credential = parts.integrations.live_credential(connector, &holder, named);
        let live_credential = tokio::time::timeout(connector.limits().timeout, live_credential)
            .await
            .map_err(|_| Error::Http(http::Error::TimedOut))??;
        let live_credential = Arc::new(live_credential);
        let credentials: Arc<dyn CredentialSource> = Arc::<LiveCredential>::clone(&live_credential);
        Ok(Self {
            partition: Some(live_credential.integration_id().into()),
            credentials: Some(credentials),
            live_credential: Some(live_credential),
        })
    }

    /// Refreshes the credential that the connector says was refused. Returns `false` when there is no new one in time.
    async fn refresh(&self, deadline: Instant) -> bool {
        let Some(live_credential) = &self.live_credential else { return false };
        let refused = live_credential.credential();
        let refreshed = tokio::time::timeout_at(deadline.into(), live_credential.refresh(&refused)).await;
        refreshed.is_ok_and(|better| better.is_some())
    }

    /// An upstream's error, or else why the user's credential was no good.
    fn explain(&self, error: Error) -> Error {
        match self.live_credential.as_ref().and_then(|live| live.take_access_error()) {
            Some(error) => Error::Access(error),
            None => error,
        }
    }

    /// As [`Account::explain`]. Where a connector says 401, it means the credential, whatever the service's answer looked like.
    fn explain_fault(&self, error: Error) -> Error {
        match (self.explain(error), &self.live_credential) {
            (Error::Upstream { status: 401, detail, .. }, Some(live)) if live.is_oauth2() => {
                Error::Access(live.refused(detail))
            }
            (error, _) => error,
        }
    }
}

/// Whether the connector says that the user's credential is no longer good.
fn is_unauthorized(outcome: &Result<Outcome, Fault>) -> bool {
    matches!(outcome, Err(Fault::Upstream(fault)) if fault.status == 401)
}

fn count_failure(metrics: &Metrics, connector: &Connector, failure: &Failure) {
    let outcome = match failure {
        Failure::Limit(limit) => limit.name(),
        Failure::TimedOut(_) => "timeout",
        Failure::Trapped(_) => "trap",
        Failure::Busy => "busy",
    };
    let labels = OutcomeLabels { connector: connector.manifest().identifier.clone(), outcome: outcome.to_owned() };
    metrics.sandbox_failures.get_or_create_owned(&labels).inc();
}

/// What a connector's fault is to the caller. Its words are cut to what a person reads.
fn error_of(fault: Fault) -> Error {
    match fault {
        Fault::InvalidInput(violations) => Error::Invalid(
            violations
                .into_iter()
                .take(schema::MAX_VIOLATIONS)
                .map(|violation| Violation { pointer: cut(violation.pointer), detail: cut(violation.detail) })
                .collect(),
        ),
        Fault::NotFound(explanation) => explained(explanation).map_or_else(Error::ConnectorFault, Error::NotFound),
        Fault::Conflict(explanation) => explained(explanation).map_or_else(Error::ConnectorFault, Error::Conflict),
        Fault::Upstream(fault) => Error::Upstream {
            status: if (400..600).contains(&fault.status) { fault.status } else { 502 },
            detail: cut(fault.detail),
            body: fault
                .body
                .filter(|body| body.len() as u64 <= answer::MAX_SHOWN_BYTES)
                .map(|body| answer::shown(&Bytes::from(body))),
            retry_after: fault.retry_after_seconds.map(|seconds| Duration::from_secs(seconds.into())),
        },
        Fault::Http(error) => Error::Http(error),
        Fault::Failed(detail) => Error::ConnectorFault(cut(detail)),
    }
}

/// Parses the members of an explanation.
///
/// # Errors
/// A sentence that says how they break the contract.
fn explained(explanation: sandbox::Explanation) -> Result<Explanation, String> {
    let members = match explanation.members {
        None => Map::new(),
        Some(members) if members.len() > FAULT_MEMBERS_BYTES => {
            return Err(format!("The members of the connector's fault have more than {FAULT_MEMBERS_BYTES} bytes."));
        }
        Some(members) => serde_json::from_str(&members)
            .map_err(|error| format!("The members of the connector's fault are not a JSON object: {error}."))?,
    };
    Ok(Explanation { detail: cut(explanation.detail), members })
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_DETAIL_BYTES {
        text.truncate(text.floor_char_boundary(MAX_DETAIL_BYTES));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explanation(members: Option<&str>) -> Result<Explanation, String> {
        explained(sandbox::Explanation { detail: "No.".to_owned(), members: members.map(str::to_owned) })
    }

    #[test]
    fn the_members_of_a_fault_are_a_json_object_of_limited_size() {
        assert!(explanation(None).unwrap().members.is_empty());
        let members = explanation(Some(r#"{"candidates": ["a", "b"]}"#)).unwrap().members;
        assert_eq!(members["candidates"], serde_json::json!(["a", "b"]));
        for members in ["[]", "{", "null", "1", ""] {
            assert!(explanation(Some(members)).is_err(), "{members}");
        }
        let large = format!(r#"{{"a": "{}"}}"#, "x".repeat(FAULT_MEMBERS_BYTES));
        assert!(explanation(Some(&large)).is_err_and(|reason| reason.contains("65536 bytes")));
    }
}
