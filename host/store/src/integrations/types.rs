//! An integration: a user's account at a provider, as it is stored.

use std::collections::BTreeSet;
use std::time::SystemTime;

use super::columns::{AccountAddress, Labels, Scopes, read_address, read_labels, read_sealed};
use super::grant_type::GrantType;
use crate::Sealed;
use crate::records::{named, record};

record! {
    /// The owner of integrations: a user of a tenant, for one connector. The store never returns
    /// integrations of another holder.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct Holder {
        /// The tenant.
        pub tenant: String,
        /// The user. Empty if the integration belongs to the tenant itself.
        pub subject: String,
        /// Identifier of the connector.
        pub connector: String,
    }
}

impl Holder {
    /// The context in which the secret of an integration is sealed. A secret that is moved to
    /// another integration cannot be unsealed there.
    pub fn secret_context<'a>(&'a self, user_identifier: &'a str) -> [&'a str; 5] {
        ["integration", &self.tenant, &self.subject, &self.connector, user_identifier]
    }

    /// The context in which the PKCE verifier of an authorization is sealed.
    pub fn verifier_context<'a>(&'a self, user_identifier: Option<&'a str>) -> [&'a str; 5] {
        ["verifier", &self.tenant, &self.subject, &self.connector, user_identifier.unwrap_or_default()]
    }

    /// The context in which a grant is sealed until the caller confirms it.
    pub fn grant_context<'a>(&'a self, user_identifier: &'a str) -> [&'a str; 5] {
        ["pending_grant", &self.tenant, &self.subject, &self.connector, user_identifier]
    }
}

named! {
    /// The way in which users connect an account.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum AuthType {
        /// By an OAuth 2 authorization.
        OAuth2 = "oauth2",
        /// By a key that the user got from the provider.
        ApiKey = "api_key",
        /// Without a secret.
        None = "none",
    }
}

named! {
    /// The state of an integration. Only an active one can be used.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Status {
        /// The integration can be used.
        Active = "active",
        /// The provider no longer accepts the tokens, and the user has to authorize again.
        Expired = "expired",
        /// The user or the provider revoked the tokens.
        Revoked = "revoked",
    }
}

/// The person's account at the provider. A field is `None` if the provider does not reveal it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The provider's id of the account.
    pub id: Option<String>,
    /// The email address.
    pub email: Option<String>,
    /// The name for people.
    pub name: Option<String>,
    /// The parts of the service's URLs that differ from account to account. Empty for most services.
    pub address: AccountAddress,
}

/// The part of an integration that changes. The store always writes it as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// The state of the integration.
    pub status: Status,
    /// The reason for the last failure and who has to act, as JSON text. The store does not
    /// interpret it.
    pub reason: Option<String>,
    /// The connected account.
    pub account: Account,
    /// The OAuth scopes that the provider granted.
    pub scopes: Vec<String>,
    /// Time at which the access token expires. `None` if it does not expire.
    pub expires_at: Option<SystemTime>,
    /// Time of the last refresh.
    pub last_refreshed_at: Option<SystemTime>,
    /// Time from which `store.integrations().due_for_refresh` lists the integration. `None` if it needs
    /// no refresh.
    pub next_refresh_at: Option<SystemTime>,
    /// Time from which on each refresh has failed: when the first of them was due. The store keeps it
    /// only together with a `reason`. `None` if the last refresh did not fail.
    pub refresh_failing_since: Option<SystemTime>,
    /// The tokens or the API key, sealed with [`Holder::secret_context`].
    pub secret: Option<Sealed>,
}

record! {
    row =>
    /// A user's account at a provider, as it is stored.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Integration {
        /// The primary key. It also separates the key-value storage of this integration from the
        /// storage of other integrations.
        pub id: String,
        /// The owner.
        pub holder: Holder,
        /// Distinguishes the accounts of one holder.
        pub user_identifier: String,
        /// The way in which the user connected the account.
        pub auth_type: AuthType,
        /// `true` if calls that name no integration use this one. At most one integration of a holder
        /// is selected.
        pub selected: bool,
        /// Time at which the account was first connected.
        pub created_at: SystemTime,
        /// Time of the last write.
        pub updated_at: SystemTime,
        /// Grows with every write of the details, so that an update can detect an earlier concurrent
        /// one.
        pub version: i64,
        /// The part that changes.
        pub details: Details = Details {
            status: row.read()?,
            reason: row.read()?,
            account: Account {
                id: row.read()?,
                email: row.read()?,
                name: row.read()?,
                address: read_address(row)?,
            },
            scopes: row.read::<Scopes>()?.0,
            expires_at: row.read()?,
            last_refreshed_at: row.read()?,
            next_refresh_at: row.read()?,
            refresh_failing_since: row.read()?,
            secret: read_sealed(row)?,
        },
        /// Texts that the caller gave.
        pub labels: Labels = read_labels(row)?,
        /// The id of the tenant's OAuth client that the account was connected with. `None` for the
        /// client of the configuration.
        pub oauth_client: Option<String>,
        /// The credentials from which the gateway gets access tokens, for an account of
        /// [`AuthType::OAuth2`]. `None` if the user authorized.
        pub grant_type: Option<GrantType>,
    }
}

/// The result of choosing the integration of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This one.
    One(Box<Integration>),
    /// There is no integration of the requested name, or there are several and none is selected.
    Open {
        /// The identifiers of the holder's integrations, in alphabetical order and limited in
        /// number.
        candidates: Vec<String>,
    },
}

/// Selects a page of a user's integrations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntegrationFilter {
    /// Only integrations with this connector.
    pub connector: Option<String>,
    /// Only integrations with one of these connectors. `None` for all connectors.
    pub among: Option<BTreeSet<String>>,
    /// Only integrations with this name.
    pub user_identifier: Option<String>,
    /// Only integrations in this status now.
    pub status: Option<Status>,
    /// Only integrations that have all these labels.
    pub labels: Labels,
    /// Connector and user identifier of the last integration of the previous page.
    pub after: Option<(String, String)>,
    /// Maximum number of integrations in the page.
    pub limit: u32,
}

/// An account that is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connected {
    /// The way in which the user connected the account.
    pub auth_type: AuthType,
    /// The details of the integration.
    pub details: Details,
    /// The labels of the integration. `None` keeps the labels of the integration that is
    /// overwritten.
    pub labels: Option<Labels>,
    /// The id of the tenant's OAuth client that issued the tokens. `None` for the client of the
    /// configuration.
    pub oauth_client: Option<String>,
    /// The credentials from which the gateway gets access tokens. `None` if the user authorized, or
    /// if there are no tokens.
    pub grant_type: Option<GrantType>,
    /// The integration that may be overwritten.
    pub overwrites: Overwrites,
}

impl Connected {
    /// An account without labels, which may overwrite any other one.
    pub fn new(auth_type: AuthType, details: Details) -> Self {
        Self { auth_type, details, labels: None, oauth_client: None, grant_type: None, overwrites: Overwrites::Any }
    }
}

/// The integration in whose place an account may be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overwrites {
    /// The one that is there, if there is one.
    Any,
    /// There must be none.
    Nothing,
    /// Only this one, as it was read.
    Read {
        /// The id.
        id: String,
        /// The version.
        version: i64,
    },
}

impl Overwrites {
    /// Only what was read.
    pub fn read(found: Option<&Integration>) -> Self {
        found.map_or(Self::Nothing, |found| Self::Read { id: found.id.clone(), version: found.version })
    }

    /// Returns `true` if what is there may be overwritten.
    pub(super) fn include(&self, found: Option<&Integration>) -> bool {
        *self == Self::Any || *self == Self::read(found)
    }
}

/// Selects a page of the integrations of all tenants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnyIntegrationFilter {
    /// Only integrations of this tenant.
    pub tenant: Option<String>,
    /// Only integrations of this user. Empty for those without a user.
    pub subject: Option<String>,
    /// Only integrations with this connector.
    pub connector: Option<String>,
    /// Only integrations with this name.
    pub user_identifier: Option<String>,
    /// Only integrations with this id or name, or whose account has this id or email address at its
    /// service.
    pub account: Option<String>,
    /// Only integrations in this status now.
    pub status: Option<Status>,
    /// Only active integrations whose refresh was due at this time and was not done, or has failed
    /// since.
    pub due_before: Option<SystemTime>,
    /// Time of creation and id of the last integration of the previous page.
    pub before: Option<(SystemTime, String)>,
    /// Maximum number of integrations in the page.
    pub limit: u32,
}
