//! Inboxes and requests of services, on every database.

use std::collections::BTreeMap;
use std::time::Duration;

use super::rejections::KEPT;
use super::*;
use crate::StoreError;
use crate::testing::{Site, data_key, on_every_database, sealed};

on_every_database!(
    an_inbox_is_made_once_for_a_tenant,
    an_inbox_has_at_most_two_secrets,
    requests_are_listed_with_the_newest_first_and_counted_at_their_inbox,
    of_the_requests_that_are_accepted_only_the_last_ones_stay,
    an_address_keeps_the_last_requests_that_were_rejected_and_counts_all,
    a_shared_notification_is_taken_again_until_it_is_ended,
    a_service_is_asked_about_a_notification_once,
    one_notification_stands_for_those_that_are_too_many,
    a_service_that_is_to_be_left_in_peace_holds_up_no_other,
    lost_events_are_told_also_while_a_service_is_left_in_peace,
    many_notifications_about_lost_events_become_one,
    the_time_without_an_answer_begins_with_the_first_failure,
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
    store.inboxes().add_requests(requests, BTreeMap::new()).await.unwrap();
    assert_eq!(store.inboxes().rejected().await.unwrap(), BTreeMap::from([(id.clone(), 1)]));
    let inbox = store.inboxes().get(&id).await.unwrap().unwrap();
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
    store.inboxes().sweep_requests(Duration::from_secs(24 * 3600), 100).await.unwrap();
    assert_eq!(list(of_inbox()).await.len(), 2);
    assert_eq!(site.execute("DELETE FROM inbox_rejections").await, 1, "what is no longer counted is forgotten");
}

async fn of_the_requests_that_are_accepted_only_the_last_ones_stay(site: Site) {
    let store = &site.store;
    let id = store.inboxes().add(new("", "one")).await.unwrap().id;
    let now = |outcome| (Duration::ZERO, request(&id, outcome, None));
    let requests = Vec::from(["rejected", "stored", "duplicate", "ignored", "stored"].map(now));
    store.inboxes().add_requests(requests, BTreeMap::new()).await.unwrap();
    store.inboxes().sweep_requests(Duration::from_secs(3600), 2).await.unwrap();
    let filter = HookRequestFilter { limit: 10, ..HookRequestFilter::default() };
    let left = store.inboxes().requests(filter).await.unwrap();
    let outcomes: Vec<&str> = left.iter().rev().map(|request| request.outcome.as_str()).collect();
    assert_eq!(outcomes, ["rejected", "ignored", "stored"]);
}

async fn an_address_keeps_the_last_requests_that_were_rejected_and_counts_all(site: Site) {
    let store = &site.store;
    let id = store.inboxes().add(new("", "one")).await.unwrap().id;
    let other = store.inboxes().add(new("acme", "two")).await.unwrap().id;
    let rejected = |address: &str, reason| (Duration::ZERO, request(address, "rejected", Some(reason)));
    let kept = KEPT as usize;
    let mut requests = vec![rejected(&id, "first"), (Duration::ZERO, request(&id, "stored", None))];
    requests.extend((1..kept + 10).map(|_| rejected(&id, "later")));
    requests.extend((0..kept + 10).map(|_| rejected("", "unknown-address")));
    requests.push(rejected(&other, "first"));
    store.inboxes().add_requests(requests, BTreeMap::new()).await.unwrap();
    // Of a flood, most requests have no record.
    let further = BTreeMap::from([(id.clone(), 7), ("sub_1".to_owned(), 7)]);
    store.inboxes().add_requests(vec![rejected("sub_1", "first"), rejected(&id, "last")], further).await.unwrap();
    let count = async |address: &str| {
        let filter =
            HookRequestFilter { address: Some(address.to_owned()), limit: 5_000, ..HookRequestFilter::default() };
        store.inboxes().requests(filter).await.unwrap().len()
    };
    assert_eq!(count(&id).await, kept + 1, "with the one that was stored");
    assert_eq!([count("").await, count(&other).await, count("sub_1").await], [kept, 1, 1]);
    let newest = HookRequestFilter { address: Some(id.clone()), limit: 5_000, ..HookRequestFilter::default() };
    let reasons: Vec<_> =
        store.inboxes().requests(newest).await.unwrap().into_iter().filter_map(|request| request.reason).collect();
    assert!(reasons.contains(&"last".to_owned()) && !reasons.contains(&"first".to_owned()));
    let counts = BTreeMap::from([(id.clone(), kept as u64 + 18), (other.clone(), 1)]);
    assert_eq!(store.inboxes().rejected().await.unwrap(), counts);
    assert!(store.inboxes().delete(&id).await.unwrap());
    assert_eq!(store.inboxes().rejected().await.unwrap(), BTreeMap::from([(other, 1)]));
}

/// An inbox with a shared notification for each of these names, of which at most two may wait.
async fn with_shared(site: &Site, vault: &vault::Vault, names: &[&str]) -> String {
    let store = &site.store;
    vault.know_newest_key().await.unwrap();
    let inbox = match store.inboxes().at("one").await.unwrap() {
        Some(inbox) => inbox.id,
        None => store.inboxes().add(new("", "one")).await.unwrap().id,
    };
    push_shared(site, vault, &inbox, names).await;
    inbox
}

async fn push_shared(site: &Site, vault: &vault::Vault, inbox: &str, names: &[&str]) {
    let key = crate::triggers::testing::key(&site.store).await;
    for name in names {
        let instead = Some(("shn_instead".to_owned(), sealed(&key)));
        let shared = NewShared { id: format!("shn_{name}"), inbox: inbox.to_owned(), body: sealed(&key), instead };
        let pushed = crate::PushedEvents {
            shared: vec![shared],
            max_shared: 2,
            inbox: Some(inbox.to_owned()),
            ..crate::PushedEvents::default()
        };
        site.store.subscriptions().store_pushed(vault, pushed).await.unwrap();
    }
}

/// The ids of the notifications that are taken, and the attempts to ask about each.
async fn take_shared(site: &Site, inbox: &str, life: Duration) -> Vec<(String, u32)> {
    let mut taken = site.store.inboxes().take_shared(inbox, life, 10).await.unwrap();
    taken.sort_by(|one, other| one.id.cmp(&other.id));
    taken.into_iter().map(|taken| (taken.id, taken.attempts)).collect()
}

async fn a_shared_notification_is_taken_again_until_it_is_ended(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    let inbox = with_shared(&site, &vault, &["1", "1"]).await;
    assert!(store.inboxes().get(&inbox).await.unwrap().unwrap().last_accepted_at.is_some());
    assert_eq!(store.inboxes().with_shared().await.unwrap(), *std::slice::from_ref(&inbox));
    let one = |attempts| vec![("shn_1".to_owned(), attempts)];
    assert_eq!(take_shared(&site, &inbox, Duration::ZERO).await, one(0));
    assert_eq!(take_shared(&site, &inbox, Duration::from_secs(60)).await, one(0), "a lease is no attempt");
    assert_eq!(take_shared(&site, &inbox, Duration::ZERO).await, []);
    store.inboxes().put_back_shared("shn_1", Duration::ZERO, false).await.unwrap();
    assert_eq!(take_shared(&site, &inbox, Duration::from_secs(60)).await, one(0), "the service was not asked");
    store.inboxes().put_back_shared("shn_1", Duration::ZERO, true).await.unwrap();
    assert_eq!(take_shared(&site, &inbox, Duration::from_secs(60)).await, one(1));
    store.inboxes().end_shared(&vault, "shn_1", EndedShared::default()).await.unwrap();
    assert_eq!(site.execute("DELETE FROM shared_notifications").await, 0);
}

async fn a_service_is_asked_about_a_notification_once(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    let inbox = with_shared(&site, &vault, &["1"]).await;
    store.inboxes().end_shared(&vault, "shn_1", EndedShared::default()).await.unwrap();
    push_shared(&site, &vault, &inbox, &["1"]).await;
    assert_eq!(take_shared(&site, &inbox, Duration::ZERO).await, [], "it sends the notification again");
    // The service no longer sends it again.
    site.execute("UPDATE asked_notifications SET expires_at = 0").await;
    store.inboxes().sweep_asked().await.unwrap();
    push_shared(&site, &vault, &inbox, &["1"]).await;
    assert_eq!(take_shared(&site, &inbox, Duration::ZERO).await.len(), 1);
    store.inboxes().forget_shared("shn_1").await.unwrap();
    push_shared(&site, &vault, &inbox, &["1"]).await;
    assert_eq!(take_shared(&site, &inbox, Duration::ZERO).await.len(), 1, "one about lost events comes again");
}

async fn one_notification_stands_for_those_that_are_too_many(site: Site) {
    let vault = site.vault().await;
    let inbox = with_shared(&site, &vault, &["1", "2", "3", "4"]).await;
    // One that is kept and comes again is not one too many.
    push_shared(&site, &vault, &inbox, &["1"]).await;
    assert_eq!(site.execute("UPDATE shared_notifications SET due_at = 0").await, 3);
    let ids: Vec<String> = take_shared(&site, &inbox, Duration::ZERO).await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["shn_1", "shn_2", "shn_instead"]);
}

async fn a_service_that_is_to_be_left_in_peace_holds_up_no_other(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    let inbox = with_shared(&site, &vault, &["1"]).await;
    let other = store.inboxes().add(new("acme", "two")).await.unwrap().id;
    push_shared(&site, &vault, &other, &["2"]).await;
    let mut both = vec![inbox.clone(), other.clone()];
    both.sort();
    let due = async || {
        let mut due = store.inboxes().with_shared().await.unwrap();
        due.sort();
        due
    };
    assert_eq!(due().await, both);
    store.inboxes().quiet(&inbox, Duration::from_secs(600)).await.unwrap();
    // The service said first that it wants a longer time.
    store.inboxes().quiet(&inbox, Duration::ZERO).await.unwrap();
    assert_eq!(due().await, [other]);
    site.execute("UPDATE inboxes SET quiet_until = 1").await;
    assert_eq!(due().await, both);
}

/// A notification about lost events of a notification.
async fn lost(site: &Site, inbox: &str, name: &str) -> EndedShared {
    let key = crate::triggers::testing::key(&site.store).await;
    let instead = Some(("shn_all".to_owned(), sealed(&key)));
    let lost = NewShared { id: format!("shn_lost_{name}"), inbox: inbox.to_owned(), body: sealed(&key), instead };
    EndedShared { lost: Some(lost), ..EndedShared::default() }
}

async fn lost_events_are_told_also_while_a_service_is_left_in_peace(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    let inbox = with_shared(&site, &vault, &["1", "2"]).await;
    site.execute("UPDATE shared_notifications SET created_at = created_at - 3700000 WHERE id = 'shn_1'").await;
    let hour = Duration::from_secs(3600);
    let old = store.inboxes().old_shared(&inbox, hour, 10).await.unwrap();
    assert_eq!(old.iter().map(|old| old.id.as_str()).collect::<Vec<_>>(), ["shn_1"]);
    let ended = lost(&site, &inbox, "a").await;
    store.inboxes().end_shared(&vault, "shn_1", ended.clone()).await.unwrap();
    // Another gateway has ended it too.
    store.inboxes().end_shared(&vault, "shn_1", ended).await.unwrap();
    store.inboxes().quiet(&inbox, Duration::from_secs(600)).await.unwrap();
    assert_eq!(store.inboxes().with_shared().await.unwrap(), [""; 0], "it is told in a moment");
    site.execute("UPDATE shared_notifications SET due_at = 0").await;
    assert_eq!(store.inboxes().with_shared().await.unwrap(), *std::slice::from_ref(&inbox));
    let taken = store.inboxes().take_shared(&inbox, Duration::ZERO, 10).await.unwrap();
    assert_eq!(taken.iter().map(|taken| taken.id.as_str()).collect::<Vec<_>>(), ["shn_lost_a"]);
    assert!(taken[0].age >= hour, "its gap is as old as the notification");
    assert_eq!(store.inboxes().old_shared(&inbox, hour, 10).await.unwrap(), [], "no one is asked about it");
    site.execute("UPDATE inboxes SET quiet_until = NULL").await;
    assert_eq!(take_shared(&site, &inbox, Duration::ZERO).await.len(), 2);
}

async fn many_notifications_about_lost_events_become_one(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    let inbox = with_shared(&site, &vault, &[]).await;
    let key = crate::triggers::testing::key(store).await;
    for name in 0..12 {
        let id = format!("shn_{name}");
        let instead = Some(("shn_instead".to_owned(), sealed(&key)));
        let shared = vec![NewShared { id: id.clone(), inbox: inbox.clone(), body: sealed(&key), instead }];
        let pushed = crate::PushedEvents { shared, max_shared: 100, ..crate::PushedEvents::default() };
        store.subscriptions().store_pushed(&vault, pushed).await.unwrap();
        let ended = lost(&site, &inbox, &name.to_string()).await;
        store.inboxes().end_shared(&vault, &id, ended).await.unwrap();
    }
    assert_eq!(site.execute("UPDATE shared_notifications SET due_at = 0 WHERE is_lost").await, 9);
    assert_eq!(site.execute("DELETE FROM shared_notifications WHERE id = 'shn_all'").await, 1);
}

async fn the_time_without_an_answer_begins_with_the_first_failure(site: Site) {
    let store = &site.store;
    let id = store.inboxes().add(new("", "one")).await.unwrap().id;
    let second = Duration::from_secs(1);
    let unanswered = async || store.inboxes().note_unanswered(&id).await.unwrap();
    assert!(unanswered().await < second * 3600);
    site.execute("UPDATE inboxes SET unanswered_since = unanswered_since - 3600000").await;
    assert!(unanswered().await >= second * 3600);
    store.inboxes().note_answered(&id).await.unwrap();
    assert!(unanswered().await < second * 3600);
}
