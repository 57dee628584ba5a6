//! Calls of the operations that a trigger names. Each is a call of the connector like any other: it
//! counts in the same limits, and has a record.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::Triggers;
use calls::{Door, EndedCall, EndedProblem};
use integrations::AccessError;
use pipeline::background::run_to_result;
use pipeline::{Accept, Call, RunAs};
use problem::{Problem, pipeline_problem};
use registry::Connector;
use sandbox::http::Hook;
use telemetry::Trace;

/// The connector, the account and the end of the calls of one step.
#[derive(Clone, Copy)]
pub(super) struct RunOf<'a> {
    pub(super) connector: &'a Arc<Connector>,
    pub(super) tenant: &'a str,
    pub(super) subject: &'a str,
    /// Empty if the connector needs no account.
    pub(super) user_identifier: &'a str,
    /// The id in the records of the calls, which is the id of the subscription.
    pub(super) request_id: &'a str,
    pub(super) deadline: Instant,
}

/// A subscription at the service, as `subscribe` and `renew` answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Standing {
    pub(super) upstream_id: String,
    #[serde(default)]
    pub(super) state: Value,
    /// RFC 3339.
    #[serde(default)]
    pub(super) expires_at: Option<String>,
    #[serde(default, skip_serializing)]
    pub(super) cursor: Option<Value>,
}

/// The input of `subscribe`, and of `renew` and `unsubscribe` with `of`.
#[derive(Serialize)]
pub(super) struct AboutSubscription<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) upstream_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<&'a Value>,
    pub(super) parameters: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kinds: Option<&'a [String]>,
}

/// The input of `read`.
#[derive(Serialize)]
pub(super) struct AboutRead<'a> {
    pub(super) parameters: &'a Value,
    pub(super) cursor: &'a Value,
    pub(super) hint: Option<()>,
    pub(super) limit: u32,
}

/// An answer of an operation.
pub(super) trait Answer: DeserializeOwned {
    /// The values of the connector that the gateway keeps, with the names of their members.
    fn kept(&self) -> Vec<(&'static str, &Value)> {
        Vec::new()
    }
}

impl Answer for Value {}

impl Answer for Standing {
    fn kept(&self) -> Vec<(&'static str, &Value)> {
        let cursor = self.cursor.iter().map(|cursor| ("cursor", cursor));
        std::iter::once(("state", &self.state)).chain(cursor).collect()
    }
}

impl Answer for Read {
    fn kept(&self) -> Vec<(&'static str, &Value)> {
        vec![("cursor", &self.cursor)]
    }
}

/// The answer of `read`.
#[derive(Deserialize)]
pub(super) struct Read {
    #[serde(default)]
    pub(super) events: Vec<ReadEvent>,
    pub(super) cursor: Value,
    #[serde(default)]
    pub(super) more: bool,
    #[serde(default)]
    pub(super) gap: bool,
}

/// An event that was read.
#[derive(Deserialize)]
pub(super) struct ReadEvent {
    pub(super) id: String,
    #[serde(default)]
    pub(super) kind: String,
    /// RFC 3339.
    #[serde(default)]
    pub(super) time: Option<String>,
    pub(super) data: Box<RawValue>,
}

/// Why an operation has no answer.
pub(super) struct Failed {
    pub(super) class: Class,
    /// A sentence for the people who can fix it.
    pub(super) detail: String,
}

/// The ways to continue after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The user must connect the account again, or choose one.
    User,
    /// Calls are accepted again after this time.
    Limited(Duration),
    /// The service refuses with this status. Another attempt may have the same end.
    Refused(u16),
    /// Another attempt may succeed.
    Transient,
}

impl Class {
    fn of(error: &pipeline::Error) -> Self {
        match error.cause() {
            pipeline::Error::Access(
                AccessError::Required { .. } | AccessError::Ambiguous { .. } | AccessError::Reauthorize { .. },
            ) => Self::User,
            pipeline::Error::Access(AccessError::NotRefreshed { retry_after, .. })
            | pipeline::Error::RateLimited { retry_after, .. } => Self::Limited(*retry_after),
            pipeline::Error::Upstream(upstream) => match upstream.status {
                408 | 425 => Self::Transient,
                429 => Self::Limited(upstream.retry_after.unwrap_or(LIMITED)),
                status @ 400..=499 => Self::Refused(status),
                _ => Self::Transient,
            },
            pipeline::Error::NotFound(_) => Self::Refused(404),
            pipeline::Error::Conflict(_) => Self::Refused(409),
            pipeline::Error::Invalid(_) => Self::Refused(422),
            _ => Self::Transient,
        }
    }
}

/// The most bytes of a `state` and of a `cursor`, as JSON text. `wit/connector.wit` has the number.
/// The gateway writes them after each read.
const MAX_KEPT: usize = 8 << 10;

/// Time after which calls are tried again if the service names none.
const LIMITED: Duration = Duration::from_secs(60);

impl Triggers {
    /// Runs an operation for a subscription, and reads its answer.
    ///
    /// # Errors
    /// See [`Failed`]. An answer that does not have the form that the contract says is a failure too.
    pub(super) async fn call<T: Answer>(
        &self,
        run: &RunOf<'_>,
        operation: &str,
        input: &impl Serialize,
        hook: Option<Hook>,
    ) -> Result<T, Failed> {
        self.run(run, operation, input, hook, false).await
    }

    /// Runs an operation that reads for a subscription, and reads its answer. The call gives way to
    /// callers.
    ///
    /// # Errors
    /// See [`Triggers::call`].
    pub(super) async fn call_to_read<T: Answer>(
        &self,
        run: &RunOf<'_>,
        operation: &str,
        input: &impl Serialize,
    ) -> Result<T, Failed> {
        self.run(run, operation, input, None, true).await
    }

    async fn run<T: Answer>(
        &self,
        run: &RunOf<'_>,
        operation: &str,
        input: &impl Serialize,
        hook: Option<Hook>,
        gives_way: bool,
    ) -> Result<T, Failed> {
        let failed = |detail: String| Failed { class: Class::Transient, detail };
        let body = serde_json::to_vec(input).map_err(|error| failed(error.to_string()))?;
        let answer = self.answer(run, operation, &body, hook, gives_way).await?;
        // A text that is cut in the middle of a character must not keep all events from being read.
        let answer: T = serde_json::from_str(answer.get())
            .or_else(|_| serde_json::from_str(&json_text::repaired(answer.get())))
            .map_err(|error| failed(format!("`{operation}` did not answer as the contract says: {error}.")))?;
        match too_large(operation, &answer) {
            Some(detail) => Err(failed(detail)),
            None => Ok(answer),
        }
    }

    async fn answer(
        &self,
        of: &RunOf<'_>,
        operation: &str,
        body: &[u8],
        hook: Option<Hook>,
        gives_way: bool,
    ) -> Result<Box<RawValue>, Failed> {
        let RunOf { connector, tenant, subject, user_identifier, request_id, deadline } = *of;
        let began = Instant::now();
        let recording = self.parts.calls.begin();
        recording.is_of(tenant, subject, None);
        recording.runs(&connector.manifest().version);
        // The operation that identifies accounts is one for callers too.
        let found = connector.internal_operation(operation).or_else(|| connector.operation(operation));
        let result = match found {
            // A manifest that names a missing operation was refused when the module was loaded.
            None => Err(pipeline::Error::ConnectorFault(format!("the connector has no operation `{operation}`"))),
            #[cfg(feature = "simulation")]
            Some(operation) if **connector.name() == *super::simulated::CONNECTOR => {
                self.simulated_call(of, &operation.manifest.path, body).await
            }
            Some(operation) => {
                let call = Call {
                    connector,
                    operation,
                    run_as: RunAs::Caller {
                        tenant,
                        subject,
                        user_identifier: Some(user_identifier).filter(|named| !named.is_empty()),
                    },
                    body,
                    accept: Accept::Named(None),
                    range: None,
                    deadline: deadline.min(began + connector.timeout()),
                    background: None,
                    hook,
                    gives_way,
                    trace: Trace::default(),
                    recording: &recording,
                };
                run_to_result(self.services(), &call).await.map(|answer| answer.document)
            }
        };
        let failed = result.map_err(|error| {
            let class = Class::of(&error);
            (class, pipeline_problem(error, connector.name()))
        });
        let problem = failed.as_ref().err().map(|(_, problem)| problem);
        self.parts.calls.end(
            &recording,
            &EndedCall {
                request_id,
                connector: connector.name(),
                operation,
                began,
                status: Some(problem.map_or(200, Problem::code)),
                problem: problem.map(|problem| EndedProblem {
                    name: problem.name().to_owned(),
                    owner: problem.owned_by(),
                    detail: problem.detail().to_owned(),
                    pointers: problem.pointers(),
                }),
                is_replayed: false,
                door: Door::Trigger,
                bytes_out: 0,
            },
        );
        failed.map_err(|(class, problem)| Failed { class, detail: problem.detail().to_owned() })
    }
}

/// A sentence for the author of a connector whose answer has more than the gateway keeps.
fn too_large(operation: &str, answer: &impl Answer) -> Option<String> {
    answer.kept().into_iter().find_map(|(name, value)| {
        let bytes = value.to_string().len();
        (bytes > MAX_KEPT).then(|| {
            format!(
                "`{operation}` answered a `{name}` of {bytes} bytes; {MAX_KEPT} is the limit. The connector must keep less in it."
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_author_of_a_connector_learns_which_value_is_too_large_to_keep() {
        let read =
            |bytes: usize| Read { events: Vec::new(), cursor: json!("x".repeat(bytes)), more: false, gap: false };
        assert_eq!(too_large("read", &read(MAX_KEPT - 2)), None, "with its quotes, it is just small enough");
        let sentence = too_large("read", &read(MAX_KEPT - 1)).unwrap();
        assert!(sentence.starts_with("`read` answered a `cursor` of 8193 bytes; 8192 is the limit."), "{sentence}");
        let standing = |state: Value, cursor: Option<Value>| Standing {
            upstream_id: "1".to_owned(),
            state,
            expires_at: None,
            cursor,
        };
        let large = json!("x".repeat(MAX_KEPT));
        assert_eq!(too_large("subscribe", &standing(Value::Null, None)), None);
        assert!(too_large("subscribe", &standing(large.clone(), None)).unwrap().contains("`state`"));
        assert!(too_large("subscribe", &standing(Value::Null, Some(large))).unwrap().contains("`cursor`"));
    }
}
