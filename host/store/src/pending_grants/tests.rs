//! Pending grants, on every database.

use std::time::Duration;

use super::*;
use crate::testing::{Site, connect, data_key, details, holder, on_every_database, sealed};
use crate::{AuthType, Connected, Holder, Overwrites, Sealed, StoreError};

on_every_database!(
    a_grant_is_confirmed_once_and_becomes_an_integration,
    a_grant_is_found_only_by_the_caller_that_began,
    a_grant_stays_if_its_integration_was_changed_meanwhile,
    an_expired_grant_is_listed_and_cannot_be_confirmed,
);

async fn pending(site: &Site) -> PendingGrant {
    data_key(&site.store, "dk_1").await;
    let grant = PendingGrant {
        hash: [7; 32],
        holder: holder(),
        user_identifier: "ann@example.com".into(),
        sealed: sealed("dk_1"),
        expires_at: site.store.database.now().await.unwrap() + Duration::from_secs(600),
    };
    site.store.pending_grants().save(grant.clone()).await.unwrap();
    grant
}

fn connected() -> Connected {
    Connected::new(AuthType::OAuth2, details())
}

async fn look_up(site: &Site, holder: &Holder, user_identifier: &str) -> FoundGrant {
    site.store.pending_grants().get(holder, user_identifier, &[7; 32]).await.unwrap()
}

async fn a_grant_is_confirmed_once_and_becomes_an_integration(site: Site) {
    let grant = pending(&site).await;
    assert_eq!(look_up(&site, &holder(), "ann@example.com").await, FoundGrant::Pending(Box::new(grant.clone())));
    assert!(site.store.integrations().of(&holder()).await.unwrap().is_empty());
    let other = site.open_again().await;
    let (one, two) = tokio::join!(
        site.store.pending_grants().confirm(grant.clone(), connected(), Vec::new(), None),
        other.pending_grants().confirm(grant.clone(), connected(), Vec::new(), None),
    );
    let confirmed: Vec<_> = [one.unwrap(), two.unwrap()].into_iter().flatten().collect();
    assert_eq!(site.store.integrations().of(&holder()).await.unwrap(), confirmed);
    assert_eq!((confirmed.len(), confirmed[0].user_identifier.as_str()), (1, "ann@example.com"));
    assert_eq!(look_up(&site, &holder(), "ann@example.com").await, FoundGrant::Unknown);
}

async fn a_grant_is_found_only_by_the_caller_that_began(site: Site) {
    pending(&site).await;
    let user = "ann@example.com";
    let of = |tenant: &str, subject: &str, connector: &str| Holder {
        tenant: tenant.into(),
        subject: subject.into(),
        connector: connector.into(),
    };
    assert_eq!(look_up(&site, &of("acme", "eve", "calendar"), user).await, FoundGrant::OfOtherSubject);
    assert_eq!(look_up(&site, &of("other", "ann", "calendar"), user).await, FoundGrant::Unknown);
    assert_eq!(look_up(&site, &of("acme", "ann", "mail"), user).await, FoundGrant::Unknown);
    assert_eq!(look_up(&site, &holder(), "bob@example.com").await, FoundGrant::Unknown);
}

async fn a_grant_stays_if_its_integration_was_changed_meanwhile(site: Site) {
    let grant = pending(&site).await;
    connect(&site.store, "ann@example.com").await;
    let late = Connected { overwrites: Overwrites::Nothing, ..connected() };
    let confirmed = site.store.pending_grants().confirm(grant.clone(), late, Vec::new(), None).await;
    assert!(matches!(confirmed, Err(StoreError::IntegrationChanged)), "{confirmed:?}");
    assert_eq!(look_up(&site, &holder(), "ann@example.com").await, FoundGrant::Pending(Box::new(grant)));
}

async fn an_expired_grant_is_listed_and_cannot_be_confirmed(site: Site) {
    let grant = pending(&site).await;
    assert!(site.store.pending_grants().expired(10).await.unwrap().is_empty());
    site.execute("UPDATE pending_grants SET expires_at = expires_at - 600000").await;
    assert_eq!(look_up(&site, &holder(), "ann@example.com").await, FoundGrant::Unknown);
    let confirmed = site.store.pending_grants().confirm(grant.clone(), connected(), Vec::new(), None).await.unwrap();
    assert_eq!(confirmed, None, "it has expired since it was looked up");
    let expired = site.store.pending_grants().expired(10).await.unwrap();
    assert_eq!(expired.iter().map(|grant| grant.hash).collect::<Vec<_>>(), [grant.hash]);
    let resealed = Sealed { bytes: vec![9], ..sealed("dk_1") };
    site.store.pending_grants().reseal(&grant.hash, resealed.clone()).await.unwrap();
    assert_eq!(site.store.pending_grants().expired(10).await.unwrap()[0].sealed, resealed);
    site.store.pending_grants().delete(&grant.hash).await.unwrap();
    site.store.pending_grants().reseal(&grant.hash, resealed).await.unwrap();
    assert!(site.store.pending_grants().expired(10).await.unwrap().is_empty());
}
