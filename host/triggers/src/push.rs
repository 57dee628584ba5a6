//! Notifications of services, from an address to what they change in the store.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;
use tokio::time::Instant;

use super::definition::Definition;
use super::deliver::{Occurrence, Origin};
use super::shared::{Kept, MAX_SHARED};
use super::step::Sealed;
use super::types::{TypeOf, inbox_of};
use super::{TriggerError, Triggers};
use contract::trigger_types::{Inbox, Lifecycle, TriggerSource};
use hooks::{Item, Items, Meaning, Subject, conditions_hold, kind_is};
use registry::Connector;
use store::{Blocked, InboxSecret, NewEvent, NewShared, PushedEvents, Route, StoredPush, Subscription, Trigger};

/// Time in which the triggers that were found with an address are the present ones. A body may come
/// seconds later.
const FRESH: Duration = Duration::from_secs(1);

/// The inbox at an address, with everything that its checks need.
pub struct InboxAt {
    /// Whose address it is.
    owner: Owner,
    connector: Arc<Connector>,
    /// The declaration of the connector.
    pub inbox: Inbox,
    /// The valid secrets.
    pub secrets: Vec<SecretString>,
    /// The address, as the service knows it.
    pub url: String,
    /// The operator's settings of the connector.
    pub settings: BTreeMap<String, String>,
    /// `true` while the service may prove that the address is the gateway's.
    pub is_waiting: bool,
    /// The account of the subscription, as the service names it. Null at an inbox of an application.
    account: Value,
    /// Time at which it was read.
    read_at: Instant,
}

enum Owner {
    Application(Box<store::Inbox>),
    Subscription(Box<Subscription>),
    /// The address belongs to the subscription that this one has replaced.
    Former(Box<Subscription>),
}

/// The outcome of a request with verified notifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The outcomes, each once, with the kind of the first notification and the number of new
    /// events.
    pub outcomes: Vec<Outcome>,
}

/// One outcome among the notifications of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// As records name it.
    pub name: &'static str,
    /// Why it was ignored.
    pub reason: Option<&'static str>,
    /// The kind of the first notification.
    pub kind: Option<String>,
    /// Events that were new.
    pub events: u64,
}

impl InboxAt {
    /// The id of the inbox or of the subscription.
    pub fn id(&self) -> &str {
        match &self.owner {
            Owner::Application(inbox) => &inbox.id,
            Owner::Subscription(subscription) | Owner::Former(subscription) => &subscription.id,
        }
    }

    /// The identifier of the connector.
    pub fn connector(&self) -> &str {
        self.connector.name()
    }
}

/// The triggers of a subscription.
struct Members {
    /// The account of the subscription, as the service names it.
    account: Value,
    triggers: Vec<Member>,
}

/// A trigger, with its type.
struct Member {
    trigger: Trigger,
    definition: Definition,
    kind: TypeOf,
}

/// The notifications of one request, with what they change.
#[derive(Default)]
struct Batch {
    pushed: PushedEvents,
    outcomes: Vec<Outcome>,
    about: BTreeMap<String, bool>,
    /// The notifications of a batch are for few subscriptions, and each is read once.
    members: BTreeMap<String, Members>,
}

impl Batch {
    /// Notes an outcome, unless it is known.
    fn add(&mut self, name: &'static str, reason: Option<&'static str>, kind: Option<&str>) {
        if !self.outcomes.iter().any(|known| known.name == name) {
            self.outcomes.push(Outcome { name, reason, kind: kind.map(str::to_owned), events: 0 });
        }
    }
}

/// A notification, with what it changes.
#[derive(Default)]
struct Found {
    events: Vec<NewEvent>,
    about: BTreeMap<String, bool>,
    renewed_now: Vec<String>,
}

impl Triggers {
    /// The inbox at an address. `None` if no one has it, or if its connector no longer declares it.
    ///
    /// # Errors
    /// `Starting` if its connector is not loaded yet, or if the store or the vault fails.
    pub async fn inbox_at(&self, address: &str) -> Result<Option<InboxAt>, TriggerError> {
        let store = &self.parts.store;
        if let Some(subscription) = store.subscriptions().at(address).await? {
            let sealed: Sealed = self.unseal(&Subscription::context(&subscription.id), &subscription.secret).await?;
            let Sealed { secret, account, .. } = sealed;
            let name = subscription.inbox.clone().unwrap_or_default();
            let is_former = subscription.address.as_deref() != Some(address);
            let is_waiting = subscription.shakes_hands && !is_former;
            let secrets = vec![SecretString::from(secret)];
            let connector = subscription.connector.clone();
            let owner = match is_former {
                true => Owner::Former(Box::new(subscription)),
                false => Owner::Subscription(Box::new(subscription)),
            };
            let found = self.at(owner, &connector, &name, secrets, address, is_waiting)?;
            return Ok(found.map(|found| InboxAt { account, ..found }));
        }
        let Some(found) = store.inboxes().at(address).await? else { return Ok(None) };
        let mut secrets = Vec::with_capacity(found.secrets.len());
        for InboxSecret { id, secret, .. } in &found.secrets {
            let text = self.parts.vault.unseal_text(&InboxSecret::context(id), secret).await?;
            secrets.push(text.map_err(|error| TriggerError::Damaged(error.to_string()))?);
        }
        let (connector, name) = (found.connector.clone(), found.inbox.clone());
        self.at(Owner::Application(Box::new(found)), &connector, &name, secrets, address, false)
    }

    fn at(
        &self,
        owner: Owner,
        connector: &str,
        name: &str,
        secrets: Vec<SecretString>,
        address: &str,
        is_waiting: bool,
    ) -> Result<Option<InboxAt>, TriggerError> {
        let registry = &self.parts.registry;
        let Some(connector) = registry.get(connector) else {
            // Some services take an address that refuses for dead.
            return match registry.may_become_live(connector) {
                true => Err(TriggerError::Starting(connector.to_owned())),
                false => Ok(None),
            };
        };
        let Some(inbox) = inbox_of(&connector, name).cloned() else { return Ok(None) };
        let settings =
            connector.settings().iter().map(|(name, json)| (name.clone(), hooks::setting_text(json))).collect();
        let url = self.hook_url(address).unwrap_or_default();
        let (account, read_at) = (Value::Null, Instant::now());
        Ok(Some(InboxAt { owner, connector, inbox, secrets, url, settings, is_waiting, account, read_at }))
    }

    /// Stores what verified notifications change: events with what keeps them from being stored
    /// twice, and their webhooks, or that a subscription is to be read. Everything is stored when
    /// this returns.
    ///
    /// # Errors
    /// If the store or the vault fails. Nothing is stored then.
    pub async fn accept(&self, at: &InboxAt, items: &Items) -> Result<Accepted, TriggerError> {
        let mut batch = Batch::default();
        match &at.owner {
            Owner::Application(inbox) => batch.pushed.inbox = Some(inbox.id.clone()),
            Owner::Former(_) => batch.pushed.is_former = true,
            Owner::Subscription(_) => {}
        }
        for item in &items.items {
            self.take_in(at, item, &mut batch).await?;
        }
        if items.items.is_empty() {
            batch.add("ignored", items.ignored.first().map(|reason| reason.reason()), None);
        }
        self.store_batch(at, batch).await
    }

    /// Adds one notification to a batch.
    async fn take_in(&self, at: &InboxAt, item: &Item, batch: &mut Batch) -> Result<(), TriggerError> {
        let kind = Some(item.kind.as_str()).filter(|kind| !kind.is_empty());
        let mut is_shared = false;
        if item.meaning == Meaning::Event {
            let shared = self.shared(at, item).await?;
            // It is kept, and perhaps another account gets its event.
            is_shared = shared.is_some();
            batch.pushed.shared.extend(shared);
        } else if let Some(lost) = self.lost(at, item).await? {
            batch.pushed.shared.push(lost);
            batch.add("stored", None, kind);
            return Ok(());
        }
        let subscriptions = self.subscriptions_of(at, item).await?;
        if subscriptions.is_empty() {
            batch.add(if is_shared { "stored" } else { "unattributed" }, None, kind);
            return Ok(());
        }
        let mut found = Found::default();
        for subscription in &subscriptions {
            self.take(at, item, subscription, &mut batch.members, &mut found).await?;
        }
        let is_event = !found.events.is_empty() || found.about.values().any(|is_read| *is_read);
        match item.meaning {
            Meaning::Ignored => batch.add("ignored", Some("no-event"), kind),
            Meaning::Lifecycle(_) => batch.add("stored", None, kind),
            Meaning::Event if is_event || is_shared => batch.add("stored", None, kind),
            Meaning::Event => batch.add("ignored", Some("no-trigger"), kind),
        }
        for (id, is_read) in found.about {
            *batch.about.entry(id).or_default() |= is_read;
        }
        batch.pushed.events.extend(found.events);
        batch.pushed.renewed_now.extend(found.renewed_now);
        Ok(())
    }

    /// Stores a batch, and wakes those who work on what it has stored.
    async fn store_batch(&self, at: &InboxAt, batch: Batch) -> Result<Accepted, TriggerError> {
        let Batch { mut pushed, mut outcomes, about, members: _ } = batch;
        pushed.about = about.into_iter().collect();
        let (offered, is_due) = (pushed.events.len(), pushed.about.iter().any(|(_, is_read)| *is_read));
        let is_due = is_due || !pushed.renewed_now.is_empty();
        let has_webhooks = pushed.events.iter().any(|event| !event.deliveries.is_empty());
        pushed.max_pending = self.parts.config.triggers.max_pending_per_tenant;
        pushed.max_shared = MAX_SHARED;
        let StoredPush { stored, dropped } =
            self.parts.store.subscriptions().store_pushed(self.vault().await?, pushed).await?;
        self.tell_dropped(&dropped).await?;
        self.count_events(at.connector(), "stored", stored);
        self.count_events(at.connector(), "duplicate", (offered as u64).saturating_sub(stored + dropped.len() as u64));
        if is_due {
            self.wake();
        }
        if has_webhooks {
            self.parts.webhooks.wake();
        }
        self.wake_waiting();
        for outcome in outcomes.iter_mut().filter(|outcome| outcome.name == "stored") {
            outcome.events = stored;
            if stored == 0 && !dropped.is_empty() {
                (outcome.name, outcome.reason) = ("ignored", Some("tenant-full"));
            } else if offered > 0 && stored == 0 && !is_due {
                outcome.name = "duplicate";
            }
        }
        Ok(Accepted { outcomes })
    }

    /// The subscriptions that a notification is for, with their triggers.
    async fn subscriptions_of<'a>(
        &self,
        at: &'a InboxAt,
        item: &Item,
    ) -> Result<Vec<Cow<'a, Subscription>>, TriggerError> {
        match &at.owner {
            // An account whose access has ended gets nothing. What it misses is told once it is
            // back.
            Owner::Subscription(subscription) | Owner::Former(subscription)
                if subscription.blocked == Some(Blocked::User) =>
            {
                Ok(Vec::new())
            }
            Owner::Subscription(subscription) | Owner::Former(subscription) => Ok(vec![Cow::Borrowed(&**subscription)]),
            Owner::Application(inbox) => {
                let Some(values) = &item.accounts else { return Ok(Vec::new()) };
                let route = Route::of(values);
                let subscriptions = self.parts.store.subscriptions();
                let found = subscriptions.on_route(at.connector(), &inbox.inbox, &inbox.tenant, &route);
                Ok(found.await?.into_iter().map(Cow::Owned).collect())
            }
        }
    }

    /// The changes that one notification makes for one subscription.
    async fn take(
        &self,
        at: &InboxAt,
        item: &Item,
        subscription: &Subscription,
        members: &mut BTreeMap<String, Members>,
        found: &mut Found,
    ) -> Result<(), TriggerError> {
        let id = &subscription.id;
        let about = found.about.entry(id.clone()).or_default();
        match item.meaning {
            Meaning::Lifecycle(Lifecycle::Read) => {
                *about = true;
                return Ok(());
            }
            Meaning::Lifecycle(Lifecycle::Reauthorize | Lifecycle::Recreate | Lifecycle::Gone) => {
                *about = true;
                found.renewed_now.push(id.clone());
                return Ok(());
            }
            // A former subscription ends once the new one has notified.
            Meaning::Ignored => return Ok(()),
            Meaning::Event => {}
        }
        if !members.contains_key(id) {
            members.insert(id.clone(), self.members_of(at, subscription).await?);
        }
        let Some(members) = members.get(id) else { return Ok(()) };
        let mut reads = false;
        let mut events = Vec::new();
        for Member { trigger, definition, kind } in &members.triggers {
            let declared = kind.declared();
            if !kind_is(&declared.kinds, &item.kind) {
                continue;
            }
            if declared.source == TriggerSource::Read {
                reads = true;
                continue;
            }
            if !conditions_hold(declared, Subject::Item(item), &definition.parameters, &members.account) {
                continue;
            }
            let occurrence = Occurrence {
                source: &at.inbox.name,
                id: &item.key,
                time: item.time,
                data: item.data(),
                origin: Origin::Push,
            };
            events.extend(self.event_of(trigger, definition, &occurrence).await?);
        }
        *found.about.entry(id.clone()).or_default() |= reads;
        found.events.extend(events);
        Ok(())
    }

    /// The triggers of a subscription, and its account.
    async fn members_of(&self, at: &InboxAt, subscription: &Subscription) -> Result<Members, TriggerError> {
        let id = &subscription.id;
        let (account, is_fresh) = match &at.owner {
            Owner::Application(_) => {
                let sealed: Sealed = self.unseal(&Subscription::context(id), &subscription.secret).await?;
                (sealed.account, true)
            }
            Owner::Subscription(_) | Owner::Former(_) => (at.account.clone(), at.read_at.elapsed() < FRESH),
        };
        let found = match is_fresh {
            true => subscription.triggers.clone(),
            false => self.parts.store.triggers().of(id).await?,
        };
        let mut triggers = Vec::with_capacity(found.len());
        for trigger in found {
            let Some(kind) = TypeOf::find(&self.parts.registry, &trigger.connector, &trigger.kind) else { continue };
            let Some(definition) = self.readable(&trigger).await? else { continue };
            triggers.push(Member { trigger, definition, kind });
        }
        Ok(Members { account, triggers })
    }

    /// The notification as it is kept, if the service must be asked who else sees it.
    async fn shared(&self, at: &InboxAt, item: &Item) -> Result<Option<NewShared>, TriggerError> {
        let Owner::Application(inbox) = &at.owner else { return Ok(None) };
        if at.inbox.visibility.is_none() || !self.has_app_token(at.connector()) {
            return Ok(None);
        }
        let (id, body) = self.keep(inbox, item, &Kept::of(item)).await?;
        let instead = Some(self.keep(inbox, item, &Kept::instead_of(item)).await?);
        Ok(Some(NewShared { id, inbox: inbox.id.clone(), body, instead }))
    }

    /// The notification as it is kept, if it says that events of an application's accounts were
    /// lost. It may be about many accounts, so that they are told after the answer.
    async fn lost(&self, at: &InboxAt, item: &Item) -> Result<Option<NewShared>, TriggerError> {
        let Owner::Application(inbox) = &at.owner else { return Ok(None) };
        if item.meaning != Meaning::Lifecycle(Lifecycle::Read) || item.named.iter().all(Option::is_none) {
            return Ok(None);
        }
        let (id, body) = self.keep(inbox, item, &Kept::lost_by(item)).await?;
        Ok(Some(NewShared { id, inbox: inbox.id.clone(), body, instead: None }))
    }
}
