//! Subscriptions, on every database.
//!
//! - [`accounts`]: accounts of which the store does not know whose they were
//! - [`pushes`]: what a notification changes
//! - [`races`]: what changes during a step

mod accounts;
mod pushes;
mod races;

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::testing::{Site, on_every_database, sealed};
use crate::triggers::testing::{LONG, add, event, key, subscription, trigger};

on_every_database!(
    a_subscription_that_is_due_is_taken_once,
    tenants_take_turns,
    a_tenant_with_fewer_steps_in_progress_is_first,
    a_subscription_does_not_wait_for_a_clock_that_was_set_back,
    a_gateway_that_lost_the_lease_stores_nothing,
    a_notification_during_a_step_makes_the_next_one_due,
    a_notification_does_not_shorten_the_time_that_a_service_has_named,
    a_notification_shortens_the_time_after_other_failures_to_a_minute,
    a_caller_requests_a_read_once_in_a_while,
    a_step_keeps_what_it_has_found,
    a_handshake_is_expected_only_while_a_gateway_works_on_the_subscription,
    an_account_is_found_by_its_route,
    a_subscription_with_a_trigger_is_not_deleted,
    a_step_leaves_a_subscription_to_the_caller_that_deletes_its_last_trigger,
    events_and_the_cursor_behind_them_are_stored_together,
    another_account_under_the_name_gets_nothing_of_the_former_one,
    service_accounts_are_told_apart_by_their_email_addresses,
    reads_that_find_nothing_are_counted_until_an_event_or_a_notification,
);

const HOUR: Duration = Duration::from_secs(3600);

fn idle() -> SubscriptionStep {
    SubscriptionStep { look_in: HOUR, ..SubscriptionStep::default() }
}

async fn take(site: &Site) -> Vec<Subscription> {
    site.store.subscriptions().take(LONG, 10, &BTreeMap::new()).await.unwrap()
}

async fn a_subscription_that_is_due_is_taken_once(site: Site) {
    let (_, id) = add(&site.store, "acme", "a").await;
    let taken = take(&site).await;
    assert_eq!((taken.len(), &taken[0].id, taken[0].fence, taken[0].standing), (1, &id, 1, Standing::New));
    assert_eq!(take(&site).await, []);
    assert_eq!(site.store.subscriptions().take_one(&id, LONG).await.unwrap(), None);
    assert!(site.store.subscriptions().end_step(&taken[0], idle()).await.unwrap().is_some());
    assert_eq!(take(&site).await, [], "the next step is due in an hour");
    assert_eq!(site.store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap().fence, 2);
}

async fn a_subscription_does_not_wait_for_a_clock_that_was_set_back(site: Site) {
    let (_, id) = add(&site.store, "acme", "a").await;
    assert_eq!(take(&site).await.len(), 1);
    assert_eq!(site.store.subscriptions().shorten_leases(LONG).await.unwrap(), 0);
    // The clock of the database is set back by a day.
    site.execute("UPDATE subscriptions SET due_at = due_at + 86400000, leased_until = leased_until + 86400000").await;
    assert_eq!(site.store.subscriptions().shorten_leases(LONG).await.unwrap(), 1);
    assert_eq!(site.store.subscriptions().shorten_leases(LONG).await.unwrap(), 0);
    assert_eq!(take(&site).await, [], "the gateway that has it may still work on it");
    // The lease ends.
    site.execute("UPDATE subscriptions SET leased_until = leased_until - 60000").await;
    assert_eq!(take(&site).await, []);
    site.store.database.health().pass_grace();
    let taken = take(&site).await.remove(0);
    assert_eq!((taken.id, taken.fence), (id, 2));
}

async fn tenants_take_turns(site: Site) {
    for covers in ["a", "b", "c"] {
        add(&site.store, "acme", covers).await;
    }
    add(&site.store, "globex", "a").await;
    let taken = site.store.subscriptions().take(LONG, 2, &BTreeMap::new()).await.unwrap();
    let mut tenants: Vec<&str> = taken.iter().map(|taken| taken.tenant.as_str()).collect();
    tenants.sort_unstable();
    assert_eq!(tenants, ["acme", "globex"]);
}

async fn a_tenant_with_fewer_steps_in_progress_is_first(site: Site) {
    for covers in ["a", "b", "c", "d"] {
        add(&site.store, "acme", covers).await;
    }
    add(&site.store, "globex", "a").await;
    add(&site.store, "initech", "a").await;
    site.execute("UPDATE subscriptions SET due_at = CASE tenant WHEN 'acme' THEN 1 WHEN 'globex' THEN 2 ELSE 3 END")
        .await;
    let next = async |running: &[(&str, u32)]| {
        let running = running.iter().map(|(tenant, steps)| ((*tenant).to_owned(), *steps)).collect();
        site.store.subscriptions().take(LONG, 1, &running).await.unwrap().remove(0).tenant
    };
    // One reader at a time is free.
    assert_eq!(next(&[]).await, "acme", "it waits for the longest time");
    assert_eq!(next(&[("acme", 1), ("globex", 2)]).await, "initech");
    assert_eq!(next(&[("acme", 2), ("globex", 1)]).await, "globex");
    assert_eq!(next(&[("acme", 9)]).await, "acme", "no other tenant waits");
}

async fn a_gateway_that_lost_the_lease_stores_nothing(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    vault.know_newest_key().await.unwrap();
    let (trigger, id) = add(store, "acme", "a").await;
    let key = key(store).await;
    let slow = store.subscriptions().take_one(&id, Duration::ZERO).await.unwrap().unwrap();
    let next = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    let read = || ReadEvents { cursor: sealed(&key), events: vec![event(&trigger, "acme", "x")] };
    assert_eq!(store.subscriptions().store_read(&vault, &slow, read(), LONG).await.unwrap(), None);
    assert_eq!(store.subscriptions().end_step(&slow, idle()).await.unwrap(), None);
    assert!(!store.subscriptions().delete(&id, slow.fence).await.unwrap());
    assert_eq!(store.events().of(&trigger, 0, 9).await.unwrap().events, []);
    assert_eq!(store.subscriptions().store_read(&vault, &next, read(), LONG).await.unwrap(), Some(1));
}

async fn a_notification_during_a_step_makes_the_next_one_due(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    let (_, id) = add(store, "acme", "a").await;
    let taken = take(&site).await.remove(0);
    let pushed = PushedEvents { about: vec![(id.clone(), true)], ..PushedEvents::default() };
    store.subscriptions().store_pushed(&vault, pushed).await.unwrap();
    assert!(store.subscriptions().end_step(&taken, idle()).await.unwrap().is_some());
    let again = take(&site).await.remove(0);
    assert!(again.last_push_at.is_some());
    assert!(again.read_at.is_some_and(|at| at <= again.now), "the step has not read what it is about");
    assert!(store.subscriptions().end_step(&again, idle()).await.unwrap().is_some());
    assert_eq!(take(&site).await, []);
    let pushed = PushedEvents { about: vec![(id, false)], ..PushedEvents::default() };
    store.subscriptions().store_pushed(&vault, pushed).await.unwrap();
    assert_eq!(take(&site).await, [], "there is nothing to read");
}

/// Ends a step in which a read has failed, so that the next one is due in an hour.
async fn fail_to_read(site: &Site, id: &str, limited: Option<Duration>) {
    let taken = site.store.subscriptions().take_one(id, LONG).await.unwrap().unwrap();
    let step =
        SubscriptionStep { read: Some(false), has_tried: true, limited, read_in: Some(HOUR), look_in: HOUR, ..idle() };
    assert!(site.store.subscriptions().end_step(&taken, step).await.unwrap().is_some());
}

/// The service notifies of a subscription. Returns the time until the next read.
async fn ring(site: &Site, id: &str) -> Duration {
    assert!(site.store.subscriptions().wake(id, false).await.unwrap());
    let found = site.store.subscriptions().get(id).await.unwrap().unwrap();
    found.read_at.unwrap().duration_since(found.now).unwrap_or_default()
}

async fn a_notification_does_not_shorten_the_time_that_a_service_has_named(site: Site) {
    let (_, id) = add(&site.store, "acme", "a").await;
    fail_to_read(&site, &id, Some(HOUR)).await;
    assert!(ring(&site, &id).await > HOUR / 2);
    assert_eq!(take(&site).await, []);
    // A step for another reason, during which the service notifies once more.
    let taken = site.store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    assert!(ring(&site, &id).await > HOUR / 2);
    let step = SubscriptionStep { is_held: true, read_in: Some(HOUR), ..idle() };
    let now = site.store.subscriptions().end_step(&taken, step).await.unwrap().unwrap();
    assert!(now.read_at.unwrap() > now.now + HOUR / 2);
    // One that is asked for by an operator does not wait.
    site.store.subscriptions().wake(&id, true).await.unwrap();
    assert!(take(&site).await.remove(0).read_at.is_some_and(|at| at <= now.now + HOUR / 2));
}

async fn a_notification_shortens_the_time_after_other_failures_to_a_minute(site: Site) {
    let (_, id) = add(&site.store, "acme", "a").await;
    fail_to_read(&site, &id, None).await;
    let wait = ring(&site, &id).await;
    assert!(wait > Duration::from_secs(30) && wait <= Duration::from_secs(60), "{wait:?}");
    assert_eq!(take(&site).await, []);
    site.execute("UPDATE subscriptions SET tried_at = tried_at - 60000").await;
    assert_eq!(ring(&site, &id).await, Duration::ZERO);
    assert_eq!(take(&site).await.len(), 1);
}

async fn a_caller_requests_a_read_once_in_a_while(site: Site) {
    let (_, id) = add(&site.store, "acme", "a").await;
    let request = async || site.store.subscriptions().request_read(&id, LONG).await.unwrap();
    assert_eq!(request().await, None);
    assert!(request().await.is_some_and(|wait| wait > LONG / 2 && wait <= LONG), "it was requested a moment ago");
    let taken = take(&site).await.remove(0);
    let read = SubscriptionStep { read: Some(true), ..idle() };
    assert!(site.store.subscriptions().end_step(&taken, read).await.unwrap().is_some());
    assert!(request().await.is_some(), "it was read a moment ago");
    site.execute("UPDATE subscriptions SET last_read_at = last_read_at - 60000").await;
    assert_eq!(request().await, None);
    fail_to_read(&site, &id, None).await;
    assert!(request().await.is_some(), "a read has failed a moment ago");
    site.execute("UPDATE subscriptions SET tried_at = tried_at - 60000").await;
    assert_eq!(request().await, None, "a caller need not wait for the next attempt");
    fail_to_read(&site, &id, Some(HOUR)).await;
    site.execute("UPDATE subscriptions SET tried_at = NULL").await;
    assert!(request().await.is_some_and(|wait| wait > HOUR / 2), "the service wants no read");
}

async fn a_step_keeps_what_it_has_found(site: Site) {
    let store = &site.store;
    let (_, id) = add(store, "acme", "a").await;
    let taken = take(&site).await.remove(0);
    let step = SubscriptionStep {
        standing: Some((Standing::Active, r#"["issues"]"#.into(), Some(HOUR))),
        renewed: Some(true),
        read: Some(false),
        reason: Some("no".into()),
        renew_in: Some(HOUR / 2),
        read_in: Some(Duration::ZERO),
        ..idle()
    };
    assert!(store.subscriptions().end_step(&taken, step).await.unwrap().is_some());
    let again = take(&site).await.remove(0);
    assert_eq!((again.standing, again.kinds.as_str()), (Standing::Active, r#"["issues"]"#));
    assert_eq!((again.failed_renewals, again.failed_reads, again.reason.as_deref()), (0, 1, Some("no")));
    let life = again.expires_at.unwrap().duration_since(again.now).unwrap();
    assert!(life > HOUR - LONG && life <= HOUR, "{life:?}");
    let blocked = SubscriptionStep { blocked: Some(Blocked::User), renewed: Some(false), read: Some(true), ..idle() };
    assert!(store.subscriptions().end_step(&again, blocked).await.unwrap().is_some());
    let last = store.subscriptions().get(&id).await.unwrap().unwrap();
    assert_eq!((last.blocked, last.failed_renewals, last.failed_reads), (Some(Blocked::User), 1, 0));
    assert!(last.last_read_at.is_some() && last.reason.is_none());
}

async fn a_handshake_is_expected_only_while_a_gateway_works_on_the_subscription(site: Site) {
    let store = &site.store;
    let (_, id) = add(store, "acme", "a").await;
    let taken = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    let address = taken.address.clone().unwrap();
    let is_waiting = || async { store.subscriptions().at(&address).await.unwrap().unwrap().shakes_hands };
    assert!(!is_waiting().await);
    assert!(store.subscriptions().begin_handshake(&id, taken.fence).await.unwrap());
    assert!(is_waiting().await);
    assert!(store.subscriptions().end_step(&taken, idle()).await.unwrap().is_some());
    assert!(!is_waiting().await);
    assert!(!store.subscriptions().begin_handshake(&id, taken.fence - 1).await.unwrap());
    let short = store.subscriptions().take_one(&id, Duration::ZERO).await.unwrap().unwrap();
    assert!(store.subscriptions().begin_handshake(&id, short.fence).await.unwrap());
    assert!(!is_waiting().await, "the lease has ended");
}

async fn an_account_is_found_by_its_route(site: Site) {
    let store = &site.store;
    let key = key(store).await;
    let route = Route::of(&["T1".into(), "U1".into()]);
    for tenant in ["acme", "globex"] {
        let subscription = NewSubscription { address: None, route: Some(route.clone()), ..subscription("a", &key) };
        store.triggers().add(trigger(tenant, &key), Some(subscription), 9).await.unwrap();
    }
    let found = |tenant: &'static str, route: Route| async move {
        let found = store.subscriptions().on_route("code", "hook", tenant, &route).await.unwrap();
        assert!(found.iter().all(|found| found.triggers.len() == 1), "with its trigger");
        let mut tenants: Vec<String> = found.into_iter().map(|found| found.tenant).collect();
        tenants.sort_unstable();
        tenants
    };
    assert_eq!(found("", Route::of(&["t1".into(), "u1".into()])).await, ["acme", "globex"]);
    assert_eq!(found("acme", route).await, ["acme"]);
    assert_eq!(found("", Route::of(&["T1".into(), "U2".into()])).await, [""; 0]);
}

async fn a_subscription_with_a_trigger_is_not_deleted(site: Site) {
    let store = &site.store;
    let (trigger, id) = add(store, "acme", "a").await;
    let taken = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    assert!(!store.subscriptions().delete(&id, taken.fence).await.unwrap());
    store.triggers().remove(&trigger).await.unwrap();
    assert!(store.subscriptions().delete(&id, taken.fence).await.unwrap());
    assert_eq!(store.subscriptions().get(&id).await.unwrap(), None);
}

async fn a_step_leaves_a_subscription_to_the_caller_that_deletes_its_last_trigger(site: Site) {
    let store = &site.store;
    let (trigger, id) = add(store, "acme", "a").await;
    let step = take(&site).await.remove(0);
    assert_eq!(step.triggers.iter().map(|found| &found.id).collect::<Vec<_>>(), [&trigger]);
    // The caller that deletes another trigger of the subscription has woken it.
    store.subscriptions().wake(&id, false).await.unwrap();
    store.triggers().remove(&trigger).await.unwrap();
    assert!(store.subscriptions().end_step(&step, idle()).await.unwrap().is_some());
    assert_eq!(take(&site).await, [], "no other gateway ends it now");
    assert!(store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap().triggers.is_empty());
}

async fn events_and_the_cursor_behind_them_are_stored_together(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    vault.know_newest_key().await.unwrap();
    let (trigger, id) = add(store, "acme", "a").await;
    let key = key(store).await;
    let taken = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    let events = vec![event(&trigger, "acme", "x"), event(&trigger, "acme", "y")];
    let read = ReadEvents { cursor: sealed(&key), events };
    assert_eq!(store.subscriptions().store_read(&vault, &taken, read, LONG).await.unwrap(), Some(2));
    let after = store.subscriptions().get(&id).await.unwrap().unwrap();
    assert_eq!((after.cursor, after.fence), (Some(sealed(&key)), taken.fence));
    assert!(after.last_read_at.is_some());
    let damaged = ReadEvents { cursor: sealed("dk_unknown"), events: vec![event(&trigger, "acme", "z")] };
    assert!(store.subscriptions().store_read(&vault, &taken, damaged, LONG).await.is_err());
    assert_eq!(store.events().of(&trigger, 0, 9).await.unwrap().events.len(), 2, "neither is stored");
}

async fn another_account_under_the_name_gets_nothing_of_the_former_one(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    vault.know_newest_key().await.unwrap();
    let key = key(store).await;
    let account = |id: &str| {
        let account = crate::Account { id: Some(id.into()), ..crate::testing::details().account };
        crate::Details { account, ..crate::testing::details() }
    };
    let holder = crate::testing::holder();
    let connect = |id: &'static str| {
        store.integrations().connect(
            &holder,
            "ann",
            crate::Connected::new(crate::AuthType::OAuth2, account(id)),
            Vec::new(),
            None,
        )
    };
    connect("one").await.unwrap();
    let route = Route::of(&["one".into()]);
    let of = |new: crate::NewTrigger| crate::NewTrigger {
        connector: "calendar".into(),
        user_identifier: "ann".into(),
        ..new
    };
    let new = NewSubscription { address: None, route: Some(route.clone()), ..subscription("a", &key) };
    let id = store.triggers().add(of(trigger("acme", &key)), Some(new), 9).await.unwrap().unwrap();
    let taken = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    let read = ReadEvents { cursor: sealed(&key), events: vec![] };
    store.subscriptions().store_read(&vault, &taken, read, LONG).await.unwrap();
    let step = SubscriptionStep { standing: Some((Standing::Active, "[]".into(), None)), ..idle() };
    assert!(store.subscriptions().end_step(&taken, step).await.unwrap().is_some());

    connect("one").await.unwrap();
    assert!(store.subscriptions().get(&id).await.unwrap().unwrap().is_identified, "it is the same account");
    site.execute("UPDATE subscriptions SET limited_until = 1, tried_at = 1").await;
    connect("other").await.unwrap();
    let is_limited = "DELETE FROM subscriptions WHERE limited_until IS NOT NULL OR tried_at IS NOT NULL";
    assert_eq!(site.execute(is_limited).await, 0, "the service has named no time for this account");
    assert_eq!(store.subscriptions().on_route("calendar", "hook", "", &route).await.unwrap(), []);
    let taken = take(&site).await.remove(0);
    assert_eq!((taken.is_identified, taken.standing, taken.cursor.clone()), (false, Standing::New, None));
    let other = Route::of(&["other".into()]);
    let step = SubscriptionStep { identified: Some(Some(other.clone())), ..idle() };
    assert!(store.subscriptions().end_step(&taken, step).await.unwrap().is_some());
    let found = store.subscriptions().on_route("calendar", "hook", "", &other).await.unwrap();
    assert!(found.len() == 1 && found[0].is_identified);
}

async fn service_accounts_are_told_apart_by_their_email_addresses(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    vault.know_newest_key().await.unwrap();
    let key = key(store).await;
    let holder = crate::testing::holder();
    let connect = async |email: Option<&str>| {
        let account = crate::Account { email: email.map(str::to_owned), ..crate::Account::default() };
        let details = crate::Details { account, ..crate::testing::details() };
        let connecting = store.integrations().connect(
            &holder,
            "ann",
            crate::Connected::new(crate::AuthType::OAuth2, details),
            Vec::new(),
            None,
        );
        connecting.await.unwrap();
    };
    connect(Some("ada@example.com")).await;
    let trigger =
        crate::NewTrigger { connector: "calendar".into(), user_identifier: "ann".into(), ..trigger("acme", &key) };
    let id = store.triggers().add(trigger, Some(subscription("a", &key)), 9).await.unwrap().unwrap();
    let taken = store.subscriptions().take_one(&id, LONG).await.unwrap().unwrap();
    let read = ReadEvents { cursor: sealed(&key), events: vec![] };
    store.subscriptions().store_read(&vault, &taken, read, LONG).await.unwrap();
    let cursor = async || store.subscriptions().get(&id).await.unwrap().unwrap().cursor;

    connect(Some("ada@example.com")).await;
    connect(None).await;
    assert_eq!(cursor().await, Some(sealed(&key)), "it is the same account, or was not asked for its identity");
    connect(Some("ada@example.com")).await;
    connect(Some("bob@example.com")).await;
    assert_eq!(cursor().await, None);
}

async fn reads_that_find_nothing_are_counted_until_an_event_or_a_notification(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    vault.know_newest_key().await.unwrap();
    let (trigger_id, id) = add(store, "acme", "a").await;
    let key = key(store).await;
    let taken = take(&site).await.remove(0);
    let read = async |occurrences: &[&str]| {
        let events = occurrences.iter().map(|occurrence| event(&trigger_id, "acme", occurrence)).collect();
        store
            .subscriptions()
            .store_read(&vault, &taken, ReadEvents { cursor: sealed(&key), events }, LONG)
            .await
            .unwrap();
        store.subscriptions().get(&id).await.unwrap().unwrap().empty_reads
    };
    assert_eq!([read(&[]).await, read(&[]).await, read(&["x"]).await, read(&[]).await], [1, 2, 0, 1]);
    let pushed = PushedEvents { about: vec![(id.clone(), false)], ..PushedEvents::default() };
    store.subscriptions().store_pushed(&vault, pushed).await.unwrap();
    assert_eq!(read(&[]).await, 1);
    store.triggers().add(trigger("acme", &key), Some(subscription("a", &key)), 100).await.unwrap();
    assert_eq!(read(&[]).await, 1, "the new trigger does not wait for long");
}
