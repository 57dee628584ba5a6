//! Events that are sent to receivers of agents.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::{ATTEMPTS, AgentError, AgentWish, NewAgent, read_cursor};
use crate::{Changes, Of, TriggerError, Triggers};
use store::{AgentCursor, AgentPart, DeliveryReport, Trigger, TriggerState};
use webhooks::AgentSecrets;

/// Time for which a receiver that has answered a challenge is not asked again.
const VERIFIED_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// The receiver of an agent.
#[derive(Clone)]
pub struct AgentDelivery {
    /// A URL that webhooks may be sent to.
    pub url: String,
    /// The secret that the agent has given.
    pub secrets: AgentSecrets,
    /// Time until the subscription ends, unless it is renewed.
    pub life: Duration,
    /// `true` if the receiver also gets messages about the subscription itself.
    pub takes_control: bool,
    /// The cursor that the agent knows.
    pub cursor: Option<String>,
}

/// A subscription whose receiver gets events.
pub struct Subscribed {
    /// It ends at this time, unless it is renewed.
    pub expires_at: SystemTime,
    /// Up to here, the receiver has everything.
    pub cursor: String,
    /// `true` if events after the cursor of the agent are not delivered.
    pub truncated: bool,
    /// Says if events were delivered, and how the last attempts ended. `None` for a new subscription.
    pub deliveries: Option<(bool, DeliveryReport)>,
}

/// A trigger whose receiver gets events, and what was delivered before. `None` for a new one.
type Renewed = (Trigger, Option<(bool, DeliveryReport)>);

/// A receiver that is told the end of its subscription.
pub(crate) struct ReceiverOfEnd {
    subscription: String,
    url: String,
    secrets: AgentSecrets,
}

impl Triggers {
    /// Lets a receiver get events. The same again renews the subscription, and replaces the secret.
    ///
    /// # Errors
    /// See [`AgentError`].
    pub async fn subscribe_agent(
        self: &Arc<Self>,
        of: Of<'_>,
        wish: AgentWish,
        receiver: AgentDelivery,
        deadline: Instant,
    ) -> Result<Subscribed, AgentError> {
        let known = receiver.cursor.as_deref().map(read_cursor).transpose()?;
        let (tenant, subject) = of.caller()?;
        let store = &self.parts.store;
        if self.of_agent(of, &wish.id).await?.is_none() {
            // An error in the wish is told before the receiver is asked.
            self.check_wish(of, &wish, deadline).await?;
        }
        if !store.agent_triggers().is_verified_receiver(tenant, subject, &receiver.url).await? {
            self.parts.webhooks.challenge(&wish.id, &receiver.url, &receiver.secrets).await?;
            store.agent_triggers().add_verified_receiver(tenant, subject, &receiver.url, VERIFIED_FOR).await?;
        }
        for _ in 0..ATTEMPTS {
            let renewed = match self.of_agent(of, &wish.id).await? {
                Some(trigger) => self.renew_receiver(of, trigger, &receiver, deadline).await?,
                None => {
                    let AgentDelivery { url, secrets, life, takes_control, .. } = receiver.clone();
                    let agent = NewAgent { id: wish.id.clone(), life, takes_control, secrets: Some(secrets) };
                    let made = self.make_for_agent(of, &wish, vec![url], agent, deadline).await?;
                    made.map(|trigger| (trigger, None))
                }
            };
            let Some((trigger, deliveries)) = renewed else { continue };
            let Some(part) = &trigger.agent else { continue };
            let sequence = store.agent_triggers().delivered_up_to(&trigger.id, "").await?;
            let cursor = AgentCursor { trigger: trigger.id.clone(), sequence }.to_text();
            let truncated = known.as_ref().is_some_and(|known| known.trigger != trigger.id);
            return Ok(Subscribed { expires_at: part.expires_at, cursor, truncated, deliveries });
        }
        Err(TriggerError::Damaged("a trigger of an agent".to_owned()).into())
    }

    /// Renews a subscription, and continues deliveries that were given up. `None` if it has ended.
    async fn renew_receiver(
        self: &Arc<Self>,
        of: Of<'_>,
        trigger: Trigger,
        receiver: &AgentDelivery,
        deadline: Instant,
    ) -> Result<Option<Renewed>, AgentError> {
        let (store, id) = (&self.parts.store, &trigger.id);
        let Some(report) = store.agent_triggers().deliveries(id).await? else { return Ok(None) };
        let Some(former) = store.agent_triggers().receiver(id).await? else { return Ok(None) };
        let former = self.parts.webhooks.agent_secrets(id, &former).await?;
        let secrets = receiver.secrets.clone().after(former, store.database().now().await?.into());
        let sealed = self.seal(&AgentPart::context(id), &secrets).await?;
        if store.agent_triggers().resubscribe(id, receiver.life, receiver.takes_control, sealed).await?.is_none() {
            return Ok(None);
        }
        let was_active = !matches!(trigger.state, TriggerState::Paused | TriggerState::Failed);
        if !was_active {
            self.change(of, id, Changes { paused: Some(false), ..Changes::default() }).await?;
        }
        let Some(trigger) = self.find(of, id).await? else { return Ok(None) };
        self.usable_subscription(of, &trigger, deadline).await?;
        Ok(Some((trigger, Some((was_active, report)))))
    }

    /// Ends a subscription. Returns `false` if the caller has none with this id.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn unsubscribe_agent(
        self: &Arc<Self>,
        of: Of<'_>,
        id: &str,
        deadline: Instant,
    ) -> Result<bool, AgentError> {
        match self.of_agent(of, id).await? {
            Some(trigger) => Ok(self.remove_untold(&trigger.id, deadline).await?.is_some()),
            None => Ok(false),
        }
    }

    /// The receiver that is told if a trigger ends without its agent.
    pub(crate) async fn receiver_of_end(&self, trigger: &Trigger) -> Result<Option<ReceiverOfEnd>, TriggerError> {
        let Some(part) = trigger.agent.as_ref().filter(|part| part.takes_control) else { return Ok(None) };
        let Some(receiver) = self.parts.store.agent_triggers().receiver(&trigger.id).await? else { return Ok(None) };
        let secrets = self.parts.webhooks.agent_secrets(&trigger.id, &receiver).await?;
        let url = self.definition(trigger).await?.urls.into_iter().next();
        Ok(url.map(|url| ReceiverOfEnd { subscription: part.id.clone(), url, secrets }))
    }

    /// Tells a receiver that its subscription was ended.
    pub(crate) fn tell_end(&self, receiver: &ReceiverOfEnd) {
        let ReceiverOfEnd { subscription, url, secrets } = receiver;
        self.parts.webhooks.tell_ended(subscription, url, secrets, "The subscription was ended at the gateway.");
    }
}
