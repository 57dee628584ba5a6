//! Accounts of which the store does not know whose they were.

use super::*;
use crate::{Account, AuthType, Connected, Details, NewTrigger};

on_every_database!(
    an_account_that_is_known_only_now_gets_no_notification_for_the_unknown_one_and_keeps_the_cursor,
    an_unknown_account_at_another_address_is_another_one,
);

/// Connects an account with this email address, at a part of the service's URLs.
async fn connect(store: &crate::Store, email: Option<&str>, region: &str) {
    let address = [("region".to_owned(), region.to_owned())].into();
    let account = Account { email: email.map(str::to_owned), address, ..Account::default() };
    let details = Details { account, ..crate::testing::details() };
    let holder = crate::testing::holder();
    store
        .integrations()
        .connect(&holder, "ann", Connected::new(AuthType::OAuth2, details), Vec::new(), None)
        .await
        .unwrap();
}

/// Adds a trigger on that account whose service notifies the gateway, and which was read. Returns
/// the id of its subscription.
async fn notified(site: &Site) -> String {
    let (store, vault) = (&site.store, site.vault().await);
    vault.know_newest_key().await.unwrap();
    let key = key(store).await;
    let new = NewSubscription { route: Some(Route::of(&["ada".into()])), ..subscription("a", &key) };
    let of_account =
        NewTrigger { connector: "calendar".into(), user_identifier: "ann".into(), ..trigger("acme", &key) };
    let id = store.triggers().add(of_account, Some(new), 9).await.unwrap().unwrap();
    let taken = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    let read = ReadEvents { cursor: sealed(&key), events: vec![] };
    store.subscriptions().store_read(&vault, &taken, read, LONG).await.unwrap();
    let step = SubscriptionStep { standing: Some((Standing::Active, "[]".into(), None)), ..idle() };
    assert!(store.subscriptions().end_step(&taken, step).await.unwrap().is_some());
    id
}

async fn an_account_that_is_known_only_now_gets_no_notification_for_the_unknown_one_and_keeps_the_cursor(site: Site) {
    let store = &site.store;
    connect(store, None, "eu").await;
    let id = notified(&site).await;
    connect(store, None, "eu").await;
    let same = store.subscriptions().get(&id).await.unwrap().unwrap();
    assert!(same.is_identified && same.address.is_some(), "no account of this service is known");
    connect(store, Some("bob@example.com"), "eu").await;
    let route = Route::of(&["ada".into()]);
    assert_eq!(store.subscriptions().on_route("calendar", "hook", "", &route).await.unwrap(), []);
    assert_eq!(store.subscriptions().at(&same.address.unwrap()).await.unwrap(), None);
    let taken = take(&site).await.remove(0);
    assert_eq!((taken.is_identified, taken.standing, taken.address.clone()), (false, Standing::Active, None));
    assert!(taken.cursor.is_some(), "a read tells what this account may see");
    assert!(taken.renew_at.is_some_and(|at| at <= taken.now), "the service is asked for other notifications");
}

async fn an_unknown_account_at_another_address_is_another_one(site: Site) {
    let store = &site.store;
    connect(store, None, "eu").await;
    notified(&site).await;
    connect(store, None, "us").await;
    let taken = take(&site).await.remove(0);
    assert_eq!((taken.is_identified, taken.standing, taken.cursor.clone()), (false, Standing::New, None));
}
