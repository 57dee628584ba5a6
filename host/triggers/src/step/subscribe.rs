//! The subscription at the service: begun, renewed and replaced.

use std::time::{Duration, SystemTime};

use super::{FIRST_DELAY, IDLE, SAFETY, Step, USER_DELAY, delay, fraction};
use crate::call::{AboutSubscription, Class, Failed, RunOf, Standing as Stands};
use crate::deliver::time_of;
use crate::types::inbox_of;
use crate::{TriggerError, Triggers};
use contract::trigger_types::{Handshake, Inbox, InboxScope};
use sandbox::http::Hook;
use store::{Blocked, Standing, Subscription};

/// The least time before the end of a subscription at which it is renewed.
const RESERVE: Duration = Duration::from_secs(600);

/// Time after which the former subscription is ended even if the new one has not notified yet.
const OVERLAP: Duration = Duration::from_secs(600);

impl Step<'_> {
    /// Begins or renews the subscription if that is due. Returns `false` if nothing more can be
    /// done now.
    pub(super) async fn subscribe(&mut self) -> Result<bool, TriggerError> {
        let Some(inbox) = self.subscription.inbox.clone() else {
            return Ok(self.stands(Standing::None, Vec::new(), None));
        };
        let declared = inbox_of(&self.kind().connector, &inbox).cloned();
        let proves = self.operation(|declared| declared.identify.as_ref()).is_some();
        if let Some(inbox) = declared.as_ref().filter(|inbox| proves && inbox.scope == InboxScope::Application) {
            return self.prove(inbox).await;
        }
        let Some(operation) = self.operation(|declared| declared.subscribe.as_ref()) else {
            // The service notifies the application of the operator.
            return Ok(self.stands(Standing::Active, Vec::new(), None));
        };
        let Subscription { standing, renew_at, now, base, .. } = self.subscription;
        let can_notify = self.triggers.public_url().is_some() && self.triggers.has_required_setting(self.kind());
        let Some(inbox) = declared.filter(|_| can_notify) else {
            if !standing.is_polled() {
                self.is_not_notified(Standing::None);
            }
            // The operator may set it up again.
            self.done.renew_in = Some(IDLE);
            return Ok(true);
        };
        let kinds = self.kinds();
        let known: Vec<String> = serde_json::from_str(&self.subscription.kinds).unwrap_or_default();
        // The service knows an address that may not be the gateway's any more.
        let is_moved = base.is_some() && *base != self.triggers.base();
        let can_renew = self.operation(|declared| declared.renew.as_ref()).is_some();
        // Until the next attempt, a step that is due for another reason does not ask again.
        let waits = self.subscription.failed_renewals > 0 && renew_at.is_some_and(|at| at > *now);
        let is_due = match standing {
            Standing::New => !waits || self.is_back(),
            // The service may have ended it while the access had ended.
            Standing::Active if can_renew && self.is_back() => true,
            Standing::Active if is_moved || known != kinds => !waits || self.is_back(),
            // Once in a while, the service may have changed its mind.
            Standing::None | Standing::Lost | Standing::Active => renew_at.is_some_and(|at| at <= *now),
        };
        if !is_due {
            if *standing == Standing::Active && (known != kinds || is_moved) {
                // A trigger that was added is not active before the service notifies this gateway of its
                // kinds.
                self.waits_for_kinds = true;
                self.done.reason = self.subscription.reason.clone();
            }
            self.done.renew_in = renew_at.map(|at| at.duration_since(*now).unwrap_or_default());
            return Ok(true);
        }
        let Some(asked) = self.ask(&operation, &kinds, &inbox, is_moved).await? else { return Ok(false) };
        match asked {
            Ok(stands) => {
                let life = life_of(&stands, self.kind().declared().lifetime_seconds, *now);
                let cursor = stands.cursor.clone().filter(|_| self.cursor.is_null() && !self.is_carried());
                if let Some(cursor) = cursor {
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
            Err(failed) => {
                // An attempt to replace what is at the service leaves it as it is.
                self.forget_attempt();
                let is_in_time = self.not_subscribed(failed);
                self.done.secret =
                    Some(self.triggers.seal(&Subscription::context(&self.subscription.id), &self.sealed).await?);
                Ok(is_in_time)
            }
        }
    }

    /// Asks the service: renews what stands there, or begins anew. `None` if another gateway has the
    /// lease.
    async fn ask(
        &mut self,
        operation: &str,
        kinds: &[String],
        inbox: &Inbox,
        is_moved: bool,
    ) -> Result<Option<Result<Stands, Failed>>, TriggerError> {
        let renew = self.operation(|declared| declared.renew.as_ref());
        let parameters = self.sealed.parameters.clone();
        if let (Some(renew), Some(standing), Standing::Active, false) =
            (renew, self.sealed.standing.clone(), self.subscription.standing, is_moved)
        {
            let about = AboutSubscription {
                upstream_id: Some(&standing.upstream_id),
                state: Some(&standing.state),
                parameters: &parameters,
                kinds: Some(kinds),
            };
            match self.call_at_hook(&renew, &about, inbox).await? {
                Some(Err(Failed { class: Class::Refused(404 | 410), .. })) => {
                    // It is gone, and another one is made.
                    self.sealed.standing = None;
                }
                renewed => return Ok(renewed),
            }
        }
        // The address of the former one is needed for the one that is replaced now.
        if let Some(former) = self.sealed.former.take() {
            self.end_replaced(&former).await;
        }
        let before = self.sealed.unanswered.clone();
        if inbox.scope == InboxScope::Subscription && !self.prepare_address().await? {
            return Ok(None);
        }
        let about = AboutSubscription { upstream_id: None, state: None, parameters: &parameters, kinds: Some(kinds) };
        let Some(asked) = self.call_at_hook(operation, &about, inbox).await? else { return Ok(None) };
        self.sealed.unanswered = match asked.as_ref().err().map(|failed| failed.class) {
            None | Some(Class::Refused(_)) => None,
            // The service has made none now.
            Some(Class::User | Class::Limited(_)) => before,
            Some(Class::Transient) => self.sealed.unanswered.take(),
        };
        let made = match asked {
            Ok(made) => made,
            Err(failed) => return Ok(Some(Err(failed))),
        };
        // The former one ends once the new one notifies, so that nothing is lost between them.
        self.sealed.former = self.sealed.standing.take();
        self.keep_addresses();
        let has_notified_until_now = self.sealed.former.is_some() && !is_moved;
        if self.is_carried() && self.subscription.standing == Standing::Active && !has_notified_until_now {
            self.tell_gap(self.last_known()).await?;
        }
        Ok(Some(Ok(made)))
    }

    /// See [`Triggers::call_at_hook`].
    async fn call_at_hook(
        &self,
        operation: &str,
        about: &AboutSubscription<'_>,
        inbox: &Inbox,
    ) -> Result<Option<Result<Stands, Failed>>, TriggerError> {
        let hook: Option<Hook> = (inbox.scope == InboxScope::Subscription).then(|| self.hook()).flatten();
        self.triggers.call_at_hook(self.subscription, &self.run(), operation, about, (inbox, hook)).await
    }

    /// Notes that the service did not begin or renew the subscription.
    fn not_subscribed(&mut self, Failed { class, detail }: Failed) -> bool {
        self.triggers.count_renewal(&self.subscription.connector, "failed");
        let can_read = self.operation(|declared| declared.read.as_ref()).is_some();
        let is_there = self.sealed.standing.is_some();
        let was_active = self.subscription.standing == Standing::Active || is_there;
        self.done.reason = Some(detail);
        match class {
            Class::User => {
                self.done.renew_in = Some(USER_DELAY);
                return self.block(Blocked::User, USER_DELAY);
            }
            Class::Refused(_) if can_read && !is_there => {
                // The gateway reads instead, and asks again in a while.
                let (standing, again) = match self.subscription.renewed_at {
                    Some(_) => (Standing::Lost, SAFETY),
                    None => (Standing::None, SAFETY * 6),
                };
                self.is_not_notified(standing);
                self.done.renew_in = Some(again);
                return true;
            }
            Class::Refused(403 | 404 | 422) if !was_active => return self.block(Blocked::Final, IDLE),
            Class::Refused(_) | Class::Limited(_) | Class::Transient => {}
        }
        self.done.renewed = Some(false);
        self.done.renew_in = Some(delay(class, self.subscription.failed_renewals));
        if matches!(class, Class::Limited(_)) {
            // The service accepts no read either until then.
            self.holds_next_read(class);
            return false;
        }
        // Meanwhile, the gateway reads.
        can_read
    }

    /// The gateway reads from now on. Notifications that still arrive at the address are not for the
    /// account: events would come twice, or the account may not see them any more.
    fn is_not_notified(&mut self, standing: Standing) {
        self.forget_addresses();
        let was_active = self.subscription.standing == Standing::Active;
        if was_active && self.is_carried() {
            // Events that were notified before must not be read once more, with other ids.
            self.forget_cursor();
        }
        self.reads_now |= was_active;
        self.stands(standing, Vec::new(), None);
    }

    /// Ends the subscription that was replaced, once the new one has notified.
    pub(super) async fn end_former(&mut self) {
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
        self.end_replaced(&former).await;
        self.sealed.former = None;
        self.former_address = None;
        self.keep_addresses();
        let sealed = self.triggers.seal(&Subscription::context(&self.subscription.id), &self.sealed).await;
        // If the vault fails now, the former one is ended once more.
        self.done.secret = sealed.ok();
    }

    /// The kinds of all types, each once, in their order.
    fn kinds(&self) -> Vec<String> {
        kinds_of(self.members.iter().map(|member| member.kind.declared()))
    }
}

impl Triggers {
    /// Calls an operation that tells the service an address. Meanwhile, the service may prove that it
    /// is the gateway's. `None` if another gateway has the lease.
    pub(super) async fn call_at_hook(
        &self,
        subscription: &Subscription,
        run: &RunOf<'_>,
        operation: &str,
        about: &AboutSubscription<'_>,
        (inbox, hook): (&Inbox, Option<Hook>),
    ) -> Result<Option<Result<Stands, Failed>>, TriggerError> {
        let Subscription { id, fence, .. } = subscription;
        let subscriptions = self.parts.store.subscriptions();
        let is_proven = inbox.handshakes.iter().any(|handshake| matches!(handshake, Handshake::EchoQuery(_)));
        if is_proven && !subscriptions.begin_handshake(id, *fence).await? {
            return Ok(None);
        }
        let called = self.call(run, operation, about, hook).await;
        if is_proven && let Err(error) = subscriptions.end_handshake(id, *fence).await {
            tracing::debug!(subscription = id, %error, "the end of the step ends the handshake");
        }
        Ok(Some(called))
    }
}

/// The kinds of these types, each once, in their order.
pub(super) fn kinds_of<'a>(types: impl Iterator<Item = &'a contract::Trigger>) -> Vec<String> {
    let mut kinds: Vec<String> = types.flat_map(|declared| declared.kinds.iter().cloned()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// The life of a subscription from now on. `None` if it does not end.
fn life_of(stands: &Stands, declared: Option<u32>, now: SystemTime) -> Option<Duration> {
    let told = time_of(stands.expires_at.as_deref()).map(|end| end.duration_since(now).unwrap_or_default());
    told.or_else(|| declared.map(|seconds| Duration::from_secs(seconds.into())))
}

/// Time until a subscription is renewed: two thirds of its life less a part that differs from one
/// to the next, and early enough for three attempts. If the clocks of the service and of the
/// database differ by more than its life, it seems to have ended when it is made.
fn renewal_of(id: &str, life: Duration) -> Duration {
    let planned = life * 2 / 3;
    let early = planned.mul_f64(fraction(id) / 10.0);
    (planned - early).min(life.saturating_sub(RESERVE).max(life / 3)).max(FIRST_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_is_renewed_early_enough_for_three_attempts_and_never_without_a_pause() {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        let week = renewal_of("sub", hours(168));
        assert!(week <= hours(112) && week > hours(100), "{week:?}");
        assert_eq!(renewal_of("sub", Duration::from_secs(600)), Duration::from_secs(200));
        assert_eq!(renewal_of("sub", Duration::ZERO), FIRST_DELAY, "the service's clock is behind ours");
    }
}
