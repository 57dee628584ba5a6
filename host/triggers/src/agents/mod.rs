//! Triggers of agents (the extension `io.modelcontextprotocol/events`). An agent names no trigger:
//! it says what it wants to know of, and the same words lead to the same trigger. A trigger ends if
//! its agent does not ask again in time.
//!
//! - here: the trigger of an agent, from its making to its end
//! - [`polling`]: stored events for agents that poll
//! - [`receivers`]: events that are sent to receivers of agents

mod polling;
mod receivers;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;
use tokio::time::Instant;

pub use self::polling::{AgentPoll, Polled};
pub use self::receivers::{AgentDelivery, Subscribed};

use super::definition::Violations;
use super::types::TypeOf;
use super::{NewTrigger, Of, TriggerError, Triggers};
use store::{AgentCursor, AgentPart, Blocked, NewAgentPart, StoreError, Subscription, Trigger};
use webhooks::{AgentSecrets, ReceiverFailed, WebhookError};

/// Attempts to find or make a trigger that another call makes or ends at the same time.
const ATTEMPTS: usize = 3;

/// The events that an agent wants.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the members of a trigger have the same names")]
pub struct AgentWish {
    /// The subscription, computed from the caller and the other members.
    pub id: String,
    pub connector: String,
    pub kind: String,
    pub parameters: Value,
    pub user_identifier: Option<String>,
}

/// Why an agent gets no events.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The trigger cannot be made or read.
    #[error(transparent)]
    Trigger(#[from] TriggerError),
    /// The service refuses for good. The text says why.
    #[error("the service refuses: {0}")]
    Ended(String),
    /// The receiver did not answer the challenge. The word is one of the extension.
    #[error("the receiver did not answer the challenge: {0}")]
    NotVerified(&'static str),
    /// The origin of the receiver got so many challenges lately.
    #[error("the receiver has got {0} challenges in a minute")]
    TooManyChallenges(u32),
}

impl From<StoreError> for AgentError {
    fn from(error: StoreError) -> Self {
        Self::Trigger(error.into())
    }
}

impl From<WebhookError> for AgentError {
    fn from(error: WebhookError) -> Self {
        Self::Trigger(error.into())
    }
}

impl From<ReceiverFailed> for AgentError {
    fn from(error: ReceiverFailed) -> Self {
        match error {
            ReceiverFailed::Challenge(reason) => Self::NotVerified(reason),
            ReceiverFailed::TooManyChallenges(limit) => Self::TooManyChallenges(limit),
            ReceiverFailed::Failed(error) => error.into(),
        }
    }
}

/// The part of a new trigger that an agent makes.
pub(super) struct NewAgent {
    id: String,
    life: Duration,
    takes_control: bool,
    /// `None` if the agent polls.
    secrets: Option<AgentSecrets>,
}

impl Triggers {
    /// Ends triggers whose agents have not asked again in time. Each gateway does this.
    pub(super) async fn end_expired(&self) -> Result<(), TriggerError> {
        for trigger in self.parts.store.agent_triggers().expired().await? {
            // Another gateway may have ended it, or its agent has just renewed it.
            if self.parts.store.agent_triggers().end(&trigger).await?.is_some() {
                tracing::debug!(trigger, "a trigger has ended, because its agent did not ask again");
            }
        }
        Ok(())
    }

    /// The trigger of a subscription of the caller.
    async fn of_agent(&self, of: Of<'_>, id: &str) -> Result<Option<Trigger>, TriggerError> {
        Ok(self.parts.store.agent_triggers().get(id).await?.filter(|trigger| of.has(trigger)))
    }

    /// Checks what an agent wants, up to its account.
    async fn check_wish(&self, of: Of<'_>, wish: &AgentWish, deadline: Instant) -> Result<(), TriggerError> {
        let (tenant, subject) = of.caller()?;
        let Some(kind) = self.find_type(of, &wish.connector, &wish.kind)? else { return Ok(()) };
        let mut violations = Violations::default();
        violations.check_parameters(&kind.declared().parameters, &wish.parameters)?;
        violations.finish()?;
        self.choose_account(&kind, tenant, subject, wish.user_identifier.as_deref(), deadline).await.map(drop)
    }

    /// Makes a trigger. `None` if another call has just made the same.
    async fn make_for_agent(
        self: &Arc<Self>,
        of: Of<'_>,
        wish: &AgentWish,
        urls: Vec<String>,
        agent: NewAgent,
        deadline: Instant,
    ) -> Result<Option<Trigger>, TriggerError> {
        let AgentWish { connector, kind, parameters, user_identifier, .. } = wish.clone();
        let new = NewTrigger { connector, kind, parameters, urls, ..NewTrigger::default() };
        match self.make(of, user_identifier.as_deref(), new, Some(agent), deadline).await {
            Ok(id) => self.find(of, &id).await,
            Err(TriggerError::Store(StoreError::Duplicate)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The stored form of the part of an agent.
    pub(super) async fn part_of_agent(&self, trigger: &str, agent: NewAgent) -> Result<NewAgentPart, TriggerError> {
        let NewAgent { id, life, takes_control, secrets } = agent;
        let secrets = match secrets {
            Some(secrets) => Some(self.seal(&AgentPart::context(trigger), &secrets).await?),
            None => None,
        };
        Ok(NewAgentPart { id, life, takes_control, secrets })
    }

    /// The subscription of a trigger. `None` for events of the gateway itself.
    ///
    /// # Errors
    /// If the user must connect the account again, or if the service refuses for good.
    async fn usable_subscription(
        &self,
        of: Of<'_>,
        trigger: &Trigger,
        deadline: Instant,
    ) -> Result<Option<Subscription>, AgentError> {
        let (tenant, subject) = of.caller()?;
        let Some(id) = &trigger.subscription else { return Ok(None) };
        let Some(subscription) = self.parts.store.subscriptions().get(id).await? else { return Ok(None) };
        match subscription.blocked {
            Some(Blocked::User) => {
                if let Some(kind) = TypeOf::find(&self.parts.registry, &trigger.connector, &trigger.kind) {
                    let account = Some(trigger.user_identifier.as_str());
                    self.choose_account(&kind, tenant, subject, account, deadline).await?;
                }
            }
            Some(Blocked::Final) => {
                let unknown = || "the service refuses".to_owned();
                return Err(AgentError::Ended(subscription.reason.unwrap_or_else(unknown)));
            }
            None => {}
        }
        Ok(Some(subscription))
    }
}

fn read_cursor(cursor: &str) -> Result<AgentCursor, TriggerError> {
    let wrong = || vec![("/cursor".to_owned(), "Must be the `cursor` of an earlier answer, or null.".to_owned())];
    AgentCursor::read(cursor).ok_or_else(|| TriggerError::Invalid(wrong()))
}
