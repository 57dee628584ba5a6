//! The subscription at the service: begun, renewed and replaced.

use std::time::{Duration, SystemTime};

use secrecy::SecretString;

use super::{FIRST_DELAY, IDLE, SAFETY, Step, USER_DELAY, delay, fraction};
use crate::TriggerError;
use crate::call::{AboutSubscription, Class, Failed, Standing as Stands};
use crate::deliver::time_of;
use crate::types::inbox_of;
use contract::trigger_types::InboxScope;
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
        if !self
            .triggers
            .parts
            .store
            .subscriptions()
            .begin_handshake(&self.subscription.id, self.subscription.fence)
            .await?
        {
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
        let parameters = self.sealed.parameters.clone();
        self.triggers.unsubscribe(self.subscription, &parameters, &former, self.deadline).await;
        self.sealed.former = None;
        let sealed = self.triggers.seal(&Subscription::context(&self.subscription.id), &self.sealed).await;
        // If the vault fails now, the former one is ended once more.
        self.done.secret = sealed.ok();
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
