//! The parts of refreshes that `simulation` replaces and reads.

#![expect(clippy::unwrap_used, reason = "a panic is how the simulation fails")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::provider::Issuer;
use super::{AccountSecret, Integrations};
use contract::{AuthAdditions, AuthScheme, Oauth2};
use oauth::{self, Provider, Recipients, Tokens};
use store::vault::{Vault, VaultError};
use store::{Account, AuthType, Connected, Holder, Integration, Store};

/// The connector of the simulated accounts and operations.
pub const CONNECTOR: &str = "simulated";

/// Duration of a refresh lease.
pub const LEASE: Duration = super::refresh::LEASE;

impl Integrations {
    /// The issuer of the simulated connector, which has no module.
    pub(super) fn simulated_issuer(&self, connector: &str) -> Option<Issuer> {
        if connector != CONNECTOR {
            return None;
        }
        let scheme = Oauth2 { provider: CONNECTOR.to_owned(), ..contract::sample::scheme() };
        let (additions, egress) = (AuthAdditions::default(), self.egress.clone());
        let provider =
            Provider::new(connector, &scheme, &additions, &self.config, &Recipients::OfManifest, egress, None).unwrap();
        Some(Issuer { auth: AuthScheme::Oauth2(scheme), provider })
    }

    /// Refreshes, as a call does whose credential was refused. Returns `false` if the store failed.
    pub async fn refresh_now(self: &Arc<Self>, id: &str, version: i64) -> bool {
        self.refresh(id, version).await != super::refresh::RefreshEnd::StoreFailed
    }
}

/// Connects an account of the simulated connector.
pub async fn connect(store: &Store, vault: &Vault, name: &str, refresh_token: &str, life: Duration) -> String {
    let holder = Holder { tenant: "acme".to_owned(), subject: name.to_owned(), connector: CONNECTOR.to_owned() };
    let tokens = Tokens {
        access_token: "an-access-token".into(),
        refresh_token: Some(refresh_token.into()),
        expires_in: Some(life),
        scopes: None,
        grant: None,
    };
    let context = holder.secret_context(name);
    let sealed = vault.seal(&context, &tokens.to_bytes()).await.unwrap();
    let secret = AccountSecret::OAuth2 { tokens, scopes: Vec::new(), since: clock::now(), client: None };
    let details = secret.details(Account::default(), Some(sealed));
    store
        .integrations()
        .connect(&holder, name, Connected::new(AuthType::OAuth2, details), Vec::new(), None)
        .await
        .unwrap()
        .id
}

/// The refresh token that is stored for an account.
pub async fn refresh_token(vault: &Vault, row: &Integration) -> Result<String, VaultError> {
    let context = row.holder.secret_context(&row.user_identifier);
    let tokens: Value = vault.unseal_json(&context, row.details.secret.as_ref().unwrap()).await?.unwrap();
    Ok(tokens["refresh_token"].as_str().unwrap().to_owned())
}
