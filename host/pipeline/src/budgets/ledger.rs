//! The report of a gateway about its budgets, and the use of the answer.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::LEASE;
use egress::{BudgetGrant, PacedQueue, QUEUE_LEASE, QueueGrant, Quotas};
use store::{Budget, Exchange, Share, ShareReport, Silence, Store, StoreError};

/// Time between two exchanges while gateways need more of a budget than there is.
const WHILE_CONTENDED: Duration = Duration::from_secs(1);

/// The shortest time between two exchanges that no call asks for, however often claims end.
const SOONEST: Duration = Duration::from_millis(250);

/// Time between two exchanges while calls use a budget. Units that calls no longer use are free
/// within this time.
const WHILE_USED: Duration = Duration::from_secs(2);

/// Time between two exchanges of a gateway without calls.
const AT_REST: Duration = Duration::from_secs(5);

/// Silences up to this time are usual, and not reported. A little longer than the time between two
/// exchanges of a gateway at rest.
const USUAL_SILENCE: Duration = Duration::from_millis(5_500);

/// A gateway that holds a queue makes an exchange each second. One that was silent for this time
/// does not respond.
const STUCK: Duration = Duration::from_secs(3);

/// The least that is added to the time after which the units of a silent gateway are free.
const MARGIN: Duration = Duration::from_secs(1);

/// The part of a budget that a gateway without calls would like to have: one of so many units.
const IDLE_PART: u32 = 64;

/// A gateway would like to have this part of its calls in addition: one of so many.
const HEADROOM_PART: u32 = 4;

/// Time from the moment at which a queue may move until it is given away.
const LAG: Duration = Duration::from_millis(50);

/// The budget of a rate limit of a live connector, or the queue of one of its upstreams.
pub struct LiveBudget {
    key: Budget,
    part: Part,
}

/// This gateway's part of a budget.
#[derive(Clone)]
enum Part {
    Calls(egress::Budget),
    Queue(PacedQueue),
}

impl LiveBudget {
    /// The queue of an upstream.
    pub fn of_queue(connector: &str, upstream: &str, queue: PacedQueue) -> Self {
        let (connector, quota) = (connector.to_owned(), upstream.to_owned());
        let key = Budget { connector, quota, requests: 0, period: queue.interval() };
        Self { key, part: Part::Queue(queue) }
    }

    /// The budgets of a connector with these quotas.
    pub fn of(connector: &str, quotas: &Quotas) -> impl Iterator<Item = Self> {
        quotas.budgets().map(move |(quota, budget)| {
            let (connector, quota_name) = (connector.to_owned(), quota.name.clone());
            let key = Budget { connector, quota: quota_name, requests: quota.limit(), period: quota.period };
            Self { key, part: Part::Calls(budget.clone()) }
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
    part: Part,
    is_live: bool,
    /// Gateways needed more than there was, at the last exchange.
    is_contended: bool,
    /// The gateway needed nothing at the last report.
    is_idle: bool,
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
        let reports: Vec<ShareReport> = self.budgets.iter_mut().map(|(budget, known)| known.report(budget)).collect();
        let Some(Exchange { shares, others }) = self.send(reports).await? else { return Ok(WHILE_CONTENDED) };
        self.see(others);
        let mut pause = AT_REST;
        for share in shares {
            let Some(known) = self.budgets.get_mut(&share.budget) else { continue };
            let is_stuck = |holder| self.others.get(holder).is_some_and(|seen: &Seen| seen.silence() > STUCK);
            let is_stuck = share.held_by.as_ref().is_some_and(is_stuck);
            pause = pause.min(known.take(&share, began, is_stuck));
            if !known.is_live && known.is_idle && share.units == 0 {
                self.budgets.remove(&share.budget);
            }
        }
        Ok(pause)
    }

    /// Gives away all units that the last calls have not taken. The units of these calls are free
    /// when the calls are older than a period.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn leave(&mut self) -> Result<(), StoreError> {
        let reports = self.budgets.iter().map(|(budget, known)| known.part.last_report(budget)).collect();
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
        for LiveBudget { key, part } in live {
            let known = Known { part: part.clone(), is_live: false, is_contended: false, is_idle: true };
            let known = self.budgets.entry(key).or_insert(known);
            known.is_live = match (&known.part, &part) {
                (Part::Calls(previous), Part::Calls(budget)) => {
                    // The connector was removed and added again.
                    if !previous.is(budget) {
                        budget.take_over(previous);
                        known.part = part;
                    }
                    true
                }
                // The calls in the queue of a removed connector end first.
                (Part::Queue(previous), Part::Queue(queue)) => previous.is(queue),
                // A queue and a rate limit have different keys.
                (Part::Calls(_), Part::Queue(_)) | (Part::Queue(_), Part::Calls(_)) => false,
            };
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
    /// The report of what the gateway holds and needs.
    fn report(&mut self, budget: &Budget) -> ShareReport {
        let report = self.report_of_part(budget);
        self.is_idle = report.needed == 0;
        report
    }

    fn report_of_part(&mut self, budget: &Budget) -> ShareReport {
        match &self.part {
            Part::Calls(calls) => {
                let report = calls.report();
                let needed = if self.is_live { report.needed } else { report.used };
                let headroom = idle_units(budget.requests).max(report.used / HEADROOM_PART);
                // The shares of tenants matter only while there is not enough for all.
                let is_short = self.is_contended || needed > report.units;
                ShareReport {
                    units: report.units,
                    used: report.used,
                    needed,
                    wanted: if self.is_live { needed.saturating_add(headroom) } else { needed },
                    tenants: if is_short { report.needs } else { Vec::new() },
                    gone_after: LEASE + budget.period + margin(budget),
                    ..nothing(budget)
                }
            }
            Part::Queue(queue) => {
                let report = queue.report();
                let needed = u32::from(report.holds || report.waited.is_some());
                ShareReport {
                    units: u32::from(report.holds),
                    needed,
                    wanted: needed,
                    waited: report.waited,
                    is_known: report.is_known,
                    free_in: report.free_in.filter(|_| report.holds),
                    gone_after: QUEUE_LEASE + budget.period + margin(budget),
                    ..nothing(budget)
                }
            }
        }
    }

    /// Takes the gateway's part after an exchange. `is_stuck` says that another gateway holds the
    /// queue and does not respond. Returns the time until the next exchange.
    fn take(&mut self, share: &Share, began: Instant, is_stuck: bool) -> Duration {
        self.is_contended = share.is_contended;
        match &self.part {
            Part::Calls(calls) => {
                calls.grant(BudgetGrant {
                    units: share.units,
                    target: share.target,
                    allotments: share.allotments.clone(),
                    used_by_others: share.used_by_others,
                    is_contended: share.is_contended,
                    is_unmet: share.is_unmet,
                    until: began + LEASE,
                });
                match () {
                    () if share.is_contended && share.units > 0 => until_less_is_needed(calls),
                    () if share.is_contended || share.units > share.target => WHILE_CONTENDED,
                    () if share.units > idle_units(share.budget.requests) => WHILE_USED,
                    () => AT_REST,
                }
            }
            Part::Queue(queue) => {
                let holds = share.units > 0;
                queue.grant(QueueGrant {
                    holds,
                    may_start: share.target > 0,
                    others_waited: share.others_waited,
                    is_stuck,
                    until: began + QUEUE_LEASE,
                });
                // A queue moves as soon as it may. The gateway that gives it away looks at that
                // time, and the one that waits a little later.
                let next = match holds {
                    true => queue.free_in().map(|free_in| free_in + LAG),
                    false => share.free_in.filter(|free_in| !free_in.is_zero()).map(|free_in| free_in + 2 * LAG),
                };
                match next {
                    Some(next) if share.is_contended => next.min(WHILE_CONTENDED),
                    _ if holds || share.is_contended => WHILE_CONTENDED,
                    _ => AT_REST,
                }
            }
        }
    }
}

impl Part {
    /// Gives everything away but what the last calls need.
    fn last_report(&self, budget: &Budget) -> ShareReport {
        match self {
            Self::Calls(calls) => {
                let report = calls.close();
                let gone_after = report.cooled_in + MARGIN;
                ShareReport { units: report.units, used: report.used, gone_after, ..nothing(budget) }
            }
            Self::Queue(queue) => {
                let report = queue.close();
                let gone_after = QUEUE_LEASE + budget.period + margin(budget);
                ShareReport { units: u32::from(report.holds), gone_after, ..nothing(budget) }
            }
        }
    }
}

/// The report of a gateway that has and needs nothing.
fn nothing(budget: &Budget) -> ShareReport {
    ShareReport {
        budget: budget.clone(),
        units: 0,
        used: 0,
        needed: 0,
        wanted: 0,
        tenants: Vec::new(),
        waited: None,
        is_known: false,
        free_in: None,
        gone_after: MARGIN,
    }
}

/// Added to the time after which the units of a silent gateway are free, because two clocks that do
/// not jump may still run at a slightly different speed.
fn margin(budget: &Budget) -> Duration {
    MARGIN + budget.period / 1_000
}

/// Time until the next exchange of a gateway that holds units of a contended budget. When a tenant
/// has gone, its units are for the others as soon as its claims have ended.
fn until_less_is_needed(calls: &egress::Budget) -> Duration {
    calls.until_claim_ends().map_or(WHILE_CONTENDED, |ends| ends.clamp(SOONEST, WHILE_CONTENDED))
}

/// The units that a gateway without calls would like to have.
fn idle_units(requests: u32) -> u32 {
    requests / IDLE_PART
}
