//! The end of an authorization that the user has consented to: the account is connected, or it
//! waits for the caller's confirmation, or it is refused because the identifier belongs to another
//! account.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::authorization::WITHDRAWN;
use super::connect::identifier_of_account;
use super::{AccountSecret, AuthorizationResult, IntegrationError, Integrations};
use store::{Account, Acting, Authorization, acting};

/// Longest time in which the gateway tries to store a grant while the database is away.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Time between two attempts.
const RETRY_DELAY: Duration = Duration::from_millis(500);

impl Integrations {
    /// Ends an authorization with the account that the user has consented with.
    ///
    /// # Errors
    /// If the store or the vault fails. Tokens that are not stored are revoked, if a revocation
    /// at this provider ends no other access.
    pub async fn conclude(
        self: &Arc<Self>,
        authorization: &Authorization,
        account: Account,
        secret: &AccountSecret,
    ) -> Result<AuthorizationResult, IntegrationError> {
        let give_up_at = Instant::now() + MAX_WAIT;
        loop {
            // The provider accepts the code once, so the tokens would be lost if the database
            // restarts now.
            let by = Acting::user(&authorization.holder.tenant, &authorization.holder.subject);
            match acting(by, self.try_to_conclude(authorization, account.clone(), secret)).await {
                Err(IntegrationError::Store(error)) if error.is_failure() && Instant::now() < give_up_at => {
                    tracing::warn!(%error, "a grant is not stored yet; trying again");
                    sleep(RETRY_DELAY).await;
                }
                result => {
                    if !matches!(
                        result,
                        Ok(AuthorizationResult::Connected { .. } | AuthorizationResult::Pending { .. })
                    ) {
                        self.revoke_unused(&authorization.holder, &account, secret).await;
                    }
                    return result;
                }
            }
        }
    }

    async fn try_to_conclude(
        self: &Arc<Self>,
        authorization: &Authorization,
        account: Account,
        secret: &AccountSecret,
    ) -> Result<AuthorizationResult, IntegrationError> {
        // The application may have ended it while the provider was asked.
        if self.store.authorizations().is_withdrawn(&authorization.hash).await? {
            return Ok(AuthorizationResult::failed(WITHDRAWN));
        }
        let Authorization { holder, user_identifier, replaces, confirms, labels, connect_link, .. } = authorization;
        let user_identifier = identifier_of_account(user_identifier.as_deref(), &account);
        let consented = display_name(&account);
        let other_account = |user_identifier: String, connected: &Account| AuthorizationResult::OtherAccount {
            user_identifier,
            connected: display_name(connected),
            consented,
        };
        if *confirms {
            if !replaces
                && let Some(previous) = self.store.integrations().get(holder, &user_identifier).await?
                && are_different(&previous.details.account, &account)
            {
                return Ok(other_account(user_identifier, &previous.details.account));
            }
            let completion =
                self.store_grant(holder, &user_identifier, account, secret, labels.clone(), *replaces).await?;
            return Ok(AuthorizationResult::Pending { user_identifier, completion });
        }
        let connected =
            self.connect_unless_other(holder, &user_identifier, labels.clone(), account, secret, *replaces).await?;
        if let Err(previous) = connected {
            return Ok(other_account(user_identifier, &previous));
        }
        self.note_on_link(connect_link.as_deref(), holder, &user_identifier).await;
        Ok(AuthorizationResult::Connected { user_identifier })
    }
}

/// Returns `true` if both accounts are known and differ, or if they have different addresses.
pub(super) fn are_different(one: &Account, other: &Account) -> bool {
    if one.address != other.address {
        return true;
    }
    match ((&one.id, &other.id), (&one.email, &other.email)) {
        ((Some(one), Some(other)), _) | (_, (Some(one), Some(other))) => one != other,
        _ => false,
    }
}

/// The name by which people know an account.
pub(super) fn display_name(account: &Account) -> String {
    let name = account.email.as_ref().or(account.name.as_ref()).or(account.id.as_ref()).cloned().unwrap_or_default();
    match account.address.values().map(String::as_str).collect::<Vec<_>>().join(", ") {
        address if address.is_empty() => name,
        address if name.is_empty() => address,
        address => format!("{name} ({address})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(id: Option<&str>, email: Option<&str>) -> Account {
        Account { id: id.map(str::to_owned), email: email.map(str::to_owned), ..Account::default() }
    }

    #[test]
    fn accounts_differ_by_their_id_else_by_their_email_address() {
        let one = account(Some("1"), Some("a@example.com"));
        assert!(are_different(&one, &account(Some("2"), Some("a@example.com"))));
        assert!(!are_different(&one, &account(Some("1"), Some("new@example.com"))));
        assert!(are_different(&one, &account(None, Some("b@example.com"))));
        assert!(!are_different(&one, &account(None, None)));
        assert!(!are_different(&account(Some("1"), None), &account(None, Some("b@example.com"))));
        let address = [("subdomain".to_owned(), "acme".to_owned())].into();
        assert!(are_different(&one, &Account { address, ..one.clone() }));
    }
}
