//! Triggers of agents, on every database.

use std::time::Duration;

use super::*;
use crate::testing::{Site, on_every_database, sealed};
use crate::triggers::testing::{LONG, delivery, event, key, subscription, trigger};
use crate::{
    AttemptResult, ClaimLimits, EventDelivery, NewEvent, NewTrigger, Removed, Store, StoreError, Stored, WebhookSource,
};

on_every_database!(
    a_trigger_of_an_agent_is_found_by_its_subscription_and_made_once,
    a_trigger_ends_unless_its_agent_renews_it,
    other_triggers_of_the_subscription_stay,
    everything_before_the_first_pending_event_is_delivered,
    webhooks_for_an_agent_are_known_as_such_and_end_with_the_trigger,
    a_receiver_is_verified_for_one_caller_and_for_some_time,
);

const LIMITS: ClaimLimits = ClaimLimits { of_receiver: 9, of_tenant: 9, of_claim: 9, bytes: 100_000 };

/// Adds a trigger of an agent, and returns its id and the id of its subscription at the service.
async fn add(store: &Store, id: &str, life: Duration, polls: bool) -> Stored<(String, String)> {
    let key = key(store).await;
    let secrets = (!polls).then(|| sealed(&key));
    let part = NewAgentPart { id: id.into(), life, takes_control: !polls, secrets };
    let new = NewTrigger { agent: Some(part), ..trigger("acme", &key) };
    let trigger = new.id.clone();
    let subscription = store.triggers().add(new, Some(subscription("a", &key)), 100).await?.unwrap();
    Ok((trigger, subscription))
}

async fn a_trigger_of_an_agent_is_found_by_its_subscription_and_made_once(site: Site) {
    let store = &site.store;
    let (id, _) = add(store, "sub_1", LONG, false).await.unwrap();
    assert!(matches!(add(store, "sub_1", LONG, false).await, Err(StoreError::Duplicate)));
    let found = store.agent_triggers().get("sub_1").await.unwrap().unwrap();
    let part = found.agent.clone().unwrap();
    assert_eq!((found.id.as_str(), part.id.as_str(), part.takes_control), (id.as_str(), "sub_1", true));
    assert_eq!(store.triggers().get(&id).await.unwrap(), Some(found));
    assert_eq!(store.agent_triggers().get("sub_2").await.unwrap(), None);
    let receiver = store.agent_triggers().receiver(&id).await.unwrap().unwrap();
    assert_eq!((receiver.id.as_str(), receiver.secrets), ("sub_1", sealed(&key(store).await)));
    let (polled, _) = add(store, "sub_3", LONG, true).await.unwrap();
    assert_eq!(store.agent_triggers().receiver(&polled).await.unwrap(), None);
    let of_application = store.triggers().of(&add(store, "sub_4", LONG, true).await.unwrap().1).await.unwrap();
    assert_eq!(of_application.len(), 3);
}

async fn a_trigger_ends_unless_its_agent_renews_it(site: Site) {
    let store = &site.store;
    let (id, at_service) = add(store, "sub_1", Duration::ZERO, true).await.unwrap();
    assert_eq!(store.agent_triggers().expired().await.unwrap(), std::slice::from_ref(&id));
    let end = store.agent_triggers().renew(&id, LONG).await.unwrap().unwrap();
    assert_eq!(store.agent_triggers().get("sub_1").await.unwrap().unwrap().agent.unwrap().expires_at, end);
    // A gateway that has read the list before the renewal.
    assert_eq!(store.agent_triggers().end(&id).await.unwrap(), None);
    assert!(store.triggers().get(&id).await.unwrap().is_some());
    store.agent_triggers().renew(&id, Duration::ZERO).await.unwrap().unwrap();
    let ended = store.agent_triggers().end(&id).await.unwrap();
    assert_eq!(ended, Some(Removed { subscription: Some(at_service.clone()), is_last: true }));
    assert_eq!(store.agent_triggers().end(&id).await.unwrap(), None);
    assert_eq!(
        (store.triggers().get(&id).await.unwrap(), store.agent_triggers().get("sub_1").await.unwrap()),
        (None, None)
    );
    assert_eq!(store.agent_triggers().renew(&id, LONG).await.unwrap(), None);
    let due = store.subscriptions().take(LONG, 9, &Default::default()).await.unwrap();
    assert!(
        due.iter().any(|found| found.id == at_service && found.triggers.is_empty()),
        "it is ended at the service at once"
    );
}

async fn other_triggers_of_the_subscription_stay(site: Site) {
    let store = &site.store;
    let (polled, shared) = add(store, "sub_1", Duration::ZERO, true).await.unwrap();
    let (other, again) = add(store, "sub_2", LONG, true).await.unwrap();
    assert_eq!(shared, again);
    assert_eq!(store.agent_triggers().expired().await.unwrap(), std::slice::from_ref(&polled));
    assert!(!store.agent_triggers().end(&polled).await.unwrap().unwrap().is_last);
    assert!(store.triggers().get(&other).await.unwrap().is_some());
}

async fn events(store: &Store, vault: &vault::Vault, trigger: &str, count: usize) -> Vec<NewEvent> {
    let key = key(store).await;
    let made = (0..count).map(|number| {
        let new = event(trigger, "acme", &number.to_string());
        let webhook = EventDelivery { for_agent: true, ..delivery(&new.id, "https://agent.example/", &key) };
        NewEvent { deliveries: vec![webhook], ..new }
    });
    let made: Vec<NewEvent> = made.collect();
    store.events().add(vault, made.clone()).await.unwrap();
    made
}

async fn vault(site: &Site) -> vault::Vault {
    let vault = site.vault().await;
    vault.know_newest_key().await.unwrap();
    vault
}

async fn everything_before_the_first_pending_event_is_delivered(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let (id, _) = add(store, "sub_1", LONG, false).await.unwrap();
    assert_eq!(store.agent_triggers().delivered_up_to(&id, "").await.unwrap(), 0);
    let made = events(store, &vault, &id, 3).await;
    assert_eq!(store.agent_triggers().delivered_up_to(&id, "").await.unwrap(), 0);
    assert_eq!(store.agent_triggers().delivered_up_to(&id, &made[0].id).await.unwrap(), 1);
    assert_eq!(store.agent_triggers().delivered_up_to(&id, &made[2].id).await.unwrap(), 0);
    for claimed in store.webhooks().claim_deliveries(LONG, LIMITS).await.unwrap() {
        if claimed.source.event().unwrap().1 != made[1].id {
            let ended = AttemptResult::Delivered;
            store
                .webhooks()
                .finish_attempt(&claimed.delivery.webhook_id, claimed.fence, &[], ended, LONG)
                .await
                .unwrap();
        }
    }
    assert_eq!(store.agent_triggers().delivered_up_to(&id, "").await.unwrap(), 1);
    assert_eq!(store.agent_triggers().delivered_up_to(&id, &made[1].id).await.unwrap(), 3);
}

async fn webhooks_for_an_agent_are_known_as_such_and_end_with_the_trigger(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let (id, _) = add(store, "sub_1", LONG, false).await.unwrap();
    let made = events(store, &vault, &id, 1).await;
    let claimed = store.webhooks().claim_deliveries(LONG, LIMITS).await.unwrap().remove(0);
    assert_eq!(claimed.source, WebhookSource::Agent { trigger: id.clone(), event: made[0].id.clone() });
    let none = DeliveryReport { last_delivery_at: None, last_error: None, failed_since: None };
    assert_eq!(store.agent_triggers().deliveries(&id).await.unwrap(), Some(none));
    let retried = AttemptResult::RetryAfter(LONG);
    assert!(
        store.webhooks().finish_attempt(&claimed.delivery.webhook_id, claimed.fence, &[], retried, LONG).await.unwrap()
    );
    store.agent_triggers().note_delivery(&id, Some("http_5xx")).await.unwrap();
    let failed = store.agent_triggers().deliveries(&id).await.unwrap().unwrap();
    assert_eq!((failed.last_delivery_at, failed.last_error.as_deref()), (None, Some("http_5xx")));
    assert!(failed.failed_since.is_some());
    store.agent_triggers().note_delivery(&id, None).await.unwrap();
    let received = store.agent_triggers().deliveries(&id).await.unwrap().unwrap();
    assert!(received.last_delivery_at.is_some() && received.last_error.is_none());
    store.agent_triggers().renew(&id, Duration::ZERO).await.unwrap();
    store.agent_triggers().end(&id).await.unwrap().unwrap();
    assert_eq!(store.webhooks().deliveries_of_event(&made[0].id).await.unwrap(), []);
    assert_eq!(store.agent_triggers().receiver(&id).await.unwrap(), None);
    assert_eq!(store.agent_triggers().deliveries(&id).await.unwrap(), None);
}

async fn a_receiver_is_verified_for_one_caller_and_for_some_time(site: Site) {
    let store = &site.store;
    let url = "https://agent.example/";
    store.agent_triggers().add_verified_receiver("acme", "ann", url, LONG).await.unwrap();
    assert!(store.agent_triggers().is_verified_receiver("acme", "ann", url).await.unwrap());
    for (tenant, subject, url) in
        [("acme", "bob", url), ("globex", "ann", url), ("acme", "ann", "https://agent.example/other")]
    {
        assert!(
            !store.agent_triggers().is_verified_receiver(tenant, subject, url).await.unwrap(),
            "{tenant} {subject} {url}"
        );
    }
    let stored = store.stored_bytes().await.unwrap().total;
    assert!(stored >= 200, "{stored}");
    store.agent_triggers().add_verified_receiver("acme", "ann", url, Duration::ZERO).await.unwrap();
    assert!(!store.agent_triggers().is_verified_receiver("acme", "ann", url).await.unwrap());
    store.agent_triggers().add_verified_receiver("globex", "ann", url, Duration::ZERO).await.unwrap();
    assert_eq!(store.stored_bytes().await.unwrap().total, stored, "the expired one is gone");
    let full =
        Store::clone(store).with_quota(1).agent_triggers().add_verified_receiver("globex", "ann", url, LONG).await;
    assert!(matches!(full, Err(StoreError::TenantFull { limit: 1 })), "{full:?}");
}
