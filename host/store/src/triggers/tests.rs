//! Triggers and their events, on every database.

use secrecy::ExposeSecret;

use super::testing::{LONG, add, delivery, event, key, settle, subscription, trigger};
use super::*;
use crate::testing::{Site, on_every_database};
use crate::{
    AttemptResult, ClaimLimits, DeliveryAttempt, Labels, Store, StoreError, UsageBy, UsageFilter, WebhookSource,
};

on_every_database!(
    triggers_that_cover_the_same_share_a_subscription,
    a_trigger_that_is_added_during_a_step_is_left_to_the_next_one,
    a_tenant_has_a_limited_number_of_triggers,
    a_list_has_the_newest_trigger_first_and_only_those_that_fit,
    an_event_is_stored_once_and_has_the_next_number,
    a_page_of_events_goes_on_behind_a_number_and_says_what_is_missing,
    a_reader_misses_no_event_that_is_stored_while_it_reads,
    large_events_are_read_a_few_at_a_time,
    all_receivers_of_an_event_get_its_id,
    events_of_a_paused_trigger_wait_and_are_sent_when_it_goes_on,
    a_receiver_that_wants_no_more_pauses_the_trigger,
    receivers_that_fail_for_days_end_the_trigger_and_its_step_is_due,
    a_failure_long_after_the_last_webhook_counts_from_then_on,
    a_trigger_is_deleted_with_its_events_and_its_webhooks,
    events_are_sent_once_more_with_their_id,
    events_of_a_paused_trigger_that_are_sent_once_more_wait,
    an_event_that_waits_and_is_sent_once_more_has_one_webhook_and_one_body,
    a_swept_event_still_makes_no_second_one,
    receivers_are_told_once_how_their_trigger_is,
    a_trigger_without_a_subscription_is_found_once_it_has_ended_until_its_receivers_know,
    changes_of_accounts_are_noted_for_tenants_that_want_to_know,
    an_event_counts_in_the_usage_of_its_user_once,
);

const LIMITS: ClaimLimits = ClaimLimits { of_receiver: 9, of_tenant: 9, of_claim: 9, bytes: 100_000 };

async fn find(store: &Store, id: &str) -> Trigger {
    store.triggers().get(id).await.unwrap().unwrap()
}

async fn bodies(site: &Site, vault: &vault::Vault, trigger: &str, after: i64) -> Vec<String> {
    let events = site.store.events().of(trigger, after, 10).await.unwrap().events;
    let mut bodies = Vec::new();
    for event in events {
        let body = vault.unseal(&StoredEvent::context(&event.id), &event.body).await.unwrap();
        bodies.push(String::from_utf8(body.expose_secret().to_vec()).unwrap());
    }
    bodies
}

async fn vault(site: &Site) -> vault::Vault {
    let vault = site.vault().await;
    vault.know_newest_key().await.unwrap();
    vault
}

async fn triggers_that_cover_the_same_share_a_subscription(site: Site) {
    let store = &site.store;
    let (one, shared) = add(store, "acme", "a").await;
    let (other, again) = add(store, "acme", "a").await;
    assert_eq!(shared, again);
    assert_ne!(add(store, "acme", "b").await.1, shared);
    assert_ne!(add(store, "globex", "a").await.1, shared);
    let of: Vec<String> = store.triggers().of(&shared).await.unwrap().into_iter().map(|found| found.id).collect();
    assert_eq!(of.len(), 2);
    assert!(of.contains(&one) && of.contains(&other));
    assert_eq!(find(store, &one).await.state, TriggerState::Pending);

    let removed = store.triggers().remove(&one).await.unwrap();
    assert_eq!(removed, Some(Removed { subscription: Some(shared.clone()), is_last: false }));
    let removed = store.triggers().remove(&other).await.unwrap().unwrap();
    assert!(removed.is_last);
    assert_eq!(store.triggers().remove(&other).await.unwrap(), None);
}

async fn a_trigger_that_is_added_during_a_step_is_left_to_the_next_one(site: Site) {
    let store = &site.store;
    let (first, subscription) = add(store, "acme", "a").await;
    let taken = store.subscriptions().take_one(&subscription, LONG).await.unwrap().unwrap();
    let (added, _) = add(store, "acme", "a").await;
    let settled = Some((TriggerState::Live, None));
    let step = crate::SubscriptionStep { settled, look_in: LONG, ..Default::default() };
    assert!(store.subscriptions().end_step(&taken, step).await.unwrap().is_some());
    let states = [find(store, &first).await.state, find(store, &added).await.state];
    assert_eq!(states, [TriggerState::Live, TriggerState::Pending]);
}

async fn a_tenant_has_a_limited_number_of_triggers(site: Site) {
    let store = &site.store;
    add(store, "acme", "a").await;
    let key = key(store).await;
    let over = store.triggers().add(trigger("acme", &key), Some(subscription("b", &key)), 1).await.unwrap_err();
    assert!(matches!(over, StoreError::TooManyTriggers { limit: 1 }), "{over}");
    store.triggers().add(trigger("globex", &key), Some(subscription("b", &key)), 1).await.unwrap();
    let of_gateway = store.triggers().add(trigger("initech", &key), None, 1).await.unwrap();
    assert_eq!(of_gateway, None);
}

async fn a_list_has_the_newest_trigger_first_and_only_those_that_fit(site: Site) {
    let store = &site.store;
    let key = key(store).await;
    let mut ids = Vec::new();
    for team in ["blue", "bl_e", "blue"] {
        let new = NewTrigger { labels: Labels::from([("team".to_owned(), team.to_owned())]), ..trigger("acme", &key) };
        ids.insert(0, new.id.clone());
        store.triggers().add(new, None, 9).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    let list = |filter: TriggerFilter| async move {
        let found = store.triggers().list(TriggerFilter { limit: 10, ..filter }).await.unwrap();
        found.into_iter().map(|found| found.id).collect::<Vec<_>>()
    };
    assert_eq!(list(TriggerFilter::default()).await, ids);
    let first = find(store, &ids[0]).await;
    let before = Some((first.created_at, first.id));
    assert_eq!(list(TriggerFilter { before, ..TriggerFilter::default() }).await, ids[1..]);
    let team = |team: &str| TriggerFilter {
        labels: Labels::from([("team".to_owned(), team.to_owned())]),
        ..TriggerFilter::default()
    };
    assert_eq!(list(team("blue")).await, [ids[0].clone(), ids[2].clone()]);
    assert_eq!(list(team("bl_e")).await, [ids[1].clone()]);
    let other = TriggerFilter { tenant: Some("globex".into()), ..TriggerFilter::default() };
    assert_eq!(list(other).await, [""; 0]);
}

async fn an_event_counts_in_the_usage_of_its_user_once(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let (id, _) = add(store, "acme", "a").await;
    let (other, _) = add(store, "globex", "a").await;
    let found = find(store, &id).await;
    for _ in 0..2 {
        let events = vec![event(&id, "acme", "x"), event(&id, "acme", "y"), event(&other, "globex", "x")];
        store.events().add(&vault, events).await.unwrap();
    }
    let counts = async |by| -> Vec<(String, u64)> {
        let rows = store.usage().list(UsageFilter { by, limit: 10, ..UsageFilter::default() }).await.unwrap();
        rows.into_iter().map(|row| (row.names.join("/"), row.counts.events)).collect()
    };
    let connector = &found.connector;
    let expected = [(format!("acme/{connector}/"), 2), (format!("globex/{connector}/"), 1)];
    for _ in 0..2 {
        assert_eq!(counts(UsageBy::Operation).await, expected);
        assert_eq!(counts(UsageBy::Subject).await[0], (format!("acme/{}", found.subject), 2));
        // It is the same once the parts of sessions are added up.
        store.usage().sweep(std::time::Duration::from_secs(86_400)).await.unwrap();
    }
}

async fn an_event_is_stored_once_and_has_the_next_number(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let (id, _) = add(store, "acme", "a").await;
    let (other, _) = add(store, "acme", "b").await;
    let of = |name: &str| event(&id, "acme", name);
    let events = vec![of("x"), event(&other, "acme", "x"), of("x"), of("y")];
    assert_eq!(store.events().add(&vault, events).await.unwrap(), 3);
    assert_eq!(store.events().add(&vault, vec![of("y"), of("z")]).await.unwrap(), 1);
    assert_eq!(bodies(&site, &vault, &id, 0).await, [r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#]);
    assert_eq!(bodies(&site, &vault, &other, 0).await, [r#"{"n":1}"#]);
    assert!(find(store, &id).await.last_event_at.is_some());
    assert_eq!(store.events().add(&vault, vec![event("trg_gone", "acme", "x")]).await.unwrap(), 0);
}

async fn a_page_of_events_goes_on_behind_a_number_and_says_what_is_missing(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let (id, _) = add(store, "acme", "a").await;
    let none = |last| KeptEvents { events: vec![], are_older_gone: false, last };
    assert_eq!(store.events().of(&id, 0, 9).await.unwrap(), none(0));
    let old = NewEvent { kept_for: std::time::Duration::ZERO, ..event(&id, "acme", "old") };
    store.events().add(&vault, vec![old, event(&id, "acme", "new")]).await.unwrap();
    store.events().sweep().await.unwrap();
    let found = store.events().of(&id, 0, 9).await.unwrap();
    assert_eq!((found.events.len(), found.events[0].sequence, found.are_older_gone), (1, 2, true));
    assert_eq!(store.events().of(&id, 1, 9).await.unwrap(), KeptEvents { are_older_gone: false, ..found });
    assert_eq!(store.events().of(&id, 2, 9).await.unwrap(), none(2));
    assert_eq!(store.events().last_sequence(&id).await.unwrap(), 2);
    store.events().add(&vault, vec![event(&id, "acme", "newest")]).await.unwrap();
    let sequences = |events: Vec<StoredEvent>| events.iter().map(|event| event.sequence).collect::<Vec<_>>();
    assert_eq!(
        sequences(store.events().last(&id, 9).await.unwrap()),
        [3, 2],
        "the newest first, and the first is gone"
    );
    assert_eq!(sequences(store.events().last(&id, 1).await.unwrap()), [3]);
    site.execute("UPDATE trigger_events SET data_key = NULL, body = NULL").await;
    let all_gone = KeptEvents { are_older_gone: true, ..none(3) };
    assert_eq!(store.events().of(&id, 1, 9).await.unwrap(), all_gone);
}

async fn a_reader_misses_no_event_that_is_stored_while_it_reads(site: Site) {
    const EVENTS: i64 = 100;
    let (store, vault) = (&site.store, vault(&site).await);
    let (id, _) = add(store, "acme", "a").await;
    let write = async {
        for number in 0..EVENTS {
            store.events().add(&vault, vec![event(&id, "acme", &number.to_string())]).await.unwrap();
        }
    };
    let read = async {
        let mut after = 0;
        while after < EVENTS {
            let found = store.events().of(&id, after, 1).await.unwrap();
            assert!(!found.are_older_gone, "{found:?} after {after}");
            after = found.events.last().map_or(after, |event| event.sequence);
        }
    };
    tokio::join!(write, read);
}

async fn large_events_are_read_a_few_at_a_time(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let (id, _) = add(store, "acme", "a").await;
    for (name, bytes) in [("a", 3 << 20), ("b", 3 << 20), ("c", 3 << 20), ("d", 9 << 20)] {
        let body = (format!(r#"{{"text":"{}","n":"#, "a".repeat(bytes)), "}".to_owned());
        store.events().add(&vault, vec![NewEvent { body, ..event(&id, "acme", name) }]).await.unwrap();
    }
    site.execute("UPDATE trigger_events SET queued = NOT queued").await;
    let numbers = |events: &[StoredEvent]| events.iter().map(|event| event.sequence).collect::<Vec<_>>();
    let after = async |number: i64| numbers(&store.events().of(&id, number, 9).await.unwrap().events);
    assert_eq!((after(0).await, after(2).await, after(3).await), (vec![1, 2], vec![3], vec![4]));
    let begin = std::time::SystemTime::UNIX_EPOCH;
    assert_eq!(numbers(&store.events().since(&id, begin, 9).await.unwrap()), [1, 2]);
    assert_eq!(numbers(&store.events().since(&id, begin, 1).await.unwrap()), [1]);
    assert_eq!(store.events().ids_since(&id, begin, 9).await.unwrap().len(), 4);
    assert_eq!(numbers(&store.events().waiting(&id, 9).await.unwrap()), [1, 2]);
}

async fn all_receivers_of_an_event_get_its_id(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let key = key(store).await;
    let (id, _) = add(store, "acme", "a").await;
    let new = event(&id, "acme", "x");
    let deliveries =
        ["https://app.example/1", "https://app.example/2"].map(|url| delivery(&new.id, url, &key)).to_vec();
    store.events().add(&vault, vec![NewEvent { deliveries, ..new.clone() }]).await.unwrap();
    assert_eq!(find(store, &id).await.pending_deliveries, 2);
    let claimed = store.webhooks().claim_deliveries(LONG, LIMITS).await.unwrap();
    let source = WebhookSource::Trigger { trigger: id.clone(), event: new.id.clone() };
    assert_eq!(claimed.iter().map(|claimed| claimed.source.clone()).collect::<Vec<_>>(), [source.clone(), source]);
    assert_eq!(claimed[0].payload.id, claimed[1].payload.id);
    assert_eq!(store.webhooks().deliveries_of_event(&new.id).await.unwrap().len(), 2);
}

async fn events_of_a_paused_trigger_wait_and_are_sent_when_it_goes_on(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let key = key(store).await;
    let (id, subscription) = add(store, "acme", "a").await;
    settle(store, &subscription).await;
    let with_webhook = |name: &str| {
        let new = event(&id, "acme", name);
        NewEvent { deliveries: vec![delivery(&new.id, "https://app.example/", &key)], ..new }
    };
    store.events().add(&vault, vec![with_webhook("before")]).await.unwrap();
    let pause = TriggerChange { paused: Some(true), ..TriggerChange::default() };
    let paused = store.triggers().change(&id, pause).await.unwrap().unwrap();
    assert_eq!((paused.state, paused.pending_deliveries), (TriggerState::Paused, 0));
    store.events().add(&vault, vec![with_webhook("while")]).await.unwrap();
    assert_eq!(find(store, &id).await.pending_deliveries, 0);

    let waiting = store.events().waiting(&id, 9).await.unwrap();
    assert_eq!(waiting.iter().map(|event| event.sequence).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(store.events().triggers_with_backlog(9, 9).await.unwrap(), [], "it is paused");
    // Between a look at the events that wait and the change that lets it continue.
    store.events().add(&vault, vec![with_webhook("last")]).await.unwrap();
    let go_on = TriggerChange { paused: Some(false), ..TriggerChange::default() };
    let live = store.triggers().change(&id, go_on).await.unwrap().unwrap();
    assert_eq!(live.state, TriggerState::Live);
    store.events().add(&vault, vec![with_webhook("after")]).await.unwrap();
    let found = store.events().triggers_with_backlog(9, 9).await.unwrap();
    assert_eq!(found.iter().map(|trigger| &trigger.id).collect::<Vec<_>>(), [&id]);
    let waiting = store.events().waiting(&id, 9).await.unwrap();
    assert_eq!(waiting.iter().map(|event| event.sequence).collect::<Vec<_>>(), [1, 2, 3, 4], "in their order");
    let webhooks = waiting
        .iter()
        .map(|event| (event.id.clone(), vec![delivery(&event.id, "https://app.example/", &key)], b"{}".to_vec()))
        .collect();
    store.events().queue_backlog(&vault, &live, webhooks).await.unwrap();
    assert_eq!(find(store, &id).await.pending_deliveries, 4);
    assert_eq!(store.events().waiting(&id, 9).await.unwrap(), []);
    assert_eq!(store.events().triggers_with_backlog(9, 9).await.unwrap(), []);
}

async fn a_receiver_that_wants_no_more_pauses_the_trigger(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let key = key(store).await;
    let (id, subscription) = add(store, "acme", "a").await;
    settle(store, &subscription).await;
    let events = ["x", "y"].map(|name| {
        let new = event(&id, "acme", name);
        NewEvent { deliveries: vec![delivery(&new.id, "https://app.example/", &key)], ..new }
    });
    store.events().add(&vault, events.to_vec()).await.unwrap();
    let limits = ClaimLimits { of_claim: 1, ..LIMITS };
    let claimed = store.webhooks().claim_deliveries(LONG, limits).await.unwrap().remove(0);
    let attempts = [DeliveryAttempt { at: std::time::SystemTime::UNIX_EPOCH, result: Ok(410) }];
    let ended = store
        .webhooks()
        .finish_attempt(&claimed.delivery.webhook_id, claimed.fence, &attempts, AttemptResult::Gone, LONG)
        .await
        .unwrap();
    assert!(ended);
    let paused = find(store, &id).await;
    assert_eq!((paused.state, paused.reason.as_deref()), (TriggerState::Paused, Some("receiver-gone")));
    assert_eq!(paused.pending_deliveries, 0, "its other webhooks wait");
    assert_eq!(store.events().waiting(&id, 9).await.unwrap().len(), 1);
}

/// Stores an event with a webhook, and lets its first attempt fail.
async fn fail_one(store: &Store, vault: &vault::Vault, id: &str, name: &str) {
    let new = event(id, "acme", name);
    let deliveries = vec![delivery(&new.id, "https://app.example/", &key(store).await)];
    store.events().add(vault, vec![NewEvent { deliveries, ..new }]).await.unwrap();
    let claimed = store.webhooks().claim_deliveries(LONG, LIMITS).await.unwrap().remove(0);
    let attempts = [DeliveryAttempt { at: std::time::SystemTime::UNIX_EPOCH, result: Ok(500) }];
    let (webhook_id, failed) = (&claimed.delivery.webhook_id, AttemptResult::RetryAfter(LONG));
    assert!(store.webhooks().finish_attempt(webhook_id, claimed.fence, &attempts, failed, LONG).await.unwrap());
}

async fn receivers_that_fail_for_days_end_the_trigger_and_its_step_is_due(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let (id, subscription) = add(store, "acme", "a").await;
    settle(store, &subscription).await;
    fail_one(store, &vault, &id, "x").await;
    assert_eq!(find(store, &id).await.state, TriggerState::Live);
    site.execute("UPDATE triggers SET failing_since = now_ms() - 432000000").await;
    site.execute("UPDATE subscriptions SET due_at = now_ms() + 60000").await;
    fail_one(store, &vault, &id, "y").await;
    let failed = find(store, &id).await;
    assert_eq!((failed.state, failed.reason.as_deref()), (TriggerState::Failed, Some("receiver-fails")));
    assert_eq!(store.events().waiting(&id, 9).await.unwrap().len(), 2, "its events stay");
    let due = site.execute("UPDATE subscriptions SET rung = rung WHERE due_at <= now_ms()").await;
    assert_eq!(due, 1, "a step tells that it has ended");
}

async fn a_failure_long_after_the_last_webhook_counts_from_then_on(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let (id, subscription) = add(store, "acme", "a").await;
    settle(store, &subscription).await;
    fail_one(store, &vault, &id, "monday").await;
    site.execute("UPDATE triggers SET failing_since = now_ms() - 604800000").await;
    site.execute("UPDATE webhook_deliveries SET created_at = created_at - 604800000").await;
    fail_one(store, &vault, &id, "a week later").await;
    assert_eq!(find(store, &id).await.state, TriggerState::Live);
    let begun =
        site.execute("UPDATE triggers SET failing_since = failing_since WHERE failing_since > now_ms() - 600000");
    assert_eq!(begun.await, 1, "the five days begin now");
}

async fn a_trigger_is_deleted_with_its_events_and_its_webhooks(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let key = key(store).await;
    let (id, _) = add(store, "acme", "a").await;
    let new = event(&id, "acme", "x");
    let deliveries = vec![delivery(&new.id, "https://app.example/", &key)];
    store.events().add(&vault, vec![NewEvent { deliveries, ..new.clone() }]).await.unwrap();
    store.triggers().remove(&id).await.unwrap();
    assert_eq!(store.triggers().get(&id).await.unwrap(), None);
    assert_eq!(store.events().get(&id, &new.id).await.unwrap(), None);
    assert_eq!(store.webhooks().claim_deliveries(LONG, LIMITS).await.unwrap(), []);
    assert_eq!(site.execute("DELETE FROM webhook_payloads").await, 0, "no body stays");
}

async fn events_are_sent_once_more_with_their_id(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let key = key(store).await;
    let (id, _) = add(store, "acme", "a").await;
    let new = event(&id, "acme", "x");
    store.events().add(&vault, vec![new.clone()]).await.unwrap();
    let trigger = find(store, &id).await;
    for _ in 0..2 {
        let again = vec![(new.id.clone(), vec![delivery(&new.id, "https://app.example/", &key)], b"{}".to_vec())];
        assert_eq!(store.events().replay(&vault, &trigger, again).await.unwrap(), 1);
    }
    let claimed = store.webhooks().claim_deliveries(LONG, LIMITS).await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert!(matches!(&claimed[0].source, WebhookSource::Trigger { event, .. } if *event == new.id));
}

async fn events_of_a_paused_trigger_that_are_sent_once_more_wait(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let key = key(store).await;
    let (id, subscription) = add(store, "acme", "a").await;
    settle(store, &subscription).await;
    let new = event(&id, "acme", "x");
    store.events().add(&vault, vec![new.clone()]).await.unwrap();
    let change = async |paused| {
        let change = TriggerChange { paused: Some(paused), ..TriggerChange::default() };
        store.triggers().change(&id, change).await.unwrap().unwrap()
    };
    let again = |urls: &[&str]| {
        let deliveries = urls.iter().map(|url| delivery(&new.id, url, &key)).collect();
        vec![(new.id.clone(), deliveries, b"{}".to_vec())]
    };
    let paused = change(true).await;
    assert_eq!(store.events().replay(&vault, &paused, again(&[])).await.unwrap(), 0, "no one gets it");
    assert_eq!(store.events().waiting(&id, 9).await.unwrap(), []);
    assert_eq!(store.events().replay(&vault, &paused, again(&["https://app.example/"])).await.unwrap(), 1);
    assert_eq!(find(store, &id).await.pending_deliveries, 0);
    let waiting = store.events().waiting(&id, 9).await.unwrap();
    assert_eq!(waiting.iter().map(|event| event.is_replayed).collect::<Vec<_>>(), [true]);
    change(false).await;
    let found = store.events().triggers_with_backlog(9, 9).await.unwrap();
    assert_eq!(found.iter().map(|trigger| &trigger.id).collect::<Vec<_>>(), [&id]);
}

async fn an_event_that_waits_and_is_sent_once_more_has_one_webhook_and_one_body(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let key = key(store).await;
    let (id, subscription) = add(store, "acme", "a").await;
    settle(store, &subscription).await;
    let new = event(&id, "acme", "x");
    let deliveries = vec![delivery(&new.id, "https://app.example/", &key)];
    let change = async |paused| {
        let change = TriggerChange { paused: Some(paused), ..TriggerChange::default() };
        store.triggers().change(&id, change).await.unwrap().unwrap()
    };
    change(true).await;
    store.events().add(&vault, vec![NewEvent { deliveries: deliveries.clone(), ..new.clone() }]).await.unwrap();
    let live = change(false).await;
    let webhooks = || vec![(new.id.clone(), deliveries.clone(), b"{}".to_vec())];
    assert_eq!(store.events().replay(&vault, &live, webhooks()).await.unwrap(), 1);
    assert_eq!(store.events().waiting(&id, 9).await.unwrap(), [], "it was sent");
    assert!(!store.events().triggers_with_backlog(9, 9).await.unwrap().iter().any(|found| found.id == id));
    // An event may wait although it has its webhook: one URL was answered before the pause.
    site.execute("UPDATE trigger_events SET queued = FALSE").await;
    store.events().queue_backlog(&vault, &live, webhooks()).await.unwrap();
    assert_eq!(find(store, &id).await.pending_deliveries, 1);
    assert_eq!(site.execute("DELETE FROM webhook_deliveries").await, 1);
    assert_eq!(site.execute("DELETE FROM webhook_payloads").await, 1, "no body without a webhook");
}

async fn a_swept_event_still_makes_no_second_one(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let (id, _) = add(store, "acme", "a").await;
    let short = NewEvent { kept_for: std::time::Duration::ZERO, ..event(&id, "acme", "x") };
    assert_eq!(store.events().add(&vault, vec![short.clone()]).await.unwrap(), 1);
    store.events().sweep().await.unwrap();
    assert_eq!(store.events().add(&vault, vec![short.clone()]).await.unwrap(), 0);
    let forgotten = NewEvent { known_for: std::time::Duration::ZERO, ..event(&id, "acme", "y") };
    assert_eq!(store.events().add(&vault, vec![forgotten.clone()]).await.unwrap(), 1);
    store.events().sweep().await.unwrap();
    assert_eq!(store.events().add(&vault, vec![forgotten]).await.unwrap(), 1);
}

async fn receivers_are_told_once_how_their_trigger_is(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let (id, _) = add(store, "acme", "a").await;
    let key = key(store).await;
    let tell = async |told, name| {
        let new = event(&id, "acme", name);
        let new = NewEvent { deliveries: vec![delivery(&new.id, "https://app.example/", &key)], ..new };
        store.triggers().tell(&vault, told, new).await.unwrap()
    };
    assert!(tell(Told::Degraded, "degraded").await);
    assert!(!tell(Told::Degraded, "degraded again").await);
    assert!(tell(Told::Recovered, "recovered").await);
    assert!(tell(Told::Degraded, "degraded once more").await);
    site.execute("UPDATE triggers SET state = 'failed'").await;
    assert!(tell(Told::Disabled, "disabled").await, "also after it was degraded");
    assert!(!tell(Told::Disabled, "disabled again").await);
    assert_eq!(bodies(&site, &vault, &id, 0).await.len(), 4, "each has its event");
    assert_eq!(site.execute("DELETE FROM webhook_deliveries").await, 4, "and its webhook, although it has failed");
    let goes_on = TriggerChange { paused: Some(false), ..TriggerChange::default() };
    assert!(!store.triggers().change(&id, goes_on).await.unwrap().unwrap().told_disabled);
}

async fn a_trigger_without_a_subscription_is_found_once_it_has_ended_until_its_receivers_know(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    add(store, "acme", "a").await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let gateway = NewTrigger { connector: "gateway".into(), ..trigger("acme", &key(store).await) };
        ids.push(gateway.id.clone());
        store.triggers().add(gateway, None, 9).await.unwrap();
    }
    ids.sort_unstable();
    let untold = async |after: &str| -> Vec<String> {
        let found = store.triggers().ended_untold(after, 9).await.unwrap();
        found.into_iter().map(|trigger| trigger.id).collect()
    };
    assert_eq!(untold("").await, [""; 0]);
    site.execute("UPDATE triggers SET state = 'failed'").await;
    assert_eq!(untold("").await, ids, "a step tells of the other one");
    assert_eq!(untold(&ids[0]).await, ids[1..]);
    assert!(store.triggers().tell(&vault, Told::Disabled, event(&ids[0], "acme", "end")).await.unwrap());
    assert_eq!(untold("").await, ids[1..]);
}

async fn changes_of_accounts_are_noted_for_tenants_that_want_to_know(site: Site) {
    let (store, vault) = (&site.store, vault(&site).await);
    let integration = crate::testing::connect(store, "ann").await;
    assert_eq!(store.events().integration_changes(9).await.unwrap(), [], "no trigger wants to know");
    let gateway = NewTrigger { connector: "gateway".into(), ..trigger("acme", &key(store).await) };
    store.triggers().add(gateway.clone(), None, 9).await.unwrap();
    site.execute("UPDATE integrations SET status = 'expired'").await;
    site.execute("UPDATE integrations SET status = 'expired'").await;
    site.execute("UPDATE integrations SET status = 'active'").await;
    assert!(store.integrations().delete(&integration.id, integration.version, vec![]).await.unwrap());
    crate::testing::connect(store, "bob").await;
    let changes = store.events().integration_changes(9).await.unwrap();
    let kinds: Vec<&str> = changes.iter().map(|change| change.kind.as_str()).collect();
    let expected = ["integration_expired", "integration_restored", "integration_deleted", "integration_connected"];
    assert_eq!(kinds, expected);
    let IntegrationChange { number, tenant, user_identifier, .. } = &changes[0];
    assert_eq!((tenant.as_str(), user_identifier.as_str()), ("acme", "ann"));
    let events = vec![event(&gateway.id, "acme", "1")];
    assert_eq!(store.events().end_integration_change(&vault, *number, events).await.unwrap(), 1);
    assert_eq!(store.events().integration_changes(9).await.unwrap().len(), 3);
}
