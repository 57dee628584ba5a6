//! Changes during a step of a subscription: its account, its triggers and its address.

use super::*;
use crate::{Account, AuthType, Connected, Details, NewTrigger, Status};

on_every_database!(
    a_step_that_has_begun_for_the_former_account_stores_nothing,
    an_account_whose_access_has_ended_gets_nothing_until_it_is_connected_again,
    a_trigger_that_is_added_during_the_end_gets_another_subscription,
    a_notification_of_a_replaced_subscription_is_no_sign_of_the_new_one,
    a_handshake_ends_with_the_request_and_is_not_expected_by_the_next_step,
    events_that_tell_of_a_step_are_stored_with_its_result,
);

/// Connects the account with this id.
async fn connect(store: &crate::Store, id: &str, status: Status) {
    let details = crate::testing::details();
    let account = Account { id: Some(id.into()), ..details.account.clone() };
    let details = Details { account, status, ..details };
    let holder = crate::testing::holder();
    store
        .integrations()
        .connect(&holder, "ann", Connected::new(AuthType::OAuth2, details), Vec::new(), None)
        .await
        .unwrap();
}

/// Adds a trigger on that account, and returns its id and the id of its subscription.
async fn add_on_account(store: &crate::Store, key: &str, new: NewSubscription) -> (String, String) {
    let trigger = NewTrigger { connector: "calendar".into(), user_identifier: "ann".into(), ..trigger("acme", key) };
    let id = trigger.id.clone();
    (id, store.triggers().add(trigger, Some(new), 9).await.unwrap().unwrap())
}

async fn a_step_that_has_begun_for_the_former_account_stores_nothing(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    vault.know_newest_key().await.unwrap();
    let key = key(store).await;
    connect(store, "one", Status::Active).await;
    let (trigger, id) = add_on_account(store, &key, subscription("a", &key)).await;
    let slow = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    let address = slow.address.clone().unwrap();
    connect(store, "other", Status::Active).await;

    let read = ReadEvents { cursor: sealed(&key), events: vec![event(&trigger, "acme", "read")] };
    assert_eq!(store.subscriptions().store_read(&vault, &slow, read, LONG).await.unwrap(), None);
    let step = || SubscriptionStep { identified: Some(Some(Route::of(&["one".into()]))), ..idle() };
    assert_eq!(store.subscriptions().end_step(&slow, step()).await.unwrap(), None);
    let gap = vec![event(&trigger, "acme", "gap")];
    assert_eq!(store.subscriptions().end_step_with(&vault, &slow, step(), gap).await.unwrap(), None);
    assert!(!store.subscriptions().begin_handshake(&id, slow.fence).await.unwrap());
    assert!(!store.subscriptions().readdress(&slow, (Some("at-old"), None), &sealed(&key)).await.unwrap());
    // The notification was verified before the account was connected.
    let events = vec![event(&trigger, "acme", "push")];
    let pushed = PushedEvents { events, about: vec![(id.clone(), false)], max_pending: 9, ..PushedEvents::default() };
    assert_eq!(store.subscriptions().store_pushed(&vault, pushed).await.unwrap(), StoredPush::default());

    assert_eq!(store.subscriptions().at(&address).await.unwrap(), None);
    let next = take(&site).await.remove(0);
    assert_eq!((next.is_identified, next.cursor.clone(), next.address.clone()), (false, None, None));
    assert_eq!(store.events().of(&trigger, 0, 9).await.unwrap().events, []);
}

async fn an_account_whose_access_has_ended_gets_nothing_until_it_is_connected_again(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    vault.know_newest_key().await.unwrap();
    let key = key(store).await;
    connect(store, "one", Status::Active).await;
    let route = Route::of(&["one".into()]);
    let new = NewSubscription { address: None, route: Some(route.clone()), ..subscription("a", &key) };
    let (trigger, id) = add_on_account(store, &key, new).await;
    let running = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    connect(store, "one", Status::Expired).await;
    let found = store.subscriptions().get(&id).await.unwrap().unwrap();
    assert_eq!((found.blocked, found.is_ended), (Some(Blocked::User), true));
    let on_route = async || store.subscriptions().on_route("calendar", "hook", "", &route).await.unwrap().len();
    assert_eq!(on_route().await, 0);
    let pushed = |occurrence| PushedEvents {
        events: vec![event(&trigger, "acme", occurrence)],
        max_pending: 9,
        ..PushedEvents::default()
    };
    assert_eq!(store.subscriptions().store_pushed(&vault, pushed("x")).await.unwrap().stored, 0);

    // A step that did not know it ends, and the next one does.
    assert!(store.subscriptions().end_step(&running, idle()).await.unwrap().is_some());
    let next = take(&site).await.remove(0);
    assert!(next.is_ended);
    let blocked = SubscriptionStep { blocked: Some(Blocked::User), ..idle() };
    assert!(store.subscriptions().end_step(&next, blocked).await.unwrap().is_some());
    assert_eq!(take(&site).await, []);
    connect(store, "one", Status::Active).await;
    let back = take(&site).await.remove(0);
    assert_eq!((back.blocked, back.is_ended), (Some(Blocked::User), false));
    assert!(store.subscriptions().end_step(&back, idle()).await.unwrap().is_some());
    assert_eq!(on_route().await, 1);
    assert_eq!(store.subscriptions().store_pushed(&vault, pushed("y")).await.unwrap().stored, 1);
}

async fn a_trigger_that_is_added_during_the_end_gets_another_subscription(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    vault.know_newest_key().await.unwrap();
    let key = key(store).await;
    let (last, id) = add(store, "acme", "a").await;
    let taken = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    let read = ReadEvents { cursor: sealed(&key), events: vec![] };
    store.subscriptions().store_read(&vault, &taken, read, LONG).await.unwrap();
    let step =
        SubscriptionStep { standing: Some((Standing::Active, "[]".into(), None)), renewed: Some(true), ..idle() };
    assert!(store.subscriptions().end_step(&taken, step).await.unwrap().is_some());
    let address = taken.address.clone().unwrap();

    store.triggers().remove(&last).await.unwrap();
    let ending = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    assert!(ending.triggers.is_empty());
    let (new, shared) = add(store, "acme", "a").await;
    assert_eq!(shared, id);
    assert!(!store.subscriptions().delete(&id, ending.fence).await.unwrap());
    assert!(!store.subscriptions().start_over(&id, ending.fence - 1, &sealed(&key)).await.unwrap());
    assert!(store.subscriptions().start_over(&id, ending.fence, &sealed(&key)).await.unwrap());
    let next = take(&site).await.remove(0);
    assert_eq!((next.standing, next.cursor.clone(), next.address.clone()), (Standing::New, None, None));
    assert_eq!(next.renewed_at, None, "it was not made yet");
    assert_eq!(next.triggers.iter().map(|found| &found.id).collect::<Vec<_>>(), [&new]);
    assert_eq!(store.subscriptions().at(&address).await.unwrap(), None);
}

async fn a_notification_of_a_replaced_subscription_is_no_sign_of_the_new_one(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    let (_, id) = add(store, "acme", "a").await;
    let key = key(store).await;
    let taken = take(&site).await.remove(0);
    let former = taken.address.clone().unwrap();
    let addresses = (Some("at-new"), Some(former.as_str()));
    assert!(store.subscriptions().readdress(&taken, addresses, &sealed(&key)).await.unwrap());
    for address in ["at-new", former.as_str()] {
        assert_eq!(store.subscriptions().at(address).await.unwrap().unwrap().id, id);
    }
    let last_push_at = async |is_former| {
        let pushed = PushedEvents { about: vec![(id.clone(), true)], is_former, ..PushedEvents::default() };
        store.subscriptions().store_pushed(&vault, pushed).await.unwrap();
        let after = store.subscriptions().get(&id).await.unwrap().unwrap();
        assert!(after.read_at.is_some(), "what it is about is read");
        after.last_push_at
    };
    assert_eq!(last_push_at(true).await, None);
    assert!(last_push_at(false).await.is_some());
    let step = SubscriptionStep { addresses: Some((Some("at-new".into()), None)), ..idle() };
    assert!(store.subscriptions().end_step(&taken, step).await.unwrap().is_some());
    assert_eq!(store.subscriptions().at(&former).await.unwrap(), None);
}

async fn a_handshake_ends_with_the_request_and_is_not_expected_by_the_next_step(site: Site) {
    let store = &site.store;
    let (_, id) = add(store, "acme", "a").await;
    let is_waiting = async || store.subscriptions().get(&id).await.unwrap().unwrap().shakes_hands;
    let taken = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    assert!(store.subscriptions().begin_handshake(&id, taken.fence).await.unwrap());
    assert!(is_waiting().await);
    assert!(store.subscriptions().end_handshake(&id, taken.fence).await.unwrap());
    assert!(!is_waiting().await, "the step may take long");
    assert!(store.subscriptions().end_step(&taken, idle()).await.unwrap().is_some());
    // A gateway that dies during the request does not end it.
    let dead = store.subscriptions().take_one(&id, Duration::ZERO).await.unwrap().unwrap();
    assert!(store.subscriptions().begin_handshake(&id, dead.fence).await.unwrap());
    assert!(!store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap().shakes_hands);
    assert!(!is_waiting().await);
}

async fn events_that_tell_of_a_step_are_stored_with_its_result(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    vault.know_newest_key().await.unwrap();
    let (trigger, id) = add(store, "acme", "a").await;
    let slow = store.subscriptions().take_one(&id, Duration::ZERO).await.unwrap().unwrap();
    let taken = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    let gap = || vec![event(&trigger, "acme", "gap")];
    let count = async || store.events().of(&trigger, 0, 9).await.unwrap().events.len();
    assert_eq!(store.subscriptions().end_step_with(&vault, &slow, idle(), gap()).await.unwrap(), None);
    assert_eq!(count().await, 0);
    let ended = store.subscriptions().end_step_with(&vault, &taken, idle(), gap()).await.unwrap();
    assert!(ended.is_some());
    assert_eq!(count().await, 1);
}
