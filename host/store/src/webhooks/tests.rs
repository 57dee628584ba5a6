//! Secrets and deliveries of webhooks, on every database.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::testing::{Site, at_second, data_key, on_every_database, sealed};
use crate::{AuditFilter, Store, StoreError};

const DAY: Duration = Duration::from_secs(24 * 3600);
const LEASE: Duration = Duration::from_secs(60);

on_every_database!(
    the_secret_before_stays_valid_for_the_overlap_and_older_ones_end,
    the_last_valid_secret_stays_valid_after_the_current_one_was_deleted,
    a_secret_that_is_added_once_more_changes_nothing,
    a_tenant_sees_and_deletes_only_its_own_secrets,
    secrets_that_are_added_at_once_leave_one_current_secret,
    a_delivery_is_stored_once_and_only_if_its_transaction_commits,
    one_of_many_gateways_claims_a_delivery,
    a_delivery_whose_gateway_died_is_claimed_again_and_the_late_result_is_not_stored,
    a_delivery_is_claimed_again_when_its_retry_is_due_and_never_after_its_end,
    a_delivery_does_not_wait_for_a_clock_that_was_set_back,
    a_body_is_deleted_with_the_end_of_the_last_of_its_deliveries,
    a_slow_receiver_and_a_busy_tenant_leave_room_for_others,
    a_claim_returns_bodies_up_to_its_size_and_at_least_one,
    records_are_swept_after_their_end_and_expiry,
    a_delivery_that_has_ended_is_sent_once_more_while_its_body_is_kept,
    the_deliveries_of_all_tenants_are_listed_with_filters,
);

async fn site_with_key(site: &Site) -> &Store {
    data_key(&site.store, "dk_1").await;
    &site.store
}

async fn ids(store: &Store, tenant: &str) -> Vec<String> {
    store.webhooks().secrets(tenant).await.unwrap().into_iter().map(|secret| secret.id).collect()
}

async fn add(store: &Store, tenant: &str, id: &str, overlap: Duration) -> WebhookSecret {
    store.webhooks().add_secret(tenant, id, sealed("dk_1"), overlap).await.unwrap()
}

async fn the_secret_before_stays_valid_for_the_overlap_and_older_ones_end(site: Site) {
    let store = site_with_key(&site).await;
    let first = add(store, "acme", "whs_1", DAY).await;
    assert_eq!((first.expires_at, first.secret), (None, sealed("dk_1")));
    add(store, "acme", "whs_2", DAY).await;
    let secrets = store.webhooks().secrets("acme").await.unwrap();
    assert_eq!(secrets.iter().map(|secret| secret.id.as_str()).collect::<Vec<_>>(), ["whs_2", "whs_1"]);
    assert_eq!(secrets[0].expires_at, None);
    let overlap = secrets[1].expires_at.unwrap().duration_since(first.created_at).unwrap();
    assert!((DAY..DAY + LEASE).contains(&overlap), "{overlap:?}");
    add(store, "acme", "whs_3", DAY).await;
    assert_eq!(ids(store, "acme").await, ["whs_3", "whs_2"]);
    add(store, "acme", "whs_4", Duration::ZERO).await;
    assert_eq!(ids(store, "acme").await, ["whs_4"]);
    assert!(!store.webhooks().delete_secret("acme", "whs_3").await.unwrap());
}

async fn the_last_valid_secret_stays_valid_after_the_current_one_was_deleted(site: Site) {
    let store = site_with_key(&site).await;
    add(store, "acme", "whs_1", DAY).await;
    add(store, "acme", "whs_2", DAY).await;
    assert!(store.webhooks().delete_secret("acme", "whs_2").await.unwrap());
    add(store, "acme", "whs_3", DAY).await;
    assert_eq!(ids(store, "acme").await, ["whs_3", "whs_1"], "receivers have only this one");
    add(store, "acme", "whs_4", DAY).await;
    assert_eq!(ids(store, "acme").await, ["whs_4", "whs_3"]);
    assert!(store.webhooks().delete_secret("acme", "whs_4").await.unwrap());
    site.execute("UPDATE webhook_secrets SET expires_at = 1").await;
    add(store, "acme", "whs_5", DAY).await;
    assert_eq!(ids(store, "acme").await, ["whs_5"], "one that has ended stays ended");
}

async fn a_secret_that_is_added_once_more_changes_nothing(site: Site) {
    let store = site_with_key(&site).await;
    add(store, "acme", "whs_1", DAY).await;
    let made = add(store, "acme", "whs_2", DAY).await;
    assert_eq!(add(store, "acme", "whs_2", DAY).await, made);
    assert_eq!(ids(store, "acme").await, ["whs_2", "whs_1"], "the previous one is still valid");
    let created = AuditFilter { action: Some("webhook_secret.created".into()), limit: 10, ..AuditFilter::default() };
    assert_eq!(store.audit().list(created).await.unwrap().len(), 2);
}

async fn a_tenant_sees_and_deletes_only_its_own_secrets(site: Site) {
    let store = site_with_key(&site).await;
    add(store, "acme", "whs_1", DAY).await;
    add(store, "other", "whs_2", DAY).await;
    assert_eq!(ids(store, "acme").await, ["whs_1"]);
    assert!(!store.webhooks().delete_secret("acme", "whs_2").await.unwrap());
    assert_eq!(ids(store, "other").await, ["whs_2"]);
    assert!(store.webhooks().delete_secret("other", "whs_2").await.unwrap());
    assert!(!store.webhooks().delete_secret("other", "whs_2").await.unwrap());
    assert!(ids(store, "other").await.is_empty());
}

async fn secrets_that_are_added_at_once_leave_one_current_secret(site: Site) {
    let store = site_with_key(&site).await;
    let other = site.open_again().await;
    let adding: Vec<_> = (0..8)
        .map(|number| {
            let store = if number % 2 == 0 { store } else { &other }.clone();
            tokio::spawn(async move { add(&store, "acme", &format!("whs_{number}"), DAY).await })
        })
        .collect();
    for added in adding {
        added.await.unwrap();
    }
    let current = store.webhooks().secrets("acme").await.unwrap().into_iter().map(|secret| secret.expires_at.is_none());
    assert_eq!(current.collect::<Vec<_>>(), [true, false]);
}

fn delivery(tenant: &str, receiver: &str, number: u32) -> NewDelivery {
    NewDelivery {
        webhook_id: format!("msg_{tenant}_{receiver}_{number}"),
        tenant: tenant.into(),
        source: WebhookSource::Job("job_1".into()),
        receiver: receiver.into(),
        url: sealed("dk_1"),
        url_hash: receiver.into(),
        payload: payload(&format!("{tenant}_{receiver}_{number}")),
        kept_for: Duration::ZERO,
    }
}

fn payload(id: &str) -> Arc<Payload> {
    Arc::new(Payload { id: id.into(), sealed: sealed("dk_1") })
}

fn limits(of_receiver: u32, of_tenant: u32, of_claim: u32) -> ClaimLimits {
    ClaimLimits { of_receiver, of_tenant, of_claim, bytes: 1000 }
}

/// The sorted ids of the claimed deliveries.
async fn claim(store: &Store, limits: ClaimLimits) -> Vec<String> {
    let claimed = store.webhooks().claim_deliveries(LEASE, limits).await.unwrap();
    let mut ids: Vec<_> = claimed.into_iter().map(|claimed| claimed.delivery.webhook_id).collect();
    ids.sort();
    ids
}

async fn claim_one(store: &Store, life: Duration) -> Option<ClaimedDelivery> {
    store.webhooks().claim_deliveries(life, limits(9, 9, 1)).await.unwrap().pop()
}

async fn a_delivery_is_stored_once_and_only_if_its_transaction_commits(site: Site) {
    let store = site_with_key(&site).await;
    let broken = store.write(database::connection::Durability::PowerLoss, |connection| {
        insert_deliveries(connection, &[delivery("acme", "one", 1)])?;
        Err::<(), _>(StoreError::Duplicate)
    });
    broken.await.unwrap_err();
    assert!(store.webhooks().deliveries_of("job_1").await.unwrap().is_empty());
    let event = NewDelivery { source: WebhookSource::Event, ..delivery("acme", "one", 2) };
    store.webhooks().add_deliveries(vec![delivery("acme", "one", 1), event]).await.unwrap();
    let claimed = claim_one(store, LEASE).await.unwrap();
    store.webhooks().add_deliveries(vec![delivery("acme", "one", 1)]).await.unwrap();
    let expected =
        Delivery { webhook_id: "msg_acme_one_1".into(), status: DeliveryStatus::Pending, attempts: Vec::new() };
    assert_eq!(store.webhooks().deliveries_of("job_1").await.unwrap(), std::slice::from_ref(&expected));
    let source = WebhookSource::Job("job_1".into());
    let (tenant, url, payload) = ("acme".to_owned(), sealed("dk_1"), payload("acme_one_1"));
    assert_eq!(claimed, ClaimedDelivery { delivery: expected, tenant, source, url, payload, fence: 1, resent: false });
    assert_eq!(claim_one(store, LEASE).await.unwrap().source, WebhookSource::Event);
    assert_eq!(claim_one(store, LEASE).await, None);
}

async fn one_of_many_gateways_claims_a_delivery(site: Site) {
    let store = site_with_key(&site).await;
    let other = site.open_again().await;
    store.webhooks().add_deliveries((0..20).map(|number| delivery("acme", "one", number)).collect()).await.unwrap();
    let claiming: Vec<_> = (0..10)
        .map(|number| {
            let store = if number % 2 == 0 { store } else { &other }.clone();
            tokio::spawn(async move { claim(&store, limits(15, 15, 4)).await })
        })
        .collect();
    let mut claimed = Vec::new();
    for claim in claiming {
        claimed.extend(claim.await.unwrap());
    }
    claimed.sort();
    let all = claimed.len();
    claimed.dedup();
    assert_eq!((all, claimed.len()), (15, 15));
}

async fn a_delivery_whose_gateway_died_is_claimed_again_and_the_late_result_is_not_stored(site: Site) {
    let store = site_with_key(&site).await;
    store.webhooks().add_deliveries(vec![delivery("acme", "one", 1)]).await.unwrap();
    // This lease ends in the moment in which it is taken.
    let late = claim_one(store, Duration::ZERO).await.unwrap();
    let next = claim_one(store, LEASE).await.unwrap();
    let id = next.delivery.webhook_id;
    assert_eq!((late.delivery.webhook_id, late.fence, next.fence), (id.clone(), 1, 2));
    assert!(
        !store.webhooks().finish_attempt(&id, late.fence, &[], AttemptResult::Failed, Duration::ZERO).await.unwrap()
    );
    assert!(
        store.webhooks().finish_attempt(&id, next.fence, &[], AttemptResult::Delivered, Duration::ZERO).await.unwrap()
    );
    assert_eq!(store.webhooks().deliveries_of("job_1").await.unwrap()[0].status, DeliveryStatus::Delivered);
    assert!(
        !store.webhooks().finish_attempt(&id, next.fence, &[], AttemptResult::Failed, Duration::ZERO).await.unwrap()
    );
}

async fn a_delivery_is_claimed_again_when_its_retry_is_due_and_never_after_its_end(site: Site) {
    let store = site_with_key(&site).await;
    store.webhooks().add_deliveries(vec![delivery("acme", "one", 1)]).await.unwrap();
    let first = claim_one(store, LEASE).await.unwrap();
    let id = first.delivery.webhook_id;
    let mut attempts = vec![DeliveryAttempt { at: at_second(5), result: Ok(503) }];
    let later = AttemptResult::RetryAfter(Duration::from_secs(60));
    assert!(store.webhooks().finish_attempt(&id, first.fence, &attempts, later, Duration::ZERO).await.unwrap());
    assert_eq!(claim_one(store, LEASE).await, None);
    site.execute("UPDATE webhook_deliveries SET next_attempt_at = next_attempt_at - 60000").await;
    let second = claim_one(store, LEASE).await.unwrap();
    assert_eq!(second.delivery.attempts, attempts);
    attempts.push(DeliveryAttempt { at: at_second(9), result: Err("no \"answer\"".into()) });
    assert!(
        store
            .webhooks()
            .finish_attempt(&id, second.fence, &attempts, AttemptResult::Failed, Duration::ZERO)
            .await
            .unwrap()
    );
    let stored = store.webhooks().deliveries_of("job_1").await.unwrap().remove(0);
    assert_eq!((stored.status, stored.attempts), (DeliveryStatus::Failed, attempts));
    assert_eq!(claim_one(store, LEASE).await, None);
    // URL and body are gone.
    assert_eq!(site.execute("UPDATE webhook_deliveries SET kind = kind WHERE url IS NOT NULL").await, 0);
}

async fn a_delivery_does_not_wait_for_a_clock_that_was_set_back(site: Site) {
    let store = site_with_key(&site).await;
    store.webhooks().add_deliveries((1..=3).map(|number| delivery("acme", "one", number)).collect()).await.unwrap();
    let later = claim_one(store, LEASE).await.unwrap();
    let again = AttemptResult::RetryAfter(2 * DAY);
    assert!(store.webhooks().finish_attempt(&later.delivery.webhook_id, later.fence, &[], again, DAY).await.unwrap());
    let held = claim_one(store, LEASE).await.unwrap();
    assert_eq!(store.webhooks().shorten_leases(LEASE).await.unwrap(), 0);
    // The clock of the database is set back by a day.
    site.execute(
        "UPDATE webhook_deliveries SET next_attempt_at = next_attempt_at + 86400000, leased_until = leased_until + 86400000",
    )
    .await;
    assert!(claim(store, limits(9, 9, 9)).await.is_empty());
    assert_eq!(store.webhooks().shorten_leases(LEASE).await.unwrap(), 2);
    assert_eq!(store.webhooks().shorten_leases(LEASE).await.unwrap(), 0);
    assert_eq!(claim(store, limits(9, 9, 9)).await, ["msg_acme_one_3"], "it was not attempted yet");
    // The lease of the other one ends.
    site.execute("UPDATE webhook_deliveries SET leased_until = leased_until - 60000 WHERE fence = 1").await;
    let claimed = store.webhooks().claim_deliveries(LEASE, limits(9, 9, 9)).await.unwrap();
    let ids: Vec<_> = claimed.iter().map(|claimed| &claimed.delivery.webhook_id).collect();
    assert!(ids.contains(&&held.delivery.webhook_id), "{ids:?}");
    assert!(!ids.contains(&&later.delivery.webhook_id), "its retry waits");
}

async fn a_body_is_deleted_with_the_end_of_the_last_of_its_deliveries(site: Site) {
    const URLS: u32 = 8;
    let store = site_with_key(&site).await;
    let other = site.open_again().await;
    let of_job = |number| NewDelivery { payload: payload("job_1"), ..delivery("acme", "one", number) };
    store.webhooks().add_deliveries((0..URLS).map(of_job).collect()).await.unwrap();
    let bodies = async || site.execute("UPDATE webhook_payloads SET tenant = tenant").await;
    assert_eq!(bodies().await, 1);
    let mut claimed = store.webhooks().claim_deliveries(LEASE, limits(9, 9, 9)).await.unwrap();
    assert!(claimed.iter().all(|other| Arc::ptr_eq(&other.payload, &claimed[0].payload)));
    let last = claimed.pop().unwrap();
    let end = |store: &Store, claimed: ClaimedDelivery| {
        let store = store.clone();
        let ending = async move {
            store
                .webhooks()
                .finish_attempt(
                    &claimed.delivery.webhook_id,
                    claimed.fence,
                    &[],
                    AttemptResult::Delivered,
                    Duration::ZERO,
                )
                .await
                .unwrap()
        };
        tokio::spawn(ending)
    };
    for ended in claimed.into_iter().map(|claimed| end(store, claimed)).collect::<Vec<_>>() {
        assert!(ended.await.unwrap());
    }
    assert_eq!(bodies().await, 1);
    assert!(end(store, last).await.unwrap());
    assert_eq!(bodies().await, 0);

    // All of them end at the same time, on two gateways.
    let of_job = |number| NewDelivery { payload: payload("job_2"), ..delivery("acme", "two", number) };
    store.webhooks().add_deliveries((0..URLS).map(of_job).collect()).await.unwrap();
    let claimed = store.webhooks().claim_deliveries(LEASE, limits(9, 9, 9)).await.unwrap();
    let ending = claimed.into_iter().zip([store, &other].into_iter().cycle());
    for ended in ending.map(|(claimed, store)| end(store, claimed)).collect::<Vec<_>>() {
        assert!(ended.await.unwrap());
    }
    assert_eq!(bodies().await, 0);
}

async fn a_slow_receiver_and_a_busy_tenant_leave_room_for_others(site: Site) {
    let store = site_with_key(&site).await;
    let of =
        |tenant: &'static str, receiver: &'static str| (0..5).map(move |number| delivery(tenant, receiver, number));
    store.webhooks().add_deliveries(of("acme", "slow").chain(of("acme", "two")).collect()).await.unwrap();
    // They are a moment later, but each comes before the second one of another.
    store.webhooks().add_deliveries(vec![delivery("acme", "last", 0), delivery("other", "slow", 0)]).await.unwrap();
    let first = claim(store, limits(2, 4, 3)).await;
    assert_eq!(first.len(), 3);
    assert!(first.contains(&"msg_other_slow_0".to_owned()), "{first:?}");
    let second = claim(store, limits(2, 4, 9)).await;
    assert_eq!(second.len(), 2, "{second:?}");
    assert!(claim(store, limits(2, 4, 9)).await.is_empty());
    let third = claim(store, limits(2, 9, 9)).await;
    let all = [first, second, third].concat();
    let of = |receiver: &str| all.iter().filter(|id| id.starts_with(&format!("msg_acme_{receiver}"))).count();
    assert_eq!((of("slow"), of("two"), of("last"), all.len()), (2, 2, 1, 6));
}

async fn a_claim_returns_bodies_up_to_its_size_and_at_least_one(site: Site) {
    let store = site_with_key(&site).await;
    store.webhooks().add_deliveries((0..6).map(|number| delivery("acme", "one", number)).collect()).await.unwrap();
    // Each body has three bytes.
    for (bytes, expected) in [(0, 0), (1, 1), (3, 1), (4, 2)] {
        let claimed = claim(store, ClaimLimits { bytes, ..limits(9, 9, 9) }).await;
        assert_eq!(claimed.len(), expected, "{bytes}");
    }
}

async fn records_are_swept_after_their_end_and_expiry(site: Site) {
    let store = site_with_key(&site).await;
    let kept = NewDelivery { kept_for: DAY, ..delivery("acme", "one", 2) };
    store.webhooks().add_deliveries(vec![delivery("acme", "one", 1), kept]).await.unwrap();
    add(store, "acme", "whs_1", DAY).await;
    add(store, "acme", "whs_2", Duration::ZERO).await;
    // The secret has expired. The deliveries are pending.
    assert_eq!(store.webhooks().sweep().await.unwrap(), 1);
    for claimed in store.webhooks().claim_deliveries(LEASE, limits(9, 9, 9)).await.unwrap() {
        let ClaimedDelivery { delivery, fence, .. } = claimed;
        assert!(
            store
                .webhooks()
                .finish_attempt(&delivery.webhook_id, fence, &[], AttemptResult::Delivered, Duration::ZERO)
                .await
                .unwrap()
        );
    }
    assert_eq!(store.webhooks().sweep().await.unwrap(), 1);
    let left = store.webhooks().deliveries_of("job_1").await.unwrap();
    assert_eq!(left.into_iter().map(|delivery| delivery.webhook_id).collect::<Vec<_>>(), ["msg_acme_one_2"]);
    assert_eq!(ids(store, "acme").await, ["whs_2"]);
}

async fn a_delivery_that_has_ended_is_sent_once_more_while_its_body_is_kept(site: Site) {
    let store = site_with_key(&site).await;
    let id = "msg_acme_one_1";
    assert_eq!(store.webhooks().resend_delivery(id).await.unwrap(), Resent::Unknown);
    store.webhooks().add_deliveries(vec![delivery("acme", "one", 1)]).await.unwrap();
    for _ in 0..2 {
        let claimed = claim_one(store, LEASE).await.unwrap();
        assert!(store.webhooks().finish_attempt(id, claimed.fence, &[], AttemptResult::Delivered, DAY).await.unwrap());
        assert_eq!(claim_one(store, LEASE).await, None);
        let Resent::Due(due) = store.webhooks().resend_delivery(id).await.unwrap() else { unreachable!() };
        assert_eq!((due.delivery.status, due.kept_until), (DeliveryStatus::Pending, None));
    }
    let claimed = claim_one(store, LEASE).await.unwrap();
    assert_eq!((claimed.resent, claimed.payload), (true, payload("acme_one_1")));
    assert!(store.webhooks().finish_attempt(id, claimed.fence, &[], AttemptResult::Failed, LEASE).await.unwrap());
    store.webhooks().sweep().await.unwrap();
    assert!(matches!(store.webhooks().resend_delivery(id).await.unwrap(), Resent::Due(_)));
    let claimed = claim_one(store, LEASE).await.unwrap();
    assert!(
        store.webhooks().finish_attempt(id, claimed.fence, &[], AttemptResult::Failed, Duration::ZERO).await.unwrap()
    );
    assert_eq!(store.webhooks().resend_delivery(id).await.unwrap(), Resent::NotKept);
    // The time of a body is over, and it is not swept yet.
    let late = "msg_acme_one_2";
    store.webhooks().add_deliveries(vec![delivery("acme", "one", 2)]).await.unwrap();
    let claimed = claim_one(store, LEASE).await.unwrap();
    assert!(store.webhooks().finish_attempt(late, claimed.fence, &[], AttemptResult::Failed, LEASE).await.unwrap());
    site.execute("UPDATE webhook_deliveries SET body_until = body_until - 60000").await;
    assert_eq!(store.webhooks().resend_delivery(late).await.unwrap(), Resent::NotKept);
    let filter = AuditFilter { action: Some("webhook.resent".into()), limit: 10, ..AuditFilter::default() };
    assert_eq!(store.audit().list(filter).await.unwrap().len(), 3);
}

async fn the_deliveries_of_all_tenants_are_listed_with_filters(site: Site) {
    let store = site_with_key(&site).await;
    for (tenant, receiver) in [("acme", "one"), ("other", "one"), ("acme", "two")] {
        store.webhooks().add_deliveries(vec![delivery(tenant, receiver, 1)]).await.unwrap();
        // Times of creation are in milliseconds.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let ids = async |filter: AnyDeliveryFilter| {
        let found = store.webhooks().all_deliveries(AnyDeliveryFilter { limit: 2, ..filter }).await.unwrap();
        found.into_iter().map(|found| found.delivery.webhook_id).collect::<Vec<_>>()
    };
    let all = AnyDeliveryFilter::default;
    let [first, second, third] = ["msg_acme_one_1", "msg_other_one_1", "msg_acme_two_1"];
    assert_eq!(ids(all()).await, [third, second]);
    let last = store.webhooks().all_deliveries(AnyDeliveryFilter { limit: 2, ..all() }).await.unwrap().remove(1);
    let before = Some((last.created_at, last.delivery.webhook_id));
    assert_eq!(ids(AnyDeliveryFilter { before, ..all() }).await, [first]);
    assert_eq!(ids(AnyDeliveryFilter { tenant: Some("acme".into()), ..all() }).await, [third, first]);
    assert_eq!(ids(AnyDeliveryFilter { id: Some(second.into()), ..all() }).await, [second]);
    assert_eq!(ids(AnyDeliveryFilter { url: Some(UrlFilter::Receiver("two".into())), ..all() }).await, [third]);
    assert_eq!(ids(AnyDeliveryFilter { url: Some(UrlFilter::Hash("one".into())), ..all() }).await, [second, first]);
    assert!(ids(AnyDeliveryFilter { status: Some(DeliveryStatus::Failed), ..all() }).await.is_empty());
    assert!(ids(AnyDeliveryFilter { failing: true, ..all() }).await.is_empty());
    let claimed = claim_one(store, LEASE).await.unwrap();
    let (id, again) = (claimed.delivery.webhook_id, AttemptResult::RetryAfter(DAY));
    let attempt = [DeliveryAttempt { at: at_second(9), result: Ok(503) }];
    assert!(store.webhooks().finish_attempt(&id, claimed.fence, &attempt, again, DAY).await.unwrap());
    assert_eq!(ids(AnyDeliveryFilter { failing: true, ..all() }).await, [id]);
}
