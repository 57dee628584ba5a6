//! What a gateway reports of its budgets, and what it makes of the answer.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::LEASE;
use egress::{BudgetGrant, Quotas};
use store::{Budget, Exchange, Share, ShareReport, Silence, Store, StoreError};

/// Time between two exchanges while gateways need more of a budget than there is.
const WHILE_CONTENDED: Duration = Duration::from_secs(1);

/// Time between two exchanges while calls use a budget. Units that calls no longer use are free
/// within this time.
const WHILE_USED: Duration = Duration::from_secs(2);

/// Time between two exchanges of a gateway without calls.
const AT_REST: Duration = Duration::from_secs(5);

/// Silences up to this time are usual, and not reported.
const USUAL_SILENCE: Duration = Duration::from_secs(11);

/// Added to the time after which the units of a silent gateway are free, because two clocks that do
/// not jump may still run at a slightly different speed.
const MARGIN: Duration = Duration::from_secs(1);

/// The part of a budget that a gateway without calls would like to have: one of so many units.
const IDLE_PART: u32 = 64;

/// A gateway would like to have this part of its calls in addition: one of so many.
const HEADROOM_PART: u32 = 4;

/// The budget of a rate limit of a live connector.
pub struct LiveBudget {
    key: Budget,
    budget: egress::Budget,
}

impl LiveBudget {
    /// The budgets of a connector with these quotas.
    pub fn of(connector: &str, quotas: &Quotas) -> impl Iterator<Item = Self> {
        quotas.budgets().map(move |(quota, budget)| {
            let (connector, quota_name) = (connector.to_owned(), quota.name.clone());
            let key = Budget { connector, quota: quota_name, requests: quota.limit(), period: quota.period };
            Self { key, budget: budget.clone() }
        })
    }
}

/// The budgets of one gateway.
pub struct Ledger {
    store: Store,
    gateway: String,
    turn: i64,
    budgets: BTreeMap<Budget, Known>,
    others: BTreeMap<String, Seen>,
}

struct Known {
    budget: egress::Budget,
    /// Calls for which units were missing. Half of it is forgotten with each exchange, so that
    /// demand that was refused counts until it comes again.
    missed: u32,
    is_live: bool,
}

/// The last exchange of another gateway that this one has seen.
struct Seen {
    turn: i64,
    /// The silence that the database knew then.
    silent: Duration,
    at: Instant,
}

impl Seen {
    fn silence(&self) -> Duration {
        self.silent + self.at.elapsed()
    }
}

impl Ledger {
    /// The budgets of the gateway with this id, which holds nothing yet.
    pub fn new(store: Store, gateway: String) -> Self {
        Self { store, gateway, turn: 0, budgets: BTreeMap::new(), others: BTreeMap::new() }
    }

    /// Reports what the gateway needs, and takes what it gets. Returns the time until the next
    /// exchange.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn exchange(&mut self, live: Vec<LiveBudget>) -> Result<Duration, StoreError> {
        self.look_at(live);
        let began = Instant::now();
        let reports = self.budgets.iter_mut().map(|(budget, known)| known.report(budget)).collect();
        let Some(Exchange { shares, others }) = self.send(reports).await? else { return Ok(WHILE_CONTENDED) };
        self.see(others);
        let mut pause = AT_REST;
        for share in shares {
            let Some(known) = self.budgets.get(&share.budget) else { continue };
            let Share { budget, units, target, used_by_others, is_contended, is_unmet } = share;
            let until = began + LEASE;
            known.budget.grant(BudgetGrant { units, target, used_by_others, is_unmet, until });
            pause = pause.min(match () {
                () if is_contended || units > target => WHILE_CONTENDED,
                () if units > idle_units(budget.requests) => WHILE_USED,
                () => AT_REST,
            });
            if !known.is_live && units == 0 {
                self.budgets.remove(&budget);
            }
        }
        Ok(pause)
    }

    /// Gives away all units but those of the last calls, which are free when these are older than a
    /// period.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn leave(&mut self) -> Result<(), StoreError> {
        let report = |(budget, known): (&Budget, &Known)| {
            let report = known.budget.close();
            ShareReport {
                budget: budget.clone(),
                units: report.units,
                used: report.used,
                needed: 0,
                wanted: 0,
                gone_after: report.cooled_in + MARGIN,
            }
        };
        let reports = self.budgets.iter().map(report).collect();
        self.send(reports).await.map(drop)
    }

    async fn send(&mut self, reports: Vec<ShareReport>) -> Result<Option<Exchange>, StoreError> {
        self.turn += 1;
        let silences = self
            .others
            .iter()
            .map(|(gateway, seen)| Silence { gateway: gateway.clone(), turn: seen.turn, silent: seen.silence() })
            .filter(|silence| silence.silent > USUAL_SILENCE)
            .collect();
        self.store.exchange_budgets(&self.gateway, self.turn, reports, silences).await
    }

    /// Takes note of the budgets of live connectors.
    fn look_at(&mut self, live: Vec<LiveBudget>) {
        self.budgets.values_mut().for_each(|known| known.is_live = false);
        for LiveBudget { key, budget } in live {
            let known = Known { budget: budget.clone(), missed: 0, is_live: true };
            let known = self.budgets.entry(key).or_insert(known);
            known.is_live = true;
            // The connector was removed and added again.
            if !known.budget.is(&budget) {
                budget.take_over(&known.budget);
                known.budget = budget;
            }
        }
    }

    /// Takes note of the exchanges of other gateways.
    fn see(&mut self, others: Vec<Silence>) {
        let at = Instant::now();
        let mut before = std::mem::take(&mut self.others);
        for Silence { gateway, turn, silent } in others {
            let same = before.remove(&gateway).filter(|seen| seen.turn == turn);
            self.others.insert(gateway, same.unwrap_or(Seen { turn, silent, at }));
        }
    }
}

impl Known {
    fn report(&mut self, budget: &Budget) -> ShareReport {
        let report = self.budget.report();
        self.missed = report.refused.max(self.missed / 2);
        let needed = report.used.saturating_add(if self.is_live { self.missed } else { 0 });
        let headroom = idle_units(budget.requests).max(report.used / HEADROOM_PART);
        ShareReport {
            budget: budget.clone(),
            units: report.units,
            used: report.used,
            needed,
            wanted: if self.is_live { needed.saturating_add(headroom) } else { needed },
            gone_after: LEASE + budget.period + MARGIN + budget.period / 1_000,
        }
    }
}

/// The units that a gateway without calls would like to have.
fn idle_units(requests: u32) -> u32 {
    requests / IDLE_PART
}
