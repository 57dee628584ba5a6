//! Changes of a notification at a subscription.

use super::*;

on_every_database!(
    a_notification_a_moment_after_another_changes_nothing,
    the_first_notification_after_a_renewal_is_noted,
    a_notification_of_the_former_address_is_no_sign_of_the_new_one,
);

/// The service notifies of a subscription, whose events the notification carries.
async fn push(site: &Site, vault: &vault::Vault, id: &str, is_former: bool) {
    let pushed = PushedEvents { about: vec![(id.to_owned(), false)], is_former, ..PushedEvents::default() };
    site.store.subscriptions().store_pushed(vault, pushed).await.unwrap();
}

/// Lets the last notification be one of this moment, however long the test takes.
const HAS_NOTIFIED: &str =
    "UPDATE subscriptions SET last_push_at = now_ms() + 3600000, renewed_at = now_ms() - 3600000, empty_reads = 0";

/// Changes nothing, and counts the subscriptions at which no notification was noted since.
const IS_UNCHANGED: &str = "UPDATE subscriptions SET rung = rung WHERE last_push_at > now_ms()";

async fn a_notification_a_moment_after_another_changes_nothing(site: Site) {
    let vault = site.vault().await;
    let (_, id) = add(&site.store, "acme", "a").await;
    let last = async || site.store.subscriptions().get(&id).await.unwrap().unwrap().last_push_at;
    assert_eq!(last().await, None);
    push(&site, &vault, &id, false).await;
    assert!(last().await.is_some(), "the first one is noted");
    assert_eq!(site.execute(HAS_NOTIFIED).await, 1);
    push(&site, &vault, &id, false).await;
    assert_eq!(site.execute(IS_UNCHANGED).await, 1);
    // A second has passed.
    site.execute("UPDATE subscriptions SET last_push_at = now_ms() - 1000").await;
    let before = last().await;
    push(&site, &vault, &id, false).await;
    assert!(last().await > before);
    // A read has found nothing meanwhile.
    assert_eq!(site.execute(HAS_NOTIFIED).await, 1);
    site.execute("UPDATE subscriptions SET empty_reads = 1").await;
    push(&site, &vault, &id, false).await;
    assert_eq!(site.execute(IS_UNCHANGED).await, 0);
    assert_eq!(site.store.subscriptions().get(&id).await.unwrap().unwrap().empty_reads, 0);
    // One that is gone.
    push(&site, &vault, "sub_none", false).await;
}

async fn the_first_notification_after_a_renewal_is_noted(site: Site) {
    let vault = site.vault().await;
    let (_, id) = add(&site.store, "acme", "a").await;
    assert_eq!(site.execute(HAS_NOTIFIED).await, 1);
    // The service has made it anew after the last notification.
    site.execute("UPDATE subscriptions SET renewed_at = last_push_at + 1").await;
    push(&site, &vault, &id, false).await;
    assert_eq!(site.execute(IS_UNCHANGED).await, 0, "the first notification after that is noted");
}

async fn a_notification_of_the_former_address_is_no_sign_of_the_new_one(site: Site) {
    let vault = site.vault().await;
    let (_, id) = add(&site.store, "acme", "a").await;
    let found = async || site.store.subscriptions().get(&id).await.unwrap().unwrap();
    push(&site, &vault, &id, true).await;
    assert_eq!(found().await.last_push_at, None);
    site.execute("UPDATE subscriptions SET empty_reads = 1").await;
    push(&site, &vault, &id, true).await;
    assert_eq!((found().await.last_push_at, found().await.empty_reads), (None, 0), "but the account is not quiet");
}
