//! The records of budgets.

use std::time::Duration;

use crate::StoreError;
use crate::time::millis;
use crate::value::{FromRow, Row};

/// A rate limit of a connector. Another number or period makes another budget.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Budget {
    /// The connector's identifier.
    pub connector: String,
    /// The name of the rate limit.
    pub quota: String,
    /// Maximum number of calls in a period.
    pub requests: u32,
    /// Length of the period, in whole milliseconds.
    pub period: Duration,
}

/// What a gateway says of its part of a budget.
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
    /// Time after which its units are free if it says nothing more: until it no longer uses them,
    /// and all its calls are older than the period.
    pub gone_after: Duration,
}

/// A gateway that has said nothing for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    /// The id of the gateway.
    pub gateway: String,
    /// The number of its last exchange.
    pub turn: i64,
    /// The time since then, or less.
    pub silent: Duration,
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
    /// Calls of the other gateways in the last period.
    pub used_by_others: u32,
    /// `true` if gateways need more than there is.
    pub is_contended: bool,
    /// `true` if the gateway needs more than it could get.
    pub is_unmet: bool,
}

/// What a gateway is told in an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Its part of each budget that it reported.
    pub shares: Vec<Share>,
    /// The other gateways that hold units.
    pub others: Vec<Silence>,
}

/// A row of the shares.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ShareRow {
    pub(super) budget: Budget,
    pub(super) gateway: String,
    pub(super) units: u32,
    pub(super) used: u32,
    pub(super) needed: u32,
    pub(super) wanted: u32,
    pub(super) gone_after_ms: i64,
}

impl ShareRow {
    pub(super) const COLUMNS: &str =
        "connector, quota, requests, period_ms, gateway, units, used, needed, wanted, gone_after_ms";

    /// The row of a report.
    pub(super) fn of(gateway: &str, report: &ShareReport) -> Self {
        Self {
            budget: report.budget.clone(),
            gateway: gateway.to_owned(),
            units: report.units,
            used: report.used,
            needed: report.needed,
            wanted: report.wanted,
            gone_after_ms: millis(report.gone_after),
        }
    }
}

impl FromRow for ShareRow {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        let number = |row: &mut Row| row.read::<i64>().map(|number| u32::try_from(number).unwrap_or_default());
        Ok(Self {
            budget: Budget {
                connector: row.read()?,
                quota: row.read()?,
                requests: number(row)?,
                period: Duration::from_millis(row.read::<i64>()?.unsigned_abs()),
            },
            gateway: row.read()?,
            units: number(row)?,
            used: number(row)?,
            needed: number(row)?,
            wanted: number(row)?,
            gone_after_ms: row.read()?,
        })
    }
}

impl FromRow for Silence {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self {
            gateway: row.read()?,
            turn: row.read()?,
            silent: Duration::from_millis(row.read::<i64>()?.unsigned_abs()),
        })
    }
}
