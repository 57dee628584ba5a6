//! One step of work on a subscription: what is due is asked of the service, and everything that was
//! found is stored with the fence of the lease.
//!
//! - here: the step from its beginning to its end
//! - `account`: the account of the subscription, and what it may get at an inbox of an application
//! - `addresses`: the addresses at which the service notifies the gateway
//! - `subscribe`: the subscription at the service
//! - `ending`: the end of what is at the service
//! - `read`: reading what happened there
//! - `newcomers`: triggers that join a subscription with other triggers
//! - `gap`: the messages to receivers about events that cannot be recovered

mod account;
mod addresses;
mod ending;
mod gap;
mod newcomers;
mod read;
mod subscribe;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::call::{Class, RunOf, Standing as Stands};
use super::definition::Definition;
use super::state;
use super::types::TypeOf;
use super::{TriggerError, Triggers};
use contract::trigger_types::TriggerSource;
use store::{Blocked, NewEvent, Standing, Subscription, SubscriptionStep, Told, Trigger, TriggerState};

/// Time between two reads of a subscription that the service notifies, in case a notification was
/// lost.
const SAFETY: Duration = Duration::from_secs(3600);

/// Time until a failed attempt is repeated: the first, and the longest.
const FIRST_DELAY: Duration = Duration::from_secs(15);
const LONGEST_DELAY: Duration = Duration::from_secs(900);

/// The longest time that a service may want to pass before the next attempt.
const LONGEST_LIMIT: Duration = egress::LONGEST_RETRY_AFTER;

/// Time until a step looks again if the user has connected the account.
const USER_DELAY: Duration = Duration::from_secs(60);

/// Time until a step looks again if the connector is back.
const GONE_DELAY: Duration = Duration::from_secs(15);

/// Longest time until the next step of a subscription for which nothing is due.
const IDLE: Duration = Duration::from_secs(6 * 3600);

/// The sealed part of a subscription.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sealed {
    /// The parameters that it covers.
    pub(super) parameters: Value,
    /// The secret of its inbox. Empty for an inbox of an application.
    pub(super) secret: String,
    /// The answer of the operation that identifies the account. Null if it was not asked.
    pub(super) account: Value,
    /// The subscription at the service.
    pub(super) standing: Option<Stands>,
    /// The former subscription, which is to be ended.
    pub(super) former: Option<Stands>,
    /// The address at which the service may have a subscription of which the gateway has no answer.
    pub(super) unanswered: Option<String>,
}

/// A trigger of a subscription, with its type.
struct Member {
    trigger: Trigger,
    definition: Definition,
    kind: TypeOf,
}

/// The work of one step.
struct Step<'a> {
    triggers: &'a Triggers,
    subscription: &'a Subscription,
    members: Vec<Member>,
    sealed: Sealed,
    /// The address of what is at the service, and of what it has replaced.
    address: Option<String>,
    /// See `address`.
    former_address: Option<String>,
    cursor: Value,
    deadline: Instant,
    done: SubscriptionStep,
    /// Events that are stored with the result.
    gaps: Vec<NewEvent>,
    /// Reads in a row without an event.
    empty_reads: u32,
    /// A read is due, whatever its time.
    reads_now: bool,
    /// A read of this step has found everything that there was.
    has_read_all: bool,
    /// The service does not notify of all kinds yet, and is asked again at the next attempt.
    waits_for_kinds: bool,
    /// Set if something is tried again after this time.
    again_in: Option<Duration>,
}

impl Triggers {
    /// One step of work on a subscription whose lease this gateway has. Returns if the subscription
    /// ended at the service, in case it has no triggers any more.
    ///
    /// # Errors
    /// If the store or the vault fails. The lease then ends by itself.
    pub(super) async fn step(
        &self,
        subscription: &Subscription,
        deadline: Instant,
    ) -> Result<Option<bool>, TriggerError> {
        let sealed: Sealed = self.unseal(&Subscription::context(&subscription.id), &subscription.secret).await?;
        if subscription.triggers.is_empty() {
            return self.end(subscription, &sealed, deadline).await;
        }
        let mut members = Vec::with_capacity(subscription.triggers.len());
        for trigger in &subscription.triggers {
            let kind = TypeOf::find(&self.parts.registry, &trigger.connector, &trigger.kind);
            let Some(kind) = kind else { continue };
            let Some(definition) = self.readable(trigger).await? else { continue };
            members.push(Member { trigger: trigger.clone(), definition, kind });
        }
        if members.is_empty() {
            // The connector may be about to be replaced, or it may be at another gateway. Or no
            // trigger can be read, which the log says.
            let reason = Some(format!("the connector `{}` has no such type now", subscription.connector));
            // Without these times, it would never be renewed or read again.
            let left = |at: Option<SystemTime>| {
                at.map(|at| at.duration_since(subscription.now).unwrap_or_default().max(GONE_DELAY))
            };
            let (renew_in, read_in) = (left(subscription.renew_at), left(subscription.read_at));
            let step =
                SubscriptionStep { reason, look_in: GONE_DELAY, renew_in, read_in, ..SubscriptionStep::default() };
            self.parts.store.subscriptions().end_step(subscription, step).await?;
            return Ok(None);
        }
        let cursor = match &subscription.cursor {
            Some(sealed) => self.unseal(&Subscription::cursor_context(&subscription.id), sealed).await?,
            None => Value::Null,
        };
        let mut step = Step {
            triggers: self,
            subscription,
            members,
            sealed,
            address: subscription.address.clone(),
            former_address: subscription.former_address.clone(),
            cursor,
            deadline,
            done: SubscriptionStep { look_in: IDLE, ..SubscriptionStep::default() },
            gaps: Vec::new(),
            empty_reads: subscription.empty_reads,
            reads_now: false,
            has_read_all: false,
            waits_for_kinds: false,
            again_in: None,
        };
        step.work().await?;
        step.tell_missed().await?;
        step.finish().await?;
        Ok(None)
    }

    /// Ends a subscription without triggers: at the service as well as it can, and in the store.
    async fn end(
        &self,
        subscription: &Subscription,
        sealed: &Sealed,
        deadline: Instant,
    ) -> Result<Option<bool>, TriggerError> {
        let Subscription { id, fence, .. } = subscription;
        let mut ended = None;
        // An account that is not identified must not end what an earlier account has at the service.
        let at_service = [&sealed.former, &sealed.standing].into_iter().flatten();
        for standing in at_service.filter(|_| subscription.is_identified) {
            ended = Some(self.end_at_service(subscription, sealed, standing, deadline).await);
        }
        if let Some(address) = sealed.unanswered.as_ref().filter(|_| subscription.is_identified) {
            let is_ended = self.end_unanswered(subscription, sealed, address, deadline).await?;
            ended = Some(is_ended && ended != Some(false));
        }
        if !self.parts.store.subscriptions().delete(id, *fence).await? {
            // A trigger was added meanwhile, unless another gateway has the lease.
            let sealed = Sealed { standing: None, former: None, unanswered: None, ..sealed.clone() };
            let sealed = self.seal(&Subscription::context(id), &sealed).await?;
            self.parts.store.subscriptions().start_over(id, *fence, &sealed).await?;
            self.wake();
        }
        Ok(ended)
    }

    pub(super) async fn definition(&self, trigger: &Trigger) -> Result<Definition, TriggerError> {
        self.unseal(&Trigger::context(&trigger.id), &trigger.definition).await
    }
}

fn run_of<'a>(subscription: &'a Subscription, connector: &'a Arc<registry::Connector>, deadline: Instant) -> RunOf<'a> {
    let Subscription { id, tenant, subject, user_identifier, .. } = subscription;
    RunOf { connector, tenant, subject, user_identifier, request_id: id, deadline }
}

impl Step<'_> {
    async fn work(&mut self) -> Result<(), TriggerError> {
        if (self.subscription.is_ended || self.is_back()) && self.waits_for_user().await? {
            return Ok(());
        }
        // While it waited for the user, no notification was taken.
        self.reads_now = self.is_back();
        if !self.subscription.is_identified && (self.must_wait() || !self.identify().await?) {
            return Ok(());
        }
        self.forget_attempt();
        // Events between the two are then read, and not lost.
        let has_cursor = self.subscription.cursor.is_some();
        if self.reads() && !has_cursor && (self.must_wait() || !self.read_once(true).await?) {
            return Ok(());
        }
        if !self.read_before_notifications().await? || !self.subscribe().await? {
            return Ok(());
        }
        self.end_former().await;
        self.read().await
    }

    fn kind(&self) -> &TypeOf {
        // `step` has found that there is a member.
        &self.members[0].kind
    }

    /// The operation of this role that one of the types names.
    fn operation(&self, role: impl Fn(&contract::Trigger) -> Option<&String>) -> Option<String> {
        self.members.iter().find_map(|member| role(member.kind.declared()).cloned())
    }

    fn run(&self) -> RunOf<'_> {
        run_of(self.subscription, &self.kind().connector, self.deadline)
    }

    /// Returns `true` if the gateway reads: the type is read, or the service does not send its
    /// events.
    fn reads(&self) -> bool {
        self.kind().declared().read.is_some() && (!self.is_carried() || self.standing().is_polled())
    }

    /// Returns `true` if notifications of the service carry the events.
    fn is_carried(&self) -> bool {
        self.kind().declared().source == TriggerSource::Carried
    }

    /// Returns `true` if the subscription has waited for the user.
    fn is_back(&self) -> bool {
        self.subscription.blocked == Some(Blocked::User)
    }

    /// The state at the service, as far as this step knows it.
    fn standing(&self) -> Standing {
        self.done.standing.as_ref().map_or(self.subscription.standing, |(standing, ..)| *standing)
    }

    fn is_paused(&self) -> bool {
        let stands = |member: &Member| matches!(member.trigger.state, TriggerState::Paused | TriggerState::Failed);
        self.members.iter().all(stands)
    }

    fn block(&mut self, blocked: Blocked, look_in: Duration) -> bool {
        self.done.blocked = Some(blocked);
        self.done.look_in = look_in;
        false
    }

    fn stands(&mut self, standing: Standing, kinds: Vec<String>, life: Option<Duration>) -> bool {
        let is_known = self.subscription.standing == standing && standing != Standing::Active;
        if !is_known || self.done.renewed == Some(true) {
            self.done.standing = Some((standing, json!(kinds).to_string(), life));
        }
        true
    }

    fn is_pushed(&self) -> bool {
        match &self.done.standing {
            Some((standing, ..)) => *standing == Standing::Active,
            None => state::is_pushed(self.subscription) && self.done.renewed != Some(false),
        }
    }

    /// Stores the result, and tells the receivers of a change of the state.
    async fn finish(mut self) -> Result<(), TriggerError> {
        if let Some(again_in) = self.again_in {
            self.done.look_in = self.done.look_in.min(again_in);
        }
        let has_failed = self.done.renewed == Some(false)
            || self.done.read == Some(false)
            || self.done.is_held
            || self.waits_for_kinds;
        let settled = match self.done.blocked {
            Some(Blocked::Final) => Some((TriggerState::Failed, self.done.reason.clone())),
            Some(Blocked::User) => None,
            None => {
                let is_settled = self.newcomers_wait().map_or(!has_failed, |wait| !wait);
                is_settled.then_some((TriggerState::Live, None))
            }
        };
        let was = self.members.iter().map(|member| member.trigger.state).collect::<Vec<_>>();
        if let Some((state, reason)) = settled {
            for Member { trigger, .. } in &mut self.members {
                let is_open = matches!(trigger.state, TriggerState::Pending | TriggerState::Live);
                if is_open && (trigger.state != state || trigger.reason != reason) {
                    (trigger.state, trigger.reason) = (state, reason.clone());
                    self.done.settled = Some((state, reason.clone()));
                }
            }
        }
        let (done, gaps) = (std::mem::take(&mut self.done), std::mem::take(&mut self.gaps));
        let subscriptions = self.triggers.parts.store.subscriptions();
        let has_gaps = !gaps.is_empty();
        let now = match has_gaps {
            true => subscriptions.end_step_with(self.triggers.vault().await?, self.subscription, done, gaps).await?,
            false => subscriptions.end_step(self.subscription, done).await?,
        };
        let Some(now) = now else { return Ok(()) };
        if has_gaps {
            self.triggers.parts.webhooks.wake();
            self.triggers.wake_waiting();
        }
        for (member, was) in self.members.iter().zip(was) {
            // A trigger that was just made has its state in the answer to the caller.
            if was != TriggerState::Pending {
                self.tell(member, &now).await?;
            }
        }
        Ok(())
    }

    /// Tells the receivers of a trigger once that it is degraded, that it works again, or that it
    /// ended.
    async fn tell(&self, member: &Member, now: &Subscription) -> Result<(), TriggerError> {
        let trigger = &member.trigger;
        let ways = self.triggers.ways(&member.kind, trigger, Some(now)).await?;
        let state = state::of(trigger, Some(now), ways);
        let (told, kind) = match (state.status, trigger.told_degraded, trigger.told_disabled) {
            ("failed", _, false) => (Told::Disabled, "trigger.disabled"),
            ("degraded" | "needs-user", false, _) => (Told::Degraded, "trigger.degraded"),
            ("active", true, _) => (Told::Recovered, "trigger.recovered"),
            _ => return Ok(()),
        };
        let id = format!("{}/{}", self.subscription.id, self.subscription.fence);
        self.triggers.tell_state(trigger, &member.definition, (told, kind), &id, state.reason.as_deref()).await
    }
}

/// An interval less up to a tenth, which differs from one subscription to the next.
fn jittered(id: &str, interval: Duration) -> Duration {
    interval - interval.mul_f64(fraction(id) / 10.0)
}

/// A number from 0 to 1 that is always the same for an id.
fn fraction(id: &str) -> f64 {
    let hash = id.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
    f64::from(hash) / f64::from(u32::MAX)
}

/// Time until a failed attempt is repeated.
fn delay(class: Class, failures: u32) -> Duration {
    match class {
        Class::Limited(after) => after.clamp(Duration::from_secs(1), LONGEST_LIMIT),
        _ => (FIRST_DELAY * 2_u32.saturating_pow(failures.min(8))).min(LONGEST_DELAY),
    }
}
