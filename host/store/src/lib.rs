//! The data of the gateway, in one SQLite file in `data_dir` or in a PostgreSQL database.
//!
//! Several processes may use one database at the same time: the command line changes keys while the
//! gateway serves, and gateways on several machines share one PostgreSQL database.
//!
//! # Invariants
//!
//! - A write is one transaction. Once it has returned `Ok`, its data survives a kill of the process
//!   at any moment. Data that the gateway could not restore also survives a power loss
//!   ([`connection::Durability`]). Otherwise a crash could lose a refresh token after the provider
//!   has invalidated the previous one, and the user would have to authorize again.
//! - A secret enters the database only after the [`vault`] has sealed it for its own row. Otherwise
//!   a copy of the database would reveal tokens, and a row could be given the secret of another
//!   row.
//! - Both databases run the same statements. The tests run on both (`testing::on_every_database`).
//!   Otherwise the two databases could behave differently.
//! - The store interprets neither secrets, nor scopes, nor reasons. It knows neither OAuth nor HTTP
//!   nor the configuration file.
//!
//! # Layout
//!
//! Records. In each folder, `types` declares the records and `queries` has the statements on them:
//! - [`keys`]: API keys of callers
//! - [`integrations`]: accounts that users connected, and the leases under which gateways refresh
//!   tokens
//! - [`oauth_clients`]: the OAuth clients of tenants
//! - [`tenants`]: the tenants that all of these name
//! - [`authorizations`]: OAuth authorizations in progress
//! - [`connect_links`]: links to the page on which an end user connects accounts
//! - [`console_sessions`]: sessions of operators at the console
//! - [`pending_grants`]: grants of users that the caller has not confirmed yet
//! - [`jobs`]: operations that run in the background, and the queue that gateways share
//! - [`idempotency`]: calls with an idempotency key, and their first answers
//! - [`data_keys`]: the keys that secrets are sealed under, and sealing secrets again under a new
//!   key
//! - [`tool_sets`]: the operations that agents get at one address
//! - [`agent_sessions`]: bearer tokens of agents
//! - [`confirmations`]: calls that a user must confirm before they run
//! - [`caps`]: the number of integrations and authorizations that one holder may have
//! - [`budgets`]: the rate limits that gateways share
//! - [`changes`]: the history of connectors
//! - [`modules`]: the modules of the service, and the generations of connectors
//! - [`gateways`]: the gateways that share the database, and what they serve
//! - [`grants`]: hosts that the operator allows connectors to reach
//! - [`storage`]: the key-value storage that connectors use
//! - [`webhooks`]: the secrets that webhooks are signed with, and their deliveries
//! - [`triggers`]: what callers want to know of, and events
//! - [`subscriptions`]: subscriptions at services, and the readers of what happened there
//! - [`inboxes`]: addresses for the notifications of an application, and the requests of services
//! - [`audit`]: every change by a person, a key or a file
//! - [`calls`]: records of calls
//! - [`usage`]: what each tenant has called on each day
//! - [`backlog`]: what waits, in numbers
//! - [`stored_bytes`]: the bytes that each tenant has stored, and their limit
//!
//! Secrets:
//! - [`vault`]: seals secrets before they are stored, and rotates the keys
//!
//! Databases:
//! - [`connection`]: the trait that both databases implement
//! - [`value`]: parameters, columns and rows, in the types that both databases have
//! - [`conditions`]: the `WHERE` clause of a list with filters
//! - [`sqlite`]: the SQLite database and its migrations
//! - [`postgres`]: the PostgreSQL database and its migrations
//! - [`pool`]: idle connections, and the threads that database work runs on
//! - [`process_lock`]: a lock that one process at a time holds
//! - [`serving`]: the lock of the gateway that serves
//! - [`backup`]: copies of the database, and the first step of one that was restored
//! - [`inspect`]: the version of a database, which is read without opening it
//! - [`health`]: the failures of the database and the ended leases that this process has seen
//! - [`simulated`]: a database for deterministic tests
//! - [`time`]: times as the databases store them
//! - [`error`]: [`StoreError`], with messages for the operator
//!
//! Utilities:
//! - [`digest`]: SHA-256, as bytes and as hexadecimal digits
//! - [`id`]: random ids
//! - [`sweep`]: deleting rows that are too old

mod agent_sessions;
mod agent_triggers;
mod audit;
mod authorizations;
mod backlog;
mod backup;
mod budgets;
mod calls;
mod caps;
mod changes;
mod conditions;
mod confirmations;
mod connect_links;
mod connection;
mod console_sessions;
mod data_keys;
pub mod digest;
mod error;
mod gateways;
mod grants;
mod health;
mod id;
mod idempotency;
mod inboxes;
mod inspect;
mod integrations;
mod jobs;
mod keys;
mod modules;
mod oauth_clients;
mod pending_grants;
mod plain_storage;
mod pool;
mod postgres;
mod process_lock;
mod serving;
#[doc(hidden)]
pub mod simulated;
mod sqlite;
mod storage;
mod stored_bytes;
mod subscriptions;
mod sweep;
mod tenants;
mod time;
mod tool_sets;
mod triggers;
mod usage;
mod value;
pub mod vault;
mod webhooks;

#[cfg(test)]
mod testing;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::SecretString;

pub use self::agent_sessions::{AgentSession, NewAgentSession};
pub use self::agent_triggers::{AgentCursor, AgentPart, AgentReceiver, DeliveryReport, NewAgentPart};
pub use self::audit::{
    AUDIT_ACTIONS, Acting, AuditAction, AuditEntry, AuditFilter, AuditPlace, acting, inherit as inherit_acting,
};
pub use self::authorizations::{Authorization, DevicePoll, DeviceProgress, StateHash, TakenAuthorization};
pub use self::backlog::{Backlog, SUBSCRIPTION_STATES};
pub use self::backup::Restored;
pub use self::budgets::{Budget, Exchange, PERIODS_OF_TURN, Share, ShareReport, Silence};
pub use self::calls::{CallFilter, CallPlace, RecordedCall};
pub use self::changes::{Change, NewChange, Swap};
pub use self::confirmations::ConfirmationHash;
pub use self::connect_links::{ConnectLink, LinkEnd, LinkHash, NewConnectLink, new_link_id};
pub use self::console_sessions::{ConsoleSession, SessionHash, SessionHolder, SessionPerson};
pub use self::data_keys::Sealed;
pub use self::error::StoreError;
pub use self::gateways::{ConnectorAtGateway, GatewayBeat, GatewayRow};
pub use self::grants::{GrantChange, GrantSwap};
pub use self::health::GRACE as LEASE_GRACE;
pub use self::idempotency::{IdempotentCall, KeyState, TakenKey};
pub use self::inboxes::{
    HookRequest, HookRequestFilter, Inbox, InboxSecret, NewInbox, RecordedHookRequest, SecretAdded, SharedNotification,
};
pub use self::inspect::DatabaseState;
pub use self::integrations::{
    Account, AccountAddress, AnyIntegrationFilter, AuthType, Choice, Connected, Details, GrantType, Holder, Imported,
    Integration, IntegrationFilter, Labels, NewImport, Status,
};
pub use self::jobs::{AnyJobFilter, Ended, FullShares, Job, JobFilter, JobStatus, JobValue, NewJob, new_job_id};
pub use self::keys::{ApiKey, KeyAdoption, KeyFilter, KeyHash, KeyId, KeyRevocation, KeyStatus, NewApiKey};
pub use self::modules::{GrantStep, LiveModule, ModuleChange, ModuleCondition, ModuleOutcome, NewModule, StoredModule};
pub use self::oauth_clients::{NewOauthClient, TenantOauthClient};
pub use self::pending_grants::{FoundGrant, PendingGrant};
pub use self::postgres::PostgresError;
pub use self::serving::Serving;
pub use self::storage::{StorageError, StorageScope};
pub use self::stored_bytes::StoredBytes;
pub use self::subscriptions::{
    Blocked, NewSubscription, PushedEvents, ReadEvents, Route, Standing, StoredPush, Subscription, SubscriptionStep,
};
pub use self::tenants::{MAX_COUNT, Tenant};
pub use self::time::DatabaseTime;
pub use self::tool_sets::{NewToolSet, StoredToolSet};
pub use self::triggers::{
    EventDelivery, EventWebhooks, IntegrationChange, NewEvent, NewTrigger, Removed, StoredEvent, Trigger,
    TriggerChange, TriggerFilter, TriggerState, event_id, new_trigger_id,
};
pub use self::usage::{
    NewUsageBatch, UsageBy, UsageCounts, UsageFilter, UsageKey, UsagePlace, UsageRow, new_usage_batch_id,
};
pub use self::webhooks::{
    AnyDelivery, AnyDeliveryFilter, AttemptResult, ClaimLimits, ClaimedDelivery, Delivery, DeliveryAttempt,
    DeliveryStatus, NewDelivery, Payload, Resent, UrlFilter, WebhookSecret, WebhookSource,
};

use self::connection::{Connection, Durability};
use self::health::Health;
use self::postgres::Postgres;
use self::simulated::Simulated;
use self::sqlite::Sqlite;
use self::stored_bytes::Quota;

/// Name of the SQLite database in the data directory.
const FILE: &str = "gateway.db";

/// Selects the database.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder of the SQLite database.
    pub data_dir: PathBuf,
    /// URL of a PostgreSQL database, which replaces the SQLite database. Secret, because it may
    /// contain a password.
    pub database_url: Option<SecretString>,
}

impl Settings {
    /// Returns `true` if there is a database that [`Store::connect`] would not have to create.
    pub fn is_there(&self) -> bool {
        self.database_url.is_some() || self.data_dir.join(FILE).is_file()
    }
}

/// The database. Clones share its connections.
#[derive(Clone, Debug)]
pub struct Store {
    backend: Backend,
    health: Arc<Health>,
    quota: Quota,
}

#[derive(Clone, Debug)]
enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
    Simulated(Simulated),
}

impl Store {
    /// Opens the database that the settings select, and migrates it to the current version.
    ///
    /// # Errors
    /// Fails if the data directory cannot be created or written, if the database is locked, damaged
    /// or of a newer version, or if the PostgreSQL server cannot be reached or refuses the
    /// connection.
    pub async fn connect(settings: &Settings) -> Result<Self, StoreError> {
        match &settings.database_url {
            None => Self::open(&settings.data_dir).await,
            Some(url) => Ok(Self::new(Backend::Postgres(Postgres::open(url).await?))),
        }
    }

    /// Selects a PostgreSQL database that cannot be reached now. Each use tries to connect, and the
    /// first connection migrates the database.
    ///
    /// # Errors
    /// If the URL is malformed.
    pub fn connect_later(database_url: &SecretString) -> Result<Self, StoreError> {
        Ok(Self::new(Backend::Postgres(Postgres::unconnected(database_url)?)))
    }

    /// Opens the SQLite database in a data directory. Creates the directory and the database if
    /// they are missing.
    ///
    /// # Errors
    /// As [`Store::connect`].
    pub async fn open(data_dir: &Path) -> Result<Self, StoreError> {
        create_private_folder(data_dir).map_err(|source| StoreError::DataDir { path: data_dir.to_owned(), source })?;
        Ok(Self::new(Backend::Sqlite(Sqlite::open(&data_dir.join(FILE)).await?)))
    }

    fn new(backend: Backend) -> Self {
        Self { backend, health: Arc::default(), quota: Quota(u64::MAX) }
    }

    /// Returns `true` if gateways on several machines may share the database.
    pub fn is_shared(&self) -> bool {
        !matches!(self.backend, Backend::Sqlite(_))
    }

    /// Checks that the database answers.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.read(|connection| connection.query("SELECT now_ms()", &[]).map(drop)).await
    }

    /// Moves the content of SQLite's write-ahead log into the database file, so that a copy of this
    /// one file is complete. Does not wait for other users of the database: what they still read
    /// stays in the log until the next time. Does nothing on PostgreSQL.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        self.checkpoint_with("PRAGMA wal_checkpoint(PASSIVE)").await
    }

    /// As [`Store::checkpoint`], but waits for other users of the database, and empties the log.
    /// For a graceful shutdown.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn checkpoint_at_end(&self) -> Result<(), StoreError> {
        self.checkpoint_with("PRAGMA wal_checkpoint(TRUNCATE)").await
    }

    async fn checkpoint_with(&self, statement: &'static str) -> Result<(), StoreError> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.checkpoint(statement).await,
            Backend::Postgres(_) | Backend::Simulated(_) => Ok(()),
        }
    }

    /// Runs statements that only read. Each statement sees the data at its own start: rows may
    /// change between two statements.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let used = self.health.begin();
        let result = match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.read(read).await,
            Backend::Postgres(postgres) => postgres.read(read).await,
            Backend::Simulated(simulated) => simulated.run(false, read).await,
        };
        used.end(&result);
        result
    }

    /// Runs statements in one transaction. If `write` fails, no statement has an effect. The
    /// transaction is finished even if the caller drops the future.
    async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let used = self.health.begin();
        let result = match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.write(durability, write).await,
            Backend::Postgres(postgres) => postgres.write(durability, write).await,
            Backend::Simulated(simulated) => simulated.run(true, write).await,
        };
        used.end_write(&result);
        result
    }
}

/// Creates a folder that only its owner can read, because it will hold secrets. An existing folder
/// keeps its mode.
fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
