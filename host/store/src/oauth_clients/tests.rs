//! The clients of tenants, on every database.

use super::*;
use crate::testing::{Site, data_key, details, holder, on_every_database, sealed};
use crate::{AuthType, Connected, Store};

on_every_database!(
    a_client_is_set_changed_and_replaced,
    the_first_name_with_a_client_wins,
    a_replaced_client_stays_for_its_integrations_until_it_is_deleted,
);

fn client(tenant: &str, name: &str, client_id: &str) -> NewOauthClient {
    NewOauthClient {
        tenant: tenant.into(),
        name: name.into(),
        client_id: client_id.into(),
        secret: Some(sealed("dk_1")),
        scopes: Some(vec!["read".into(), "a b".into()]),
        redirect_url: Some("https://acme.example/back".into()),
    }
}

async fn current(store: &Store, tenant: &str, names: &[&str]) -> Option<String> {
    store.oauth_clients().get(tenant, names).await.unwrap().map(|found| found.client.client_id)
}

async fn a_client_is_set_changed_and_replaced(site: Site) {
    let store = &site.store;
    data_key(store, "dk_1").await;
    assert_eq!(current(store, "acme", &["calendar"]).await, None);
    let first = store.oauth_clients().set(client("acme", "calendar", "one")).await.unwrap();
    assert_eq!((first.client.clone(), first.integrations), (client("acme", "calendar", "one"), 0));
    let public = NewOauthClient { secret: None, scopes: None, ..client("acme", "calendar", "one") };
    let changed = store.oauth_clients().set(public.clone()).await.unwrap();
    assert_eq!((changed.id, changed.client), (first.id.clone(), public));
    let second = store.oauth_clients().set(client("acme", "calendar", "two")).await.unwrap();
    assert_ne!(second.id, first.id);
    assert_eq!(store.oauth_clients().by_id(&first.id).await.unwrap().unwrap().client.client_id, "one");
    assert_eq!(store.oauth_clients().of("acme").await.unwrap(), [second]);
    assert_eq!(current(store, "other", &["calendar"]).await, None);
}

async fn the_first_name_with_a_client_wins(site: Site) {
    let store = &site.store;
    data_key(store, "dk_1").await;
    store.oauth_clients().set(client("acme", "shared", "provider")).await.unwrap();
    assert_eq!(current(store, "acme", &["calendar", "shared"]).await.as_deref(), Some("provider"));
    store.oauth_clients().set(client("acme", "calendar", "connector")).await.unwrap();
    assert_eq!(current(store, "acme", &["calendar", "shared"]).await.as_deref(), Some("connector"));
}

async fn a_replaced_client_stays_for_its_integrations_until_it_is_deleted(site: Site) {
    let store = &site.store;
    data_key(store, "dk_1").await;
    let first = store.oauth_clients().set(client("acme", "calendar", "one")).await.unwrap();
    let connected = Connected { oauth_client: Some(first.id.clone()), ..Connected::new(AuthType::OAuth2, details()) };
    let integration = store.integrations().connect(&holder(), "ann", connected, Vec::new(), None).await.unwrap();
    assert_eq!(integration.oauth_client, Some(first.id.clone()));
    store.oauth_clients().set(client("acme", "calendar", "two")).await.unwrap();
    assert_eq!(store.oauth_clients().sweep().await.unwrap(), 0);
    assert_eq!(store.oauth_clients().by_id(&first.id).await.unwrap().unwrap().integrations, 1);
    assert_eq!(store.oauth_clients().delete("acme", "calendar").await.unwrap(), Some(1));
    assert_eq!(store.oauth_clients().by_id(&first.id).await.unwrap(), None);
    assert_eq!(store.oauth_clients().delete("acme", "calendar").await.unwrap(), None);
}
