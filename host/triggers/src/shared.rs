//! Notifications that other accounts may see too. The service names one of them, and is asked for
//! the others once it has its answer.

use std::time::Duration;

use hyper::Method;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use super::deliver::{Occurrence, Origin};
use super::step::Sealed;
use super::types::{TypeOf, inbox_of};
use super::{TriggerError, Triggers};
use contract::trigger_types::{Inbox, Place, TriggerSource, Visibility};
use egress::{Body, Credential, Request, Target};
use hooks::{Item, Subject, conditions_hold, kind_is};
use registry::Connector;
use store::{NewEvent, Route, SharedNotification};

/// Notifications of one turn.
const NOTIFICATIONS: u32 = 16;

/// Time until a notification is taken again whose turn did not end.
const LIFE: Duration = Duration::from_secs(60);

/// How often the service is asked about a notification.
const MAX_ATTEMPTS: u32 = 5;

/// Pages of accounts that are read.
const MAX_PAGES: usize = 50;

/// The largest page of accounts.
const MAX_PAGE_BYTES: u64 = 1 << 20;

/// Time for one page.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A notification as it is kept until the service was asked.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    /// The whole body, as JSON text.
    body: String,
    /// The notification itself.
    item: String,
    data: String,
    key: String,
    kind: String,
    time: Option<std::time::SystemTime>,
}

impl Kept {
    pub(super) fn of(item: &Item) -> Self {
        Self {
            body: item.body().to_owned(),
            item: item.text().to_owned(),
            data: item.data().to_owned(),
            key: item.key.clone(),
            kind: item.kind.clone(),
            time: item.time,
        }
    }
}

impl Triggers {
    /// Asks services which accounts may see notifications, and stores the events of those accounts.
    ///
    /// # Errors
    /// If the store or the vault fails. What is left is done in a later turn.
    pub(super) async fn tell_others(&self) -> Result<(), TriggerError> {
        for shared in self.parts.store.inboxes().take_shared(LIFE, NOTIFICATIONS).await? {
            let events = match self.events_of_others(&shared).await {
                Ok(events) => events,
                Err(reason) if shared.attempts < MAX_ATTEMPTS => {
                    tracing::info!(
                        inbox = shared.inbox,
                        reason,
                        "a service was not asked who sees a notification; it is asked again"
                    );
                    continue;
                }
                Err(reason) => {
                    tracing::warn!(inbox = shared.inbox, reason, "a service does not say who else sees a notification");
                    Vec::new()
                }
            };
            let max_pending = self.parts.config.triggers.max_pending_per_tenant;
            let told =
                self.parts.store.inboxes().end_shared(self.vault().await?, &shared.id, events, max_pending).await?;
            self.tell_dropped(&told.dropped).await?;
            if told.stored > 0 {
                self.parts.webhooks.wake();
                self.wake_waiting();
            }
        }
        Ok(())
    }

    /// The events of all accounts that may see a notification.
    ///
    /// # Errors
    /// A sentence for the operator.
    async fn events_of_others(&self, shared: &SharedNotification) -> Result<Vec<NewEvent>, String> {
        let said = |error: TriggerError| error.to_string();
        let store = &self.parts.store;
        let Some(made) = store.inboxes().get(&shared.inbox).await.map_err(|error| error.to_string())? else {
            return Ok(Vec::new());
        };
        let connector = self.parts.registry.get(&made.connector).ok_or("its connector is not live")?;
        let Some(inbox) = inbox_of(&connector, &made.inbox) else { return Ok(Vec::new()) };
        let (Some(visibility), Some(token)) = (&inbox.visibility, self.app_token(&made.connector)) else {
            return Ok(Vec::new());
        };
        let kept: Kept = self.unseal(&SharedNotification::context(&shared.id), &shared.body).await.map_err(said)?;
        let body: Value = serde_json::from_str(&kept.body).map_err(|error| error.to_string())?;
        let Some(context) = body.pointer(&visibility.context).and_then(Value::as_str) else { return Ok(Vec::new()) };
        let mut events = Vec::new();
        for account in self.viewers(&connector, visibility, &token, context).await? {
            let Some(route) = route_of(inbox, visibility, &body, account) else { continue };
            let found = store.subscriptions().on_route(&made.connector, &made.inbox, &made.tenant, &route).await;
            for subscription in found.map_err(|error| error.to_string())? {
                let context = store::Subscription::context(&subscription.id);
                let sealed: Sealed = self.unseal(&context, &subscription.secret).await.map_err(said)?;
                let triggers = store.triggers().of(&subscription.id).await.map_err(|error| error.to_string())?;
                for trigger in triggers {
                    let kind = TypeOf::find(&self.parts.registry, &trigger.connector, &trigger.kind);
                    let Some(kind) = kind else { continue };
                    let declared = kind.declared();
                    let definition = self.definition(&trigger).await.map_err(said)?;
                    if declared.source != TriggerSource::Carried
                        || !kind_is(&declared.kinds, &kept.kind)
                        || !conditions_hold(
                            declared,
                            Subject::Json(&kept.item),
                            &definition.parameters,
                            &sealed.account,
                        )
                    {
                        continue;
                    }
                    // The same source and id as those of the account that the service named.
                    let occurrence = Occurrence {
                        source: &inbox.name,
                        id: &kept.key,
                        time: kept.time,
                        data: &kept.data,
                        origin: Origin::Push,
                    };
                    events.extend(self.event_of(&trigger, &definition, &occurrence).await.map_err(said)?);
                }
            }
        }
        Ok(events)
    }

    /// The accounts that may see an event, as the service answers, page by page.
    ///
    /// # Errors
    /// A sentence for the operator.
    async fn viewers(
        &self,
        connector: &Connector,
        visibility: &Visibility,
        token: &SecretString,
        context: &str,
    ) -> Result<Vec<Value>, String> {
        let upstream = connector.upstreams().get(&visibility.upstream).ok_or("the manifest has no such upstream")?;
        let (pointer, parameter) = &visibility.cursor;
        let mut viewers = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut fields = vec![(visibility.parameter.clone(), context.to_owned())];
            fields.extend(cursor.take().map(|cursor| (parameter.clone(), cursor)));
            let target = Target::Path(visibility.path.clone());
            let request = Request {
                body: Body::Form(fields),
                credential: Some(Credential::bearer(token.clone()).map_err(|error| error.to_string())?),
                ..Request::new(Method::POST, target, Instant::now() + TIMEOUT, MAX_PAGE_BYTES)
            };
            let response = self.parts.egress.send(upstream, &request).await.map_err(|error| error.to_string())?;
            let status = response.status;
            let bytes = response.body.collect(MAX_PAGE_BYTES).await.map_err(|error| error.to_string())?;
            let page: Value =
                serde_json::from_slice(&bytes).map_err(|_| format!("the answer with {status} is not JSON"))?;
            let Some(Value::Array(accounts)) = page.pointer(&visibility.accounts) else {
                return Err(format!("the answer with {status} names no accounts"));
            };
            viewers.extend(accounts.iter().cloned());
            cursor =
                page.pointer(pointer).and_then(Value::as_str).filter(|cursor| !cursor.is_empty()).map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        Ok(viewers)
    }
}

/// The route of an account that the service names: the account is put in place of those in the
/// body, and the values are read as the inbox declares them.
fn route_of(inbox: &Inbox, visibility: &Visibility, body: &Value, account: Value) -> Option<Route> {
    let mut body = body.clone();
    *body.pointer_mut(&visibility.accounts)? = Value::Array(vec![account]);
    let value = |place: &Place| match place {
        Place::Pointer(pointer) => match body.pointer(pointer)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        },
        _ => None,
    };
    let values: Option<Vec<String>> = inbox.accounts.iter().map(|key| value(&key.place)).collect();
    values.map(|values| Route::of(&values))
}
