//! Agent sessions, on every database.

use std::time::Duration;

use database::connection::Durability;
use database::value::values;

use super::*;
use crate::testing::{Site, on_every_database};
use crate::{AuditFilter, KeyAdoption, KeyId, LinkEnd, NewApiKey, NewConnectLink, Store, StoreError, new_link_id};

on_every_database!(
    a_session_comes_back_as_it_was_stored_until_it_is_ended,
    a_session_ends_with_its_key_for_good,
    a_session_ends_no_later_than_its_maker,
    a_tenant_has_a_limited_number_of_sessions,
    a_session_counts_in_what_its_tenant_has_stored,
    a_link_ends_with_the_session_that_made_it,
);

const HOUR: Duration = Duration::from_secs(3600);

fn new(number: u8) -> NewAgentSession {
    NewAgentSession {
        id: KeyId(format!("ags_{number}")),
        hash: [number; 32],
        tenant: "acme".into(),
        scopes: "operate".into(),
        lifetime: HOUR,
        ..NewAgentSession::default()
    }
}

fn key() -> NewApiKey {
    NewApiKey {
        id: KeyId("key_1".into()),
        name: "application".into(),
        tenant: "acme".into(),
        scopes: "operate".into(),
        hash: [7; 32],
        ..NewApiKey::default()
    }
}

async fn is_open(store: &Store, number: u8) -> bool {
    let by_hash = store.agent_sessions().by_hash(&[number; 32]).await.unwrap();
    assert_eq!(by_hash, store.agent_sessions().get(&KeyId(format!("ags_{number}"))).await.unwrap());
    by_hash.is_some()
}

async fn a_session_comes_back_as_it_was_stored_until_it_is_ended(site: Site) {
    let store = &site.store;
    let new = NewAgentSession {
        subject: Some("ann".into()),
        account: Some("ann@example.com".into()),
        set: Some("support".into()),
        allow: Some(r#"["mail"]"#.into()),
        effects: Some("read write".into()),
        confirm: true,
        ..new(1)
    };
    let added = store.agent_sessions().add(new.clone()).await.unwrap().unwrap();
    assert_eq!(store.agent_sessions().by_hash(&[1; 32]).await.unwrap(), Some(added.clone()));
    assert_eq!((added.subject, added.account, added.set), (new.subject, new.account, new.set));
    assert_eq!((added.allow, added.effects, added.confirm), (new.allow, new.effects, true));
    let id = KeyId("ags_1".into());
    assert!(!store.agent_sessions().end("other", None, &id).await.unwrap(), "it belongs to its tenant");
    assert!(!store.agent_sessions().end("acme", Some("bob"), &id).await.unwrap(), "and to its user");
    assert!(is_open(&site.open_again().await, 1).await);
    assert!(store.agent_sessions().end("acme", Some("ann"), &id).await.unwrap());
    assert!(!store.agent_sessions().end("acme", None, &id).await.unwrap(), "it ends once");
    assert!(!is_open(&site.open_again().await, 1).await);
    let entries = store.audit().list(AuditFilter { limit: 10, ..AuditFilter::default() }).await.unwrap();
    let seen: Vec<_> = entries.iter().map(|entry| (&*entry.action, &*entry.target, &*entry.tenant)).collect();
    assert_eq!(seen, [("agent_session.deleted", "ags_1", "acme"), ("agent_session.created", "ags_1", "acme")]);
}

async fn a_session_ends_with_its_key_for_good(site: Site) {
    let store = &site.store;
    // The key comes from the environment, so it can be adopted again after another one.
    store.keys().adopt(key()).await.unwrap();
    let of_key = || NewAgentSession { maker: Some(KeyId("key_1".into())), ..new(1) };
    store.agent_sessions().add(of_key()).await.unwrap().unwrap();
    store.agent_sessions().add(new(2)).await.unwrap().unwrap();
    assert_eq!(
        store.keys().adopt(NewApiKey { id: KeyId("key_2".into()), hash: [8; 32], ..key() }).await.unwrap(),
        KeyAdoption::Accepted
    );
    assert!(!is_open(store, 1).await);
    assert!(is_open(store, 2).await, "other sessions continue");
    assert!(store.agent_sessions().add(NewAgentSession { hash: [3; 32], ..of_key() }).await.unwrap().is_none());
    store.keys().adopt(key()).await.unwrap();
    assert!(!is_open(store, 1).await, "it does not come back with its key");
}

async fn a_session_ends_no_later_than_its_maker(site: Site) {
    let store = &site.store;
    let now = std::time::SystemTime::from(store.database.now().await.unwrap());
    let end = now + Duration::from_secs(600);
    store.keys().create(NewApiKey { expires_at: Some(end), ..key() }).await.unwrap();
    let of_key = NewAgentSession { maker: Some(KeyId("key_1".into())), ..new(1) };
    let added = store.agent_sessions().add(of_key).await.unwrap().unwrap();
    let rest = |expires_at: std::time::SystemTime| expires_at.duration_since(now).unwrap().as_secs();
    assert_eq!(rest(added.expires_at), 600);
    let of_token = NewAgentSession { ends_by: Some(now + Duration::from_secs(300)), ..new(2) };
    assert_eq!(rest(store.agent_sessions().add(of_token).await.unwrap().unwrap().expires_at), 300);
    assert!(rest(store.agent_sessions().add(new(3)).await.unwrap().unwrap().expires_at) >= 3600);
    let late = NewAgentSession { ends_by: Some(now - HOUR), ..new(4) };
    assert_eq!(store.agent_sessions().add(late).await.unwrap(), None);
    site.execute("UPDATE agent_sessions SET expires_at = 0 WHERE id = 'ags_2'").await;
    assert!(!is_open(store, 2).await && is_open(store, 1).await);
}

async fn a_tenant_has_a_limited_number_of_sessions(site: Site) {
    let store = &site.store;
    store.agent_sessions().add(new(1)).await.unwrap().unwrap();
    let filling = store.write(Durability::ProcessKill, |connection| {
        for number in 1..10_000_u32 {
            let mut hash = [0; 32];
            hash[..4].copy_from_slice(&number.to_be_bytes());
            connection.execute(
                "INSERT INTO agent_sessions (id, hash, tenant, scopes, confirm, created_at, expires_at)
                 VALUES ($1, $2, 'acme', 'operate', $3, 0, now_ms() + 1000000)",
                values![format!("ags_x{number}"), &hash, false],
            )?;
        }
        Ok(())
    });
    filling.await.unwrap();
    let over = store.agent_sessions().add(new(2)).await.unwrap_err();
    assert!(matches!(over, StoreError::TooManyAgentSessions { limit: 10_000 }), "{over}");
    store.agent_sessions().add(NewAgentSession { tenant: "other".into(), ..new(3) }).await.unwrap().unwrap();
    assert!(store.agent_sessions().end("acme", None, &KeyId("ags_1".into())).await.unwrap());
    store.agent_sessions().add(new(4)).await.unwrap().unwrap();
}

async fn a_session_counts_in_what_its_tenant_has_stored(site: Site) {
    let store = &site.store;
    store.agent_sessions().add(NewAgentSession { allow: Some("[\"mail\"]".into()), ..new(1) }).await.unwrap().unwrap();
    let with_session = store.stored_bytes().await.unwrap().total;
    site.execute("UPDATE agent_sessions SET expires_at = expires_at - 5400000").await;
    store.agent_sessions().sweep().await.unwrap();
    assert_eq!(with_session - store.stored_bytes().await.unwrap().total, 0, "it is kept for a while after its expiry");
    site.execute("UPDATE agent_sessions SET expires_at = expires_at - 3600000").await;
    store.agent_sessions().sweep().await.unwrap();
    assert_eq!(with_session - store.stored_bytes().await.unwrap().total, 508);
    let full = store.clone().with_quota(1);
    assert!(matches!(full.agent_sessions().add(new(2)).await, Err(StoreError::TenantFull { limit: 1 })));
}

async fn a_link_ends_with_the_session_that_made_it(site: Site) {
    let store = &site.store;
    let id = KeyId("ags_1".into());
    store.agent_sessions().add(new(1)).await.unwrap().unwrap();
    let link = NewConnectLink {
        id: new_link_id().unwrap(),
        hash: [9; 32],
        tenant: "acme".into(),
        subject: String::new(),
        connectors: vec!["mail".into()],
        user_identifier: None,
        callback_url: None,
        labels: None,
        key_id: Some(id.clone()),
        lifetime: HOUR,
    };
    let link = store.connect_links().add(link).await.unwrap();
    assert_eq!(link.end, None);
    site.execute("UPDATE agent_sessions SET expires_at = 0").await;
    assert_eq!(store.connect_links().get(&link.id).await.unwrap().unwrap().end, None, "the user has begun in time");
    site.execute("UPDATE agent_sessions SET expires_at = now_ms() + 1000000").await;
    assert!(store.agent_sessions().end("acme", None, &id).await.unwrap());
    assert_eq!(store.connect_links().get(&link.id).await.unwrap().unwrap().end, Some(LinkEnd::Deleted));
}
