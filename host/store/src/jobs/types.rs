//! A job as it is stored.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use database::time::to_millis;
use ring::rand::{SystemRandom, generate};

use crate::records::{named, record};
use crate::{DatabaseTime, KeyId, NewDelivery, Sealed, StoreError, Stored};

/// Makes the id of a job. Ids grow with the time of creation, and also within one millisecond of a
/// process. The order of ids is therefore the order of jobs. The last 64 bits are random.
///
/// # Errors
/// If the operating system provides no random numbers.
pub fn new_job_id() -> Stored<String> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    // The time in milliseconds, and below it 16 bits that count the ids of one millisecond.
    let now = u64::try_from(to_millis(SystemTime::now())).unwrap_or_default() << 16;
    let last = MADE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(now.max(last + 1)));
    let number = last.map_or(now, |last| now.max(last + 1));
    let random = generate::<[u8; 8]>(&SystemRandom::new()).map_err(|_| StoreError::NoRandomness)?;
    Ok(format!("job_{number:016x}{:016x}", u64::from_be_bytes(random.expose())))
}

named! {
    /// The state of a job.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum JobStatus {
        /// The job waits for a worker.
        Pending = "pending",
        /// A worker has the job.
        Running = "running",
        /// The job has a result.
        Succeeded = "succeeded",
        /// The job has an error.
        Failed = "failed",
    }
}

impl JobStatus {
    /// `true` if the state never changes again.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

named! {
    /// A sealed value of a job.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum JobValue {
        /// The body of the call.
        Input = "input",
        /// The URLs that are notified of the end.
        Callbacks = "callbacks",
        /// The name of the span of the call that added the job.
        Trace = "trace",
        /// The progress, while the job runs.
        Progress = "progress",
        /// The answer of the operation.
        Result = "result",
        /// The paths of `response_fields` that led nowhere in the answer.
        Unmatched = "unmatched",
        /// The reason why there is no result.
        Error = "error",
    }
}

impl JobValue {
    /// The primary key of the value.
    pub(super) fn row(self, job: &str) -> String {
        format!("{job}/{}", self.name())
    }

    /// The context in which this value of a job is sealed.
    pub fn context(self, job: &str) -> [String; 2] {
        ["job".to_owned(), self.row(job)]
    }
}

/// A job to add.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Made by [`new_job_id`].
    pub id: String,
    /// The tenant.
    pub tenant: String,
    /// The user. Empty if the job belongs to the tenant itself.
    pub subject: String,
    /// Identifier of the connector.
    pub connector: String,
    /// Path of the operation.
    pub operation: String,
    /// The integration that the job runs on. `None` if the connector needs none.
    pub user_identifier: Option<String>,
    /// `true` if the job must not run a second time after it was cut off.
    pub changes_data: bool,
    /// The API key that added the job. `None` if it was another token.
    pub key_id: Option<KeyId>,
    /// The sealed [`JobValue::Input`], and perhaps [`JobValue::Callbacks`] and [`JobValue::Trace`].
    pub values: Vec<(JobValue, Sealed)>,
}

record! {
    /// A job.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "see `NewJob`")]
    pub struct Job {
        pub id: String,
        pub tenant: String,
        pub subject: String,
        pub connector: String,
        pub operation: String,
        pub user_identifier: Option<String>,
        pub changes_data: bool,
        pub key_id: Option<KeyId>,
        /// The state.
        pub status: JobStatus,
        /// How often the job was taken.
        pub attempts: u64,
        /// Grows each time the job is taken or ends. A write with an old fence has no effect.
        pub fence: i64,
        /// The name of the gateway that took the job last. `None` if none has.
        pub gateway: Option<String>,
        /// Time at which the caller requested the job.
        pub created_at: DatabaseTime,
        /// Time at which a worker first took the job.
        pub started_at: Option<DatabaseTime>,
        /// Time at which the job ended.
        pub finished_at: Option<DatabaseTime>,
        /// Time from which the job is deleted. `None` until the job ends.
        pub expires_at: Option<DatabaseTime>,
    }
}

/// The columns of a [`Job`], in the order in which they are read.
pub(super) const COLUMNS: &str = "id, tenant, subject, connector, operation, user_identifier, changes_data, key_id, status, attempts, \
     fence, gateway, created_at, started_at, finished_at, expires_at";

/// The end of a job.
#[derive(Clone, Debug)]
pub struct Ended {
    /// `true` if the job has a result, `false` if it has an error.
    pub succeeded: bool,
    /// `true` if a caller or an operator has cancelled the job.
    pub cancelled: bool,
    /// The sealed [`JobValue::Result`], perhaps with [`JobValue::Unmatched`], or
    /// [`JobValue::Error`].
    pub values: Vec<(JobValue, Sealed)>,
    /// Time of the end.
    pub finished_at: DatabaseTime,
    /// Time from which the job is deleted.
    pub expires_at: DatabaseTime,
    /// The webhooks about the end.
    pub deliveries: Vec<NewDelivery>,
}

/// Those whose jobs are not taken, because they have their share of a gateway's workers.
#[derive(Clone, Debug, Default)]
pub struct FullShares {
    /// Tenants.
    pub tenants: Vec<String>,
    /// Identifiers of connectors.
    pub connectors: Vec<String>,
}

/// The jobs that a list shows.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// Only jobs in this state.
    pub status: Option<JobStatus>,
    /// Only jobs that are older than the one with this id.
    pub before: Option<String>,
    /// Maximum number of jobs.
    pub limit: u32,
}

/// The jobs that a list of all tenants shows.
#[derive(Clone, Debug, Default)]
pub struct AnyJobFilter {
    /// Only jobs of this tenant.
    pub tenant: Option<String>,
    /// Only jobs of this user. Empty for those without a user.
    pub subject: Option<String>,
    /// Only jobs of this connector.
    pub connector: Option<String>,
    /// Only jobs of operations with this path.
    pub operation: Option<String>,
    /// Only jobs in this state.
    pub status: Option<JobStatus>,
    /// Only jobs that are older than the one with this id.
    pub before: Option<String>,
    /// Maximum number of jobs.
    pub limit: u32,
}
