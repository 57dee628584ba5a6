//! The columns of the store that hold secrets, for the vault.

use std::sync::Arc;

use database::Database;
use vault::{Notes, SealedColumn, SealedTables};

use crate::Store;
use crate::audit::{Acting, AuditAction, note};

impl SealedTables for Store {
    fn database(&self) -> &Database {
        &self.database
    }

    fn sealed_columns(&self) -> &'static [SealedColumn] {
        SEALED_COLUMNS
    }

    /// The file of the master key is no part of the database, so the entries tell of the steps that
    /// are.
    fn rotation_notes(&self) -> Notes {
        let by = Acting::current();
        Arc::new(move |connection, detail| {
            note(connection, &by, AuditAction::MasterKeyRotated, "master_key", "", detail)
        })
    }
}

/// Every column that holds sealed secrets.
const SEALED_COLUMNS: &[SealedColumn] = &[
    SealedColumn {
        table: "integrations",
        row: "id",
        data_key: "data_key",
        secret: "secret",
        context: "integration",
        bound_to: &["tenant", "subject", "connector", "user_identifier"],
    },
    SealedColumn {
        table: "authorizations",
        row: "hash",
        data_key: "data_key",
        secret: "verifier",
        context: "verifier",
        bound_to: &["tenant", "subject", "connector", "user_identifier"],
    },
    SealedColumn {
        table: "pending_grants",
        row: "hash",
        data_key: "data_key",
        secret: "secret",
        context: "pending_grant",
        bound_to: &["tenant", "subject", "connector", "user_identifier"],
    },
    SealedColumn {
        table: "webhook_secrets",
        row: "id",
        data_key: "data_key",
        secret: "secret",
        context: "webhook_secret",
        bound_to: &["tenant", "id"],
    },
    SealedColumn {
        table: "webhook_payloads",
        row: "id",
        data_key: "data_key",
        secret: "payload",
        context: "webhook_payload",
        bound_to: &["tenant", "id"],
    },
    SealedColumn {
        table: "webhook_deliveries",
        row: "webhook_id",
        data_key: "data_key",
        secret: "url",
        context: "webhook_url",
        bound_to: &["tenant", "webhook_id"],
    },
    SealedColumn {
        table: "oauth_clients",
        row: "id",
        data_key: "data_key",
        secret: "secret",
        context: "oauth_client",
        bound_to: &["tenant", "name"],
    },
    SealedColumn {
        table: "job_values",
        row: "id",
        data_key: "data_key",
        secret: "bytes",
        context: "job",
        bound_to: &["id"],
    },
    SealedColumn {
        table: "idempotency_keys",
        row: "id",
        data_key: "data_key",
        secret: "answer",
        context: "idempotent_answer",
        bound_to: &["tenant", "id"],
    },
    SealedColumn {
        table: "connector_storage",
        row: "id",
        data_key: "data_key",
        secret: "value",
        context: "connector_storage",
        bound_to: &["id"],
    },
    SealedColumn {
        table: "inbox_secrets",
        row: "id",
        data_key: "data_key",
        secret: "secret",
        context: "inbox_secret",
        bound_to: &["id"],
    },
    SealedColumn {
        table: "subscriptions",
        row: "id",
        data_key: "data_key",
        secret: "secret",
        context: "subscription",
        bound_to: &["id"],
    },
    SealedColumn {
        table: "subscriptions",
        row: "id",
        data_key: "cursor_key",
        secret: "cursor",
        context: "subscription_cursor",
        bound_to: &["id"],
    },
    SealedColumn {
        table: "triggers",
        row: "id",
        data_key: "data_key",
        secret: "definition",
        context: "trigger",
        bound_to: &["id"],
    },
    SealedColumn {
        table: "agent_triggers",
        row: "trigger_id",
        data_key: "data_key",
        secret: "secrets",
        context: "agent_trigger",
        bound_to: &["trigger_id"],
    },
    SealedColumn {
        table: "trigger_events",
        row: "id",
        data_key: "data_key",
        secret: "body",
        context: "trigger_event",
        bound_to: &["id"],
    },
    SealedColumn {
        table: "shared_notifications",
        row: "id",
        data_key: "data_key",
        secret: "body",
        context: "shared_notification",
        bound_to: &["id"],
    },
];

#[cfg(test)]
mod tests;
