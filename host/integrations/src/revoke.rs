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
//! would also end the new grant, or the access that the user has given before. Other providers give
//! the same token to all grants of a user, so a token that another account of the user has is not
//! revoked. The tokens of a grant that is not revoked are only deleted.

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
use oauth::{CALL_TIMEOUT, TokenError, Tokens};
use store::{Account, AuthType, Holder, Integration, PendingGrant};

/// Time between two rounds. A failed revocation is repeated at this interval.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(20);

/// Time for the revocation of a grant that was just replaced. No round revokes it before. It is
/// longer than the two calls to a provider that a revocation may need.
const AT_ONCE: Duration = CALL_TIMEOUT.saturating_mul(3);

/// Name of the lock under which a gateway revokes grants. If two gateways refreshed the tokens of
/// one grant to revoke it, one of them would take the refusal for the end of the grant.
const LOCK: &str = "grants";

/// Time after which a grant is deleted even if the provider has not revoked it.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// Maximum number of grants that are revoked in one round.
const BATCH: u32 = 1000;

/// Number of accounts that are read in one query to compare their tokens.
const PAGE: u32 = 100;

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

/// A connector, and a tenant if only its grants are meant.
type Failing = (String, Option<String>);

impl NotRevoked {
    /// The other grants that would fail in the same way now.
    fn concerned(&self, Holder { tenant, connector, .. }: &Holder) -> Option<Failing> {
        match self {
            Self::NoIssuer(NoIssuer::Changed(_)) | Self::Provider(TokenError::Unavailable { .. }) => {
                Some((connector.clone(), None))
            }
            // Other tenants may have other clients.
            Self::NoIssuer(NoIssuer::NotConfigured(_)) | Self::Provider(TokenError::Misconfigured { .. }) => {
                Some((connector.clone(), Some(tenant.clone())))
            }
            Self::NoIssuer(NoIssuer::ClientDeleted | NoIssuer::Failed(_))
            | Self::Provider(TokenError::Refused { .. } | TokenError::NotUnderstood { .. })
            | Self::Gateway(_) => None,
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

    /// Revokes and deletes the grants whose time is over, unless another gateway does.
    async fn revoke_expired_grants(&self) -> Result<(), IntegrationError> {
        // Most rounds have no grant, and need no lock.
        if self.store.pending_grants().expired(1).await?.is_empty() {
            return Ok(());
        }
        let Some(_lock) = self.store.database().try_process_lock(LOCK).await? else { return Ok(()) };
        let (mut failing, now) = (HashSet::<Failing>::new(), self.store.database().now().await?);
        for grant in self.store.pending_grants().expired(BATCH).await? {
            let Holder { tenant, connector, .. } = &grant.holder;
            let is_old = now.since(grant.expires_at) > MAX_AGE;
            let known = [None, Some(tenant.clone())].map(|tenant| (connector.clone(), tenant));
            if !is_old && known.iter().any(|known| failing.contains(known)) {
                continue;
            }
            if let Err(error) = self.revoke_and_forget(&grant).await {
                failing.extend(error.concerned(&grant.holder));
                if is_old {
                    self.store.pending_grants().delete(&grant.hash).await?;
                }
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
            self.unused_grant(holder, user_identifier, &details.account, &secret).await.map(Some)
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
        let Integration { holder, user_identifier, details, .. } = integration;
        let grant = self.unused_grant(holder, user_identifier, &details.account, &secret).await?;
        self.store.pending_grants().save(grant.clone()).await?;
        // The failure is logged there, and a later round tries again.
        let _ = self.revoke_and_forget(&grant).await;
        Ok(())
    }

    /// Revokes tokens that the gateway does not keep, if this ends no other access. `account` is
    /// what is known of the account that they belong to.
    pub async fn revoke_unused(&self, holder: &Holder, account: &Account, secret: &AccountSecret) {
        let AccountSecret::OAuth2 { tokens, client, .. } = secret else { return };
        let revoked = async {
            let Issuer { provider, .. } = self.issuer(&holder.connector, client.as_deref(), &account.address).await?;
            // Other providers might also end the access that the user has given before.
            if provider.revokes_replaced_grants() && !self.are_in_use(holder, account, tokens).await? {
                provider.revoke(tokens).await?;
            }
            Ok::<_, NotRevoked>(())
        };
        if let Err(error) = revoked.await {
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
        if !provider.revokes_replaced_grants() || self.are_in_use(&grant.holder, &account, &tokens).await? {
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
        account: &Account,
        secret: &AccountSecret,
    ) -> Result<PendingGrant, IntegrationError> {
        Ok(PendingGrant {
            hash: state_hash(&random_secret()?),
            holder: holder.clone(),
            user_identifier: user_identifier.to_owned(),
            sealed: self.seal_grant(holder, user_identifier, account.clone(), secret, None, false).await?,
            expires_at: self.store.database().now().await? + AT_ONCE,
        })
    }

    /// Returns `true` if an account of the user has one of these tokens. `account` is what is known
    /// of the account that they belong to: the same tokens are of the same account.
    async fn are_in_use(&self, holder: &Holder, account: &Account, tokens: &Tokens) -> Result<bool, IntegrationError> {
        let mut after = String::new();
        loop {
            let page = self.store.integrations().possibly_of(holder, account, &after, PAGE).await?;
            for integration in &page {
                let secret = self.secret_bytes(integration).await?;
                let held = secret.and_then(|secret| Tokens::from_bytes(&secret).ok());
                if held.is_some_and(|held| held.share_one_with(tokens)) {
                    return Ok(true);
                }
            }
            match page.last() {
                Some(last) => after.clone_from(&last.user_identifier),
                None => return Ok(false),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{account, account_secret, holder, site};
    use store::DatabaseTime;

    #[tokio::test]
    async fn one_gateway_at_a_time_revokes_grants() {
        let site = site().await;
        let integrations = &site.integrations;
        let secret = account_secret(Duration::from_secs(3600));
        let grant =
            integrations.unused_grant(&holder("ann"), "work", &account("a@example.com"), &secret).await.unwrap();
        // No connector is there to revoke it, and it is so old that it is deleted.
        let grant = PendingGrant { expires_at: DatabaseTime::EPOCH, ..grant };
        let grants = || integrations.store.pending_grants();
        grants().save(grant).await.unwrap();
        let lock = integrations.store.database().try_process_lock(LOCK).await.unwrap().unwrap();
        integrations.revoke_expired_grants().await.unwrap();
        assert_eq!(grants().expired(10).await.unwrap().len(), 1);
        drop(lock);
        integrations.revoke_expired_grants().await.unwrap();
        assert!(grants().expired(10).await.unwrap().is_empty());
    }

    #[test]
    fn a_client_that_is_refused_keeps_no_grant_of_another_tenant_from_its_revocation() {
        let concerned = |error: TokenError| NotRevoked::from(error).concerned(&holder("ann"));
        let refused = TokenError::Misconfigured { error: "invalid_client".to_owned(), description: None };
        assert_eq!(concerned(refused), Some(("calendar".to_owned(), Some("acme".to_owned()))));
        let down = TokenError::Unavailable { detail: "it answered with status 503".to_owned(), retry_after: None };
        assert_eq!(concerned(down), Some(("calendar".to_owned(), None)));
        let gone = TokenError::Refused { error: "invalid_request".to_owned(), description: None };
        assert_eq!(concerned(gone), None);
    }
}
