//! Entries of the audit, and filters of their lists.

use std::time::SystemTime;

use crate::records::{named, record};

named! {
    /// The action.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AuditAction {
        /// A connector was added.
        ConnectorAdded = "connector.added",
        /// Another version of a connector was made live.
        ConnectorReplaced = "connector.replaced",
        /// A connector was removed.
        ConnectorRemoved = "connector.removed",
        /// A previous version of a connector was made live.
        ConnectorRolledBack = "connector.rolled_back",
        /// A connector may reach more hosts.
        ConnectorGranted = "connector.granted",
        /// A connector may reach fewer hosts.
        ConnectorRevoked = "connector.revoked",
        /// An API key was made.
        KeyCreated = "key.created",
        /// An API key was revoked.
        KeyRevoked = "key.revoked",
        /// The OAuth client of a tenant was set.
        OauthClientSet = "oauth_client.set",
        /// The OAuth client of a tenant was deleted.
        OauthClientDeleted = "oauth_client.deleted",
        /// An account was connected.
        IntegrationConnected = "integration.connected",
        /// A caller has confirmed a grant of a user.
        IntegrationConfirmed = "integration.confirmed",
        /// An integration was selected.
        IntegrationSelected = "integration.selected",
        /// The tokens of an integration were refreshed on request.
        IntegrationRenewed = "integration.renewed",
        /// The labels of an integration were set.
        IntegrationLabelled = "integration.labelled",
        /// An integration was deleted.
        IntegrationDeleted = "integration.deleted",
        /// An integration was imported.
        IntegrationImported = "integration.imported",
        /// Integrations were exported.
        IntegrationExported = "integration.exported",
        /// A job was cancelled.
        JobCancelled = "job.cancelled",
        /// A webhook was sent once more on request.
        WebhookResent = "webhook.resent",
        /// A secret of webhooks was made.
        WebhookSecretCreated = "webhook_secret.created",
        /// A secret of webhooks was deleted.
        WebhookSecretDeleted = "webhook_secret.deleted",
        /// A link to a page for end users was made.
        ConnectLinkCreated = "connect_link.created",
        /// A link to a page for end users was ended.
        ConnectLinkDeleted = "connect_link.deleted",
        /// A tool set was made.
        ToolSetCreated = "tool_set.created",
        /// A tool set was deleted.
        ToolSetDeleted = "tool_set.deleted",
        /// An agent session was made.
        AgentSessionCreated = "agent_session.created",
        /// An agent session was deleted.
        AgentSessionDeleted = "agent_session.deleted",
        /// A trigger was made.
        TriggerCreated = "trigger.created",
        /// A trigger was changed.
        TriggerChanged = "trigger.changed",
        /// A trigger was paused.
        TriggerPaused = "trigger.paused",
        /// A trigger was deleted.
        TriggerDeleted = "trigger.deleted",
        /// Events of a trigger were sent once more.
        TriggerReplayed = "trigger.replayed",
        /// A subscription was made anew on request.
        TriggerResubscribed = "trigger.resubscribed",
        /// An inbox was made.
        InboxCreated = "inbox.created",
        /// A secret was added to an inbox.
        InboxSecretAdded = "inbox.secret_added",
        /// A secret of an inbox was deleted.
        InboxSecretRemoved = "inbox.secret_removed",
        /// An inbox was deleted.
        InboxDeleted = "inbox.deleted",
        /// The master key was replaced.
        MasterKeyRotated = "master_key.rotated",
        /// The database was restored from a backup.
        DatabaseRestored = "database.restored",
        /// An operator has signed in to the console.
        ConsoleSignedIn = "console.signed_in",
        /// An operator has signed out of the console.
        ConsoleSignedOut = "console.signed_out",
    }
}

record! {
    /// An entry of the audit.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AuditEntry {
        /// Grows with each entry.
        pub number: i64,
        /// Time of the change.
        pub at: SystemTime,
        /// Its actor. See [`super::Acting`].
        pub actor: String,
        /// The name of an [`AuditAction`].
        pub action: String,
        /// The id of what was changed.
        pub target: String,
        /// Empty if the change belongs to no tenant.
        pub tenant: String,
        /// Empty if no request made the change.
        pub request_id: String,
        /// More about the change, for people. May be empty. It never has a secret.
        pub detail: String,
    }
}

/// The place of an entry in the order of lists: its time and its number.
pub type AuditPlace = (SystemTime, i64);

/// Selects a page of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only entries of this actor.
    pub actor: Option<String>,
    /// Only entries with this action.
    pub action: Option<String>,
    /// Only entries of this tenant.
    pub tenant: Option<String>,
    /// Only entries about this target.
    pub target: Option<String>,
    /// Only entries of this time and later ones.
    pub since: Option<SystemTime>,
    /// Only entries before this time.
    pub until: Option<SystemTime>,
    /// Only entries that are older than the last entry of the previous page.
    pub before: Option<AuditPlace>,
    /// Maximum number of entries.
    pub limit: u32,
}
