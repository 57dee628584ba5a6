//! Opening the vault, sharing it, and rotating its keys.

mod opening;
mod rotating;

use std::fs;
use std::path::PathBuf;

use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::rotation::Rotation;
use super::*;
use crate::testing::{Site, details, holder, on_every_database};
use crate::{
    AuthType, Authorization, ClaimLimits, Details, Integration, NewDelivery, Payload, WebhookSecret, WebhookSource,
};

/// More secrets than two batches of a rotation have.
const SECRETS: usize = 230;

/// A gateway's machine with its master key file.
struct Machine {
    folder: TempDir,
    store: Store,
}

impl Machine {
    /// A machine whose gateway uses the site's database.
    async fn on(site: &Site) -> Self {
        let folder = TempDir::new().unwrap();
        Self { folder, store: site.open_again().await }
    }

    /// A machine whose gateway uses a separate database.
    async fn alone() -> Self {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        Self { folder, store }
    }

    fn key_file(&self) -> PathBuf {
        self.folder.path().join("master.key")
    }

    fn lines(&self) -> usize {
        fs::read_to_string(self.key_file()).unwrap().lines().count()
    }

    fn copy_file_from(&self, other: &Self) {
        fs::copy(other.key_file(), self.key_file()).unwrap();
    }

    async fn open(&self) -> Result<Vault, VaultError> {
        Vault::open(&self.key_file(), &self.store).await
    }

    async fn vault(&self) -> Vault {
        self.open().await.unwrap()
    }

    /// Opens the vault, which must fail, and returns the message without the folder.
    async fn refusal(&self) -> String {
        let message = self.open().await.unwrap_err().to_string();
        assert!(!message.contains('\n'), "{message}");
        message.replace(&format!("{}/", self.folder.path().display()), "")
    }

    /// Does what [`rotation::rotate`] does, without the time that gateways need to read the new
    /// keys.
    async fn rotate(&self, end: RotationEnd) -> Option<RotationReport> {
        Rotation::new(self.vault().await, Duration::ZERO).unwrap().run(end, &mut |_| {}).await.unwrap()
    }

    /// A whole rotation.
    async fn rotate_all(&self) -> RotationReport {
        self.rotate(RotationEnd::ForgetPrevious).await.unwrap()
    }

    /// Stores [`SECRETS`] secrets of integrations, and one of each other column.
    async fn fill(&self, vault: &Vault) {
        for number in 0..SECRETS {
            connect(&self.store, vault, number).await;
        }
        let holder = holder();
        let verifier = vault.seal(&holder.verifier_context(None), b"verifier").await.unwrap();
        let authorization = Authorization {
            hash: [7; 32],
            holder,
            user_identifier: None,
            replaces: false,
            confirms: false,
            callback_url: "https://app.example.com".into(),
            connect_link: None,
            redirect_uri: "https://gateway.example.com".into(),
            labels: None,
            address: crate::AccountAddress::new(),
            key_id: None,
            oauth_client: None,
            verifier: Some(verifier),
            expires_at: self.store.database.now().await.unwrap() + Duration::from_secs(600),
        };
        self.store.save_authorization(authorization).await.unwrap();
        let secret = vault.seal(&WebhookSecret::context("acme", "whs_1"), b"webhook secret").await.unwrap();
        self.store.add_webhook_secret("acme", "whs_1", secret, Duration::ZERO).await.unwrap();
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
        self.store.add_deliveries(vec![delivery]).await.unwrap();
    }

    /// Every secret can be unsealed and belongs to its row.
    async fn assert_all_unseal(&self, vault: &Vault) {
        let integrations = self.store.integrations_of(&holder()).await.unwrap();
        assert_eq!(integrations.len(), SECRETS);
        for integration in integrations {
            let secret = unseal_secret(vault, &integration).await.unwrap();
            assert_eq!(secret.expose_secret(), integration.user_identifier.as_bytes());
        }
        let secret = self.store.webhook_secrets("acme").await.unwrap().pop().unwrap();
        let secret = vault.unseal(&WebhookSecret::context("acme", &secret.id), &secret.secret).await.unwrap();
        assert_eq!(secret.expose_secret(), b"webhook secret");
        let limits = ClaimLimits { of_receiver: 1, of_tenant: 1, of_claim: 1, bytes: 1000 };
        let claimed = self.store.claim_deliveries(Duration::ZERO, limits).await.unwrap().pop().unwrap();
        let url = vault.unseal(&NewDelivery::url_context("acme", "msg_1"), &claimed.url).await.unwrap();
        assert_eq!(url.expose_secret(), b"url");
        let body = vault.unseal(&Payload::context("acme", "payload_1"), &claimed.payload.sealed).await.unwrap();
        assert_eq!(body.expose_secret(), b"body");
    }
}

fn with_secret(secret: Sealed) -> Details {
    Details { secret: Some(secret), ..details() }
}

/// Connects the account of a user, whose secret is its user identifier.
async fn connect(store: &Store, vault: &Vault, number: usize) -> Integration {
    let (holder, user) = (holder(), format!("user {number}"));
    let secret = vault.seal(&holder.secret_context(&user), user.as_bytes()).await.unwrap();
    store.connect_integration(&holder, &user, AuthType::OAuth2, with_secret(secret), Vec::new(), None).await.unwrap()
}

async fn unseal_secret(vault: &Vault, integration: &Integration) -> Result<SecretSlice<u8>, VaultError> {
    let sealed = integration.details.secret.as_ref().unwrap();
    vault.unseal(&integration.holder.secret_context(&integration.user_identifier), sealed).await
}
