//! Stores a connected account.

use std::sync::Arc;

use super::conclude::are_different;
use super::events::Change;
use super::{AccountSecret, ConnectRequest, IntegrationError, Integrations};
use store::{Account, Connected, Holder, Integration, Labels, NewDelivery, Overwrites, PendingGrant, StoreError};

/// The identifier of an integration if neither the caller nor the service names the account.
const UNNAMED: &str = "default";

/// Attempts to store an account. One is enough, unless other tasks write the integration at the
/// same time. Of those that write at once, one succeeds with each attempt.
pub(super) const ATTEMPTS: usize = 64;

/// The parts of the transaction that stores an account.
pub(super) struct NewConnection {
    pub(super) connected: Connected,
    /// The deliveries of the event that the account is connected.
    pub(super) event: Vec<NewDelivery>,
    /// The grant that the account replaces, to be revoked after the transaction.
    pub(super) replaced: Option<PendingGrant>,
}

impl Integrations {
    /// Stores the account of a request, unless the link on whose page it was to be connected was
    /// ended while the service was asked.
    ///
    /// # Errors
    /// If the link has ended, or as [`Integrations::connect`].
    pub async fn connect_as_requested(
        self: &Arc<Self>,
        request: &ConnectRequest,
        account: Account,
        secret: &AccountSecret,
    ) -> Result<Integration, IntegrationError> {
        let ConnectRequest { holder, user_identifier, labels, connect_link, .. } = request;
        if let Some(id) = connect_link {
            let link = self.store.connect_links().get(id).await?;
            if link.is_none_or(|link| link.end.is_some()) {
                return Err(IntegrationError::LinkEnded);
            }
        }
        let integration = self.connect(holder, user_identifier.as_deref(), labels.clone(), account, secret).await?;
        self.note_on_link(connect_link.as_deref(), holder, &integration.user_identifier).await;
        Ok(integration)
    }

    /// Lets the page of a link show an account that was connected. A failure does not disconnect the
    /// account.
    pub(super) async fn note_on_link(&self, link: Option<&str>, holder: &Holder, user_identifier: &str) {
        if let Some(link) = link
            && let Err(error) = self.store.connect_links().note_account(link, &holder.connector, user_identifier).await
        {
            tracing::warn!(%error, "the page of a link cannot show an account that was connected");
        }
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
        let connected = self.connect_unless_other(holder, &user_identifier, labels, account, secret, true).await?;
        // Any account is replaced.
        connected.map_err(|_| IntegrationError::KeptChanging)
    }

    /// As [`Integrations::connect`]. Without `replaces`, the inner error is another account that is
    /// connected under this name. Nothing is stored then.
    ///
    /// # Errors
    /// See [`Integrations::connect`] for the outer error.
    pub(super) async fn connect_unless_other(
        self: &Arc<Self>,
        holder: &Holder,
        user_identifier: &str,
        labels: Option<Labels>,
        account: Account,
        secret: &AccountSecret,
        replaces: bool,
    ) -> Result<Result<Integration, Account>, IntegrationError> {
        for _ in 0..ATTEMPTS {
            let previous = self.store.integrations().get(holder, user_identifier).await?;
            if let Some(previous) = previous.as_ref().filter(|_| !replaces)
                && are_different(&previous.details.account, &account)
            {
                return Ok(Err(previous.details.account.clone()));
            }
            let NewConnection { connected, event, replaced } = self
                .new_connection(holder, user_identifier, labels.clone(), account.clone(), secret, previous.as_ref())
                .await?;
            let stored = self.store.integrations();
            match stored.connect(holder, user_identifier, connected, event, replaced.clone()).await {
                // Another account was connected since, or the tokens were refreshed.
                Err(StoreError::IntegrationChanged) => {}
                stored => {
                    let integration = stored?;
                    self.note_connected(replaced, &integration).await;
                    return Ok(Ok(integration));
                }
            }
        }
        Err(IntegrationError::KeptChanging)
    }

    /// Prepares the transaction that stores an account in the place of `previous`, and of no other
    /// integration.
    ///
    /// # Errors
    /// If the secret cannot be sealed or the store fails.
    pub(super) async fn new_connection(
        &self,
        holder: &Holder,
        user_identifier: &str,
        labels: Option<Labels>,
        account: Account,
        secret: &AccountSecret,
        previous: Option<&Integration>,
    ) -> Result<NewConnection, IntegrationError> {
        let connected = self.sealed_account(holder, user_identifier, labels, account, secret).await?;
        let connected = Connected { overwrites: Overwrites::read(previous), ..connected };
        let event = self.event_deliveries(holder, user_identifier, Change::Connected).await?;
        let replaced = match previous {
            Some(previous) => self.replaced_grant(previous, secret).await,
            None => None,
        };
        Ok(NewConnection { connected, event, replaced })
    }

    /// An account as the store has it.
    ///
    /// # Errors
    /// If the secret cannot be sealed.
    pub(super) async fn sealed_account(
        &self,
        holder: &Holder,
        user_identifier: &str,
        labels: Option<Labels>,
        account: Account,
        secret: &AccountSecret,
    ) -> Result<Connected, IntegrationError> {
        let sealed = match secret.to_bytes() {
            None => None,
            Some(bytes) => Some(self.vault.seal(&holder.secret_context(user_identifier), &bytes).await?),
        };
        Ok(Connected {
            labels,
            oauth_client: secret.client_of_tenant().map(str::to_owned),
            grant_type: secret.grant_type(),
            ..Connected::new(secret.auth_type(), secret.details(account, sealed))
        })
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
