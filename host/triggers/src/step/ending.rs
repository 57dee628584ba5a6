//! The end of what is at the service.
//!
//! Several subscriptions of an account at an inbox of an application may be one at the service,
//! also if they are of several tenants. The watch of a mailbox is an example: it is one for the
//! mailbox and the application. The connector then gives all of them the same `upstream_id`, and
//! the last one ends it.

use secrecy::SecretString;
use serde_json::Value;
use tokio::time::Instant;

use super::subscribe::kinds_of;
use super::{Sealed, Step, run_of};
use crate::call::{AboutSubscription, Class, Failed, Standing as Stands};
use crate::identity::route_of;
use crate::types::inbox_of;
use crate::{TriggerError, Triggers};
use contract::trigger_types::InboxScope;
use sandbox::http::Hook;
use store::{Route, Subscription};

impl Triggers {
    /// Ends what is at the service as well as it can, unless another subscription needs it. Returns
    /// `false` if it may still be there although no one needs it.
    pub(super) async fn end_at_service(
        &self,
        subscription: &Subscription,
        sealed: &Sealed,
        standing: &Stands,
        deadline: Instant,
    ) -> bool {
        let ended = match self.route_at_application(subscription, sealed) {
            Some(route) => self.end_last(subscription, sealed, standing, &route, deadline).await,
            None => return self.unsubscribe(subscription, sealed, standing, deadline).await,
        };
        ended.unwrap_or_else(|error| {
            let Subscription { id, connector, .. } = subscription;
            tracing::warn!(subscription = id, connector, %error, "it is not known if another subscription needs this one");
            false
        })
    }

    /// Ends what the service may have made at an address without an answer to the gateway. It is asked
    /// once more, because only the connector can find it there. A connector whose service ends each
    /// subscription in time may make another one instead, which is ended too. Returns `false` if
    /// something may still be there.
    pub(super) async fn end_unanswered(
        &self,
        subscription: &Subscription,
        sealed: &Sealed,
        address: &str,
        deadline: Instant,
    ) -> Result<bool, TriggerError> {
        let Subscription { id, connector: name, inbox, .. } = subscription;
        let Some(connector) = self.parts.registry.get(name) else { return Ok(false) };
        let types: Vec<&contract::Trigger> =
            connector.additions().triggers.iter().filter(|declared| covers(declared, subscription)).collect();
        let operation = types.iter().find_map(|declared| declared.subscribe.as_ref());
        let inbox = inbox.as_ref().and_then(|inbox| inbox_of(&connector, inbox));
        let (Some(operation), Some(inbox), Some(url)) = (operation, inbox, self.hook_url(address)) else {
            return Ok(false);
        };
        let kinds = kinds_of(types.iter().copied());
        let about =
            AboutSubscription { upstream_id: None, state: None, parameters: &sealed.parameters, kinds: Some(&kinds) };
        let hook = Hook::new(url, SecretString::from(sealed.secret.as_str()));
        let run = run_of(subscription, &connector, deadline);
        match self.call_at_hook(subscription, &run, operation, &about, (inbox, Some(hook))).await? {
            Some(Ok(standing)) => Ok(self.end_at_service(subscription, sealed, &standing, deadline).await),
            Some(Err(Failed { class: Class::Refused(404 | 410), .. })) => Ok(true),
            Some(Err(failed)) => {
                tracing::info!(
                    subscription = id,
                    connector = name,
                    error = failed.detail,
                    "a subscription that the service may have made could not be ended"
                );
                Ok(false)
            }
            None => Ok(false),
        }
    }

    /// Ends what is at the service for an account at an inbox of an application, unless another
    /// subscription has the same.
    async fn end_last(
        &self,
        subscription: &Subscription,
        sealed: &Sealed,
        standing: &Stands,
        route: &Route,
        deadline: Instant,
    ) -> Result<bool, TriggerError> {
        if self.others_on(subscription, route).await?.iter().any(|(_, other)| is_same(other, standing)) {
            return Ok(true);
        }
        let is_ended = self.unsubscribe(subscription, sealed, standing, deadline).await;
        // One that was made meanwhile may just have lost what it has at the service.
        for (id, other) in self.others_on(subscription, route).await? {
            if other.standing.is_none() || is_same(&other, standing) {
                self.parts.store.subscriptions().renew_now(&id).await?;
            }
        }
        Ok(is_ended)
    }

    /// The account of a subscription at an inbox of an application. `None` for another inbox.
    fn route_at_application(&self, subscription: &Subscription, sealed: &Sealed) -> Option<Route> {
        let connector = self.parts.registry.get(&subscription.connector)?;
        let inbox = inbox_of(&connector, subscription.inbox.as_ref()?)?;
        route_of(inbox, &sealed.account).filter(|_| inbox.scope == InboxScope::Application)
    }

    /// The ids of the other subscriptions of an account at an inbox of an application that have
    /// triggers, and their sealed parts.
    async fn others_on(
        &self,
        subscription: &Subscription,
        route: &Route,
    ) -> Result<Vec<(String, Sealed)>, TriggerError> {
        let store = &self.parts.store;
        let inbox = subscription.inbox.as_deref().unwrap_or_default();
        let mut others = Vec::new();
        for other in store.subscriptions().on_route(&subscription.connector, inbox, "", route).await? {
            if other.id != subscription.id && !other.triggers.is_empty() {
                let sealed = self.unseal(&Subscription::context(&other.id), &other.secret).await?;
                others.push((other.id, sealed));
            }
        }
        Ok(others)
    }

    async fn unsubscribe(
        &self,
        subscription: &Subscription,
        sealed: &Sealed,
        standing: &Stands,
        deadline: Instant,
    ) -> bool {
        let Some(connector) = self.parts.registry.get(&subscription.connector) else { return false };
        let names = |declared: &contract::Trigger| declared.unsubscribe.clone();
        let Some(operation) =
            connector.additions().triggers.iter().filter(|declared| covers(declared, subscription)).find_map(names)
        else {
            return false;
        };
        let about = AboutSubscription {
            upstream_id: Some(&standing.upstream_id),
            state: Some(&standing.state),
            parameters: &sealed.parameters,
            kinds: None,
        };
        let run = run_of(subscription, &connector, deadline);
        match self.call::<Value>(&run, &operation, &about, None).await {
            Ok(_) => true,
            // It is gone already.
            Err(Failed { class: Class::Refused(404 | 410), .. }) => true,
            Err(failed) => {
                let Subscription { id, connector, .. } = subscription;
                tracing::info!(
                    subscription = id,
                    connector,
                    error = failed.detail,
                    "a subscription could not be ended"
                );
                false
            }
        }
    }
}

impl Step<'_> {
    /// Ends what was replaced, unless the service takes both for one.
    pub(super) async fn end_replaced(&self, former: &Stands) {
        if !is_same(&self.sealed, former) {
            self.triggers.end_at_service(self.subscription, &self.sealed, former, self.deadline).await;
        }
    }
}

/// Returns `true` if a subscription has this at the service.
fn is_same(sealed: &Sealed, standing: &Stands) -> bool {
    sealed.standing.as_ref().is_some_and(|own| own.upstream_id == standing.upstream_id)
}

/// Returns `true` if a type of the connector may have this subscription.
fn covers(declared: &contract::Trigger, subscription: &Subscription) -> bool {
    subscription.inbox.as_ref().is_none_or(|inbox| declared.inboxes.contains(inbox))
}
