//! Secrets of the store, on every database.

use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret;
use vault::{RotationEnd, rotate};

use super::*;
use crate::testing::{Site, data_key, details, holder, on_every_database, sealed};
use crate::{
    AccountAddress, AuthType, Authorization, ClaimLimits, Connected, Details, NewDelivery, Payload, StoreError,
    WebhookSecret, WebhookSource,
};

#[tokio::test]
async fn every_column_with_a_sealed_secret_is_known_to_rotations() {
    let site = Site::sqlite().await;
    let referring = site.store.read(|connection| {
        connection.all::<(String, String)>(
            "SELECT tables.name, keys.\"from\" FROM sqlite_schema AS tables, pragma_foreign_key_list(tables.name) AS keys
             WHERE keys.\"table\" = 'data_keys' AND tables.name <> 'data_key_wraps' ORDER BY 1, 2",
            &[],
        )
    });
    let mut known: Vec<_> =
        SEALED_COLUMNS.iter().map(|column| (column.table.to_owned(), column.data_key.to_owned())).collect();
    known.sort();
    assert_eq!(referring.await.unwrap(), known);
}

on_every_database!(
    a_rotation_seals_secrets_of_several_tables_again,
    a_secret_under_a_deleted_data_key_cannot_be_stored,
);

async fn a_rotation_seals_secrets_of_several_tables_again(site: Site) {
    let (store, vault) = (&site.store, site.vault().await);
    let secret = vault.seal(&holder().secret_context("ann"), b"secret").await.unwrap();
    let details = Details { secret: Some(secret), ..details() };
    store
        .integrations()
        .connect(&holder(), "ann", Connected::new(AuthType::OAuth2, details), Vec::new(), None)
        .await
        .unwrap();
    let verifier = vault.seal(&holder().verifier_context(None), b"verifier").await.unwrap();
    let authorization = Authorization {
        hash: [7; 32],
        holder: holder(),
        user_identifier: None,
        replaces: false,
        confirms: false,
        callback_url: "https://app.example.com".into(),
        connect_link: None,
        redirect_uri: "https://gateway.example.com".into(),
        labels: None,
        address: AccountAddress::new(),
        key_id: None,
        oauth_client: None,
        verifier: Some(verifier),
        expires_at: store.database.now().await.unwrap() + Duration::from_secs(600),
    };
    store.authorizations().save(authorization, None).await.unwrap();
    let secret = vault.seal(&WebhookSecret::context("acme", "whs_1"), b"webhook secret").await.unwrap();
    store.webhooks().add_secret("acme", "whs_1", secret, Duration::ZERO).await.unwrap();
    let delivery = NewDelivery {
        webhook_id: "msg_1".into(),
        tenant: "acme".into(),
        source: WebhookSource::Event,
        receiver: "https://app.example.com".into(),
        url: vault.seal(&NewDelivery::url_context("acme", "msg_1"), b"url").await.unwrap(),
        url_hash: String::new(),
        payload: Arc::new(Payload {
            id: "payload_1".into(),
            sealed: vault.seal(&Payload::context("acme", "payload_1"), b"body").await.unwrap(),
        }),
        kept_for: Duration::ZERO,
    };
    store.webhooks().add_deliveries(vec![delivery]).await.unwrap();

    let master_key = site.place.settings.data_dir.join("master.key");
    let report = rotate(&master_key, store, RotationEnd::ForgetPrevious, &mut |_| {}).await.unwrap().unwrap();
    assert_eq!((report.resealed, report.unreadable, report.finished), (5, 0, true));

    let vault = site.vault().await;
    let integration = store.integrations().of(&holder()).await.unwrap().pop().unwrap();
    let secret = integration.details.secret.unwrap();
    let secret = vault.unseal(&holder().secret_context("ann"), &secret).await.unwrap();
    assert_eq!(secret.expose_secret(), b"secret");
    let secret = store.webhooks().secrets("acme").await.unwrap().pop().unwrap();
    let secret = vault.unseal(&WebhookSecret::context("acme", &secret.id), &secret.secret).await.unwrap();
    assert_eq!(secret.expose_secret(), b"webhook secret");
    let limits = ClaimLimits { of_receiver: 1, of_tenant: 1, of_claim: 1, bytes: 1000 };
    let claimed = store.webhooks().claim_deliveries(Duration::ZERO, limits).await.unwrap().pop().unwrap();
    let url = vault.unseal(&NewDelivery::url_context("acme", "msg_1"), &claimed.url).await.unwrap();
    assert_eq!(url.expose_secret(), b"url");
    let body = vault.unseal(&Payload::context("acme", "payload_1"), &claimed.payload.sealed).await.unwrap();
    assert_eq!(body.expose_secret(), b"body");
}

async fn a_secret_under_a_deleted_data_key_cannot_be_stored(site: Site) {
    let store = &site.store;
    data_key(store, "dk_1").await;
    site.execute("DELETE FROM data_keys").await;
    let details = Details { secret: Some(sealed("dk_1")), ..details() };
    let late = store
        .integrations()
        .connect(&holder(), "ann", Connected::new(AuthType::OAuth2, details), Vec::new(), None)
        .await;
    assert!(matches!(late, Err(StoreError::DataKeyInUse)), "{late:?}");
}
