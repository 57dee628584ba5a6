//! The data of the gateway, in one SQLite file in `data_dir` or in a PostgreSQL database.
//!
//! # Invariants
//!
//! - Data that the gateway could not restore is written so that it survives a power loss
//!   ([`database::connection::Durability`]). Otherwise a crash could lose a refresh
//!   token after the provider has invalidated the previous one, and the user would have to
//!   authorize again.
//! - A secret enters the database only after the [`vault`] has sealed it for its own row. Otherwise
//!   a copy of the database would reveal tokens, and a row could be given the secret of another
//!   row.
//! - The store interprets neither secrets, nor scopes, nor reasons. It knows neither OAuth nor HTTP
//!   nor the configuration file.
//!
//! # Layout
//!
//! [`handles`] has a handle for each subject, such as `store.jobs()`, and says what the subject is.
//! The statements on it are in the folder or file of its name, and those on events in [`triggers`].
//! In a folder, `types` declares the records and `queries` has the statements on them. Subjects
//! without a handle:
//! - [`tenants`]: the tenants that all subjects name
//! - [`caps`]: the number of integrations and authorizations that one holder may have
//! - [`budgets`]: the rate limits that gateways share
//! - [`backlog`]: what waits, in numbers
//! - [`stored_bytes`]: the bytes that each tenant has stored, and their limit
//!
//! Secrets:
//! - [`vault`]: the crate that seals secrets before they are stored, and rotates the keys
//! - [`sealed_columns`]: the columns that hold secrets, for the rotation
//!
//! The database:
//! - [`records`]: macros for records, for values that are stored by a name, and for ids
//! - [`statements`]: uses of the store that are a single statement
//! - [`migrations`]: the migrations of the tables
//! - [`serving`]: the lock of the gateway that serves
//! - [`backup`]: the first step of a database that was restored
//! - [`simulated`]: the store on a database for deterministic tests
//!
//! The crate [`database`] opens SQLite or PostgreSQL, and runs the statements.

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
mod confirmations;
mod connect_links;
mod console_sessions;
mod gateways;
mod grants;
pub mod handles;
mod idempotency;
mod inboxes;
mod integrations;
mod jobs;
mod keys;
mod migrations;
mod modules;
mod oauth_clients;
mod pending_grants;
mod plain_storage;
mod records;
mod sealed_columns;
mod serving;
#[doc(hidden)]
pub mod simulated;
mod statements;
mod storage;
mod stored_bytes;
mod subscriptions;
mod tenants;
mod tool_sets;
mod triggers;
mod usage;
mod webhooks;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod zero_bytes;

use std::path::Path;

use database::connection::{Connection, Durability};
use secrecy::SecretString;

pub use database::digest;
pub use database::health::GRACE as LEASE_GRACE;
pub use database::time::DatabaseTime;
pub use database::value::without_zero_bytes;
pub use database::{Database, DatabaseState, PostgresError, Settings, StoreError};
pub use vault;
pub use vault::{Sealed, Shown, ShownOnce};

pub use self::agent_sessions::{AgentSession, NewAgentSession};
pub use self::agent_triggers::{AgentCursor, AgentPart, AgentReceiver, DeliveryReport, NewAgentPart};
pub use self::audit::{Acting, AuditAction, AuditEntry, AuditFilter, AuditPlace, acting, inherit as inherit_acting};
pub use self::authorizations::{Authorization, DevicePoll, DeviceProgress, StateHash, TakenAuthorization};
pub use self::backlog::{Backlog, SUBSCRIPTION_STATES};
pub use self::backup::Restored;
pub use self::budgets::{Budget, Exchange, PERIODS_OF_TURN, Share, ShareReport, Silence};
pub use self::calls::{CallFilter, CallPlace, RecordedCall};
pub use self::changes::{Change, NewChange, Swap};
pub use self::confirmations::ConfirmationHash;
pub use self::connect_links::{ConnectLink, ConnectLinkFilter, LinkEnd, LinkHash, NewConnectLink, new_link_id};
pub use self::console_sessions::{ConsoleSession, SessionHash, SessionHolder, SessionPerson};
pub use self::gateways::{ConnectorAtGateway, GatewayBeat, GatewayRow, new_gateway_id};
pub use self::grants::{GrantChange, GrantSwap};
pub use self::idempotency::{IdempotentCall, KeyState, TakenKey};
pub use self::inboxes::{
    EndedShared, HookRequest, HookRequestFilter, Inbox, InboxSecret, NewInbox, NewShared, RecordedHookRequest,
    SecretAdded, SharedNotification,
};
pub use self::integrations::{
    Account, AccountAddress, AnyIntegrationFilter, AuthType, Choice, Connected, Details, GrantType, Holder, Imported,
    Integration, IntegrationFilter, Labels, NewImport, Overwrites, Status,
};
pub use self::jobs::{AnyJobFilter, Ended, FullShares, Job, JobFilter, JobStatus, JobValue, NewJob, new_job_id};
pub use self::keys::{ApiKey, KeyAdoption, KeyFilter, KeyHash, KeyId, KeyRevocation, KeyStatus, NewApiKey};
pub use self::modules::{GrantStep, LiveModule, ModuleChange, ModuleCondition, ModuleOutcome, NewModule, StoredModule};
pub use self::oauth_clients::{NewOauthClient, TenantOauthClient};
pub use self::pending_grants::{FoundGrant, PendingGrant};
pub use self::serving::Serving;
pub use self::storage::{StorageError, StorageScope};
pub use self::stored_bytes::StoredBytes;
pub use self::subscriptions::{
    Blocked, NewSubscription, PushedEvents, ReadEvents, Route, Standing, StoredPush, Subscription, SubscriptionStep,
};
pub use self::tenants::{MAX_COUNT, Tenant};
pub use self::tool_sets::{NewToolSet, StoredToolSet};
pub use self::triggers::{
    EVENTS_BYTES, EventDelivery, EventWebhooks, IntegrationChange, KeptEvents, NewEvent, NewTrigger, Removed,
    StoredEvent, Told, Trigger, TriggerChange, TriggerFilter, TriggerState, event_id, new_trigger_id,
};
pub use self::usage::{
    NewUsageBatch, UsageBy, UsageCounts, UsageFilter, UsageKey, UsagePlace, UsageRow, new_usage_batch_id,
};
pub use self::webhooks::{
    AnyDelivery, AnyDeliveryFilter, AttemptResult, ClaimLimits, ClaimedDelivery, Delivery, DeliveryAttempt,
    DeliveryStatus, NewDelivery, Payload, Resent, UrlFilter, WebhookSecret, WebhookSource,
};

use self::migrations::TABLES;
use self::stored_bytes::Quota;

/// The result of a use of the store, which fails if the database does not answer. A function that
/// can fail for another reason says so. A write that fails has changed nothing, because it is one
/// transaction. If only the answer to its commit was lost, all of its changes are made.
pub type Stored<T> = Result<T, StoreError>;

/// The data of the gateway. Clones share the connections of the database.
#[derive(Clone, Debug)]
pub struct Store {
    database: Database,
    quota: Quota,
}

impl Store {
    /// Opens the database that the settings select, and migrates it to the current version.
    ///
    /// # Errors
    /// As [`Database::connect`].
    pub async fn connect(settings: &Settings) -> Stored<Self> {
        Database::connect(settings, &TABLES).await.map(Self::new)
    }

    /// Selects a PostgreSQL database that cannot be reached now. Each use tries to connect, and the
    /// first connection migrates the database.
    ///
    /// # Errors
    /// As [`Database::connect_later`].
    pub fn connect_later(database_url: &SecretString) -> Stored<Self> {
        Database::connect_later(database_url, &TABLES).map(Self::new)
    }

    /// Opens the SQLite database in a data directory. Creates the directory and the database if
    /// they are missing.
    ///
    /// # Errors
    /// As [`Database::connect`].
    pub async fn open(data_dir: &Path) -> Stored<Self> {
        Database::open(data_dir, &TABLES).await.map(Self::new)
    }

    /// Reads the version of a database. It runs no migration and creates nothing. `None` if
    /// there is no SQLite file yet.
    ///
    /// # Errors
    /// As [`Database::inspect`].
    pub async fn inspect(settings: &Settings) -> Stored<Option<DatabaseState>> {
        Database::inspect(settings, &TABLES).await
    }

    fn new(database: Database) -> Self {
        Self { database, quota: Quota(u64::MAX) }
    }

    /// The database: its clock, its health, and its file.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// As [`Database::read`].
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Connection) -> Stored<T> + Send + 'static,
    ) -> Stored<T> {
        self.database.read(read).await
    }

    /// As [`Database::write`].
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Connection) -> Stored<T> + Send + 'static,
    ) -> Stored<T> {
        self.database.write(durability, write).await
    }

    /// As [`Database::write_together`].
    pub(crate) async fn write_together<T: Send + 'static>(
        &self,
        durability: Durability,
        write: impl FnOnce(&mut dyn Connection) -> Stored<T> + Send + 'static,
    ) -> Stored<T> {
        self.database.write_together(durability, write).await
    }
}
