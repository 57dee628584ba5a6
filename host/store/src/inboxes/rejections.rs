//! Requests that were rejected. Anyone can send them, so an address keeps only the last ones, and
//! those at inboxes are also counted.

use std::collections::BTreeMap;

use database::connection::Connection;
use database::value::values;

use crate::Stored;
use crate::handles::Inboxes;

/// The outcome of a request that was rejected.
pub(super) const REJECTED: &str = "rejected";

/// The rejected requests that an address keeps. All addresses that no one has are one address.
pub(super) const KEPT: u32 = 1_000;

/// More rejected requests than were just stored that one transaction deletes, so that it does not
/// delay other writes.
const SWEEP_BATCH: u32 = 500;

/// Milliseconds of a period, in which requests are counted together.
const PERIOD_MS: i64 = 600_000;

/// Milliseconds of the time for which requests are counted.
const COUNTED_MS: i64 = 86_400_000;

/// A request that was rejected.
pub(super) struct Rejection<'a> {
    /// Milliseconds since then.
    pub(super) age: i64,
    pub(super) reason: Option<&'a str>,
}

impl Inboxes<'_> {
    /// Returns how many requests to inboxes were rejected in the last 24 hours, by the ids of the
    /// inboxes. The oldest ten minutes count as a whole.
    pub async fn rejected(self) -> Stored<BTreeMap<String, u64>> {
        let count = "SELECT inbox, CAST(sum(requests) AS BIGINT) FROM inbox_rejections
             WHERE period >= (now_ms() - $1) / $2 GROUP BY inbox";
        let counts: Vec<(String, u64)> = self.0.read_all(count, values![COUNTED_MS, PERIOD_MS]).await?;
        Ok(counts.into_iter().collect())
    }
}

/// Notes that requests to an address were rejected, in their order. They are stored already. The
/// number of `further` ones is counted as if they had just come.
pub(super) fn note_rejections(
    connection: &mut dyn Connection,
    address: &str,
    rejections: &[Rejection<'_>],
    further: u64,
) -> Stored<()> {
    let last = rejections.iter().rev().find_map(|Rejection { age, reason }| reason.map(|reason| (*age, reason)));
    if let Some((age, reason)) = last {
        connection.execute(
            "UPDATE inboxes SET last_rejected_at = now_ms() - $1, last_rejection = $2 WHERE id = $3",
            values![age, reason, address],
        )?;
    }
    let now: i64 = connection.one("SELECT now_ms()", &[])?;
    let mut counts = BTreeMap::<i64, i64>::new();
    for Rejection { age, .. } in rejections {
        *counts.entry((now - age) / PERIOD_MS).or_default() += 1;
    }
    if further > 0 {
        let counted = counts.entry(now / PERIOD_MS).or_default();
        *counted = counted.saturating_add(i64::try_from(further).unwrap_or(i64::MAX));
    }
    for (period, requests) in counts {
        count(connection, address, period, requests)?;
    }
    let at_most = i64::try_from(rejections.len()).unwrap_or(i64::MAX).saturating_add(SWEEP_BATCH.into());
    connection.execute(
        &format!(
            "DELETE FROM hook_requests WHERE number IN
                 (SELECT number FROM hook_requests WHERE outcome = 'rejected' AND address = $1 AND number <=
                      (SELECT number FROM hook_requests WHERE outcome = 'rejected' AND address = $1
                       ORDER BY number DESC LIMIT 1 OFFSET $2)
                  ORDER BY number LIMIT $3 {})",
            connection.skip_locked()
        ),
        values![address, KEPT, at_most],
    )?;
    Ok(())
}

/// Adds to the requests of a period that were rejected at an inbox.
fn count(connection: &mut dyn Connection, inbox: &str, period: i64, requests: i64) -> Stored<()> {
    connection.execute(
        "INSERT INTO inbox_rejections (inbox, period, requests)
         SELECT id, CAST($1 AS BIGINT), CAST($2 AS BIGINT) FROM inboxes WHERE id = $3
         ON CONFLICT (inbox, period) DO UPDATE SET requests = inbox_rejections.requests + excluded.requests",
        values![period, requests, inbox],
    )?;
    Ok(())
}

/// Forgets how many requests were rejected before the time that is counted.
pub(super) fn forget_old_rejections(connection: &mut dyn Connection) -> Stored<()> {
    connection
        .execute("DELETE FROM inbox_rejections WHERE period < (now_ms() - $1) / $2", values![COUNTED_MS, PERIOD_MS])?;
    Ok(())
}

/// Forgets how many requests to an inbox were rejected.
pub(super) fn forget_rejections(connection: &mut dyn Connection, inbox: &str) -> Stored<()> {
    connection.execute("DELETE FROM inbox_rejections WHERE inbox = $1", values![inbox])?;
    Ok(())
}
