//! Finding and changing triggers, and steps of their subscriptions that callers wait for.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::definition::Violations;
use super::record::{AgentTriggerRecord, SubscriptionRecord, TriggerRecord};
use super::state::{self, Ways};
use super::types::TypeOf;
use super::work::LEASE;
use super::{Changes, ListQuery, Listed, Of, TriggerError, Triggers};
use contract::Effect;
use contract::trigger_types::{InboxScope, TriggerSource};
use store::{AuditAction, Subscription, Trigger, TriggerChange, TriggerFilter};

/// The least time between a read that a caller requests and the last one.
const READ_PAUSE: Duration = Duration::from_secs(10);

/// Pages that are read to find one with a trigger in the state that the caller asks for.
const READS_OF_LIST: usize = 10;

/// Time between two attempts to take a lease.
const LEASE_PAUSE: Duration = Duration::from_millis(30);

/// Time that is left of a call for its answer.
const ANSWER: Duration = Duration::from_secs(1);

impl<'a> Of<'a> {
    /// The tenant and the subject of a caller.
    ///
    /// # Errors
    /// For operators, who make no triggers.
    pub(super) fn caller(self) -> Result<(&'a str, &'a str), TriggerError> {
        match self {
            Self::Caller { tenant, subject, .. } => Ok((tenant, subject)),
            Self::Operator => Err(TriggerError::UnknownType("A trigger belongs to a tenant.".to_owned())),
        }
    }

    /// Returns `true` if the caller's key may use a type. Its name counts as the name of an operation.
    pub fn may_use_type(&self, connector: &str, kind: &str) -> bool {
        match self {
            Self::Operator | Self::Caller { limits: None, .. } => true,
            Self::Caller { limits: Some(limits), .. } => limits.admit(connector, kind, Effect::Read).is_ok(),
        }
    }

    /// Returns `true` if the caller may see a trigger.
    pub(super) fn has(&self, trigger: &Trigger) -> bool {
        match self {
            Self::Operator => true,
            Self::Caller { tenant, subject, .. } => {
                trigger.tenant == *tenant
                    && trigger.subject == *subject
                    && self.may_use_type(&trigger.connector, &trigger.kind)
            }
        }
    }
}

impl Triggers {
    /// One step of a subscription, within a call. The rest is done after it. Returns if the
    /// subscription ended at the service: `Some(None)` if nothing was to be ended, and `None` if no
    /// step came to its end in this time.
    pub(super) async fn work_now(
        self: &Arc<Self>,
        id: &str,
        deadline: Instant,
    ) -> Result<Option<Option<bool>>, TriggerError> {
        let end = deadline.checked_sub(ANSWER).unwrap_or(deadline);
        // A step may be at its end, here or at another gateway.
        let subscription = loop {
            match self.parts.store.subscriptions().take_one(id, LEASE).await? {
                Some(subscription) => break subscription,
                None if Instant::now() + LEASE_PAUSE >= end => return Ok(None),
                None if self.parts.store.subscriptions().get(id).await?.is_none() => return Ok(None),
                None => sleep(LEASE_PAUSE).await,
            }
        };
        let this = Arc::clone(self);
        let by = store::Acting::current();
        let work = async move { this.work_on(&subscription, deadline).await };
        let running = self.tasks.spawn(clock::inherit(store::acting(by, work)));
        Ok(timeout_at(end, running).await.ok().and_then(Result::ok).flatten())
    }

    /// The trigger, if the caller has one with this id.
    pub(super) async fn find(&self, of: Of<'_>, id: &str) -> Result<Option<Trigger>, TriggerError> {
        Ok(self.parts.store.triggers().get(id).await?.filter(|trigger| of.has(trigger)))
    }

    /// A trigger. `None` if the caller has none with this id.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn get(&self, of: Of<'_>, id: &str) -> Result<Option<TriggerRecord>, TriggerError> {
        match self.find(of, id).await? {
            Some(trigger) => self.record(of, trigger).await.map(Some),
            None => Ok(None),
        }
    }

    /// A page of triggers.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn list(&self, of: Of<'_>, query: ListQuery) -> Result<Listed, TriggerError> {
        let ListQuery { connector, kind, status, user_identifier, labels, tenant, subject, before, limit } = query;
        let (tenant, subject) = match of {
            Of::Caller { tenant, subject, .. } => (Some(tenant.to_owned()), Some(subject.to_owned())),
            Of::Operator => (tenant, subject),
        };
        let mut listed = Listed { triggers: Vec::new(), next: before };
        for _ in 0..READS_OF_LIST {
            // One more shows if there is a next page.
            let filter = TriggerFilter {
                tenant: tenant.clone(),
                subject: subject.clone(),
                connector: connector.clone(),
                kind: kind.clone(),
                user_identifier: user_identifier.clone(),
                labels: labels.clone(),
                before: listed.next.take(),
                limit: limit + 1,
            };
            let mut found = self.parts.store.triggers().list(filter).await?;
            let is_last = found.len() <= limit as usize;
            found.truncate(limit as usize);
            let place = found.last().map(|trigger| (trigger.created_at, trigger.id.clone()));
            for trigger in found.into_iter().filter(|trigger| of.has(trigger)) {
                let record = self.record(of, trigger).await?;
                if status.as_ref().is_none_or(|wanted| wanted == record.status) {
                    listed.triggers.push(record);
                }
            }
            listed.next = place.filter(|_| !is_last);
            if is_last || !listed.triggers.is_empty() {
                break;
            }
        }
        Ok(listed)
    }

    /// The public form of a trigger.
    async fn record(&self, of: Of<'_>, trigger: Trigger) -> Result<TriggerRecord, TriggerError> {
        let definition = self.definition(&trigger).await?;
        let subscription = match &trigger.subscription {
            Some(id) => self.parts.store.subscriptions().get(id).await?,
            None => None,
        };
        let kind = TypeOf::find(&self.parts.registry, &trigger.connector, &trigger.kind);
        let ways = match &kind {
            Some(kind) => self.ways(kind, &trigger, subscription.as_ref()).await?,
            None => Ways { reads: false, interval: Duration::ZERO, needs_setup: false },
        };
        let state = state::of(&trigger, subscription.as_ref(), ways);
        let stands = subscription.as_ref().filter(|found| found.standing == store::Standing::Active);
        let for_operator = matches!(of, Of::Operator);
        let agent = trigger.agent.map(|part| AgentTriggerRecord {
            subscription_id: part.id,
            expires_at: part.expires_at.into(),
            delivery: if definition.urls.is_empty() { "poll" } else { "webhook" },
        });
        Ok(TriggerRecord {
            agent,
            mode: state::mode(subscription.as_ref(), ways.reads),
            status: state.status,
            reason: state.reason,
            subscription: stands.map(|found| SubscriptionRecord {
                expires_at: found.expires_at.map(Into::into),
                renewed_at: found.renewed_at.map(Into::into),
                last_push_at: found.last_push_at.map(Into::into),
            }),
            last_read_at: subscription.as_ref().and_then(|found| found.last_read_at).map(Into::into),
            next_read_at: subscription.as_ref().filter(|_| ways.reads).and_then(|found| found.read_at).map(Into::into),
            user_identifier: Some(trigger.user_identifier).filter(|named| !named.is_empty()),
            filters: json!(definition.filters),
            response_fields: match definition.response_fields.is_empty() {
                true => Value::Null,
                false => json!(definition.response_fields),
            },
            parameters: definition.parameters,
            urls: definition.urls,
            labels: trigger.labels,
            poll_s: trigger.poll_s,
            last_event_at: trigger.last_event_at.map(Into::into),
            pending_deliveries: trigger.pending_deliveries,
            created_at: trigger.created_at.into(),
            tenant: for_operator.then_some(trigger.tenant),
            subject: for_operator.then_some(trigger.subject),
            id: trigger.id,
            connector: trigger.connector,
            kind: trigger.kind,
        })
    }

    /// How a trigger learns of events, as far as its state depends on it.
    pub(super) async fn ways(
        &self,
        kind: &TypeOf,
        trigger: &Trigger,
        subscription: Option<&Subscription>,
    ) -> Result<Ways, TriggerError> {
        let declared = kind.declared();
        let is_polled = subscription.is_some_and(|found| found.standing.is_polled());
        let application = subscription.and_then(|found| found.inbox.as_ref()).and_then(|name| {
            kind.inboxes().find(|inbox| inbox.name == *name && inbox.scope == InboxScope::Application)
        });
        let needs_setup = match application {
            None => false,
            // It may be gone since the last step, which will look for another way.
            Some(inbox) => !self.is_made(kind, inbox, &trigger.tenant).await?,
        };
        Ok(Ways {
            reads: declared.read.is_some() && (declared.source == TriggerSource::Read || is_polled),
            interval: state::interval(
                trigger.poll_s,
                declared.poll_seconds,
                subscription.map_or(0, |subscription| subscription.empty_reads),
            ),
            needs_setup,
        })
    }

    /// Changes a trigger. Its cursor and its subscription stay.
    ///
    /// # Errors
    /// See [`TriggerError`].
    pub async fn change(&self, of: Of<'_>, id: &str, changes: Changes) -> Result<Option<TriggerRecord>, TriggerError> {
        let Some(trigger) = self.find(of, id).await? else { return Ok(None) };
        let Changes { urls, filters, response_fields, labels, poll_s, paused } = changes;
        let before = self.definition(&trigger).await?;
        let mut definition = before.clone();
        let mut violations = Violations::default();
        if let Some(filters) = &filters {
            definition.filters = violations.read_filters(filters);
        }
        if let Some(fields) = &response_fields {
            definition.response_fields = violations.read_response_fields(fields);
        }
        if let Some(labels) = &labels {
            violations.check_labels(labels);
        }
        violations.check_poll_s(poll_s.flatten());
        if urls.is_some() && trigger.agent.is_some() {
            violations.add(
                "/urls",
                "An agent has made this trigger, with the URL that it subscribed for. Leave the member out.",
            );
        }
        if let Some(urls) = &urls {
            definition.urls.clone_from(urls);
        }
        // A trigger of an earlier version may be larger, and its labels can still change.
        if definition != before {
            violations.check_size(&definition)?;
        }
        violations.finish()?;
        if let Some(urls) = &urls {
            definition.urls = self.parts.webhooks.accept_urls(&trigger.tenant, urls).await?;
        }
        let sealed = match definition == before {
            true => None,
            false => Some(self.seal(&Trigger::context(id), &definition).await?),
        };
        let change = TriggerChange { definition: sealed, labels, poll_s, paused };
        let changed = self.parts.store.triggers().change(id, change).await?;
        // The next turn also sends what was kept during a pause.
        self.wake();
        match changed {
            Some(trigger) => self.record(of, trigger).await.map(Some).map_err(TriggerError::after_change),
            None => Ok(None),
        }
    }

    /// Reads now.
    ///
    /// # Errors
    /// `TooSoon` within 10 s of the last read or while the service wants none, `NothingToRead`, or
    /// if the store fails.
    pub async fn read_now(&self, of: Of<'_>, id: &str) -> Result<Option<()>, TriggerError> {
        let Some(trigger) = self.find(of, id).await? else { return Ok(None) };
        let kind = TypeOf::find(&self.parts.registry, &trigger.connector, &trigger.kind);
        let subscription = match &trigger.subscription {
            Some(id) => self.parts.store.subscriptions().get(id).await?,
            None => None,
        };
        let (Some(kind), Some(subscription)) = (kind, subscription) else { return Err(TriggerError::NothingToRead) };
        let declared = kind.declared();
        let reads = self.ways(&kind, &trigger, Some(&subscription)).await?.reads;
        // No subscription can ask for deliveries that failed at the inbox of an application.
        if !reads && (declared.recover.is_none() || subscription.address.is_none()) {
            return Err(TriggerError::NothingToRead);
        }
        if let Some(wait) = self.parts.store.subscriptions().request_read(&subscription.id, READ_PAUSE).await? {
            return Err(TriggerError::TooSoon(wait));
        }
        self.wake();
        Ok(Some(()))
    }

    /// Makes the subscription of a trigger anew, and reads.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn resubscribe(&self, id: &str) -> Result<Option<TriggerRecord>, TriggerError> {
        let Some(trigger) = self.find(Of::Operator, id).await? else { return Ok(None) };
        if let Some(subscription) = &trigger.subscription {
            self.parts.store.subscriptions().wake(subscription, true).await?;
            self.wake();
            let noted = self.parts.store.audit().note(AuditAction::TriggerResubscribed, id, &trigger.tenant, "").await;
            noted.map_err(|error| TriggerError::from(error).after_change())?;
        }
        self.get(Of::Operator, id).await.map_err(TriggerError::after_change)
    }
}

/// Random bytes in base64url.
pub(super) fn random(bytes: usize) -> Result<String, TriggerError> {
    let mut random = vec![0; bytes];
    SystemRandom::new().fill(&mut random).map_err(|_| TriggerError::Store(store::StoreError::NoRandomness))?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}
