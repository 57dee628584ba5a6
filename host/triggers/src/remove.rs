//! Deleting triggers.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Of, TriggerError, Triggers};
use store::{Holder, Subscription, TriggerFilter};

impl Triggers {
    /// Deletes a trigger. Returns if its subscription ended at the service: `Some(None)` if nothing
    /// stood there, or if other triggers share it. `Some(Some(false))` if it did not end in this time.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn remove(
        self: &Arc<Self>,
        of: Of<'_>,
        id: &str,
        deadline: Instant,
    ) -> Result<Option<Option<bool>>, TriggerError> {
        let Some(trigger) = self.find(of, id).await? else { return Ok(None) };
        let receiver = self.receiver_of_end(&trigger).await?;
        let removed = self.remove_untold(id, deadline).await?;
        if let Some(receiver) = receiver.filter(|_| removed.is_some()) {
            self.tell_end(&receiver);
        }
        Ok(removed)
    }

    /// The same, without a message to the receiver of an agent.
    pub(super) async fn remove_untold(
        self: &Arc<Self>,
        id: &str,
        deadline: Instant,
    ) -> Result<Option<Option<bool>>, TriggerError> {
        let Some(removed) = self.parts.store.triggers().remove(id).await? else { return Ok(None) };
        let ended = match removed.subscription.filter(|_| removed.is_last) {
            Some(id) => match self.work_now(&id, deadline).await? {
                Some(ended) => ended,
                // It is ended later. The caller must not take it for one that never notified the gateway.
                None => {
                    let left = self.parts.store.subscriptions().get(&id).await?;
                    left.filter(|left| self.may_notify(left)).map(|_| false)
                }
            },
            None => None,
        };
        self.wake();
        Ok(Some(ended))
    }

    /// Returns `true` if the service may notify the gateway until the subscription is ended there.
    fn may_notify(&self, subscription: &Subscription) -> bool {
        let Some(inbox) = &subscription.inbox else { return false };
        let Some(connector) = self.parts.registry.get(&subscription.connector) else { return true };
        let mut types = connector.additions().triggers.iter();
        types.any(|declared| declared.unsubscribe.is_some() && declared.inboxes.contains(inbox))
    }

    /// Deletes the triggers of an account, before the account is deleted. Returns how many
    /// subscriptions ended at the service, and how many did not.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn remove_of_account(
        self: &Arc<Self>,
        holder: &Holder,
        user_identifier: &str,
        deadline: Instant,
    ) -> Result<(usize, usize), TriggerError> {
        let filter = TriggerFilter {
            tenant: Some(holder.tenant.clone()),
            subject: Some(holder.subject.clone()),
            connector: Some(holder.connector.clone()),
            kind: None,
            user_identifier: Some(user_identifier.to_owned()),
            limit: 10_000,
            ..TriggerFilter::default()
        };
        let (mut ended, mut left) = (0, 0);
        for trigger in self.parts.store.triggers().list(filter).await? {
            match self.remove(Of::Operator, &trigger.id, deadline).await? {
                Some(Some(true)) => ended += 1,
                Some(Some(false)) => left += 1,
                Some(None) | None => {}
            }
        }
        Ok((ended, left))
    }
}
