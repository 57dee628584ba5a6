//! Usage, on every database.

use std::time::Duration;

use super::*;
use crate::testing::{Site, on_every_database};

on_every_database!(
    gateways_add_to_the_same_rows,
    a_batch_that_is_sent_again_counts_once,
    rows_are_added_up_by_the_members_of_a_list,
    a_list_has_pages_and_days,
    old_days_are_deleted_and_parts_of_sessions_are_added_up,
);

fn calls(calls: u64) -> UsageCounts {
    UsageCounts { calls, failed: 1, upstream_requests: 2, bytes_in: 3, bytes_out: 4, jobs: 5, events: 0 }
}

fn batch(id: &str, day: u32) -> NewUsageBatch {
    let operation = |connector: &str, operation: &str| UsageKey::Operation {
        connector: connector.to_owned(),
        operation: operation.to_owned(),
    };
    let count = |tenant: &str, key, number| (day, tenant.to_owned(), key, calls(number));
    NewUsageBatch {
        id: id.to_owned(),
        counts: vec![
            count("acme", operation("mail", "search"), 1),
            count("acme", operation("mail", "send"), 10),
            count("acme", UsageKey::Subject(String::new()), 7),
            count("acme", UsageKey::Subject("ann".to_owned()), 4),
            count("other", operation("chat", "send"), 100),
        ],
    }
}

async fn list(site: &Site, filter: UsageFilter) -> Vec<(u32, String, u64)> {
    let rows = site.store.usage().list(UsageFilter { limit: filter.limit.max(1), ..filter }).await.unwrap();
    rows.into_iter().map(|row| (row.day, row.names.join("/"), row.counts.calls)).collect()
}

fn by(by: UsageBy) -> UsageFilter {
    UsageFilter { by, limit: 100, ..UsageFilter::default() }
}

async fn gateways_add_to_the_same_rows(site: Site) {
    let other = site.open_again().await;
    let add = async |store: &crate::Store, gateway: &str| {
        for number in 0..10 {
            store.usage().add(batch(&format!("{gateway}{number}"), 20_000)).await.unwrap();
        }
    };
    tokio::join!(add(&site.store, "a"), add(&other, "b"));
    let rows = site.store.usage().list(by(UsageBy::Tenant)).await.unwrap();
    let expected = UsageCounts {
        calls: 220,
        failed: 40,
        upstream_requests: 80,
        bytes_in: 120,
        bytes_out: 160,
        jobs: 200,
        events: 0,
    };
    assert_eq!((&rows[0].names[..], rows[0].counts), (&["acme".to_owned()][..], expected));
}

async fn a_batch_that_is_sent_again_counts_once(site: Site) {
    for _ in 0..2 {
        site.store.usage().add(batch("a", 20_000)).await.unwrap();
    }
    site.store.usage().add(batch("b", 20_000)).await.unwrap();
    assert_eq!(list(&site, by(UsageBy::Tenant)).await, [(20_000, "acme".into(), 22), (20_000, "other".into(), 200)]);
}

async fn rows_are_added_up_by_the_members_of_a_list(site: Site) {
    site.store.usage().add(batch("a", 20_000)).await.unwrap();
    let day = |name: &str, calls| (20_000, name.to_owned(), calls);
    assert_eq!(list(&site, by(UsageBy::Tenant)).await, [day("acme", 11), day("other", 100)]);
    assert_eq!(list(&site, by(UsageBy::Connector)).await, [day("acme/mail", 11), day("other/chat", 100)]);
    assert_eq!(
        list(&site, by(UsageBy::Operation)).await,
        [day("acme/mail/search", 1), day("acme/mail/send", 10), day("other/chat/send", 100)]
    );
    assert_eq!(list(&site, by(UsageBy::Subject)).await, [day("acme/", 7), day("acme/ann", 4)]);
}

async fn a_list_has_pages_and_days(site: Site) {
    for day in 20_000..20_003 {
        site.store.usage().add(batch(&day.to_string(), day)).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = UsageFilter { after, limit: 2, ..by(UsageBy::Operation) };
        let rows = site.store.usage().list(page).await.unwrap();
        let Some(last) = rows.last() else { break };
        after = Some(last.place());
        seen.extend(rows.into_iter().map(|row| (row.day, row.names.join("/"), row.counts.calls)));
    }
    assert_eq!(seen, list(&site, by(UsageBy::Operation)).await);
    assert_eq!((seen.len(), seen[0].0, seen[8].0), (9, 20_002, 20_000));
    let one = UsageFilter { since: Some(20_001), until: Some(20_002), ..by(UsageBy::Tenant) };
    assert_eq!(list(&site, one).await, [(20_001, "acme".into(), 11), (20_001, "other".into(), 100)]);
}

async fn old_days_are_deleted_and_parts_of_sessions_are_added_up(site: Site) {
    let today = site.store.database.now().await.unwrap();
    let today = std::time::SystemTime::from(today).duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() / 86_400;
    let today = u32::try_from(today).unwrap();
    for day in [today - 3, today - 2, today] {
        site.store.usage().add(batch(&day.to_string(), day)).await.unwrap();
    }
    let counted =
        "INSERT INTO usage_of_operations (day, tenant, connector, operation, part, calls, failed, upstream_requests,
                       bytes_in, bytes_out, jobs, events)
                   VALUES (now_ms() / 86400000, 'acme', 'mail', '', 7, 0, 0, 0, 0, 0, 0, 2),
                       (now_ms() / 86400000, 'acme', 'mail', '', 8, 0, 0, 0, 0, 0, 0, 3)";
    site.execute(counted).await;
    site.store.usage().sweep(Duration::from_secs(2 * 86_400)).await.unwrap();
    let days: Vec<_> = list(&site, by(UsageBy::Subject)).await.into_iter().map(|(day, _, _)| day).collect();
    assert_eq!(days, [today, today, today - 2, today - 2]);
    let rows = site.store.usage().list(by(UsageBy::Operation)).await.unwrap();
    assert_eq!((&rows[0].names[2], rows[0].counts.events, rows[0].counts.calls), (&String::new(), 5, 0));
    assert_eq!(site.execute("DELETE FROM usage_of_operations WHERE part <> 0").await, 0);
}
