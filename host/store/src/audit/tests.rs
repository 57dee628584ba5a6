//! The audit, on every database.

use std::time::{Duration, SystemTime};

use super::*;
use crate::testing::{Site, connect, holder, on_every_database};
use crate::{KeyId, NewApiKey};

on_every_database!(
    a_change_and_its_entry_are_one_transaction,
    a_reason_is_in_the_detail_of_each_change,
    entries_are_listed_by_page_and_filter,
    entries_are_neither_changed_nor_deleted_before_their_time,
);

fn key(id: &str) -> NewApiKey {
    NewApiKey {
        id: KeyId(id.into()),
        name: "test".into(),
        tenant: "acme".into(),
        hash: [id.as_bytes()[0]; 32],
        ..NewApiKey::default()
    }
}

fn filter() -> AuditFilter {
    AuditFilter { limit: 10, ..AuditFilter::default() }
}

async fn a_change_and_its_entry_are_one_transaction(site: Site) {
    let store = &site.store;
    acting(Acting::key("key_1", "req_1"), async {
        store.keys().create(key("a")).await.unwrap();
        assert!(store.keys().create(NewApiKey { id: KeyId("b".into()), ..key("a") }).await.is_err());
        assert!(!store.webhooks().delete_secret("acme", "none").await.unwrap());
    })
    .await;
    let entries = store.audit().list(filter()).await.unwrap();
    assert_eq!(entries.len(), 1, "what failed has no entry: {entries:?}");
    let AuditEntry { actor, action, target, tenant, request_id, .. } = &entries[0];
    assert_eq!((&**actor, &**action, &**target), ("key_1", "key.created", "a"));
    assert_eq!((&**tenant, &**request_id), ("acme", "req_1"));
    let id = connect(store, "ann").await.id;
    store.integrations().select(&holder(), "ann").await.unwrap();
    store.integrations().select(&holder(), "ann").await.unwrap();
    let of_one = store.audit().list(AuditFilter { target: Some(id), ..filter() }).await.unwrap();
    let seen: Vec<_> = of_one.iter().map(|entry| (&*entry.actor, &*entry.action)).collect();
    assert_eq!(seen, [("gateway", "integration.selected"), ("gateway", "integration.connected")]);
}

async fn a_reason_is_in_the_detail_of_each_change(site: Site) {
    let store = &site.store;
    let by = Acting::operator("ann@id.example", "req_1").because("ticket 7");
    acting(by, async {
        store.audit().note(AuditAction::MasterKeyRotated, "a", "", "").await.unwrap();
        store.audit().note(AuditAction::MasterKeyRotated, "b", "", "two keys").await.unwrap();
    })
    .await;
    let entries = store.audit().list(filter()).await.unwrap();
    let seen: Vec<_> = entries.iter().map(|entry| (&*entry.actor, &*entry.detail)).collect();
    let actor = "person:ann@id.example";
    assert_eq!(seen, [(actor, "two keys; reason: ticket 7"), (actor, "reason: ticket 7")]);
}

async fn entries_are_listed_by_page_and_filter(site: Site) {
    let store = &site.store;
    for number in 0..5 {
        let by = Acting::person(if number % 2 == 0 { "ann" } else { "bob" }, "host");
        acting(by, store.audit().note(AuditAction::MasterKeyRotated, &number.to_string(), "", "")).await.unwrap();
    }
    let targets = |entries: &[AuditEntry]| entries.iter().map(|entry| entry.target.clone()).collect::<String>();
    let first = store.audit().list(AuditFilter { limit: 2, ..filter() }).await.unwrap();
    let last = first.last().unwrap();
    let rest = store.audit().list(AuditFilter { before: Some((last.at, last.number)), ..filter() }).await.unwrap();
    assert_eq!((targets(&first), targets(&rest)), ("43".to_owned(), "210".to_owned()));
    let of_bob = AuditFilter { actor: Some("person:bob@host".into()), ..filter() };
    assert_eq!(targets(&store.audit().list(of_bob).await.unwrap()), "31");
    let later = SystemTime::now() + Duration::from_secs(60);
    assert!(store.audit().list(AuditFilter { since: Some(later), ..filter() }).await.unwrap().is_empty());
    assert_eq!(store.audit().list(AuditFilter { until: Some(later), ..filter() }).await.unwrap().len(), 5);
    let other = AuditFilter { tenant: Some("acme".into()), action: Some("key.created".into()), ..filter() };
    assert!(store.audit().list(other).await.unwrap().is_empty());
}

async fn entries_are_neither_changed_nor_deleted_before_their_time(site: Site) {
    let store = &site.store;
    store.audit().note(AuditAction::MasterKeyRotated, "new", "", "").await.unwrap();
    site.execute(
        "INSERT INTO audit (at, actor, action, target, tenant, request_id, detail) VALUES (0, 'a', 'b', 'old', '', '', '')",
    )
    .await;
    for sql in ["UPDATE audit SET actor = 'x'", "DELETE FROM audit"] {
        let refused = store.write(database::connection::Durability::ProcessKill, move |connection| {
            connection.execute(sql, &[]).map(drop)
        });
        assert!(refused.await.is_err(), "{sql}");
    }
    assert_eq!(store.audit().delete_old(Duration::from_secs(90 * 86_400)).await.unwrap(), 1);
    assert_eq!(store.audit().list(filter()).await.unwrap()[0].target, "new");
    assert!(
        store.audit().delete_old(Duration::ZERO).await.is_err()
            || store.audit().list(filter()).await.unwrap().len() == 1
    );
}
