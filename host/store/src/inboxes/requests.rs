//! The requests of services to all addresses.

use std::time::Duration;

use database::conditions::Conditions;
use database::connection::Durability;
use database::time::millis;
use database::value::values;

use super::types::{HookRequest, HookRequestFilter, RecordedHookRequest};
use crate::Stored;
use crate::handles::Inboxes;

/// Requests that one transaction deletes, so that it does not delay other writes.
const SWEEP_BATCH: u32 = 500;

impl Inboxes<'_> {
    /// Stores requests of services, with the time that has passed since each.
    pub async fn add_requests(self, requests: Vec<(Duration, HookRequest)>) -> Stored<()> {
        self.0.write(Durability::ProcessKill, move |connection| {
            for (age, request) in &requests {
                let HookRequest { gateway, address, connector, outcome, reason, kind, events, ms, bytes, remote } =
                    request;
                let number = |number: &u64| i64::try_from(*number).unwrap_or(i64::MAX);
                connection.execute(
                    "INSERT INTO hook_requests (at, gateway, address, connector, outcome, reason, kind, events, ms, bytes, remote)
                     VALUES (now_ms() - $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
                    values![
                        millis(*age),
                        gateway,
                        address,
                        connector,
                        *outcome,
                        reason,
                        kind,
                        number(events),
                        number(ms),
                        number(bytes),
                        remote
                    ],
                )?;
                if let (true, Some(reason)) = (*outcome == "rejected", reason) {
                    connection.execute(
                        "UPDATE inboxes SET last_rejected_at = now_ms() - $1, last_rejection = $2 WHERE id = $3",
                        values![millis(*age), reason, address],
                    )?;
                }
            }
            Ok(())
        })
        .await
    }

    /// Returns a page of the requests of services, the newest first.
    pub async fn requests(self, filter: HookRequestFilter) -> Stored<Vec<RecordedHookRequest>> {
        self.0
            .read(move |connection| {
                let HookRequestFilter { address, connector, outcome, since, until, before, limit } = filter;
                let mut conditions = Conditions::with_limit(limit);
                for (column, value) in [("address", address), ("connector", connector), ("outcome", outcome)] {
                    conditions.equal(column, value);
                }
                conditions.compare("at >=", since);
                conditions.compare("at <", until);
                conditions.after("at, number", before);
                let (clause, values) = conditions.finish();
                connection.all(
                    &format!(
                    "SELECT number, at, gateway, address, connector, outcome, reason, kind, events, ms, bytes, remote
                     FROM hook_requests {clause} ORDER BY at DESC, number DESC LIMIT $1"
                ),
                    &values,
                )
            })
            .await
    }

    /// Deletes requests of services that are older than `kept_for`.
    pub async fn sweep_requests(self, kept_for: Duration) -> Stored<()> {
        let sweep = || {
            self.0.write(Durability::ProcessKill, move |connection| {
                connection.execute(
                    "DELETE FROM hook_requests WHERE number IN
                         (SELECT number FROM hook_requests WHERE at <= now_ms() - $1 LIMIT $2)",
                    values![millis(kept_for), SWEEP_BATCH],
                )
            })
        };
        while sweep().await? == u64::from(SWEEP_BATCH) {}
        Ok(())
    }
}
