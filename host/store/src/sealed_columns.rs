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
    column("integrations", "id", "secret", "integration", ACCOUNT),
    column("authorizations", "hash", "verifier", "verifier", ACCOUNT),
    column("pending_grants", "hash", "secret", "pending_grant", ACCOUNT),
    column("webhook_secrets", "id", "secret", "webhook_secret", &["tenant", "id"]),
    column("webhook_payloads", "id", "payload", "webhook_payload", &["tenant", "id"]),
    column("webhook_deliveries", "webhook_id", "url", "webhook_url", &["tenant", "webhook_id"]),
    column("oauth_clients", "id", "secret", "oauth_client", &["tenant", "name"]),
    column("job_values", "id", "bytes", "job", &["id"]),
    column("idempotency_keys", "id", "answer", "idempotent_answer", &["tenant", "id"]),
    column("connector_storage", "id", "value", "connector_storage", &["id"]),
    column("inbox_secrets", "id", "secret", "inbox_secret", &["id"]),
    column("subscriptions", "id", "secret", "subscription", &["id"]),
    SealedColumn { data_key: "cursor_key", ..column("subscriptions", "id", "cursor", "subscription_cursor", &["id"]) },
    column("triggers", "id", "definition", "trigger", &["id"]),
    column("agent_triggers", "trigger_id", "secrets", "agent_trigger", &["trigger_id"]),
    column("trigger_events", "id", "body", "trigger_event", &["id"]),
    column("shared_notifications", "id", "body", "shared_notification", &["id"]),
];

/// The columns that name an account.
const ACCOUNT: &[&str] = &["tenant", "subject", "connector", "user_identifier"];

/// A column `secret` next to the column `data_key`, in the table with the primary key `row`.
const fn column(
    table: &'static str,
    row: &'static str,
    secret: &'static str,
    context: &'static str,
    bound_to: &'static [&'static str],
) -> SealedColumn {
    SealedColumn { table, row, data_key: "data_key", secret, context, bound_to }
}

#[cfg(test)]
mod tests;
