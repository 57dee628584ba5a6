//! Adding, listing and deleting entries of the audit.

use std::time::Duration;

use database::conditions::Conditions;
use database::connection::{Connection, Durability};
use database::value::{values, without_zero_bytes};

use super::{Acting, AuditAction, AuditEntry, AuditFilter};
use crate::Stored;
use crate::handles::Audit;

impl Audit<'_> {
    /// Adds an entry about a change that is not in the database.
    pub async fn note(self, action: AuditAction, target: &str, tenant: &str, detail: &str) -> Stored<()> {
        let by = Acting::current();
        let [target, tenant, detail] = [target, tenant, detail].map(str::to_owned);
        self.0
            .write(Durability::PowerLoss, move |connection| note(connection, &by, action, &target, &tenant, &detail))
            .await
    }

    /// Returns a page of entries, the newest first.
    pub async fn list(self, filter: AuditFilter) -> Stored<Vec<AuditEntry>> {
        let AuditFilter { actor, action, tenant, target, since, until, before, limit } = filter;
        let mut conditions = Conditions::with_limit(limit);
        for (column, value) in [("actor", actor), ("action", action), ("tenant", tenant), ("target", target)] {
            conditions.equal(column, value);
        }
        conditions.compare("at >=", since);
        conditions.compare("at <", until);
        conditions.after("at, number", before);
        let (clause, values) = conditions.finish();
        let list = format!(
            "SELECT number, at, actor, action, target, tenant, request_id, detail FROM audit {clause}
             ORDER BY at DESC, number DESC LIMIT $1"
        );
        self.0.read_all(list, &values).await
    }

    /// Deletes the entries that are older than `keep`, and returns their number. The databases
    /// refuse to delete entries of the last day.
    pub async fn delete_old(self, keep: Duration) -> Stored<u64> {
        self.0.database.delete_older("audit", keep).await
    }
}

/// Adds an entry in the transaction of its change.
pub(crate) fn note(
    connection: &mut dyn Connection,
    by: &Acting,
    action: AuditAction,
    target: &str,
    tenant: &str,
    detail: &str,
) -> Stored<()> {
    let detail = without_zero_bytes(&by.detailed(detail));
    connection.run(
        "INSERT INTO audit (at, actor, action, target, tenant, request_id, detail)
         VALUES (now_ms(), $1, $2, $3, $4, $5, $6)",
        values![by.actor(), action.name(), target, tenant, by.request_id(), &detail],
    )
}
