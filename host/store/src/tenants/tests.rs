//! The list of tenants, on every database.

use super::*;
use crate::testing::{Site, details, holder, on_every_database};
use crate::{AuthType, Connected, Holder, NewOauthClient};

on_every_database!(tenants_are_listed_in_pages_with_what_they_have,);

async fn tenants_are_listed_in_pages_with_what_they_have(site: Site) {
    let store = &site.store;
    assert_eq!(store.tenants("", 10).await.unwrap(), []);
    for (tenant, user) in [("acme", "a"), ("acme", "b"), ("zoo", "a")] {
        let holder = Holder { tenant: tenant.into(), ..holder() };
        store
            .integrations()
            .connect(&holder, user, Connected::new(AuthType::OAuth2, details()), Vec::new(), None)
            .await
            .unwrap();
    }
    let client = NewOauthClient {
        tenant: "middle".into(),
        name: "calendar".into(),
        client_id: "one".into(),
        secret: None,
        scopes: None,
        redirect_url: None,
    };
    store.oauth_clients().set(client).await.unwrap();
    let tenant = |name: &str, integrations, oauth_clients| Tenant {
        name: name.into(),
        keys: 0,
        integrations,
        jobs_pending: 0,
        oauth_clients,
    };
    let all = [tenant("acme", 2, 0), tenant("middle", 0, 1), tenant("zoo", 1, 0)];
    assert_eq!(store.tenants("", 10).await.unwrap(), all);
    assert_eq!(store.tenants("", 2).await.unwrap(), all[..2]);
    assert_eq!(store.tenants("middle", 2).await.unwrap(), all[2..]);
    assert_eq!(store.tenants("zoo", 2).await.unwrap(), []);
}
