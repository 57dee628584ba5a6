//! API keys, on every database.

use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::testing::{Site, on_every_database};
use crate::{StorageScope, Store, StoreError};

on_every_database!(
    a_key_comes_back_as_it_was_stored,
    the_same_key_is_not_stored_twice,
    the_revision_grows_only_when_a_key_changes,
    the_first_key_is_created_once_even_if_it_is_revoked,
    an_adopted_key_replaces_the_previous_one_and_can_be_adopted_again,
    a_key_that_a_person_revoked_cannot_be_adopted,
    adopting_a_key_that_has_other_rights_leaves_them_unchanged,
    a_page_of_keys_has_those_of_its_filter,
);

fn key(id: &str) -> NewApiKey {
    NewApiKey {
        id: KeyId(id.into()),
        name: "test".into(),
        tenant: "default".into(),
        subject: None,
        scopes: "operate integrate admin".to_owned(),
        hash: [id.as_bytes()[0]; 32],
        prefix: "cgw_test".into(),
        ..NewApiKey::default()
    }
}

/// The ids of the keys that are not revoked, in alphabetical order.
async fn accepted(store: &Store) -> Vec<String> {
    let keys = store.keys().all().await.unwrap().into_iter();
    let mut accepted: Vec<_> = keys.filter(|key| key.revoked_at.is_none()).map(|key| key.id.0).collect();
    accepted.sort();
    accepted
}

async fn a_key_comes_back_as_it_was_stored(site: Site) {
    let store = &site.store;
    let new = NewApiKey { subject: Some("ann".into()), scopes: "operate admin".to_owned(), confirm: true, ..key("a") };
    store.keys().create(new.clone()).await.unwrap();
    let stored = store.keys().all().await.unwrap().remove(0);
    assert_eq!((stored.id, stored.subject, stored.scopes), (new.id, new.subject, new.scopes));
    assert_eq!((stored.hash, stored.revoked_at, stored.confirm), (new.hash, None, true));
    assert!(stored.created_at.elapsed().unwrap().as_secs() < 60);
}

async fn the_same_key_is_not_stored_twice(site: Site) {
    let store = &site.store;
    store.keys().create(key("a")).await.unwrap();
    assert!(matches!(store.keys().create(key("a2")).await, Err(StoreError::Duplicate)));
}

async fn the_revision_grows_only_when_a_key_changes(site: Site) {
    let store = &site.store;
    let first = store.keys().revision().await.unwrap();
    store.keys().create(key("a")).await.unwrap();
    let created = store.keys().revision().await.unwrap();
    assert!(created > first);
    store.keys().note_used(vec![KeyId("a".into())]).await.unwrap();
    let scope = StorageScope { connector: "demo".into(), partition: String::new() };
    store.storage().set(&site.vault().await, &scope, "key", vec![], None).await.unwrap();
    assert_eq!(store.keys().revision().await.unwrap(), created);
    assert!(store.keys().all().await.unwrap()[0].last_used_at.is_some());
    store.keys().revoke(&KeyId("a".into())).await.unwrap();
    assert!(store.keys().revision().await.unwrap() > created);
}

async fn the_first_key_is_created_once_even_if_it_is_revoked(site: Site) {
    let store = &site.store;
    assert!(store.keys().create_first(key("a")).await.unwrap());
    assert!(!store.keys().create_first(key("b")).await.unwrap());
    store.keys().revoke(&KeyId("a".into())).await.unwrap();
    assert!(!store.keys().create_first(key("b")).await.unwrap());
}

async fn an_adopted_key_replaces_the_previous_one_and_can_be_adopted_again(site: Site) {
    let store = &site.store;
    store.keys().create(key("c")).await.unwrap();
    for (id, expected) in [("a", ["a", "c"]), ("a", ["a", "c"]), ("b", ["b", "c"]), ("a", ["a", "c"])] {
        assert_eq!(store.keys().adopt(key(id)).await.unwrap(), KeyAdoption::Accepted);
        assert_eq!(accepted(store).await, expected);
    }
}

async fn a_key_that_a_person_revoked_cannot_be_adopted(site: Site) {
    let store = &site.store;
    store.keys().adopt(key("a")).await.unwrap();
    assert!(matches!(store.keys().revoke(&KeyId("a".into())).await.unwrap(), KeyRevocation::Revoked(_)));
    assert_eq!(store.keys().adopt(key("a")).await.unwrap(), KeyAdoption::Revoked);
    assert!(accepted(store).await.is_empty());
    // The same holds for a key that another one had replaced before a person revoked it.
    store.keys().adopt(key("b")).await.unwrap();
    store.keys().adopt(key("c")).await.unwrap();
    assert!(matches!(store.keys().revoke(&KeyId("b".into())).await.unwrap(), KeyRevocation::AlreadyRevoked(_)));
    assert_eq!(store.keys().adopt(key("b")).await.unwrap(), KeyAdoption::Revoked);
    assert_eq!(accepted(store).await, ["c"]);
}

async fn adopting_a_key_that_has_other_rights_leaves_them_unchanged(site: Site) {
    let store = &site.store;
    store.keys().create(NewApiKey { tenant: "acme".into(), ..key("a") }).await.unwrap();
    assert_eq!(store.keys().adopt(key("a")).await.unwrap(), KeyAdoption::OtherRights(KeyId("a".into())));
    assert_eq!(store.keys().all().await.unwrap()[0].tenant, "acme");
    let narrower = [
        NewApiKey { allow: Some(r#"["mail"]"#.into()), ..key("b") },
        NewApiKey { effects: Some("read".into()), ..key("c") },
        NewApiKey { expires_at: Some(UNIX_EPOCH), ..key("d") },
    ];
    for narrower in narrower {
        let id = narrower.id.clone();
        store.keys().create(narrower).await.unwrap();
        assert_eq!(store.keys().adopt(key(&id.0)).await.unwrap(), KeyAdoption::OtherRights(id));
    }
}

async fn a_page_of_keys_has_those_of_its_filter(site: Site) {
    let store = &site.store;
    let past = UNIX_EPOCH;
    let expired = NewApiKey {
        name: "old".into(),
        tenant: "acme".into(),
        prefix: "cgw_Old1".into(),
        expires_at: Some(past),
        ..key("b")
    };
    let of_user = NewApiKey { subject: Some("ann".into()), tenant: "acme".into(), ..key("c") };
    for new in [key("a"), expired, of_user, key("d")] {
        store.keys().create(new).await.unwrap();
    }
    store.keys().revoke(&KeyId("d".into())).await.unwrap();
    let page = async |filter: KeyFilter| {
        let found = store.keys().page(KeyFilter { limit: 10, ..filter }).await.unwrap();
        let mut ids: Vec<_> = found.into_iter().map(|key| key.id.0).collect();
        ids.sort();
        ids.concat()
    };
    let all = KeyFilter::default;
    assert_eq!(page(all()).await, "abcd");
    assert_eq!(page(KeyFilter { name: Some("old".into()), ..all() }).await, "b");
    assert_eq!(page(KeyFilter { tenant: Some("acme".into()), ..all() }).await, "bc");
    assert_eq!(page(KeyFilter { subject: Some("ann".into()), ..all() }).await, "c");
    assert_eq!(page(KeyFilter { subject: Some(String::new()), ..all() }).await, "abd");
    for (prefix, ids) in [("cgw_", "abcd"), ("cgw_O", "b"), ("cgw_Old1", "b"), ("cgw_o", ""), ("cgw_Old12", "")] {
        assert_eq!(page(KeyFilter { prefix: Some(prefix.into()), ..all() }).await, ids, "{prefix}");
    }
    for (status, ids) in [(KeyStatus::Valid, "ac"), (KeyStatus::Expired, "b"), (KeyStatus::Revoked, "d")] {
        assert_eq!(page(KeyFilter { status: Some(status), ..all() }).await, ids, "{status:?}");
    }
    for (seconds, ids) in [(0, ""), (1, "b")] {
        let expires_before = Some(past + Duration::from_secs(seconds));
        assert_eq!(page(KeyFilter { expires_before, ..all() }).await, ids, "{seconds}");
    }
    let newest = store.keys().page(KeyFilter { limit: 1, ..all() }).await.unwrap().remove(0);
    let after = KeyFilter { before: Some((newest.created_at, newest.id.0)), ..all() };
    assert_eq!(page(after).await.len(), 3);
}
