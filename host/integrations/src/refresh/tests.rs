//! Tests of the refresh that need a store. No provider is called.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::*;
use crate::tests::{account, account_secret, holder, site};
use store::digest::sha256;
use store::{Details, Sealed};

#[tokio::test]
async fn tokens_of_a_killed_gateway_are_stored_although_another_gateway_has_taken_the_lease() {
    let site = site().await;
    let Integrations { store, vault, journal, .. } = &*site.integrations;
    let previous = account_secret(Duration::from_secs(60));
    let digest = sha256(previous.to_bytes().unwrap().expose_secret());
    for (name, digest, is_stored) in [("a", digest, true), ("b", [0; 32], false)] {
        let connected = site
            .integrations
            .connect(&holder("ann"), Some(name), None, account("a@example.com"), &previous)
            .await
            .unwrap();
        let Integration { id, user_identifier, .. } = &connected;
        let fence = store.integrations().lease_refresh(id, LEASE).await.unwrap().unwrap();
        let sealed = vault.seal(&connected.holder.secret_context(user_identifier), b"new tokens").await.unwrap();
        let details = Details { secret: Some(sealed), ..connected.details.clone() };
        let Ok(mut place) = journal.reserve(id, fence) else { panic!("the disk has room") };
        place.keep(&connected, fence, &details, &digest);
        drop(place);
        store.integrations().release_refresh(id, fence).await.unwrap();
        store.integrations().lease_refresh(id, LEASE).await.unwrap().unwrap();
        site.integrations.store_journal().await.unwrap();
        let after = store.integrations().by_id(id).await.unwrap().unwrap();
        let secret = site.integrations.secret_bytes(&after).await.unwrap().unwrap();
        assert_eq!(secret.expose_secret() == b"new tokens", is_stored);
        assert!(journal.entries().is_empty());
    }
}

#[tokio::test]
async fn tokens_whose_data_key_was_deleted_keep_no_account_from_being_refreshed() {
    let site = site().await;
    let Integrations { store, journal, .. } = &*site.integrations;
    let previous = account_secret(Duration::from_secs(60));
    let connected =
        site.integrations.connect(&holder("ann"), Some("a"), None, account("a@example.com"), &previous).await.unwrap();
    let fence = store.integrations().lease_refresh(&connected.id, LEASE).await.unwrap().unwrap();
    // The gateway was killed, the keys were rotated, and it starts again a while later.
    let sealed = Sealed { key_id: "dk_deleted".to_owned(), bytes: vec![1] };
    let details = Details { secret: Some(sealed), ..connected.details.clone() };
    let Ok(mut place) = journal.reserve(&connected.id, fence) else { panic!("the disk has room") };
    place.keep(&connected, fence, &details, &[0; 32]);
    drop(place);
    site.integrations.store_journaled_tokens().await.unwrap();
    assert!(journal.entries().is_empty());
    let after = store.integrations().by_id(&connected.id).await.unwrap().unwrap();
    assert_eq!(after.details.secret, connected.details.secret);
}
