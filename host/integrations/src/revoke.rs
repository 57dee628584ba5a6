//! Revokes grants that the gateway no longer uses: those that a newer grant of the same account has
//! replaced, those that the caller did not confirm in time, and those that the gateway does not
//! keep.
//!
//! A replaced grant is stored among the pending grants, in the transaction that replaces it. It is
//! revoked in the background, and deleted from the store once the provider has revoked it. So a
//! provider that fails delays no user, and the revocation is tried again, also by another process.
//!
//! A grant is revoked only if this ends no other access (`revokes-replaced-grants` in the manifest,
//! or the same key of the operator). Some providers have one grant for each user and client. They
//! would also end the new grant, or the access that the user has given before. The tokens of a
//! grant that is not revoked are only deleted.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use thiserror::Error;
use tokio::time::sleep;

use super::authorization::{random_secret, state_hash};
use super::confirm::OpenGrant;
use super::provider::{Issuer, NoIssuer};
use super::{AccountSecret, IntegrationError, Integrations};
use contract::AuthScheme;
use oauth::{TokenError, Tokens};
use store::{Account, AccountAddress, AuthType, Holder, Integration, PendingGrant};

/// Time between two rounds. A failed revocation is repeated at this interval.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(20);

/// Time after which a grant is deleted even if the provider has not revoked it.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// Maximum number of grants that are revoked in one round.
const BATCH: u32 = 1000;

/// Why a grant is not revoked.
#[derive(Debug, Error)]
enum NotRevoked {
    #[error(transparent)]
    NoIssuer(#[from] NoIssuer),
    #[error(transparent)]
    Provider(#[from] TokenError),
    #[error(transparent)]
    Gateway(#[from] IntegrationError),
}

impl NotRevoked {
    /// Returns `true` if other grants of the same connector would fail in the same way now.
    fn concerns_all(&self) -> bool {
        match self {
            Self::NoIssuer(error) => matches!(error, NoIssuer::Changed(_) | NoIssuer::NotConfigured(_)),
            Self::Provider(error) => {
                matches!(error, TokenError::Unavailable { .. } | TokenError::Misconfigured { .. })
            }
            Self::Gateway(_) => false,
        }
    }
}

impl Integrations {
    /// Revokes grants in rounds, until it is dropped.
    pub(super) async fn revoke_in_rounds(self: &Arc<Self>) {
        loop {
            sleep(BETWEEN_ROUNDS).await;
            if let Err(error) = self.revoke_expired_grants().await {
                tracing::debug!(%error, "grants are not revoked, because the store fails");
            }
        }
    }

    /// Revokes and deletes the grants whose time is over.
    async fn revoke_expired_grants(&self) -> Result<(), IntegrationError> {
        let (mut failing, now) = (HashSet::new(), self.store.database().now().await?);
        for grant in self.store.pending_grants().expired(BATCH).await? {
            let connector = &grant.holder.connector;
            let is_old = now.since(grant.expires_at) > MAX_AGE;
            if !is_old && failing.contains(connector) {
                continue;
            }
            let revoked = self.revoke_and_forget(&grant).await;
            if revoked.is_err() && is_old {
                self.store.pending_grants().delete(&grant.hash).await?;
            }
            if revoked.is_err_and(|error| error.concerns_all()) {
                failing.insert(connector.clone());
            }
        }
        Ok(())
    }

    /// The grant of an integration that `new` tokens are about to replace, for the transaction that
    /// replaces it. `None` if the grant is not to be revoked.
    ///
    /// A failure is logged and is no error: the user is connecting an account.
    pub(super) async fn replaced_grant(&self, previous: &Integration, new: &AccountSecret) -> Option<PendingGrant> {
        let (AuthType::OAuth2, AccountSecret::OAuth2 { tokens: new, .. }) = (previous.auth_type, new) else {
            return None;
        };
        let scheme = self.scheme_of_replaced(previous).await?;
        let Integration { id, holder, user_identifier, details, updated_at, .. } = previous;
        let grant = async {
            let secret = self.account_secret(previous, &scheme, None).await?;
            let AccountSecret::OAuth2 { mut tokens, scopes, since, client } = secret else { return Ok(None) };
            // A token that was made from the account's own credentials ends by itself.
            if tokens.grant.is_some() || tokens.share_one_with(new) {
                return Ok(None);
            }
            tokens.expires_in = details.expires_at.map(|at| at.duration_since(*updated_at).unwrap_or_default());
            let secret = AccountSecret::OAuth2 { tokens, scopes, since, client };
            self.unused_grant(holder, user_identifier, &details.account.address, &secret).await.map(Some)
        };
        grant.await.unwrap_or_else(|error: IntegrationError| {
            let Holder { tenant, connector, .. } = holder;
            tracing::warn!(
                integration = id,
                tenant,
                connector,
                user_identifier,
                %error,
                "the replaced tokens cannot be read to revoke them"
            );
            None
        })
    }

    /// Revokes a stored grant in the background. If that fails, a later round tries again.
    pub(super) fn revoke_soon(self: &Arc<Self>, grant: PendingGrant) {
        let this = Arc::clone(self);
        self.spawn(async move {
            // The failure is logged there.
            let _ = this.revoke_and_forget(&grant).await;
        });
    }

    /// Revokes tokens of a refresh that came too late: the user has connected the account again in
    /// the meantime.
    pub(super) async fn revoke_late(
        &self,
        integration: &Integration,
        tokens: &Tokens,
        since: SystemTime,
    ) -> Result<(), IntegrationError> {
        let secret = AccountSecret::OAuth2 {
            tokens: tokens.clone(),
            scopes: Vec::new(),
            since,
            client: integration.oauth_client.clone(),
        };
        let address = &integration.details.account.address;
        let grant = self.unused_grant(&integration.holder, &integration.user_identifier, address, &secret).await?;
        self.store.pending_grants().save(grant.clone()).await?;
        // The failure is logged there, and a later round tries again.
        let _ = self.revoke_and_forget(&grant).await;
        Ok(())
    }

    /// Revokes tokens that the gateway does not keep.
    pub async fn revoke_unused(&self, holder: &Holder, address: &AccountAddress, secret: &AccountSecret) {
        let AccountSecret::OAuth2 { tokens, client, .. } = secret else { return };
        // Other providers might also end the access that the user has given before.
        if let Ok(Issuer { provider, .. }) = self.issuer(&holder.connector, client.as_deref(), address).await
            && provider.revokes_replaced_grants()
            && let Err(error) = provider.revoke(tokens).await
        {
            let Holder { tenant, connector, .. } = holder;
            tracing::warn!(tenant, connector, %error, "tokens that are not kept are not revoked");
        }
    }

    /// Revokes a stored grant, if this ends no other access, and then deletes it from the store.
    async fn revoke_and_forget(&self, grant: &PendingGrant) -> Result<(), NotRevoked> {
        let revoked = async {
            let is_revoked = self.revoke_grant(grant).await?;
            self.store.pending_grants().delete(&grant.hash).await.map_err(IntegrationError::from)?;
            Ok::<_, NotRevoked>(is_revoked)
        };
        let revoked = revoked.await;
        let PendingGrant { holder: Holder { tenant, connector, .. }, user_identifier, .. } = grant;
        match &revoked {
            Ok(true) => tracing::info!(tenant, connector, user_identifier, "a grant that is not used was revoked"),
            Ok(false) => tracing::info!(
                tenant,
                connector,
                user_identifier,
                "a grant that is not used was deleted; to revoke it could end an access that is used"
            ),
            Err(error) => tracing::warn!(
                tenant,
                connector,
                user_identifier,
                %error,
                "a grant that is not used is not revoked yet; the gateway tries again for a day"
            ),
        }
        revoked.map(drop)
    }

    /// Revokes a stored grant. Returns `false` if it is not revoked, because this could end an access
    /// that is used: some providers have one grant for each user and client, or give the same token to
    /// all grants of a user.
    async fn revoke_grant(&self, grant: &PendingGrant) -> Result<bool, NotRevoked> {
        let OpenGrant { account, secret, .. } = self.unseal_grant(grant).await?;
        let AccountSecret::OAuth2 { mut tokens, since, client, .. } = secret else { return Ok(false) };
        let Issuer { provider, .. } = self.issuer(&grant.holder.connector, client.as_deref(), &account.address).await?;
        let current = self.current_tokens(&grant.holder, &grant.user_identifier).await?;
        if !provider.revokes_replaced_grants() || current.is_some_and(|current| current.share_one_with(&tokens)) {
            return Ok(false);
        }
        let has_expired = tokens.expires_in.is_some_and(|lifetime| since + lifetime <= clock::now());
        if has_expired
            && provider.revokes_by_access_token()
            && let Some(refresh_token) = &tokens.refresh_token
        {
            let since = clock::now();
            tokens = match provider.refresh(refresh_token).await {
                Ok(tokens) => tokens,
                Err(TokenError::Refused { .. }) => return Ok(true),
                Err(error) => return Err(error.into()),
            };
            let secret = AccountSecret::OAuth2 { tokens: tokens.clone(), scopes: Vec::new(), since, client };
            // The provider may not accept the previous refresh token again, if the revocation fails and
            // is repeated.
            if let Err(error) = self.keep_for_revocation(grant, account, &secret).await {
                error.log("the tokens of a grant that is to be revoked cannot be stored");
            }
        }
        provider.revoke(&tokens).await?;
        Ok(true)
    }

    /// Stores other tokens of a grant that is to be revoked.
    async fn keep_for_revocation(
        &self,
        grant: &PendingGrant,
        account: Account,
        secret: &AccountSecret,
    ) -> Result<(), IntegrationError> {
        let sealed = self.seal_grant(&grant.holder, &grant.user_identifier, account, secret, None, false).await?;
        Ok(self.store.pending_grants().reseal(&grant.hash, sealed).await?)
    }

    /// The auth scheme of an integration's connector, if replaced grants are revoked.
    async fn scheme_of_replaced(&self, previous: &Integration) -> Option<AuthScheme> {
        let Issuer { auth, provider } = self.issuer_of(previous).await.ok()?;
        (provider.revokes_replaced_grants() && provider.offers_revocation()).then_some(auth)
    }

    /// A grant that no one can confirm. If the process is killed, a round revokes it.
    async fn unused_grant(
        &self,
        holder: &Holder,
        user_identifier: &str,
        address: &AccountAddress,
        secret: &AccountSecret,
    ) -> Result<PendingGrant, IntegrationError> {
        let account = Account { address: address.clone(), ..Account::default() };
        Ok(PendingGrant {
            hash: state_hash(&random_secret()?),
            holder: holder.clone(),
            user_identifier: user_identifier.to_owned(),
            sealed: self.seal_grant(holder, user_identifier, account, secret, None, false).await?,
            expires_at: self.store.database().now().await? + BETWEEN_ROUNDS,
        })
    }

    /// The tokens that an account has now, or `None` if it was removed or has no tokens.
    async fn current_tokens(&self, holder: &Holder, user_identifier: &str) -> Result<Option<Tokens>, IntegrationError> {
        let Some(row) = self.store.integrations().get(holder, user_identifier).await? else { return Ok(None) };
        let secret = self.secret_bytes(&row).await?;
        Ok(secret.and_then(|secret| Tokens::from_bytes(&secret).ok()))
    }
}
