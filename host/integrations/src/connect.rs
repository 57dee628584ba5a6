//! Stores a connected account.

use std::sync::Arc;

use secrecy::ExposeSecret;

use super::events::Change;
use super::{AccountSecret, IntegrationError, Integrations};
use store::{Account, AccountAddress, Connected, Holder, Integration, Labels, PendingGrant};

/// The identifier of an integration if neither the caller nor the service names the account.
const UNNAMED: &str = "default";

/// The integration that an account is connected as.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    /// The user, and the connector.
    pub holder: &'a Holder,
    /// `None` for the name of the account.
    pub user_identifier: Option<&'a str>,
    /// `None` keeps the labels of an integration that is overwritten.
    pub labels: Option<&'a Labels>,
    /// The parts of the account's address that the user gave, which the connector accepts.
    pub address: &'a AccountAddress,
    /// The id of the link on whose page the user connects it. `None` if the application does.
    pub connect_link: Option<&'a str>,
}

impl Integrations {
    /// Checks that the link of an account was not ended while the service was asked.
    ///
    /// # Errors
    /// If it has ended, or if the store fails.
    pub async fn check_link(&self, link: Option<&str>) -> Result<(), IntegrationError> {
        let Some(id) = link else { return Ok(()) };
        let link = self.store.connect_links().get(id).await?;
        if link.is_some_and(|link| link.end.is_none()) { Ok(()) } else { Err(IntegrationError::LinkEnded) }
    }

    /// Stores an account and its secret. They replace the account and the secret of an
    /// integration with the same identifier.
    ///
    /// Without `user_identifier`, the identifier is the account's email address, else its id.
    ///
    /// # Errors
    /// If the secret cannot be sealed or the store fails.
    pub async fn connect(
        self: &Arc<Self>,
        holder: &Holder,
        user_identifier: Option<&str>,
        labels: Option<Labels>,
        account: Account,
        secret: &AccountSecret,
    ) -> Result<Integration, IntegrationError> {
        let user_identifier = identifier_of_account(user_identifier, &account);
        let sealed = match secret.to_bytes() {
            None => None,
            Some(bytes) => {
                Some(self.vault.seal(&holder.secret_context(&user_identifier), bytes.expose_secret()).await?)
            }
        };
        let details = secret.details(account, sealed);
        let previous = self.store.integrations().get(holder, &user_identifier).await?;
        let event = self.event_deliveries(holder, &user_identifier, Change::Connected).await?;
        let replaced = self.grant_of_previous(previous.as_ref(), secret).await;
        let connected = Connected {
            auth_type: secret.auth_type(),
            details,
            labels,
            oauth_client: secret.client_of_tenant().map(str::to_owned),
            grant_type: secret.grant_type(),
        };
        let integration = self
            .store
            .integrations()
            .connect_labelled(holder, &user_identifier, connected, event, replaced.clone())
            .await?;
        self.note_connected(replaced, &integration).await;
        Ok(integration)
    }

    /// The grant that the transaction replaces, to be revoked after it.
    pub(super) async fn grant_of_previous(
        &self,
        previous: Option<&Integration>,
        secret: &AccountSecret,
    ) -> Option<PendingGrant> {
        match previous {
            Some(previous) => self.replaced_grant(previous, secret).await,
            None => None,
        }
    }

    /// Runs the steps after the transaction: wakes the sender of events, updates the cache, and
    /// revokes the `replaced` grant.
    pub(super) async fn note_connected(self: &Arc<Self>, replaced: Option<PendingGrant>, integration: &Integration) {
        let Integration { id, holder, user_identifier, .. } = integration;
        self.events.stored();
        self.cache.changed(holder, user_identifier).await;
        if let Some(replaced) = replaced {
            self.revoke_soon(replaced);
        }
        tracing::info!(
            integration = id,
            tenant = holder.tenant,
            connector = holder.connector,
            user_identifier,
            "account connected"
        );
    }
}

/// The identifier of an integration: the one that the caller chose, else the account's email
/// address, else its id.
pub(super) fn identifier_of_account(chosen: Option<&str>, account: &Account) -> String {
    let name = account.email.as_ref().or(account.id.as_ref()).map(String::as_str);
    chosen.or(name).unwrap_or(UNNAMED).to_owned()
}
