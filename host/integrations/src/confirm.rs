//! Grants that wait for the caller's confirmation.
//!
//! Anyone can begin an authorization and send its address to another person, who then consents.
//! With `confirm`, such a grant is not used: the completion reaches only the browser of the person
//! who consented, and only the caller that began the authorization can confirm with it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::authorization::{random_secret, state_hash};
use super::connect::NewConnection;
use super::{AccountSecret, IntegrationError, Integrations};
use oauth::Tokens;
use store::{Account, AccountAddress, FoundGrant, Holder, Integration, Labels, PendingGrant, Sealed};

/// Time that the caller has to confirm a grant.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// Why a grant is not confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotConfirmed {
    /// There is no such grant, or it was confirmed before, or it has expired.
    Unknown,
    /// The authorization was begun for another user of the tenant.
    OtherSubject,
}

/// The sealed form of a grant. The names never change, because databases contain them.
#[derive(Serialize, Deserialize)]
struct GrantJson<'a> {
    account_id: Option<String>,
    account_email: Option<String>,
    account_name: Option<String>,
    /// As [`Tokens::to_bytes`] writes them.
    #[serde(borrow)]
    tokens: Cow<'a, RawValue>,
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
}

/// A grant that is unsealed.
pub(super) struct OpenGrant {
    pub(super) account: Account,
    pub(super) secret: AccountSecret,
    pub(super) labels: Option<Labels>,
}

impl Integrations {
    /// Stores a grant until the caller confirms it, and returns the completion for that.
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
    ) -> Result<SecretString, IntegrationError> {
        let completion = random_secret()?;
        let grant = PendingGrant {
            hash: state_hash(&completion),
            holder: holder.clone(),
            user_identifier: user_identifier.to_owned(),
            sealed: self.seal_grant(holder, user_identifier, account, secret, labels).await?,
            expires_at: self.store.database().now().await? + LIFETIME,
        };
        self.store.pending_grants().save(grant).await?;
        Ok(completion.into())
    }

    /// Connects the account of a pending grant. The inner error says why there is no such grant for
    /// this holder.
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
        let OpenGrant { account, secret, labels } = self.unseal_grant(&grant).await?;
        let NewConnection { connected, event, replaced } =
            self.new_connection(holder, user_identifier, labels, account, &secret).await?;
        match self.store.pending_grants().confirm(grant, connected, event, replaced.clone()).await? {
            None => Ok(Err(NotConfirmed::Unknown)),
            Some(integration) => {
                self.note_connected(replaced, &integration).await;
                Ok(Ok(integration))
            }
        }
    }

    /// Seals account and tokens of a grant.
    pub(super) async fn seal_grant(
        &self,
        holder: &Holder,
        user_identifier: &str,
        account: Account,
        secret: &AccountSecret,
        labels: Option<Labels>,
    ) -> Result<Sealed, IntegrationError> {
        let grant = to_bytes(account, secret, labels)?;
        Ok(self.vault.seal(&holder.grant_context(user_identifier), grant.expose_secret()).await?)
    }

    /// Unseals a grant.
    pub(super) async fn unseal_grant(&self, grant: &PendingGrant) -> Result<OpenGrant, IntegrationError> {
        let context = grant.holder.grant_context(&grant.user_identifier);
        let bytes = self.vault.unseal(&context, &grant.sealed).await?;
        from_bytes(bytes.expose_secret())
    }
}

fn to_bytes(
    account: Account,
    secret: &AccountSecret,
    labels: Option<Labels>,
) -> Result<SecretSlice<u8>, IntegrationError> {
    let AccountSecret::OAuth2 { tokens, scopes, since, client } = secret else {
        return Err(IntegrationError::Secret("only OAuth 2 grants can wait for a confirmation".to_owned()));
    };
    let bytes = tokens.to_bytes();
    let raw: &RawValue = serde_json::from_slice(bytes.expose_secret()).map_err(|error| damaged(&error))?;
    let json = GrantJson {
        account_id: account.id,
        account_email: account.email,
        account_name: account.name,
        address: account.address,
        tokens: Cow::Borrowed(raw),
        requested_scopes: scopes.clone(),
        scopes: tokens.scopes.clone(),
        since_s: since.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        expires_in_s: tokens.expires_in.map(|lifetime| lifetime.as_secs()),
        labels,
        client: client.clone(),
    };
    Ok(serde_json::to_vec(&json).map_err(|error| damaged(&error))?.into())
}

fn from_bytes(bytes: &[u8]) -> Result<OpenGrant, IntegrationError> {
    let json: GrantJson<'_> = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
    let tokens = Tokens {
        expires_in: json.expires_in_s.map(Duration::from_secs),
        scopes: json.scopes,
        grant: None,
        ..Tokens::from_bytes(json.tokens.get().as_bytes())?
    };
    let account =
        Account { id: json.account_id, email: json.account_email, name: json.account_name, address: json.address };
    let since = UNIX_EPOCH + Duration::from_secs(json.since_s);
    let secret = AccountSecret::OAuth2 { tokens, scopes: json.requested_scopes, since, client: json.client };
    Ok(OpenGrant { account, secret, labels: json.labels })
}

/// The message names no part of the grant.
fn damaged(error: &serde_json::Error) -> IntegrationError {
    IntegrationError::Secret(format!("the pending grant is damaged (column {})", error.column()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let bytes = to_bytes(account.clone(), &secret, labels.clone()).unwrap();
        let OpenGrant { account: read_account, secret: read, labels: read_labels } =
            from_bytes(bytes.expose_secret()).unwrap();
        assert_eq!((read_account, read_labels), (account.clone(), labels));
        let details = |secret: &AccountSecret| secret.details(account.clone(), None);
        assert_eq!(details(&read), details(&secret));
        let bytes = |secret: &AccountSecret| secret.to_bytes().unwrap().expose_secret().to_vec();
        assert_eq!(bytes(&read), bytes(&secret));
        assert!(from_bytes(b"{}").is_err());
    }
}
