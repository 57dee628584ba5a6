//! Making, changing, finding and deleting triggers.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::call::RunOf;
use super::definition::{Definition, Violations};
use super::identity::{needs_account, route_of};
use super::record::{SubscriptionRecord, TriggerRecord};
use super::state::{self, Ways};
use super::step::Sealed;
use super::types::{GATEWAY_TYPES, TypeOf, is_ready};
use super::work::LEASE;
use super::{Changes, GATEWAY, ListQuery, Listed, NewTrigger, Of, TriggerError, Triggers};
use contract::trigger_types::{Inbox, InboxScope, TriggerSource};
use contract::{AuthScheme, Effect};
use store::{
    AuditAction, Holder, NewSubscription, Subscription, Trigger, TriggerChange, TriggerFilter, new_trigger_id,
};
use webhooks::CallbackError;

/// Random bytes of an address, which are 22 characters, and of a secret.
const ADDRESS_BYTES: usize = 16;
const SECRET_BYTES: usize = 32;

/// The least time between a read that a caller requests and the last one.
const READ_PAUSE: Duration = Duration::from_secs(10);

/// Pages that are read to find one with a trigger in the state that the caller asks for.
const READS_OF_LIST: usize = 10;

/// Time between two attempts to take a lease.
const LEASE_PAUSE: Duration = Duration::from_millis(30);

/// Time that is left of a call for its answer.
const ANSWER: Duration = Duration::from_secs(1);

impl Of<'_> {
    /// Returns `true` if the caller's key may use a type. Its name counts as that of an operation.
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
    /// Makes a trigger. `user_identifier` is the account that the caller names.
    ///
    /// # Errors
    /// See [`TriggerError`].
    pub async fn create(
        self: &Arc<Self>,
        of: Of<'_>,
        user_identifier: Option<&str>,
        new: NewTrigger,
        deadline: Instant,
    ) -> Result<TriggerRecord, TriggerError> {
        let Of::Caller { tenant, subject, .. } = of else {
            return Err(TriggerError::UnknownType("A trigger belongs to a tenant.".to_owned()));
        };
        let kind = self.find_type(of, &new.connector, &new.kind)?;
        let parameters = if new.parameters.is_null() { json!({}) } else { new.parameters };
        let mut violations = Violations::default();
        match &kind {
            Some(kind) => violations.check_parameters(&kind.declared().parameters, &parameters)?,
            None if parameters.as_object().is_none_or(|members| !members.is_empty()) => {
                violations.add("/parameters", "Events of the gateway have no parameters. Leave the member out.");
            }
            None => {}
        }
        let filters = violations.read_filters(&new.filters.unwrap_or_default());
        let response_fields = violations.read_response_fields(&new.response_fields.unwrap_or_default());
        violations.check_labels(&new.labels);
        violations.check_poll_s(new.poll_s);
        violations.finish()?;
        // The URLs are a part of the body; the secret is looked at when everything else is good.
        let urls = match self.parts.webhooks.accept_urls(tenant, &new.urls).await {
            Err(CallbackError::SecretRequired) => None,
            other => Some(other?),
        };

        let account = match &kind {
            Some(kind) => self.choose_account(kind, tenant, subject, user_identifier, deadline).await?,
            None => String::new(),
        };
        let urls = urls.ok_or(CallbackError::SecretRequired)?;

        let id = new_trigger_id()?;
        let definition = Definition { parameters, urls, filters, response_fields };
        let stored = store::NewTrigger {
            definition: self.seal(&Trigger::context(&id), &definition).await?,
            id: id.clone(),
            tenant: tenant.to_owned(),
            subject: subject.to_owned(),
            connector: new.connector,
            kind: new.kind,
            user_identifier: account.clone(),
            labels: new.labels,
            poll_s: new.poll_s,
        };
        let subscription = match &kind {
            Some(kind) => {
                let run = |request_id| RunOf {
                    connector: &kind.connector,
                    tenant,
                    subject,
                    user_identifier: &account,
                    request_id,
                    deadline,
                };
                Some(self.new_subscription(kind, run(&id), &definition.parameters).await?)
            }
            None => None,
        };
        let limit = self.parts.config.triggers.max_per_tenant;
        let subscription = self.parts.store.add_trigger(stored, subscription, limit).await?;
        if let Some(subscription) = subscription {
            self.work_now(&subscription, deadline).await?;
        }
        self.get(of, &id).await?.ok_or_else(|| TriggerError::Damaged("a trigger was not stored".to_owned()))
    }

    /// The type that a caller names. `None` for a type of the gateway itself.
    fn find_type(&self, of: Of<'_>, connector: &str, kind: &str) -> Result<Option<TypeOf>, TriggerError> {
        let may_use = of.may_use_type(connector, kind);
        if may_use && connector == GATEWAY && GATEWAY_TYPES.iter().any(|known| known.name == kind) {
            return Ok(None);
        }
        let found = TypeOf::find(&self.parts.registry, connector, kind).filter(|_| may_use);
        found.map(Some).ok_or_else(|| {
            TriggerError::UnknownType(format!(
                "There is no type `{kind}` of `{connector}`, or your key may not use it; GET /trigger-types lists what is there."
            ))
        })
    }

    /// The account of a new trigger, whose grant has the scopes of the type. Empty if the connector
    /// needs none.
    async fn choose_account(
        &self,
        kind: &TypeOf,
        tenant: &str,
        subject: &str,
        named: Option<&str>,
        deadline: Instant,
    ) -> Result<String, TriggerError> {
        let connector = &kind.connector;
        if matches!(connector.manifest().auth, AuthScheme::None) {
            return Ok(String::new());
        }
        let holder =
            Holder { tenant: tenant.to_owned(), subject: subject.to_owned(), connector: connector.name().to_string() };
        let chosen = timeout_at(deadline, self.parts.integrations.choose(connector, &holder, named)).await;
        let chosen = chosen.map_err(|_| pipeline::Error::StoreTimedOut)?.map_err(pipeline::Error::Access)?;
        let user_identifier = chosen.user_identifier().to_owned();
        let found = self.parts.store.integration(&holder, &user_identifier).await?;
        let granted = found.map(|integration| integration.details.scopes).unwrap_or_default();
        let missing: Vec<String> =
            kind.declared().scopes.iter().filter(|scope| !granted.contains(scope)).cloned().collect();
        if !missing.is_empty() && !granted.is_empty() {
            return Err(TriggerError::ScopesMissing {
                connector: connector.name().to_string(),
                user_identifier,
                scopes: missing,
            });
        }
        Ok(user_identifier)
    }

    /// The subscription that a new trigger needs, unless another trigger has the same.
    async fn new_subscription(
        &self,
        kind: &TypeOf,
        run: RunOf<'_>,
        parameters: &Value,
    ) -> Result<NewSubscription, TriggerError> {
        let declared = kind.declared();
        let inbox = self.choose_inbox(kind, run.tenant).await?;
        let account = match needs_account(kind, inbox) {
            true => self
                .identify(&run)
                .await
                .map_err(|failed| TriggerError::Call(pipeline::Error::ConnectorFault(failed.detail)))?,
            false => Value::Null,
        };
        let route = inbox.and_then(|inbox| route_of(inbox, &account));
        let covered: Map<String, Value> =
            declared.key.iter().filter_map(|name| Some((name.clone(), parameters.get(name)?.clone()))).collect();
        let group = match (declared.source, inbox) {
            // The types of one inbox share what stands at the service.
            (TriggerSource::Carried, Some(inbox)) => format!("inbox {}", inbox.name),
            (TriggerSource::Carried, None) => "inbox".to_owned(),
            (TriggerSource::Read, _) => format!("type {}", declared.name),
        };
        let covered = Value::Object(covered);
        let has_address = inbox.is_some_and(|inbox| inbox.scope == InboxScope::Subscription);
        let (address, secret) = match has_address {
            true => (Some(random(ADDRESS_BYTES)?), random(SECRET_BYTES)?),
            false => (None, String::new()),
        };
        let id = Subscription::new_id()?;
        let sealed = Sealed { parameters: covered.clone(), secret, account, standing: None, former: None };
        Ok(NewSubscription {
            covers: format!("{group}\0{covered}"),
            inbox: inbox.map(|inbox| inbox.name.clone()),
            address,
            route,
            secret: self.seal(&Subscription::context(&id), &sealed).await?,
            id,
        })
    }

    /// The inbox that the service is to notify: the first that works. If none works and nothing can
    /// be read, the first one, which then waits for the operator.
    async fn choose_inbox<'a>(&self, kind: &'a TypeOf, tenant: &str) -> Result<Option<&'a Inbox>, TriggerError> {
        let made = self.parts.store.inboxes().await?;
        let (has_url, has_setting) = (self.public_url().is_some(), self.has_required_setting(kind));
        let works = |inbox: &&Inbox| match inbox.scope {
            InboxScope::Subscription => has_url,
            InboxScope::Application => {
                let is_it = |made: &store::Inbox| {
                    made.connector == **kind.connector.name()
                        && made.inbox == inbox.name
                        && (made.tenant.is_empty() || made.tenant == tenant)
                        && is_ready(inbox, made)
                };
                has_url && has_setting && made.iter().any(is_it)
            }
        };
        let first = kind.inboxes().next().filter(|_| kind.declared().read.is_none());
        Ok(kind.inboxes().find(works).or(first))
    }

    /// One step of a subscription, within a call. The rest is done after it.
    /// Returns if the subscription ended at the service.
    pub(super) async fn work_now(self: &Arc<Self>, id: &str, deadline: Instant) -> Result<Option<bool>, TriggerError> {
        let end = deadline.checked_sub(ANSWER).unwrap_or(deadline);
        // A step may be at its end, here or at another gateway.
        let subscription = loop {
            match self.parts.store.take_subscription(id, LEASE).await? {
                Some(subscription) => break subscription,
                None if Instant::now() + LEASE_PAUSE >= end => return Ok(None),
                None if self.parts.store.subscription(id).await?.is_none() => return Ok(None),
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
        Ok(self.parts.store.trigger(id).await?.filter(|trigger| of.has(trigger)))
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
            let mut found = self.parts.store.triggers(filter).await?;
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
            Some(id) => self.parts.store.subscription(id).await?,
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
        Ok(TriggerRecord {
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
        let is_polled = subscription.is_some_and(|found| found.standing == store::Standing::None);
        let application = subscription.and_then(|found| found.inbox.as_ref()).and_then(|name| {
            kind.inboxes().find(|inbox| inbox.name == *name && inbox.scope == InboxScope::Application)
        });
        let needs_setup = match application {
            None => false,
            Some(inbox) => {
                let is_it = |made: &store::Inbox| {
                    made.connector == trigger.connector
                        && made.inbox == inbox.name
                        && (made.tenant.is_empty() || made.tenant == trigger.tenant)
                        && is_ready(inbox, made)
                };
                !self.parts.store.inboxes().await?.iter().any(is_it)
            }
        };
        Ok(Ways {
            reads: declared.read.is_some() && (declared.source == TriggerSource::Read || is_polled),
            interval: Duration::from_secs(trigger.poll_s.unwrap_or(declared.poll_seconds).into()),
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
        violations.finish()?;
        if let Some(urls) = &urls {
            definition.urls = self.parts.webhooks.accept_urls(&trigger.tenant, urls).await?;
        }
        let sealed = match definition == before {
            true => None,
            false => Some(self.seal(&Trigger::context(id), &definition).await?),
        };
        let waiting = match paused {
            Some(false) => self.waiting(&trigger, &definition).await?,
            _ => Vec::new(),
        };
        let change = TriggerChange { definition: sealed, labels, poll_s, paused };
        let changed = self.parts.store.change_trigger(id, change, waiting, self.vault().await?).await?;
        self.wake();
        self.parts.webhooks.wake();
        match changed {
            Some(trigger) => self.record(of, trigger).await.map(Some),
            None => Ok(None),
        }
    }

    /// Deletes a trigger. Returns if its subscription ended at the service: `Some(None)` if nothing
    /// stood there, or if other triggers share it.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn remove(
        self: &Arc<Self>,
        of: Of<'_>,
        id: &str,
        deadline: Instant,
    ) -> Result<Option<Option<bool>>, TriggerError> {
        if self.find(of, id).await?.is_none() {
            return Ok(None);
        }
        let Some(removed) = self.parts.store.remove_trigger(id).await? else { return Ok(None) };
        let ended = match removed.subscription.filter(|_| removed.is_last) {
            Some(subscription) => self.work_now(&subscription, deadline).await?,
            None => None,
        };
        self.wake();
        Ok(Some(ended))
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
        for trigger in self.parts.store.triggers(filter).await? {
            match self.remove(Of::Operator, &trigger.id, deadline).await? {
                Some(Some(true)) => ended += 1,
                Some(Some(false)) => left += 1,
                Some(None) | None => {}
            }
        }
        Ok((ended, left))
    }

    /// Reads now.
    ///
    /// # Errors
    /// `TooSoon` within 10 s of the last read, `NothingToRead`, or if the store fails.
    pub async fn read_now(&self, of: Of<'_>, id: &str) -> Result<Option<()>, TriggerError> {
        let Some(trigger) = self.find(of, id).await? else { return Ok(None) };
        let kind = TypeOf::find(&self.parts.registry, &trigger.connector, &trigger.kind);
        let subscription = match &trigger.subscription {
            Some(id) => self.parts.store.subscription(id).await?,
            None => None,
        };
        let (Some(kind), Some(subscription)) = (kind, subscription) else { return Err(TriggerError::NothingToRead) };
        let declared = kind.declared();
        let reads = self.ways(&kind, &trigger, Some(&subscription)).await?.reads;
        if !reads && declared.recover.is_none() {
            return Err(TriggerError::NothingToRead);
        }
        let since = |at: SystemTime| subscription.now.duration_since(at).unwrap_or_default();
        if let Some(passed) = subscription.last_read_at.map(since).filter(|passed| *passed < READ_PAUSE) {
            return Err(TriggerError::TooSoon(READ_PAUSE.saturating_sub(passed)));
        }
        self.parts.store.wake_subscription(&subscription.id, false).await?;
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
            self.parts.store.wake_subscription(subscription, true).await?;
            self.parts.store.audit_trigger(AuditAction::TriggerResubscribed, id, &trigger.tenant).await?;
            self.wake();
        }
        self.get(Of::Operator, id).await
    }
}

/// Random bytes in base64url.
pub(super) fn random(bytes: usize) -> Result<String, TriggerError> {
    let mut random = vec![0; bytes];
    SystemRandom::new().fill(&mut random).map_err(|_| TriggerError::Store(store::StoreError::NoRandomness))?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}
