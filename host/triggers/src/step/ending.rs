//! The end of what is at the service.
//!
//! Several subscriptions of an account at an inbox of an application may be one at the service,
//! also if they are of several tenants. The watch of a mailbox is an example: it is one for the
//! mailbox and the application. The connector then gives all of them the same `upstream_id`, and
//! the last one ends it.

use serde_json::Value;
use tokio::time::Instant;

use super::{Sealed, Step, run_of};
use crate::call::{AboutSubscription, Class, Failed, Standing as Stands};
use crate::identity::route_of;
use crate::types::inbox_of;
use crate::{TriggerError, Triggers};
use contract::trigger_types::InboxScope;
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
            if other.id != subscription.id && !store.triggers().of(&other.id).await?.is_empty() {
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
