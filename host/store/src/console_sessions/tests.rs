//! Sessions of the console, on every database.

use super::*;
use crate::testing::{Site, on_every_database};
use crate::{AuditFilter, NewApiKey};

on_every_database!(
    a_session_is_known_at_every_gateway_until_it_ends,
    a_session_ends_by_time_and_without_use,
    a_session_ends_with_its_key,
    a_person_has_a_session_without_a_key,
);

const HOUR: Duration = Duration::from_secs(3600);
const IDLE: Duration = Duration::from_secs(1800);

async fn signed_in(site: &Site) -> KeyId {
    let id = KeyId("key_1".to_owned());
    let key = NewApiKey {
        id: id.clone(),
        name: "operator".to_owned(),
        tenant: "acme".to_owned(),
        scopes: "admin".to_owned(),
        hash: [7; 32],
        ..NewApiKey::default()
    };
    site.store.keys().create(key).await.unwrap();
    let session = site.store.console_sessions().add(&[1; 32], &id, HOUR).await.unwrap().unwrap();
    assert_eq!(session.holder, SessionHolder::Key { id: id.clone(), hash: [7; 32] });
    id
}

async fn a_session_is_known_at_every_gateway_until_it_ends(site: Site) {
    signed_in(&site).await;
    let other = site.open_again().await;
    let found = other.console_sessions().get(&[1; 32], IDLE).await.unwrap();
    assert!(matches!(found.unwrap().holder, SessionHolder::Key { hash, .. } if hash == [7; 32]));
    assert_eq!(other.console_sessions().get(&[2; 32], IDLE).await.unwrap(), None);
    assert!(other.console_sessions().end(&[1; 32]).await.unwrap());
    assert!(!site.store.console_sessions().end(&[1; 32]).await.unwrap(), "it ends once");
    assert_eq!(site.store.console_sessions().get(&[1; 32], IDLE).await.unwrap(), None);
    let entries = site.store.audit().list(AuditFilter { limit: 2, ..AuditFilter::default() }).await.unwrap();
    let seen: Vec<_> = entries.iter().map(|entry| (&*entry.action, &*entry.target, &*entry.tenant)).collect();
    assert_eq!(seen, [("console.signed_out", "key_1", "acme"), ("console.signed_in", "key_1", "acme")]);
}

async fn a_session_ends_by_time_and_without_use(site: Site) {
    let id = signed_in(&site).await;
    site.execute("UPDATE console_sessions SET seen_at = seen_at - 1700000").await;
    assert!(site.store.console_sessions().get(&[1; 32], IDLE).await.unwrap().is_some(), "its use is noted");
    site.execute("UPDATE console_sessions SET seen_at = seen_at - 1700000").await;
    assert!(site.store.console_sessions().get(&[1; 32], IDLE).await.unwrap().is_some());
    site.execute("UPDATE console_sessions SET seen_at = seen_at - 1800001").await;
    assert_eq!(site.store.console_sessions().get(&[1; 32], IDLE).await.unwrap(), None);
    site.store.console_sessions().add(&[2; 32], &id, HOUR).await.unwrap().unwrap();
    site.execute("UPDATE console_sessions SET expires_at = expires_at - 3600000").await;
    assert_eq!(site.store.console_sessions().get(&[2; 32], IDLE).await.unwrap(), None);
    // The next one sweeps them.
    site.store.console_sessions().add(&[3; 32], &id, HOUR).await.unwrap().unwrap();
    assert_eq!(site.execute("DELETE FROM console_sessions").await, 1);
}

async fn a_session_ends_with_its_key(site: Site) {
    let id = signed_in(&site).await;
    site.store.keys().revoke(&id).await.unwrap();
    assert_eq!(site.store.console_sessions().get(&[1; 32], IDLE).await.unwrap(), None);
    assert_eq!(site.store.console_sessions().add(&[2; 32], &id, HOUR).await.unwrap(), None);
}

async fn a_person_has_a_session_without_a_key(site: Site) {
    let person =
        SessionPerson { issuer: "https://id.example".into(), subject: "ann".into(), name: "ann@example.com".into() };
    let by = Acting::operator("ann@id.example", "req_1");
    crate::acting(by.clone(), site.store.console_sessions().add_of_person(&[4; 32], &person, HOUR)).await.unwrap();
    let found = site.open_again().await.console_sessions().get(&[4; 32], IDLE).await.unwrap().unwrap();
    assert_eq!(found.holder, SessionHolder::Person(person));
    assert!(crate::acting(by, site.store.console_sessions().end(&[4; 32])).await.unwrap());
    assert_eq!(site.store.console_sessions().get(&[4; 32], IDLE).await.unwrap(), None);
    let entries = site.store.audit().list(AuditFilter { limit: 2, ..AuditFilter::default() }).await.unwrap();
    let seen: Vec<_> = entries.iter().map(|entry| (&*entry.actor, &*entry.action, &*entry.detail)).collect();
    let actor = "person:ann@id.example";
    assert_eq!(seen, [(actor, "console.signed_out", ""), (actor, "console.signed_in", "ann@example.com")]);
}
