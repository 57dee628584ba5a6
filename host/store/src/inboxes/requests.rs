//! The requests of services to all addresses.

use std::collections::BTreeMap;
use std::time::Duration;

use database::conditions::Conditions;
use database::connection::Durability;
use database::time::millis;
use database::value::{values, without_zero_bytes};

use super::rejections::{REJECTED, Rejection, forget_old_rejections, note_rejections};
use super::types::{HookRequest, HookRequestFilter, RecordedHookRequest};
use crate::Stored;
use crate::handles::Inboxes;

/// Requests that one transaction deletes, so that it does not delay other writes.
const SWEEP_BATCH: u32 = 500;

impl Inboxes<'_> {
    /// Stores requests of services, with the time that has passed since each. Of further requests that
    /// were rejected, only the number at each inbox is stored, by the ids of the inboxes.
    pub async fn add_requests(
        self,
        requests: Vec<(Duration, HookRequest)>,
        further: BTreeMap<String, u64>,
    ) -> Stored<()> {
        self.0.write(Durability::ProcessKill, move |connection| {
            let mut rejected = BTreeMap::<&str, Vec<Rejection<'_>>>::new();
            for (age, request) in &requests {
                let HookRequest { gateway, address, connector, outcome, reason, kind, events, ms, bytes, remote } =
                    request;
                let [events, ms, bytes] = [events, ms, bytes].map(|number| i64::try_from(*number).unwrap_or(i64::MAX));
                let age = millis(*age);
                // A service has written it.
                let kind = kind.as_deref().map(without_zero_bytes);
                connection.execute(
                    "INSERT INTO hook_requests (at, gateway, address, connector, outcome, reason, kind, events, ms, bytes, remote)
                     VALUES (now_ms() - $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
                    values![age, gateway, address, connector, *outcome, reason, kind, events, ms, bytes, remote],
                )?;
                if *outcome == REJECTED {
                    let rejection = Rejection { age, reason: reason.as_deref() };
                    rejected.entry(address).or_default().push(rejection);
                }
            }
            // Each transaction locks rows in the same order: by the addresses.
            further.keys().for_each(|inbox| {
                rejected.entry(inbox).or_default();
            });
            rejected.iter().try_for_each(|(address, rejections)| {
                let further = further.get(*address).copied().unwrap_or_default();
                note_rejections(connection, address, rejections, further)
            })
        })
        .await
    }

    /// Returns a page of the requests of services, the newest first.
    pub async fn requests(self, filter: HookRequestFilter) -> Stored<Vec<RecordedHookRequest>> {
        let HookRequestFilter { address, connector, outcome, since, until, before, limit } = filter;
        let mut conditions = Conditions::with_limit(limit);
        for (column, value) in [("address", address), ("connector", connector), ("outcome", outcome)] {
            conditions.equal(column, value);
        }
        conditions.compare("at >=", since);
        conditions.compare("at <", until);
        conditions.after("at, number", before);
        let (clause, values) = conditions.finish();
        let list = format!(
            "SELECT number, at, gateway, address, connector, outcome, reason, kind, events, ms, bytes, remote
             FROM hook_requests {clause} ORDER BY at DESC, number DESC LIMIT $1"
        );
        self.0.read_all(list, &values).await
    }

    /// Deletes requests of services that are older than `kept_for`, and those before the last
    /// `max`. The last ones that an address has rejected stay, so that requests that are accepted
    /// do not take their places.
    pub async fn sweep_requests(self, kept_for: Duration, max: u32) -> Stored<()> {
        let sweep = "DELETE FROM hook_requests WHERE number IN
             (SELECT number FROM hook_requests WHERE at <= now_ms() - $1 LIMIT $2)";
        let values = values![millis(kept_for), SWEEP_BATCH];
        while self.0.execute(Durability::ProcessKill, sweep, values).await? == u64::from(SWEEP_BATCH) {}
        let too_many = "DELETE FROM hook_requests WHERE number IN
             (SELECT number FROM hook_requests WHERE number <= (SELECT max(number) FROM hook_requests) - $1
              AND outcome <> $2 ORDER BY number LIMIT $3)";
        let values = values![i64::from(max), REJECTED, SWEEP_BATCH];
        while self.0.execute(Durability::ProcessKill, too_many, values).await? == u64::from(SWEEP_BATCH) {}
        self.0.write(Durability::ProcessKill, forget_old_rejections).await
    }
}
