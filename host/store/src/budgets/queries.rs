//! The exchange by which a gateway returns units of budgets and gets others.

use std::collections::HashMap;
use std::time::Duration;

use database::connection::{Connection, Durability};
use database::time::millis;
use database::value::{Value, values};

use super::fair::{self, Demand};
use super::types::{Budget, Exchange, Share, ShareReport, ShareRow, Silence, tenants_text};
use crate::{Store, Stored};

/// A gateway that was silent for this time needs nothing more than it holds.
const STUCK: Duration = Duration::from_secs(12);

/// A call in a queue waits no more if its gateway was silent for this time. A gateway with such a
/// call makes an exchange each second.
const WAITS_NO_MORE: Duration = Duration::from_secs(5);

/// A gateway without shares that was silent for this time is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Periods after which the units that do not divide go to other gateways and tenants. Each move
/// leaves such a unit unused for up to three seconds.
pub const PERIODS_OF_TURN: i64 = 20;

/// Shares in one statement, so that it has fewer parameters than both databases allow.
const MAX_ROWS: usize = 500;

impl Store {
    /// Stores the shares that a gateway still holds, and gives it what is free and its due. `turn`
    /// grows with each exchange of the gateway. `silences` are the other gateways that have said
    /// nothing since this one saw them first. Shares of budgets that are not reported are dropped.
    ///
    /// Returns `None` and changes nothing if a later exchange of the gateway came before this one.
    ///
    /// # Errors
    /// Fails if the database does not answer. The exchange may still be made: the gateway holds
    /// what it reported, and no more.
    pub async fn exchange_budgets(
        &self,
        gateway: &str,
        turn: i64,
        reports: Vec<ShareReport>,
        silences: Vec<Silence>,
    ) -> Stored<Option<Exchange>> {
        let gateway = gateway.to_owned();
        // A gateway uses what it was given. Another one must not get the same after a crash of the
        // database.
        self.write(Durability::PowerLoss, move |connection| {
            connection.lock("budgets")?;
            let known = connection.execute(
                "INSERT INTO budget_holders (gateway, turn, silent_ms) VALUES ($1, $2, 0) ON CONFLICT (gateway) \
                 DO UPDATE SET turn = excluded.turn, silent_ms = 0 WHERE budget_holders.turn < excluded.turn",
                values![&gateway, turn],
            )?;
            if known == 0 {
                return Ok(None);
            }
            free_shares_of_silent(connection, &silences)?;
            exchange(connection, &gateway, &reports).map(Some)
        })
        .await
    }
}

/// Notes how long gateways have been silent, and frees the shares of those that are gone.
fn free_shares_of_silent(connection: &mut dyn Connection, silences: &[Silence]) -> Stored<()> {
    for Silence { gateway, turn, silent } in silences {
        connection.execute(
            "UPDATE budget_holders SET silent_ms = $3 WHERE gateway = $1 AND turn = $2 AND silent_ms < $3",
            values![gateway, *turn, millis(*silent)],
        )?;
    }
    if silences.is_empty() {
        return Ok(());
    }
    connection.execute(
        "DELETE FROM budget_shares WHERE gone_after_ms <= (SELECT silent_ms FROM budget_holders \
         WHERE budget_holders.gateway = budget_shares.gateway)",
        &[],
    )?;
    connection.run(
        "DELETE FROM budget_holders WHERE silent_ms >= $1 AND gateway NOT IN (SELECT gateway FROM budget_shares)",
        values![millis(FORGOTTEN)],
    )
}

fn exchange(connection: &mut dyn Connection, gateway: &str, reports: &[ShareReport]) -> Stored<Exchange> {
    let others: Vec<Silence> = connection.all(
        "SELECT gateway, turn, silent_ms FROM budget_holders WHERE gateway <> $1 ORDER BY gateway",
        values![gateway],
    )?;
    let rows: Vec<ShareRow> = connection.all(&format!("SELECT {} FROM budget_shares", ShareRow::COLUMNS), &[])?;
    let now_ms: i64 = connection.one("SELECT now_ms()", &[])?;
    let mut of_budget: HashMap<Budget, Vec<ShareRow>> = HashMap::new();
    for mut row in rows {
        let other = others.iter().find(|other| other.gateway == row.gateway);
        let silent = other.map(|other| other.silent).unwrap_or_default();
        if silent >= STUCK {
            (row.needed, row.wanted, row.tenants) = (row.units, row.units, Vec::new());
        }
        if silent >= WAITS_NO_MORE {
            row.waiting_since_ms = None;
        }
        of_budget.entry(row.budget.clone()).or_default().push(row);
    }
    let (mut shares, mut changed, mut dropped) = (Vec::with_capacity(reports.len()), Vec::new(), Vec::new());
    for report in reports {
        let mut rows = of_budget.remove(&report.budget).unwrap_or_default();
        let own = rows.iter().position(|row| row.gateway == gateway);
        let before = own.map(|own| rows.swap_remove(own));
        let mut now = ShareRow::of(gateway, report, now_ms);
        // Units that the others took for gone do not come back.
        now.units = now.units.min(before.as_ref().map_or(0, |row| row.units));
        // A call waits since its first report said so. With a report that comes late, it would seem to
        // have waited for less. If it seems so by more, the clock of the database was set forward.
        let known_since = before.as_ref().and_then(|row| row.waiting_since_ms).filter(|_| report.is_known);
        now.waiting_since_ms = now.waiting_since_ms.map(|since| match known_since {
            Some(known_since) if since.saturating_sub(known_since) <= millis(STUCK) => known_since.min(since),
            _ => since,
        });
        let share = match report.budget.is_queue() {
            true => share_of_queue(&now, &rows, now_ms),
            false => share(now.clone(), rows, now_ms),
        };
        now.units = share.units;
        let is_empty = now.units == 0 && now.needed == 0;
        match before {
            Some(_) if is_empty => dropped.push(now.budget),
            None if is_empty => {}
            before if before.as_ref() == Some(&now) => {}
            _ => changed.push(now),
        }
        shares.push(share);
    }
    dropped.extend(
        of_budget
            .into_iter()
            .filter(|(_, rows)| rows.iter().any(|row| row.gateway == gateway))
            .map(|(budget, _)| budget),
    );
    for Budget { connector, quota, requests, period } in &dropped {
        connection.execute(
            "DELETE FROM budget_shares WHERE connector = $1 AND quota = $2 AND requests = $3 AND period_ms = $4 \
             AND gateway = $5",
            values![connector, quota, *requests, millis(*period), gateway],
        )?;
    }
    for rows in changed.chunks(MAX_ROWS) {
        store(connection, rows)?;
    }
    Ok(Exchange { shares, others })
}

/// The share of a gateway, next to the shares of the other gateways.
fn share(own: ShareRow, others: Vec<ShareRow>, now_ms: i64) -> Share {
    let (budget, kept, own_needed) = (own.budget.clone(), own.units, own.needed);
    let sum = |of: fn(&ShareRow) -> u32| others.iter().fold(0_u32, |sum, row| sum.saturating_add(of(row)));
    let (used_by_others, needed) = (sum(|row| row.used), sum(|row| row.needed).saturating_add(own_needed));
    let free = budget.requests.saturating_sub(sum(|row| row.units).saturating_add(kept));
    // All gateways divide in the same order, so that no unit is due to two of them.
    let gateway = own.gateway.clone();
    let mut rows = others;
    rows.push(own);
    rows.sort_by(|one, other| one.gateway.cmp(&other.gateway));
    let demands: Vec<Demand<'_>> =
        rows.iter().map(|row| Demand { needed: row.needed, wanted: row.wanted, tenants: &row.tenants }).collect();
    let turn = now_ms / millis(budget.period).saturating_mul(PERIODS_OF_TURN).max(1);
    let parts = fair::divide(budget.requests, &demands, usize::try_from(turn).unwrap_or_default());
    let part = rows.iter().zip(parts).find(|(row, _)| row.gateway == gateway).map(|(_, part)| part).unwrap_or_default();
    let units = kept.saturating_add(free.min(part.target.saturating_sub(kept)));
    let is_unmet = own_needed > units;
    let is_contended = is_unmet || needed > budget.requests;
    let allotments = match is_contended {
        true => part.tenants.into_iter().map(|(tenant, units)| (tenant.to_owned(), units)).collect(),
        false => Vec::new(),
    };
    Share {
        budget,
        units,
        target: part.target,
        allotments,
        used_by_others,
        is_contended,
        others_waited: None,
        free_in: None,
        held_by: None,
        is_unmet,
    }
}

/// The share of a gateway in a queue. Calls start in the order of their arrival, so the gateway
/// whose first call has waited for longest is due to hold the queue.
fn share_of_queue(own: &ShareRow, others: &[ShareRow], now_ms: i64) -> Share {
    let since = |row: &ShareRow| row.waiting_since_ms.map(|since| (since, row.gateway.clone()));
    let first_of_others = others.iter().filter_map(since).min();
    let holder = others.iter().find(|row| row.units > 0);
    let is_first = match (since(own), &first_of_others) {
        (Some(own), Some(other)) => own < *other,
        (Some(_), None) => true,
        (None, other) => other.is_none() && own.units > 0,
    };
    let units = own.units.max(u32::from(is_first && holder.is_none()));
    Share {
        budget: own.budget.clone(),
        units,
        target: u32::from(is_first),
        allotments: Vec::new(),
        used_by_others: 0,
        is_contended: first_of_others.is_some() || own.waiting_since_ms.is_some() && units == 0,
        others_waited: first_of_others.map(|(since, _)| between(since, now_ms)),
        free_in: holder.and_then(|row| row.free_at_ms).map(|at| between(now_ms, at)),
        held_by: holder.map(|row| row.gateway.clone()),
        is_unmet: own.waiting_since_ms.is_some() && units == 0,
    }
}

/// The time between two times of the database. Zero if the second one is earlier.
fn between(from_ms: i64, to_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(to_ms.saturating_sub(from_ms)).unwrap_or_default())
}

fn store(connection: &mut dyn Connection, rows: &[ShareRow]) -> Stored<()> {
    let mut parameters: Vec<Value> = Vec::new();
    let places: Vec<String> = rows
        .iter()
        .map(|row| {
            let ShareRow { budget, gateway, units, used, needed, wanted, tenants, .. } = row;
            let Budget { connector, quota, requests, period } = budget;
            let first = parameters.len();
            parameters.extend_from_slice(values![connector, quota, *requests, millis(*period), gateway]);
            parameters.extend_from_slice(values![*units, *used, *needed, *wanted, tenants_text(tenants)?]);
            parameters.extend_from_slice(values![row.waiting_since_ms, row.free_at_ms, row.gone_after_ms]);
            let places: Vec<String> = (first + 1..=parameters.len()).map(|place| format!("${place}")).collect();
            Ok(format!("({})", places.join(", ")))
        })
        .collect::<Stored<_>>()?;
    connection.run(
        &format!(
            "INSERT INTO budget_shares ({}) VALUES {} ON CONFLICT (connector, quota, requests, period_ms, gateway) \
             DO UPDATE SET units = excluded.units, used = excluded.used, needed = excluded.needed, \
             wanted = excluded.wanted, tenants = excluded.tenants, \
             waiting_since_ms = excluded.waiting_since_ms, free_at_ms = excluded.free_at_ms, gone_after_ms = excluded.gone_after_ms",
            ShareRow::COLUMNS,
            places.join(", ")
        ),
        &parameters,
    )
}
