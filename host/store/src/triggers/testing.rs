//! Triggers and events for tests.

use std::time::Duration;

use super::{EventDelivery, NewEvent, NewTrigger, TriggerState, new_trigger_id};
use crate::subscriptions::NewSubscription;
use crate::testing::{data_key, sealed};
use crate::{Labels, NewDelivery, Store, Subscription, SubscriptionStep};

pub(crate) const LONG: Duration = Duration::from_secs(60);

/// The id of the data key of the vault, or of a key for tests without a vault.
pub(crate) async fn key(store: &Store) -> String {
    data_key(store, "dk_1").await;
    store.read(|connection| connection.one("SELECT id FROM data_keys", &[])).await.unwrap()
}

pub(crate) fn trigger(tenant: &str, key: &str) -> NewTrigger {
    NewTrigger {
        id: new_trigger_id().unwrap(),
        tenant: tenant.into(),
        subject: "ann".into(),
        connector: "code".into(),
        kind: "issue".into(),
        user_identifier: "ann@example.com".into(),
        definition: sealed(key),
        labels: Labels::from([("team".to_owned(), "blue".to_owned())]),
        poll_s: None,
        agent: None,
    }
}

pub(crate) fn subscription(covers: &str, key: &str) -> NewSubscription {
    let id = Subscription::new_id().unwrap();
    NewSubscription {
        covers: covers.into(),
        inbox: Some("hook".into()),
        address: Some(format!("at-{id}")),
        route: None,
        is_identified: true,
        secret: sealed(key),
        id,
    }
}

/// Adds a trigger with a subscription, and returns the ids of both.
pub(crate) async fn add(store: &Store, tenant: &str, covers: &str) -> (String, String) {
    let key = key(store).await;
    let new = trigger(tenant, &key);
    let id = new.id.clone();
    let subscription = store.triggers().add(new, Some(subscription(covers, &key)), 100).await.unwrap().unwrap();
    (id, subscription)
}

/// Lets a step make the triggers of a subscription live.
pub(crate) async fn settle(store: &Store, subscription: &str) {
    let taken = store.subscriptions().take_one(subscription, LONG).await.unwrap().unwrap();
    let settled = Some((TriggerState::Live, None));
    let step = SubscriptionStep { settled, look_in: LONG, ..SubscriptionStep::default() };
    assert!(store.subscriptions().end_step(&taken, step).await.unwrap().is_some());
}

pub(crate) fn event(trigger: &str, tenant: &str, occurrence: &str) -> NewEvent {
    NewEvent {
        id: super::event_id(trigger, "hook", occurrence),
        trigger: trigger.into(),
        tenant: tenant.into(),
        body: (r#"{"n":"#.into(), "}".into()),
        deliveries: vec![],
        kept_for: LONG,
        known_for: LONG,
    }
}

pub(crate) fn delivery(event: &str, url: &str, key: &str) -> EventDelivery {
    EventDelivery {
        id: NewDelivery::id_of(event, url),
        receiver: "https://app.example".into(),
        url: sealed(key),
        url_hash: NewDelivery::hash_of_url(url),
        for_agent: false,
    }
}
