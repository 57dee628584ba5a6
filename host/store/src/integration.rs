//! An integration: a user's account at a provider, as it is stored.

use std::fmt;
use std::time::SystemTime;

use super::Sealed;

/// Who an integration belongs to, and which connector it is for. Nobody sees those of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The tenant.
    pub tenant: String,
    /// The tenant's user; empty for the tenant itself.
    pub subject: String,
    /// Identifier of the connector.
    pub connector: String,
}

impl Holder {
    /// What the secret of an integration is bound to when it is sealed, so that it cannot be opened as another's.
    pub fn secret_context<'a>(&'a self, user_identifier: &'a str) -> [&'a str; 5] {
        ["integration", &self.tenant, &self.subject, &self.connector, user_identifier]
    }

    /// As [`Holder::secret_context`], for the PKCE verifier of an authorization under way.
    pub fn verifier_context<'a>(&'a self, user_identifier: Option<&'a str>) -> [&'a str; 5] {
        ["verifier", &self.tenant, &self.subject, &self.connector, user_identifier.unwrap_or_default()]
    }
}

/// How a connector authenticates its users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuthType {
    /// By OAuth 2.
    OAuth2,
    /// By a key that the user has from the provider.
    ApiKey,
    /// Not at all.
    None,
}

impl AuthType {
    const ALL: [Self; 3] = [Self::OAuth2, Self::ApiKey, Self::None];

    /// As it is written in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OAuth2 => "oauth2",
            Self::ApiKey => "api_key",
            Self::None => "none",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// Whether an integration can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It can.
    Active,
    /// Its credential is no longer good, and the user has to authorize again.
    Expired,
    /// Its credential was given back or taken away.
    Revoked,
}

impl Status {
    const ALL: [Self; 3] = [Self::Active, Self::Expired, Self::Revoked];

    /// As it is written in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

impl fmt::Display for AuthType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Who the user is at the provider, as far as the provider says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The provider's id of the account.
    pub id: Option<String>,
    /// Its email address.
    pub email: Option<String>,
    /// Its name for people.
    pub name: Option<String>,
}

/// What changes over an integration's life. It is written as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// Whether it can be used.
    pub status: Status,
    /// Why it is as it is and who must act, as JSON text.
    pub reason: Option<String>,
    /// Whose account it is.
    pub account: Account,
    /// What the provider permitted.
    pub scopes: Vec<String>,
    /// When the access token is no longer good.
    pub expires_at: Option<SystemTime>,
    /// When the tokens were last exchanged for new ones.
    pub last_refreshed_at: Option<SystemTime>,
    /// When they are to be exchanged next.
    pub next_refresh_at: Option<SystemTime>,
    /// The credential, sealed with [`Holder::secret_context`].
    pub secret: Option<Sealed>,
}

/// A user's account at a provider, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integration {
    /// Its name in the store, and the partition of its connector's storage.
    pub id: String,
    /// Whose it is.
    pub holder: Holder,
    /// Tells apart the accounts that one holder has.
    pub user_identifier: String,
    /// How the user authenticated.
    pub auth_type: AuthType,
    /// Whether it is the one to use where none is named. At most one of a holder is.
    pub selected: bool,
    /// When it was connected first.
    pub created_at: SystemTime,
    /// When any of it was last written.
    pub updated_at: SystemTime,
    /// Grows with every write of the details.
    pub version: i64,
    /// What changes.
    pub details: Details,
}
