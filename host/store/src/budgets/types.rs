//! The records of budgets.

use std::time::Duration;

use database::time::millis;
use database::value::Row;

use crate::records::record;
use crate::{StoreError, Stored};

/// Tenants that a row lists. The others are taken for one tenant.
const MAX_TENANTS: usize = 100;

record! {
    row =>
    /// A rate limit of a connector, or the queue of a paced upstream. Another number or period makes
    /// another budget.
    #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Budget {
        /// The connector's identifier.
        pub connector: String,
        /// The name of the rate limit or the upstream.
        pub quota: String,
        /// Maximum number of calls in a period. 0 for a queue.
        pub requests: u32 = number(row)?,
        /// Length of the period, in whole milliseconds. The interval between two calls of a queue.
        pub period: Duration = Duration::from_millis(row.read::<i64>()?.unsigned_abs()),
    }
}

impl Budget {
    /// `true` for a queue. A queue is a single unit. The gateway that holds the unit may start calls.
    pub(super) fn is_queue(&self) -> bool {
        self.requests == 0
    }
}

/// The report of a gateway about its part of a budget.
#[derive(Clone, Debug)]
pub struct ShareReport {
    /// The budget.
    pub budget: Budget,
    /// The units that the gateway still holds.
    pub units: u32,
    /// Its calls in the last period.
    pub used: u32,
    /// The units that it needs now. At least `used` while it serves.
    pub needed: u32,
    /// The units that it would like to have. At least `needed`.
    pub wanted: u32,
    /// The units of `needed` that each tenant needs. The rest of them belongs to one more tenant.
    /// Empty if the gateway has enough for all.
    pub tenants: Vec<(String, u32)>,
    /// Time for which the first call in a queue has waited. `None` if no call waits, and for a rate
    /// limit.
    pub waited: Option<Duration>,
    /// `true` if this call is the one of the report before.
    pub is_known: bool,
    /// Time until the gateway may give a queue away, if that is known.
    pub free_in: Option<Duration>,
    /// Time after which its units are free if it says nothing more: until it no longer uses them,
    /// and all its calls are older than the period.
    pub gone_after: Duration,
}

record! {
    row =>
    /// A gateway that has said nothing for a while.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Silence {
        /// The id of the gateway.
        pub gateway: String,
        /// The number of its last exchange.
        pub turn: i64,
        /// The time since then, or less.
        pub silent: Duration = Duration::from_millis(row.read::<i64>()?.unsigned_abs()),
    }
}

/// The part of a budget that a gateway has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The budget.
    pub budget: Budget,
    /// The units that the gateway holds. What it held before is included.
    pub units: u32,
    /// The units that it should have.
    pub target: u32,
    /// The units of `target` that each tenant of the report should have. Empty if there are enough
    /// for all.
    pub allotments: Vec<(String, u32)>,
    /// Calls of the other gateways in the last period.
    pub used_by_others: u32,
    /// `true` if gateways need more than there is.
    pub is_contended: bool,
    /// Time for which the first call of the other gateways in a queue has waited.
    pub others_waited: Option<Duration>,
    /// Time until another gateway may give a queue away, if that is known.
    pub free_in: Option<Duration>,
    /// The other gateway that holds a queue. `None` if no other one does, and for a rate limit.
    pub held_by: Option<String>,
    /// `true` if the gateway needs more than it could get.
    pub is_unmet: bool,
}

/// The answer to a gateway in an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Its part of each budget that it reported.
    pub shares: Vec<Share>,
    /// The other gateways that hold units.
    pub others: Vec<Silence>,
}

record! {
    row =>
    /// A row of the shares.
    #[derive(Clone, PartialEq, Eq)]
    pub(super) struct ShareRow {
        pub(super) budget: Budget,
        pub(super) gateway: String,
        pub(super) units: u32 = number(row)?,
        pub(super) used: u32 = number(row)?,
        pub(super) needed: u32 = number(row)?,
        pub(super) wanted: u32 = number(row)?,
        pub(super) tenants: Vec<(String, u32)> = read_tenants(row.read()?)?,
        pub(super) waiting_since_ms: Option<i64>,
        pub(super) free_at_ms: Option<i64>,
        pub(super) gone_after_ms: i64,
    }
}

impl ShareRow {
    pub(super) const COLUMNS: &str = "connector, quota, requests, period_ms, gateway, units, used, needed, wanted, tenants, \
        waiting_since_ms, free_at_ms, gone_after_ms";

    /// The row of a report.
    pub(super) fn of(gateway: &str, report: &ShareReport, now_ms: i64) -> Self {
        Self {
            budget: report.budget.clone(),
            gateway: gateway.to_owned(),
            units: report.units,
            used: report.used,
            needed: report.needed,
            wanted: report.wanted,
            tenants: listed(&report.tenants),
            waiting_since_ms: report.waited.map(|waited| now_ms.saturating_sub(millis(waited))),
            free_at_ms: report.free_in.map(|free_in| now_ms.saturating_add(millis(free_in))),
            gone_after_ms: millis(report.gone_after),
        }
    }
}

/// The tenants that need most, by name.
fn listed(tenants: &[(String, u32)]) -> Vec<(String, u32)> {
    let mut listed = tenants.to_vec();
    listed.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    listed.truncate(MAX_TENANTS);
    listed.sort();
    listed
}

/// Tenants in the text of a column.
pub(super) fn tenants_text(tenants: &[(String, u32)]) -> Stored<Option<String>> {
    match tenants {
        [] => Ok(None),
        _ => serde_json::to_string(tenants).map(Some).map_err(|_| StoreError::Unexpected("tenants have no JSON")),
    }
}

fn read_tenants(text: Option<String>) -> Stored<Vec<(String, u32)>> {
    let Some(text) = text else { return Ok(Vec::new()) };
    serde_json::from_str(&text).map_err(|_| StoreError::Unexpected("a list of tenants is not JSON"))
}

fn number(row: &mut Row) -> Stored<u32> {
    row.read::<i64>().map(|number| u32::try_from(number).unwrap_or_default())
}
