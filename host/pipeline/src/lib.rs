//! The life of one call of an operation.
//!
//! # Layout
//! - `account`: the account that the call runs on, and its credential
//! - `answer`: the caller's answer, and JSON as the answer
//! - `file_answer`: a file as the answer; `disposition`: its name; `accept`: the media types of
//!   files that the caller takes
//! - `upstream_answer`: the response of an upstream as the answer
//! - `error`: why a call has no answer; `refusal`: the refusal or failure of an upstream
//! - `forwarded_headers`: headers of an upstream that the caller gets; `rate`: headers about rate
//!   limits
//! - `blame`: a value of the caller for which a request of the connector was refused
//! - `connect`: connecting an account, which runs operations of the connector
//! - `row`: the request of an operation that is data
//! - `run`: the stages of a call whose account is chosen
//! - `invocation`: the connector in the sandbox
//! - `proxy`: a request of a caller to an upstream, around the operations
//! - `unmatched`: the header about `response_fields` that led nowhere
//! - `stages`: the stages of a call, for metrics and traces
//! - `background`: a call that runs in the background, to its result

mod accept;
mod account;
mod answer;
pub mod background;
mod blame;
pub mod budgets;
pub mod connect;
mod disposition;
mod error;
mod file_answer;
mod forwarded_headers;
mod invocation;
pub mod proxy;
pub mod rate;
mod refusal;
mod row;
mod run;
mod stages;
mod unmatched;
mod upstream_answer;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

pub use self::accept::Accept;
pub use self::answer::CallAnswer;
pub use self::disposition::file_name;
pub use self::error::{Error, Explanation, UpstreamError};
pub use self::unmatched::{UnmatchedField, unmatched_fields};

use self::account::ChosenAccount;
use self::stages::Stages;
use crate::budgets::Budgets;
use calls::Recording;
use egress::{CallRecord, Credential, Egress};
use integrations::Integrations;
use memory::Reservation;
use metrics::Metrics;
use registry::{Connector, Operation, Registry};
use sandbox::Limits;
use sandbox::http::Hook;
use sandbox::progress::ProgressSender;
use schema::{self, Input};
use store::{AccountAddress, Store};
use telemetry::Trace;

/// The services that calls use.
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "the types of the other fields say what they are")]
pub struct Services<'a> {
    pub registry: &'a Registry,
    pub budgets: &'a Budgets,
    pub integrations: &'a Arc<Integrations>,
    pub egress: &'a Egress,
    pub store: &'a Store,
    pub metrics: &'a Metrics,
}

/// Whose credential and storage a call uses.
pub enum RunAs<'a> {
    /// The caller's integration, if the connector's users need an account.
    Caller {
        /// The caller's tenant.
        tenant: &'a str,
        /// The tenant's user; empty for the tenant itself.
        subject: &'a str,
        /// The integration that the caller names.
        user_identifier: Option<&'a str>,
    },
    /// An account of the connector's author, who tries an operation without a server.
    Author {
        /// Its credential. `None` if the operation needs none.
        credential: Option<Credential>,
        /// The parts of its address.
        address: &'a AccountAddress,
    },
    /// An account that is being connected, so that there is no integration yet.
    NewAccount {
        /// The tenant that connects it.
        tenant: &'a str,
        /// Its credential.
        credential: Credential,
        /// The parts of its address that are known yet.
        address: &'a AccountAddress,
    },
}

/// The tenant of a connector's author.
const AUTHOR: &str = "author";

impl RunAs<'_> {
    fn tenant(&self) -> &str {
        match self {
            Self::Caller { tenant, .. } | Self::NewAccount { tenant, .. } => tenant,
            Self::Author { .. } => AUTHOR,
        }
    }
}

/// One call of an operation.
pub struct Call<'a> {
    /// The version of the connector that was live when the call arrived.
    pub connector: &'a Arc<Connector>,
    /// The operation of the connector.
    pub operation: &'a Operation,
    /// The account and the storage of the call.
    pub run_as: RunAs<'a>,
    /// The body of the request.
    pub body: &'a [u8],
    /// The media types of files that the caller takes as bytes.
    pub accept: Accept<'a>,
    /// The header `Range`, for operations that answer with files.
    pub range: Option<&'a str>,
    /// The instant at which everything that the call does ends.
    pub deadline: Instant,
    /// Set if the call runs in the background.
    pub background: Option<Background>,
    /// The inbox of a subscription, for an operation that subscribes.
    pub hook: Option<Hook>,
    /// Set if no caller waits: where callers and such calls contend for the same budget or queue, all
    /// such calls together get at most half of it.
    pub gives_way: bool,
    /// The span that the stages of the call are in.
    pub trace: Trace,
    /// The notes for the record of the call.
    pub recording: &'a Recording,
}

/// The differences of a call that runs in the background.
pub struct Background {
    /// The limit of CPU time, in place of the connector's.
    pub cpu: Duration,
    /// The number of requests, in place of the connector's.
    pub requests: u32,
    /// Takes the connector's reports of progress.
    pub progress: ProgressSender,
}

impl Call<'_> {
    /// The limits of the call's invocations.
    fn limits(&self) -> Limits {
        let limits = self.connector.limits();
        match &self.background {
            None => limits,
            Some(background) => Limits { cpu: background.cpu, requests: background.requests, ..limits },
        }
    }
}

/// The end of a call that a caller sent.
pub enum Submitted {
    /// The operation has run.
    Answered(CallAnswer),
    /// The caller does not wait. The body and the account are good, and the operation has not run.
    Deferred(Deferred),
}

/// A call that is to run in the background.
pub struct Deferred {
    /// The integration that was chosen. `None` if the users of the connector need no account.
    pub user_identifier: Option<String>,
    /// URLs that are notified of the end.
    pub callback_urls: Vec<String>,
}

/// Runs one call of an operation, from its body to its answer. Does not run it if the operation is
/// for the background and the caller does not wait.
///
/// # Errors
/// See [`enum@Error`].
pub async fn submit(services: Services<'_>, call: &Call<'_>) -> Result<Submitted, Error> {
    let mut stages = Stages::begin(&call.trace, call.recording, &call.operation.metrics.validate);
    let (input, _held, chosen) = accept(services, call, &mut stages).await?;
    if let Some(background) = input.background {
        let user_identifier = chosen.user_identifier().map(str::to_owned);
        return Ok(Submitted::Deferred(Deferred { user_identifier, callback_urls: background.callback_urls }));
    }
    run::complete(services, call, input, chosen, &mut stages).await.map(Submitted::Answered)
}

/// Runs one call of an operation, from its body to its answer. Ignores what the body says about
/// waiting.
///
/// # Errors
/// See [`enum@Error`].
pub async fn run(services: Services<'_>, call: &Call<'_>) -> Result<CallAnswer, Error> {
    let mut stages = Stages::begin(&call.trace, call.recording, &call.operation.metrics.validate);
    let (input, _held, chosen) = accept(services, call, &mut stages).await?;
    run::complete(services, call, input, chosen, &mut stages).await
}

/// The stages `validate` and `account`. The first one has begun. Also gives the memory that the
/// input takes until the call ends.
async fn accept<'a>(
    services: Services<'_>,
    call: &'a Call<'a>,
    stages: &mut Stages<'a>,
) -> Result<(Input<'a>, Reservation, ChosenAccount), Error> {
    let (input, held) = validate(services, call).await?;
    stages.next(&call.operation.metrics.account);
    let chosen = account::choose_account(services, call.connector, &call.run_as, call.deadline, call.recording).await?;
    stages.end(true);
    Ok((input, held, chosen))
}

/// Validates the body by the schema of the operation. Also gives the memory that the shape takes,
/// which may be many times its part of the body.
async fn validate<'a>(services: Services<'_>, call: &Call<'a>) -> Result<(Input<'a>, Reservation), Error> {
    let read = || -> Result<(Input<'a>, Reservation), Error> {
        let mut held = services.egress.memory().part_before_admission();
        held.grow_to(schema::parsed_bytes(call.body))?;
        let input = call.operation.read_body(call.body)?;
        let of_shape = input.shape.bytes();
        held.shrink_to(of_shape);
        held.grow_to(of_shape)?;
        Ok((input, held))
    };
    run_computation(call.body.len(), call.deadline, read).await?
}

/// Runs a computation on a value of this size.
///
/// # Errors
/// `OutOfTime` if it has not begun before the deadline.
async fn run_computation<T>(bytes: usize, deadline: Instant, work: impl FnOnce() -> T) -> Result<T, Error> {
    timeout_at(deadline, compute::run(bytes, work)).await.map_err(|_| Error::OutOfTime)
}

/// The notes on the requests of a call, with their attempts if the call is recorded.
fn call_record(recording: &Recording) -> CallRecord {
    if recording.is_on() { CallRecord::keeping_attempts() } else { CallRecord::default() }
}
