//! One step of work on a subscription: what is due is asked of the service, and everything that was
//! found is stored with the fence of the lease.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::call::{AboutRead, AboutSubscription, Class, Failed, Read, RunOf, Standing as Stands};
use super::definition::Definition;
use super::deliver::{Occurrence, Origin, time_of};
use super::identity::{needs_account, route_of};
use super::state;
use super::types::{TypeOf, inbox_of};
use super::work::LEASE;
use super::{TriggerError, Triggers};
use contract::trigger_types::{InboxScope, TriggerSource};
use hooks::{Subject, conditions_hold, kind_is};
use sandbox::http::Hook;
use store::{Blocked, ReadEvents, Standing, Subscription, SubscriptionStep, Trigger, TriggerState};

/// Events of one read.
const READ_LIMIT: u32 = 100;

/// Reads of one step. More are due at once, after other subscriptions had their turn.
const READS: usize = 20;

/// Time between two reads of a subscription that the service notifies, in case a notification was
/// lost.
const SAFETY: Duration = Duration::from_secs(3600);

/// Time until a failed attempt is repeated: the first, and the longest.
const FIRST_DELAY: Duration = Duration::from_secs(15);
const LONGEST_DELAY: Duration = Duration::from_secs(900);

/// Time until a step looks again if the user has connected the account.
const USER_DELAY: Duration = Duration::from_secs(60);

/// Time until a step looks again if the connector is back.
const GONE_DELAY: Duration = Duration::from_secs(15);

/// Longest time until the next step of a subscription for which nothing is due.
const IDLE: Duration = Duration::from_secs(6 * 3600);

/// The least time before the end of a subscription at which it is renewed.
const RESERVE: Duration = Duration::from_secs(600);

/// Refusals of a read in a row before a trigger has failed.
const REFUSED_READS: u32 = 3;

/// Time after which the former subscription is ended even if the new one has not notified yet.
const OVERLAP: Duration = Duration::from_secs(600);

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
    cursor: Value,
    deadline: Instant,
    done: SubscriptionStep,
    /// A read is due, whatever its time.
    reads_now: bool,
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
        let triggers = self.parts.store.triggers_of(&subscription.id).await?;
        if triggers.is_empty() {
            return self.end(subscription, &sealed, deadline).await;
        }
        let mut members = Vec::with_capacity(triggers.len());
        for trigger in triggers {
            let kind = TypeOf::find(&self.parts.registry, &trigger.connector, &trigger.kind);
            let Some(kind) = kind else { continue };
            let definition = self.definition(&trigger).await?;
            members.push(Member { trigger, definition, kind });
        }
        if members.is_empty() {
            // The connector may be about to be replaced, or it may be at another gateway.
            let reason = Some(format!("the connector `{}` has no such type now", subscription.connector));
            let step = SubscriptionStep { reason, look_in: GONE_DELAY, ..SubscriptionStep::default() };
            self.parts.store.end_step(subscription, step).await?;
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
            cursor,
            deadline,
            done: SubscriptionStep { look_in: IDLE, ..SubscriptionStep::default() },
            reads_now: false,
            again_in: None,
        };
        step.work().await?;
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
        let mut ended = None;
        for standing in [&sealed.former, &sealed.standing].into_iter().flatten() {
            ended = Some(self.unsubscribe(subscription, &sealed.parameters, standing, deadline).await);
        }
        self.parts.store.delete_subscription(&subscription.id, subscription.fence).await?;
        Ok(ended)
    }

    async fn unsubscribe(
        &self,
        subscription: &Subscription,
        parameters: &Value,
        standing: &Stands,
        deadline: Instant,
    ) -> bool {
        let Some(connector) = self.parts.registry.get(&subscription.connector) else { return false };
        let names = |declared: &contract::Trigger| declared.unsubscribe.clone();
        let Some(operation) =
            connector.additions().triggers.iter().filter(|declared| covers(declared, subscription)).find_map(names)
        else {
            return false;
        };
        let about = AboutSubscription {
            upstream_id: Some(&standing.upstream_id),
            state: Some(&standing.state),
            parameters,
            kinds: None,
        };
        let run = run_of(subscription, &connector, deadline);
        match self.call::<Value>(&run, &operation, &about, None).await {
            Ok(_) => true,
            // It is gone already.
            Err(Failed { class: Class::Refused(404 | 410), .. }) => true,
            Err(failed) => {
                let Subscription { id, connector, .. } = subscription;
                tracing::info!(
                    subscription = id,
                    connector,
                    error = failed.detail,
                    "a subscription could not be ended"
                );
                false
            }
        }
    }

    pub(super) async fn definition(&self, trigger: &Trigger) -> Result<Definition, TriggerError> {
        self.unseal(&Trigger::context(&trigger.id), &trigger.definition).await
    }
}

/// Returns `true` if a type of the connector may have this subscription.
fn covers(declared: &contract::Trigger, subscription: &Subscription) -> bool {
    subscription.inbox.as_ref().is_none_or(|inbox| declared.inboxes.contains(inbox))
}

fn run_of<'a>(subscription: &'a Subscription, connector: &'a Arc<registry::Connector>, deadline: Instant) -> RunOf<'a> {
    let Subscription { id, tenant, subject, user_identifier, .. } = subscription;
    RunOf { connector, tenant, subject, user_identifier, request_id: id, deadline }
}

impl Step<'_> {
    async fn work(&mut self) -> Result<(), TriggerError> {
        if !self.subscription.is_identified && !self.identify().await? {
            return Ok(());
        }
        // Events between the two are then read, and not lost.
        if self.reads() && self.subscription.cursor.is_none() && !self.read_once(true).await? {
            return Ok(());
        }
        if !self.subscribe().await? {
            return Ok(());
        }
        self.end_former().await;
        self.read().await
    }

    /// Asks the service whose account it is now. Returns `false` if it does not say.
    async fn identify(&mut self) -> Result<bool, TriggerError> {
        let connector = Arc::clone(&self.kind().connector);
        let inbox = self.subscription.inbox.as_ref().and_then(|name| inbox_of(&connector, name));
        if needs_account(self.kind(), inbox) {
            self.sealed.account = match self.triggers.identify(&self.run()).await {
                Ok(account) => account,
                Err(failed) => {
                    self.not_read(failed);
                    return Ok(false);
                }
            };
        }
        let context = Subscription::context(&self.subscription.id);
        self.done.secret = Some(self.triggers.seal(&context, &self.sealed).await?);
        self.done.identified = Some(inbox.and_then(|inbox| route_of(inbox, &self.sealed.account)));
        Ok(true)
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
        let declared = self.kind().declared();
        declared.read.is_some() && (declared.source == TriggerSource::Read || self.standing() == Standing::None)
    }

    /// The state at the service, as far as this step knows it.
    fn standing(&self) -> Standing {
        self.done.standing.as_ref().map_or(self.subscription.standing, |(standing, ..)| *standing)
    }

    fn is_paused(&self) -> bool {
        let stands = |member: &Member| matches!(member.trigger.state, TriggerState::Paused | TriggerState::Failed);
        self.members.iter().all(stands)
    }

    /// Begins or renews the subscription if that is due. Returns `false` if nothing more can be
    /// done now.
    async fn subscribe(&mut self) -> Result<bool, TriggerError> {
        let Some(inbox) = self.subscription.inbox.clone() else {
            return Ok(self.stands(Standing::None, Vec::new(), None));
        };
        let declared = inbox_of(&self.kind().connector, &inbox).cloned();
        let Some(operation) = self.operation(|declared| declared.subscribe.as_ref()) else {
            // The service notifies the application of the operator.
            return Ok(self.stands(Standing::Active, Vec::new(), None));
        };
        let has_address = self.triggers.public_url().is_some();
        if !has_address || declared.is_none() || !self.triggers.has_required_setting(self.kind()) {
            return Ok(self.stands(Standing::None, Vec::new(), None));
        }
        let kinds = self.kinds();
        let known: Vec<String> = serde_json::from_str(&self.subscription.kinds).unwrap_or_default();
        let Subscription { standing, renew_at, now, base, .. } = self.subscription;
        let is_moved = base.is_some() && *base != self.triggers.base();
        if is_moved {
            // The service knows an address that may not be the gateway's any more.
            self.sealed.former = self.sealed.standing.take();
        }
        let is_due = is_moved
            || match standing {
                Standing::New => true,
                // Once in a while, the service may have changed its mind.
                Standing::None | Standing::Active => renew_at.is_some_and(|at| at <= *now),
            };
        if !is_due && (known == kinds || *standing != Standing::Active) {
            self.done.renew_in = renew_at.map(|at| at.duration_since(*now).unwrap_or_default());
            return Ok(true);
        }
        if !self.triggers.parts.store.begin_handshake(&self.subscription.id, self.subscription.fence).await? {
            return Ok(false);
        }
        let is_of_subscription = declared.is_some_and(|inbox| inbox.scope == InboxScope::Subscription);
        let hook = is_of_subscription.then(|| self.hook()).flatten();
        match self.ask(&operation, &kinds, hook).await {
            Ok(stands) => {
                let life = life_of(&stands, self.kind().declared().lifetime_seconds, *now);
                if let Some(cursor) = stands.cursor.clone().filter(|_| self.cursor.is_null()) {
                    self.store_cursor(cursor, Vec::new()).await?;
                }
                let renew_in = life.map(|life| renewal_of(&self.subscription.id, life));
                self.sealed.standing = Some(stands);
                self.done.secret =
                    Some(self.triggers.seal(&Subscription::context(&self.subscription.id), &self.sealed).await?);
                self.done.renewed = Some(true);
                self.done.base = self.triggers.base();
                self.stands(Standing::Active, kinds, life);
                self.done.renew_in = renew_in;
                self.triggers.count_renewal(&self.subscription.connector, "succeeded");
                // Events from before the service began to notify are read.
                self.reads_now = true;
                Ok(true)
            }
            Err(failed) => Ok(self.not_subscribed(failed)),
        }
    }

    /// Asks the service: renews what stands there, or begins anew.
    async fn ask(&mut self, operation: &str, kinds: &[String], hook: Option<Hook>) -> Result<Stands, Failed> {
        let renew = self.operation(|declared| declared.renew.as_ref());
        let parameters = self.sealed.parameters.clone();
        if let (Some(renew), Some(standing), Standing::Active) =
            (renew, self.sealed.standing.clone(), self.subscription.standing)
        {
            let about = AboutSubscription {
                upstream_id: Some(&standing.upstream_id),
                state: Some(&standing.state),
                parameters: &parameters,
                kinds: Some(kinds),
            };
            match self.triggers.call(&self.run(), &renew, &about, hook.clone()).await {
                // It is gone, and another one is made.
                Err(Failed { class: Class::Refused(404 | 410), .. }) => self.sealed.standing = None,
                renewed => return renewed,
            }
        }
        let about = AboutSubscription { upstream_id: None, state: None, parameters: &parameters, kinds: Some(kinds) };
        let made: Stands = self.triggers.call(&self.run(), operation, &about, hook).await?;
        // The former one ends once the new one notifies, so that nothing is lost between them.
        self.sealed.former = self.sealed.standing.take().or_else(|| self.sealed.former.take());
        Ok(made)
    }

    /// Notes that the service did not begin or renew the subscription.
    fn not_subscribed(&mut self, Failed { class, detail }: Failed) -> bool {
        self.triggers.count_renewal(&self.subscription.connector, "failed");
        let can_read = self.operation(|declared| declared.read.as_ref()).is_some();
        let was_active = self.subscription.standing == Standing::Active;
        self.done.reason = Some(detail);
        match class {
            Class::User => {
                self.done.renew_in = Some(USER_DELAY);
                return self.block(Blocked::User, USER_DELAY);
            }
            Class::Refused(_) if can_read && !was_active => {
                // The gateway reads instead, and asks again in a while.
                self.stands(Standing::None, Vec::new(), None);
                self.done.renew_in = Some(SAFETY * 6);
                return true;
            }
            Class::Refused(403 | 404 | 422) if !was_active => return self.block(Blocked::Final, IDLE),
            Class::Refused(_) | Class::Limited(_) | Class::Transient => {}
        }
        self.done.renewed = Some(false);
        self.done.renew_in = Some(delay(class, self.subscription.failed_renewals));
        // Meanwhile, the gateway reads.
        can_read
    }

    /// Ends the subscription that was replaced, once the new one has notified.
    async fn end_former(&mut self) {
        let Subscription { last_push_at, renewed_at, now, .. } = self.subscription;
        let Some(former) = self.sealed.former.clone() else { return };
        if self.done.renewed == Some(true) {
            self.again_in = Some(OVERLAP);
            return;
        }
        let has_rung = last_push_at.zip(*renewed_at).is_some_and(|(pushed, renewed)| pushed >= renewed);
        let is_over = renewed_at.is_some_and(|at| now.duration_since(at).unwrap_or_default() >= OVERLAP);
        if !has_rung && !is_over {
            self.again_in = Some(OVERLAP);
            return;
        }
        let parameters = self.sealed.parameters.clone();
        self.triggers.unsubscribe(self.subscription, &parameters, &former, self.deadline).await;
        self.sealed.former = None;
        let sealed = self.triggers.seal(&Subscription::context(&self.subscription.id), &self.sealed).await;
        // If the vault fails now, the former one is ended once more.
        self.done.secret = sealed.ok();
    }

    /// Reads if that is due.
    async fn read(&mut self) -> Result<(), TriggerError> {
        if !self.reads() || self.is_paused() {
            return self.recover().await;
        }
        let Subscription { read_at, now, .. } = self.subscription;
        let interval = match self.is_pushed() {
            true => SAFETY,
            false => self.interval(),
        };
        let has_just_begun = self.done.read == Some(true);
        let is_due = self.reads_now || read_at.map_or(!has_just_begun, |at| at <= *now);
        if !is_due {
            let planned = read_at.map(|at| at.duration_since(*now).unwrap_or_default());
            self.done.read_in =
                Some(planned.unwrap_or_else(|| jittered(&self.subscription.id, interval)).min(interval));
            return Ok(());
        }
        let pending = self.triggers.parts.store.pending_events(&self.subscription.tenant).await?;
        if pending >= self.triggers.parts.config.triggers.max_pending_per_tenant {
            self.done.reason = Some("backlog".to_owned());
            self.done.read_in = Some(USER_DELAY);
            return Ok(());
        }
        for _ in 0..READS {
            // The first read may come late, once the service has refused to notify the gateway.
            if !self.read_once(self.cursor.is_null()).await? {
                return Ok(());
            }
            if self.done.read_in.is_none() {
                self.done.read_in = Some(jittered(&self.subscription.id, interval));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Lets the service send again what it could not deliver.
    async fn recover(&mut self) -> Result<(), TriggerError> {
        let Some(operation) = self.operation(|declared| declared.recover.as_ref()) else { return Ok(()) };
        let Subscription { read_at, now, .. } = self.subscription;
        let Some(standing) = self.sealed.standing.clone() else { return Ok(()) };
        self.done.read_in = Some(match read_at {
            Some(at) if at > now => at.duration_since(*now).unwrap_or_default(),
            // The subscription has just begun.
            None => SAFETY,
            Some(_) => {
                let about = AboutSubscription {
                    upstream_id: Some(&standing.upstream_id),
                    state: Some(&standing.state),
                    parameters: &self.sealed.parameters,
                    kinds: None,
                };
                match self.triggers.call::<Value>(&self.run(), &operation, &about, None).await {
                    Ok(_) => self.done.read = Some(true),
                    Err(failed) => self.done.reason = Some(failed.detail),
                }
                SAFETY
            }
        });
        Ok(())
    }

    /// Reads once, and stores events and cursor. `read_in` is zero if more is there, and absent if
    /// not. Returns `false` if the read failed.
    async fn read_once(&mut self, is_first: bool) -> Result<bool, TriggerError> {
        let Some(operation) = self.operation(|declared| declared.read.as_ref()) else { return Ok(true) };
        let about =
            AboutRead { parameters: &self.sealed.parameters, cursor: &self.cursor, hint: None, limit: READ_LIMIT };
        let read: Read = match self.triggers.call(&self.run(), &operation, &about, None).await {
            Ok(read) => read,
            Err(failed) => return Ok(self.not_read(failed)),
        };
        let began = self.subscription.last_read_at;
        let mut events = Vec::new();
        // The first read only finds the cursor that stands for now.
        for event in read.events.iter().filter(|_| !is_first) {
            for member in &self.members {
                let declared = member.kind.declared();
                let is_of_type = declared.source == TriggerSource::Read || kind_is(&declared.kinds, &event.kind);
                let (parameters, account) = (&member.definition.parameters, &self.sealed.account);
                if !is_of_type || !conditions_hold(declared, Subject::Json(event.data.get()), parameters, account) {
                    continue;
                }
                let occurrence = Occurrence {
                    source: "read",
                    id: &event.id,
                    time: time_of(event.time.as_deref()),
                    data: event.data.get(),
                    origin: if self.caught_up() { Origin::CatchUp } else { Origin::Read },
                };
                let Member { trigger, definition, .. } = member;
                events.extend(self.triggers.event_of(trigger, definition, &occurrence).await?);
            }
        }
        if read.gap && !is_first {
            let from = began.map(clock::timestamp::Timestamp::from);
            let data = json!({ "from": from, "to": clock::timestamp::Timestamp::from(clock::now()) });
            for Member { trigger, definition, .. } in &self.members {
                let id = self.cursor.to_string();
                events.push(self.triggers.control_event(trigger, definition, "trigger.gap", &id, &data).await?);
                self.triggers.count_events(&trigger.connector, "gap", 1);
            }
        }
        if !self.store_cursor(read.cursor, events).await? {
            return Ok(false);
        }
        self.done.read = Some(true);
        self.done.read_in = read.more.then_some(Duration::ZERO);
        Ok(true)
    }

    /// Returns `true` if the last reads or renewals have failed.
    fn caught_up(&self) -> bool {
        self.subscription.failed_reads > 0 || self.subscription.failed_renewals > 0
    }

    /// Stores events with the cursor behind them. Returns `false` if another gateway has the lease.
    async fn store_cursor(&mut self, cursor: Value, events: Vec<store::NewEvent>) -> Result<bool, TriggerError> {
        let id = &self.subscription.id;
        let sealed = self.triggers.seal(&Subscription::cursor_context(id), &cursor).await?;
        let has_webhooks = events.iter().any(|event| !event.deliveries.is_empty());
        let read = ReadEvents { cursor: sealed, events };
        let parts = &self.triggers.parts;
        let stored =
            parts.store.store_read(self.triggers.vault().await?, id, self.subscription.fence, read, LEASE).await?;
        let Some(stored) = stored else { return Ok(false) };
        self.triggers.count_events(&self.subscription.connector, "stored", stored);
        self.triggers.wake_waiting();
        if has_webhooks {
            parts.webhooks.wake();
        }
        self.cursor = cursor;
        Ok(true)
    }

    fn not_read(&mut self, Failed { class, detail }: Failed) -> bool {
        self.done.reason = Some(detail);
        match class {
            Class::User => self.block(Blocked::User, USER_DELAY),
            Class::Refused(403 | 404 | 410) if self.subscription.failed_reads + 1 >= REFUSED_READS => {
                self.block(Blocked::Final, IDLE)
            }
            _ => {
                self.done.read = Some(false);
                self.done.read_in = Some(delay(class, self.subscription.failed_reads));
                false
            }
        }
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

    /// The shortest interval of reads that a trigger asks for, or that of the type.
    fn interval(&self) -> Duration {
        let asked = self.members.iter().filter_map(|member| member.trigger.poll_s).min();
        Duration::from_secs(asked.unwrap_or_else(|| self.kind().declared().poll_seconds).into())
    }

    /// The kinds of all types, each once, in their order.
    fn kinds(&self) -> Vec<String> {
        let mut kinds: Vec<String> =
            self.members.iter().flat_map(|member| member.kind.declared().kinds.iter().cloned()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    fn hook(&self) -> Option<Hook> {
        let address = self.subscription.address.as_ref()?;
        let url = self.triggers.hook_url(address)?;
        Some(Hook::new(url, SecretString::from(self.sealed.secret.as_str())))
    }

    /// Stores the result, and tells the receivers of a change of the state.
    async fn finish(mut self) -> Result<(), TriggerError> {
        if let Some(again_in) = self.again_in {
            self.done.look_in = self.done.look_in.min(again_in);
        }
        let (blocked, reason) = (self.done.blocked, self.done.reason.clone());
        let is_settled =
            self.done.blocked.is_none() && self.done.renewed != Some(false) && self.done.read != Some(false);
        let store = &self.triggers.parts.store;
        if !store.end_step(self.subscription, self.done.clone()).await? {
            return Ok(());
        }
        let id = &self.subscription.id;
        if blocked == Some(Blocked::Final) {
            store.settle_triggers(id, TriggerState::Failed, reason).await?;
        } else if is_settled {
            store.settle_triggers(id, TriggerState::Live, None).await?;
        }
        let Some(now) = store.subscription(id).await? else { return Ok(()) };
        let changed = store.triggers_of(id).await?;
        let found = |trigger: &Trigger| self.members.iter().find(|member| member.trigger.id == trigger.id);
        for trigger in &changed {
            if let Some(member) = found(trigger) {
                self.tell(member, trigger, &now).await?;
            }
        }
        Ok(())
    }

    /// Tells the receivers of a trigger once that it is degraded, that it works again, or that it
    /// ended.
    async fn tell(&self, member: &Member, trigger: &Trigger, now: &Subscription) -> Result<(), TriggerError> {
        let ways = self.triggers.ways(&member.kind, trigger, Some(now)).await?;
        // A trigger that was just made has its state in the answer to the caller.
        if member.trigger.state == TriggerState::Pending {
            return Ok(());
        }
        let state = state::of(trigger, Some(now), ways);
        let is_bad = matches!(state.status, "degraded" | "needs-user" | "failed");
        let kind = match (is_bad, trigger.told_degraded, state.status) {
            (true, false, "failed") => "trigger.disabled",
            (true, false, _) => "trigger.degraded",
            (false, true, "active") => "trigger.recovered",
            _ => return Ok(()),
        };
        let Self { triggers, subscription, .. } = self;
        if !triggers.parts.store.tell_degraded(&trigger.id, is_bad).await? {
            return Ok(());
        }
        let data = json!({ "reason": state.reason });
        let id = format!("{}/{}", subscription.id, subscription.fence);
        let event = triggers.control_event(trigger, &member.definition, kind, &id, &data).await?;
        triggers.parts.store.add_events(triggers.vault().await?, vec![event]).await?;
        triggers.parts.webhooks.wake();
        Ok(())
    }
}

/// The life of a subscription from now on. `None` if it does not end.
fn life_of(stands: &Stands, declared: Option<u32>, now: SystemTime) -> Option<Duration> {
    let told = time_of(stands.expires_at.as_deref()).map(|end| end.duration_since(now).unwrap_or_default());
    told.or_else(|| declared.map(|seconds| Duration::from_secs(seconds.into())))
}

/// Time until a subscription is renewed: two thirds of its life less a part that differs from one
/// to the next, and early enough for three attempts.
fn renewal_of(id: &str, life: Duration) -> Duration {
    let planned = life * 2 / 3;
    let early = planned.mul_f64(fraction(id) / 10.0);
    (planned - early).min(life.saturating_sub(RESERVE).max(life / 3))
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
        Class::Limited(after) => after.clamp(Duration::from_secs(1), LONGEST_DELAY * 4),
        _ => (FIRST_DELAY * 2_u32.saturating_pow(failures.min(8))).min(LONGEST_DELAY),
    }
}
