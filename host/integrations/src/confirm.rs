//! Grants that wait for the caller's confirmation.
//!
//! Anyone can begin an authorization and send its address to another person, who then consents.
//! With `confirm`, such a grant is not used: the completion reaches only the browser of the person
//! who consented, and only the caller that began the authorization can confirm with it.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use secrecy::SecretSlice;
use serde::{Deserialize, Serialize};

use super::authorization::{random_secret, state_hash};
use super::conclude::{are_different, display_name};
use super::connect::{ATTEMPTS, NewConnection};
use super::{AccountSecret, IntegrationError, Integrations};
use oauth::{Tokens, TokensJson};
use store::{
    Account, AccountAddress, FoundGrant, Holder, Integration, Labels, PendingGrant, Sealed, ShownOnce, StoreError,
};

/// Time that the caller has to confirm a grant.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// Why a grant is not confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotConfirmed {
    /// There is no such grant, or it was confirmed before, or it has expired.
    Unknown,
    /// The authorization was begun for another user of the tenant.
    OtherSubject,
    /// Another account is connected under the name, and the authorization may not replace it. The
    /// grant still waits.
    OtherAccount {
        /// The name of the connected account, for people.
        connected: String,
    },
}

/// The sealed form of a grant. The names never change, because databases contain them.
#[derive(Serialize, Deserialize)]
struct GrantJson<'a> {
    account_id: Option<String>,
    account_email: Option<String>,
    account_name: Option<String>,
    tokens: TokensJson<'a>,
    /// The requested scopes, and the scopes that the provider gave.
    requested_scopes: Vec<String>,
    scopes: Option<Vec<String>>,
    /// Time of the token request, in seconds since 1970, and the lifetime of the access token from
    /// then on.
    since_s: u64,
    expires_in_s: Option<u64>,
    /// The parts of the account's address.
    #[serde(default, skip_serializing_if = "AccountAddress::is_empty")]
    address: AccountAddress,
    /// The labels of the integration, if the caller gave any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<Labels>,
    /// The tenant's OAuth client that issued the tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// `true` if another account may be replaced. Grants of earlier releases do not say it, and
    /// replaced any account.
    #[serde(default = "replaces_any")]
    replaces: bool,
}

fn replaces_any() -> bool {
    true
}

/// A grant that is unsealed.
pub(super) struct OpenGrant {
    pub(super) account: Account,
    pub(super) secret: AccountSecret,
    pub(super) labels: Option<Labels>,
    /// `true` if the account may replace another one.
    pub(super) replaces: bool,
}

impl Integrations {
    /// Stores a grant until the caller confirms it, and returns the completion for that. Without
    /// `replaces`, it is not confirmed while another account is connected under the name.
    ///
    /// # Errors
    /// If the grant cannot be sealed or the store fails.
    pub(super) async fn store_grant(
        &self,
        holder: &Holder,
        user_identifier: &str,
        account: Account,
        secret: &AccountSecret,
        labels: Option<Labels>,
        replaces: bool,
    ) -> Result<ShownOnce, IntegrationError> {
        let completion = random_secret()?;
        let grant = PendingGrant {
            hash: state_hash(&completion),
            holder: holder.clone(),
            user_identifier: user_identifier.to_owned(),
            sealed: self.seal_grant(holder, user_identifier, account, secret, labels, replaces).await?,
            expires_at: self.store.database().now().await? + LIFETIME,
        };
        self.store.pending_grants().save(grant).await?;
        Ok(completion.into())
    }

    /// Connects the account of a pending grant. The inner error says why it is not connected.
    ///
    /// # Errors
    /// If the grant cannot be unsealed or the store fails.
    pub async fn confirm(
        self: &Arc<Self>,
        holder: &Holder,
        user_identifier: &str,
        completion: &str,
    ) -> Result<Result<Integration, NotConfirmed>, IntegrationError> {
        let grant = match self.store.pending_grants().get(holder, user_identifier, &state_hash(completion)).await? {
            FoundGrant::Pending(grant) => *grant,
            FoundGrant::OfOtherSubject => return Ok(Err(NotConfirmed::OtherSubject)),
            FoundGrant::Unknown => return Ok(Err(NotConfirmed::Unknown)),
        };
        let OpenGrant { account, secret, labels, replaces } = self.unseal_grant(&grant).await?;
        for _ in 0..ATTEMPTS {
            let previous = self.store.integrations().get(holder, user_identifier).await?;
            // Another account may have been connected since the user consented.
            if let Some(previous) = previous.as_ref().filter(|_| !replaces)
                && are_different(&previous.details.account, &account)
            {
                return Ok(Err(NotConfirmed::OtherAccount { connected: display_name(&previous.details.account) }));
            }
            let NewConnection { connected, event, replaced } = self
                .new_connection(holder, user_identifier, labels.clone(), account.clone(), &secret, previous.as_ref())
                .await?;
            let stored = self.store.pending_grants();
            match stored.confirm(grant.clone(), connected, event, replaced.clone()).await {
                // Another account was connected since, or the tokens were refreshed.
                Err(StoreError::IntegrationChanged) => {}
                Ok(None) => return Ok(Err(NotConfirmed::Unknown)),
                Ok(Some(integration)) => {
                    self.note_connected(replaced, &integration).await;
                    return Ok(Ok(integration));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(IntegrationError::KeptChanging)
    }

    /// Seals account and tokens of a grant.
    pub(super) async fn seal_grant(
        &self,
        holder: &Holder,
        user_identifier: &str,
        account: Account,
        secret: &AccountSecret,
        labels: Option<Labels>,
        replaces: bool,
    ) -> Result<Sealed, IntegrationError> {
        let json = serde_json::to_vec(&to_json(account, secret, labels, replaces)?).map_err(|error| damaged(&error))?;
        Ok(self.vault.seal(&holder.grant_context(user_identifier), &SecretSlice::from(json)).await?)
    }

    /// Unseals a grant.
    pub(super) async fn unseal_grant(&self, grant: &PendingGrant) -> Result<OpenGrant, IntegrationError> {
        let context = grant.holder.grant_context(&grant.user_identifier);
        let json = self.vault.unseal_json::<GrantJson<'static>>(&context, &grant.sealed).await?;
        open(json.map_err(|error| damaged(&error))?)
    }
}

fn to_json(
    account: Account,
    secret: &AccountSecret,
    labels: Option<Labels>,
    replaces: bool,
) -> Result<GrantJson<'_>, IntegrationError> {
    let AccountSecret::OAuth2 { tokens, scopes, since, client } = secret else {
        return Err(IntegrationError::Secret("only OAuth 2 grants can wait for a confirmation".to_owned()));
    };
    Ok(GrantJson {
        account_id: account.id,
        account_email: account.email,
        account_name: account.name,
        address: account.address,
        tokens: tokens.to_json(),
        requested_scopes: scopes.clone(),
        scopes: tokens.scopes.clone(),
        since_s: since.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        expires_in_s: tokens.expires_in.map(|lifetime| lifetime.as_secs()),
        labels,
        client: client.clone(),
        replaces,
    })
}

fn open(json: GrantJson<'_>) -> Result<OpenGrant, IntegrationError> {
    let tokens = Tokens {
        expires_in: json.expires_in_s.map(Duration::from_secs),
        scopes: json.scopes,
        grant: None,
        ..Tokens::from_json(json.tokens)?
    };
    let account =
        Account { id: json.account_id, email: json.account_email, name: json.account_name, address: json.address };
    let since = UNIX_EPOCH + Duration::from_secs(json.since_s);
    let secret = AccountSecret::OAuth2 { tokens, scopes: json.requested_scopes, since, client: json.client };
    Ok(OpenGrant { account, secret, labels: json.labels, replaces: json.replaces })
}

/// The message names no part of the grant.
fn damaged(error: &serde_json::Error) -> IntegrationError {
    IntegrationError::Secret(format!("the pending grant is damaged (column {})", error.column()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account_secret::digest_of;

    #[test]
    fn a_grant_comes_back_as_it_was_sealed() {
        let account = Account {
            id: Some("7".to_owned()),
            email: None,
            name: Some("Ann".to_owned()),
            address: AccountAddress::from([("subdomain".to_owned(), "acme".to_owned())]),
        };
        let since = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let tokens = Tokens {
            access_token: "an-access-token".into(),
            refresh_token: Some("a-refresh-token".into()),
            expires_in: Some(Duration::from_secs(3600)),
            scopes: Some(vec!["read".to_owned()]),
            grant: None,
        };
        let scopes = vec!["read".to_owned(), "write".to_owned()];
        let secret = AccountSecret::OAuth2 { tokens, scopes: scopes.clone(), since, client: Some("oac_1".to_owned()) };
        let labels = Some(Labels::from([("team".to_owned(), "blue".to_owned())]));
        let json = to_json(account.clone(), &secret, labels.clone(), false).unwrap();
        let json = serde_json::from_str(&serde_json::to_string(&json).unwrap()).unwrap();
        let OpenGrant { account: read_account, secret: read, labels: read_labels, replaces } = open(json).unwrap();
        assert_eq!((read_account, read_labels, replaces), (account.clone(), labels, false));
        let details = |secret: &AccountSecret| secret.details(account.clone(), None);
        assert_eq!(details(&read), details(&secret));
        let digest = |secret: &AccountSecret| digest_of(&secret.to_bytes().unwrap());
        assert_eq!(digest(&read), digest(&secret));
        assert!(serde_json::from_str::<GrantJson<'_>>("{}").is_err());
    }
}
