//! The accounts that may see a notification, as the service answers, and their events.

use std::time::Duration;

use hyper::{Method, StatusCode};
use secrecy::SecretString;
use serde_json::Value;
use tokio::time::Instant;

use super::Shared;
use crate::deliver::{Occurrence, Origin};
use crate::step::Sealed;
use crate::types::{TypeOf, inbox_of};
use crate::{TriggerError, Triggers};
use contract::trigger_types::{Inbox, Place, TriggerSource, Visibility};
use egress::{Body, Credential, EgressError, Request, Target};
use hooks::{Subject, account_keys, conditions_hold, kind_is};
use registry::Connector;
use store::{NewEvent, Route, SharedNotification, Subscription};

/// Pages of accounts that are read.
const MAX_PAGES: usize = 50;

/// The largest page of accounts.
const MAX_PAGE_BYTES: u64 = 1 << 20;

/// Time for one page, and for all pages.
const PAGE_TIME: Duration = Duration::from_secs(15);
const TIME: Duration = Duration::from_secs(90);

/// Time after which the service is asked again if it has too many requests and names none.
const LIMITED: Duration = Duration::from_secs(60);

/// Why the accounts are not known. The texts are for the operator.
pub(super) enum Unasked {
    /// The service was asked, and did not answer.
    Failed(String),
    /// The gateway cannot ask the service now.
    NotNow(String),
    /// The service wants no request for this time.
    Limited(Duration),
}

/// The events of the accounts that may see a notification.
pub(super) struct Found {
    pub(super) events: Vec<NewEvent>,
    /// `false` if the service names more accounts than the gateway reads.
    pub(super) is_whole: bool,
}

impl From<EgressError> for Unasked {
    fn from(error: EgressError) -> Self {
        match error {
            EgressError::RateLimited { retry_after } | EgressError::QueueStuck { retry_after } => {
                Self::Limited(retry_after)
            }
            error => Self::Failed(error.to_string()),
        }
    }
}

impl Triggers {
    /// The events of all accounts that may see a notification.
    pub(super) async fn events_of_others(&self, shared: &SharedNotification, kept: &Shared) -> Result<Found, Unasked> {
        let no_events = Found { events: Vec::new(), is_whole: true };
        let store = &self.parts.store;
        let made = store.inboxes().get(&shared.inbox).await.map_err(|error| Unasked::NotNow(error.to_string()))?;
        let Some(made) = made else { return Ok(no_events) };
        let Some(connector) = self.parts.registry.get(&made.connector) else {
            return Err(Unasked::NotNow("its connector is not live".to_owned()));
        };
        let Some(inbox) = inbox_of(&connector, &made.inbox) else { return Ok(no_events) };
        let (Some(visibility), Some(token)) = (&inbox.visibility, self.app_token(&made.connector)) else {
            return Ok(no_events);
        };
        // A body that the service has cut in the middle of a character has its context too.
        let body: Result<Value, _> = serde_json::from_str(&json_text::repaired(&kept.body));
        let body = body.map_err(|error| Unasked::Failed(error.to_string()))?;
        let Some(context) = body.pointer(&visibility.context).and_then(Value::as_str) else { return Ok(no_events) };
        let (accounts, is_whole) = self.viewers(&connector, visibility, &token, context).await?;
        let mut events = Vec::new();
        for account in accounts {
            let Some(route) = route_of(inbox, visibility, &body, account) else { continue };
            let found = self.events_on(&made, &inbox.name, &route, kept).await;
            events.extend(found.map_err(|error| Unasked::Failed(error.to_string()))?);
        }
        Ok(Found { events, is_whole })
    }

    /// The events of the accounts on a route.
    async fn events_on(
        &self,
        made: &store::Inbox,
        source: &str,
        route: &Route,
        kept: &Shared,
    ) -> Result<Vec<NewEvent>, TriggerError> {
        let store = &self.parts.store;
        let mut events = Vec::new();
        for subscription in store.subscriptions().on_route(&made.connector, &made.inbox, &made.tenant, route).await? {
            let context = Subscription::context(&subscription.id);
            let sealed: Sealed = self.unseal(&context, &subscription.secret).await?;
            for trigger in &subscription.triggers {
                let kind = TypeOf::find(&self.parts.registry, &trigger.connector, &trigger.kind);
                let Some(kind) = kind else { continue };
                let declared = kind.declared();
                let Some(definition) = self.readable(trigger).await? else { continue };
                let (item, parameters) = (Subject::Json(&kept.item), &definition.parameters);
                if declared.source != TriggerSource::Carried
                    || !kind_is(&declared.kinds, &kept.kind)
                    || !conditions_hold(declared, item, parameters, &sealed.account)
                {
                    continue;
                }
                // The same source and id as for the account that the service named.
                let occurrence =
                    Occurrence { source, id: &kept.key, time: kept.time, data: &kept.data, origin: Origin::Push };
                events.extend(self.event_of(trigger, &definition, &occurrence).await?);
            }
        }
        Ok(events)
    }

    /// The accounts that may see an event, as the service answers, page by page, and `true` if
    /// these are all.
    async fn viewers(
        &self,
        connector: &Connector,
        visibility: &Visibility,
        token: &SecretString,
        context: &str,
    ) -> Result<(Vec<Value>, bool), Unasked> {
        let Some(upstream) = connector.upstreams().get(&visibility.upstream) else {
            return Err(Unasked::NotNow("the manifest has no such upstream".to_owned()));
        };
        let (pointer, parameter) = &visibility.cursor;
        let end = Instant::now() + TIME;
        let mut viewers = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut fields = vec![(visibility.parameter.clone(), context.to_owned())];
            fields.extend(cursor.take().map(|cursor| (parameter.clone(), cursor)));
            let target = Target::Path(visibility.path.clone());
            let credential = Credential::bearer(token.clone()).map_err(|error| Unasked::NotNow(error.to_string()))?;
            let deadline = end.min(Instant::now() + PAGE_TIME);
            let request = Request {
                body: Body::Form(fields),
                credential: Some(credential),
                ..Request::new(Method::POST, target, deadline, MAX_PAGE_BYTES)
            };
            let response = self.parts.egress.send(upstream, &request).await?;
            let status = response.status;
            if status == StatusCode::TOO_MANY_REQUESTS {
                return Err(Unasked::Limited(response.retry_after.unwrap_or(LIMITED)));
            }
            let bytes = response.body.collect(MAX_PAGE_BYTES).await?;
            let Ok(page) = serde_json::from_slice::<Value>(&bytes) else {
                return Err(Unasked::Failed(format!("the answer with {status} is not JSON")));
            };
            let Some(Value::Array(accounts)) = page.pointer(&visibility.accounts) else {
                return Err(Unasked::Failed(format!("the answer with {status} names no accounts")));
            };
            viewers.extend(accounts.iter().cloned());
            cursor =
                page.pointer(pointer).and_then(Value::as_str).filter(|cursor| !cursor.is_empty()).map(str::to_owned);
            if cursor.is_none() {
                return Ok((viewers, true));
            }
        }
        Ok((viewers, false))
    }
}

/// The route of an account that the service names: the account is put in place of those in the
/// body, and the values are read as the inbox declares them.
fn route_of(inbox: &Inbox, visibility: &Visibility, body: &Value, account: Value) -> Option<Route> {
    let mut body = body.clone();
    // The accounts are in the notification, which is the only one in its list, or outside of the list.
    let of_item = inbox.items.as_ref().map(|list| format!("{list}/0"));
    let in_item = of_item.as_ref().map(|item| format!("{item}{}", visibility.accounts));
    let at = in_item.filter(|at| body.pointer(at).is_some()).unwrap_or_else(|| visibility.accounts.clone());
    *body.pointer_mut(&at)? = Value::Array(vec![account]);
    let item = of_item.and_then(|item| body.pointer(&item));
    let value = |place: &Place| match place {
        Place::Pointer(pointer) => {
            match item.and_then(|item| item.pointer(pointer)).or_else(|| body.pointer(pointer))? {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            }
        }
        _ => None,
    };
    let values: Option<Vec<String>> =
        account_keys(inbox).into_iter().map(|(_, places)| value(places.first().copied()?)).collect();
    values.map(|values| Route::of(&values))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use contract::sample;
    use contract::trigger_types::AccountKey;

    fn inbox(items: Option<&str>) -> Inbox {
        let place = Place::Pointer("/seen_by/0/user".to_owned());
        let accounts = vec![AccountKey { place, account: "/id".to_owned() }];
        Inbox { items: items.map(str::to_owned), accounts, ..sample::inbox("events") }
    }

    fn route(inbox: &Inbox, body: &Value) -> Option<Route> {
        let visibility = Visibility {
            upstream: "api".to_owned(),
            path: "/viewers".to_owned(),
            context: "/context".to_owned(),
            parameter: "context".to_owned(),
            accounts: "/seen_by".to_owned(),
            cursor: ("/next".to_owned(), "cursor".to_owned()),
        };
        route_of(inbox, &visibility, body, json!({ "user": "bob" }))
    }

    #[test]
    fn an_account_is_read_where_the_notification_names_one() {
        let bob = Some(Route::of(&["bob".to_owned()]));
        let named = json!({ "seen_by": [{ "user": "ada" }] });
        assert_eq!(route(&inbox(None), &named), bob);
        let listed = json!({ "events": [named] });
        assert_eq!(route(&inbox(Some("/events")), &listed), bob);
        let outside = json!({ "events": [{}], "seen_by": [{ "user": "ada" }] });
        assert_eq!(route(&inbox(Some("/events")), &outside), bob);
        assert_eq!(route(&inbox(Some("/events")), &json!({ "events": [{}] })), None);
    }
}
