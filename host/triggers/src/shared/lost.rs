//! The accounts that may lack an event. Their receivers learn of the gap, once an hour.

use super::{LONGEST_WAIT, Lost};
use crate::backlog::gap_at;
use crate::identity::is_named;
use crate::step::Sealed;
use crate::types::{TypeOf, inbox_of};
use crate::{TriggerError, Triggers};
use contract::trigger_types::TriggerSource;
use hooks::kind_is;
use store::{SharedNotification, Subscription, Trigger};

/// Subscriptions of one transaction.
const SUBSCRIPTIONS: u32 = 100;

impl Triggers {
    /// Tells the receivers of triggers that they may lack events of the time at which a
    /// notification came. What is read is read once more. Returns `false` if this gateway does not
    /// know yet whose events they are, because the connector is not live. In the end, all are told.
    ///
    /// The conditions of the triggers do not count: a gap must not tell an account that something
    /// has happened where it may see nothing.
    ///
    /// # Errors
    /// If the store or the vault fails. A repetition tells no one twice.
    pub(super) async fn tell_lost(&self, shared: &SharedNotification, lost: &Lost) -> Result<bool, TriggerError> {
        let store = &self.parts.store;
        let Some(made) = store.inboxes().get(&shared.inbox).await? else { return Ok(true) };
        let connector = self.parts.registry.get(&made.connector);
        let inbox = connector.as_ref().and_then(|connector| inbox_of(connector, &made.inbox));
        if inbox.is_none() && shared.age < LONGEST_WAIT {
            return Ok(false);
        }
        let (gap, data) = gap_at(shared.created_at);
        let mut after = String::new();
        loop {
            let subscriptions = store.subscriptions();
            let page =
                subscriptions.at_inbox(&made.connector, &made.inbox, &made.tenant, &after, SUBSCRIPTIONS).await?;
            let Some(last) = page.last() else { return Ok(true) };
            after.clone_from(&last.id);
            let mut gaps = Vec::new();
            for Subscription { id, secret, .. } in &page {
                let sealed: Sealed = self.unseal(&Subscription::context(id), secret).await?;
                let is = |named: &[Option<String>]| inbox.is_some_and(|inbox| is_named(inbox, named, &sealed.account));
                if inbox.is_some() && lost.named.as_ref().is_some_and(|named| !is(named)) {
                    continue;
                }
                if lost.told.as_ref().is_some_and(|told| is(told)) {
                    continue;
                }
                let mut is_read = false;
                for trigger in store.triggers().of(id).await? {
                    match self.lacks(&trigger, lost) {
                        Some(TriggerSource::Carried) => {
                            let Some(definition) = self.readable(&trigger).await? else { continue };
                            gaps.push(self.control_event(&trigger, &definition, "trigger.gap", &gap, &data).await?);
                            self.count_events(&trigger.connector, "gap", 1);
                        }
                        Some(TriggerSource::Read) => is_read = true,
                        None => {}
                    }
                }
                if is_read {
                    store.subscriptions().wake(id, false).await?;
                }
            }
            if !gaps.is_empty() && store.events().add(self.vault().await?, gaps).await? > 0 {
                self.parts.webhooks.wake();
                self.wake_waiting();
            }
        }
    }

    /// How a trigger would have learned of the events. `None` if it lacks none of them.
    fn lacks(&self, trigger: &Trigger, lost: &Lost) -> Option<TriggerSource> {
        let Some(kind) = TypeOf::find(&self.parts.registry, &trigger.connector, &trigger.kind) else {
            return Some(TriggerSource::Carried);
        };
        let declared = kind.declared();
        let is_kind = lost.kind.as_ref().is_none_or(|kind| kind_is(&declared.kinds, kind));
        is_kind.then_some(declared.source)
    }
}
