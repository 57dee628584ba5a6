//! Inboxes and requests of services, on every database.

use std::time::Duration;

use super::*;
use crate::StoreError;
use crate::testing::{Site, data_key, on_every_database, sealed};

on_every_database!(
    an_inbox_is_made_once_for_a_tenant,
    an_inbox_has_at_most_two_secrets,
    requests_are_listed_with_the_newest_first_and_counted_at_their_inbox,
    a_shared_notification_is_taken_again_until_it_is_ended,
);

fn new(tenant: &str, address: &str) -> NewInbox {
    NewInbox { connector: "chat".into(), inbox: "events".into(), tenant: tenant.into(), address: address.into() }
}

fn request(address: &str, outcome: &'static str, reason: Option<&str>) -> HookRequest {
    HookRequest {
        gateway: "one".into(),
        address: address.into(),
        connector: "chat".into(),
        outcome,
        reason: reason.map(str::to_owned),
        kind: None,
        events: 0,
        ms: 3,
        bytes: 10,
        remote: "192.0.2.1".into(),
    }
}

async fn an_inbox_is_made_once_for_a_tenant(site: Site) {
    let store = &site.store;
    let made = store.inboxes().add(new("", "one")).await.unwrap();
    assert!(matches!(store.inboxes().add(new("", "two")).await, Err(StoreError::Duplicate)));
    store.inboxes().add(new("acme", "three")).await.unwrap();
    assert_eq!(store.inboxes().list().await.unwrap().len(), 2);
    assert_eq!(store.inboxes().at("one").await.unwrap(), Some(made.clone()));
    assert_eq!(store.inboxes().at("two").await.unwrap(), None);
    assert!(store.inboxes().delete(&made.id).await.unwrap());
    assert!(!store.inboxes().delete(&made.id).await.unwrap());
}

async fn an_inbox_has_at_most_two_secrets(site: Site) {
    let store = &site.store;
    data_key(store, "dk_1").await;
    let id = store.inboxes().add(new("", "one")).await.unwrap().id;
    for (secret, expected) in
        [("ibs_1", SecretAdded::Added), ("ibs_2", SecretAdded::Added), ("ibs_3", SecretAdded::Full)]
    {
        assert_eq!(store.inboxes().add_secret(&id, secret, sealed("dk_1")).await.unwrap(), expected, "{secret}");
    }
    assert_eq!(store.inboxes().add_secret("inb_x", "ibs_4", sealed("dk_1")).await.unwrap(), SecretAdded::Unknown);
    assert!(store.inboxes().delete_secret(&id, "ibs_1").await.unwrap());
    assert!(!store.inboxes().delete_secret(&id, "ibs_1").await.unwrap());
    let left: Vec<String> =
        store.inboxes().get(&id).await.unwrap().unwrap().secrets.into_iter().map(|secret| secret.id).collect();
    assert_eq!(left, ["ibs_2"]);
}

async fn requests_are_listed_with_the_newest_first_and_counted_at_their_inbox(site: Site) {
    let store = &site.store;
    let id = store.inboxes().add(new("", "one")).await.unwrap().id;
    let requests = vec![
        (Duration::from_secs(25 * 3600), request(&id, "rejected", Some("too-old"))),
        (Duration::from_secs(60), request(&id, "stored", None)),
        (Duration::ZERO, request(&id, "rejected", Some("wrong-signature"))),
        (Duration::ZERO, request("", "rejected", None)),
    ];
    store.inboxes().add_requests(requests).await.unwrap();
    let inbox = store.inboxes().get(&id).await.unwrap().unwrap();
    assert_eq!(inbox.rejected_24h, 1);
    assert_eq!(inbox.last_rejection.unwrap().1, "wrong-signature");
    let list = |filter: HookRequestFilter| async move {
        let found = store.inboxes().requests(HookRequestFilter { limit: 10, ..filter }).await.unwrap();
        found.into_iter().map(|found| (found.outcome, found.reason)).collect::<Vec<_>>()
    };
    let of_inbox = || HookRequestFilter { address: Some(id.clone()), ..HookRequestFilter::default() };
    let outcomes: Vec<String> = list(of_inbox()).await.into_iter().map(|(outcome, _)| outcome).collect();
    assert_eq!(outcomes, ["rejected", "stored", "rejected"]);
    let stored = HookRequestFilter { outcome: Some("stored".into()), ..of_inbox() };
    assert_eq!(list(stored).await, [("stored".to_owned(), None)]);
    store.inboxes().sweep_requests(Duration::from_secs(24 * 3600)).await.unwrap();
    assert_eq!(list(of_inbox()).await.len(), 2);
}

async fn a_shared_notification_is_taken_again_until_it_is_ended(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    vault.know_newest_key().await.unwrap();
    let key = crate::triggers::testing::key(store).await;
    let inbox = store.inboxes().add(new("", "one")).await.unwrap().id;
    let pushed = || crate::PushedEvents {
        shared: Some(("shn_1".into(), inbox.clone(), sealed(&key))),
        inbox: Some(inbox.clone()),
        ..crate::PushedEvents::default()
    };
    store.subscriptions().store_pushed(&vault, pushed()).await.unwrap();
    store.subscriptions().store_pushed(&vault, pushed()).await.unwrap();
    assert!(store.inboxes().get(&inbox).await.unwrap().unwrap().last_accepted_at.is_some());
    let first = store.inboxes().take_shared(Duration::ZERO, 10).await.unwrap();
    assert_eq!((first.len(), first[0].attempts), (1, 1));
    let again = store.inboxes().take_shared(Duration::from_secs(60), 10).await.unwrap();
    assert_eq!(again[0].attempts, 2);
    assert_eq!(store.inboxes().take_shared(Duration::ZERO, 10).await.unwrap(), []);
    store.inboxes().end_shared(&vault, "shn_1", vec![], 10).await.unwrap();
    assert_eq!(site.execute("DELETE FROM shared_notifications").await, 0);
}
