//! An API key, as it is stored. The store has only the SHA-256 of a key, never the key.

use std::fmt;
use std::time::SystemTime;

use database::value::{FromValue, Value};

use crate::records::{named, record};

/// SHA-256 of a key.
pub type KeyHash = [u8; 32];

/// Id of a key. It reveals nothing about the key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyId(pub String);

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

named! {
    /// The way in which a key was created.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum KeyOrigin {
        /// By the command `keys create`.
        Command = "command",
        /// By the first start with an empty database.
        FirstStart = "first_start",
        /// From the variable `GATEWAY_BOOTSTRAP_KEY`.
        Environment = "environment",
    }
}

record! {
    /// A key, as it is stored.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ApiKey {
        /// Identifies the key in commands and logs.
        pub id: KeyId,
        /// A name for people.
        pub name: String,
        /// The tenant that the key belongs to.
        pub tenant: String,
        /// The one user that the key may act for. `None` if it may act for every user of the tenant.
        pub subject: Option<String>,
        /// Names of the key's scopes, separated by spaces. The store does not interpret them.
        pub scopes: String,
        /// SHA-256 of the key.
        pub hash: KeyHash,
        /// The first characters of the key, so that people recognise it. Empty if a person chose the
        /// key, because then these characters could help to guess it.
        pub prefix: String,
        /// The connectors and operations that the key may call, as JSON. `None` if it may call all. The
        /// store does not interpret it.
        pub allow: Option<String>,
        /// Names of the effects that operations may have, separated by spaces. `None` for all.
        pub effects: Option<String>,
        /// `true` if destructive operations ask first, for agents that use the key.
        pub confirm: bool,
        /// Time from which the gateway refuses the key. `None` if it never expires.
        pub expires_at: Option<SystemTime>,
        /// The actor who made the key, as the audit names it. Empty for keys of earlier versions.
        pub created_by: String,
        /// Time at which the key was stored.
        pub created_at: SystemTime,
        /// Time at which the key was revoked. The gateway accepts only keys with `None`.
        pub revoked_at: Option<SystemTime>,
        /// Time of the last use, exact to about a minute.
        pub last_used_at: Option<SystemTime>,
    }
}

named! {
    /// The state of a key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum KeyStatus {
        /// The gateway accepts it.
        Valid = "valid",
        /// Its time is over, and no one has revoked it.
        Expired = "expired",
        /// It was revoked, before or after its end.
        Revoked = "revoked",
    }
}

impl KeyStatus {
    /// The condition of keys in this state.
    pub(super) const fn condition(self) -> &'static str {
        match self {
            Self::Valid => "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now_ms())",
            Self::Expired => "revoked_at IS NULL AND expires_at <= now_ms()",
            Self::Revoked => "revoked_at IS NOT NULL",
        }
    }
}

/// The keys that a list shows.
#[derive(Clone, Debug, Default)]
pub struct KeyFilter {
    /// Only keys with this name.
    pub name: Option<String>,
    /// Only keys whose [`ApiKey::prefix`] begins with this text.
    pub prefix: Option<String>,
    /// Only keys of this tenant.
    pub tenant: Option<String>,
    /// Only keys of this user. Empty for those without a user.
    pub subject: Option<String>,
    /// Only keys in this state.
    pub status: Option<KeyStatus>,
    /// Only keys that expire before this time.
    pub expires_before: Option<SystemTime>,
    /// Only keys after this place in the list: the time and the id of a key.
    pub before: Option<(SystemTime, String)>,
    /// Maximum number of keys.
    pub limit: u32,
}

/// A key to store.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "see `ApiKey`")]
pub struct NewApiKey {
    pub id: KeyId,
    pub name: String,
    pub tenant: String,
    pub subject: Option<String>,
    pub scopes: String,
    pub hash: KeyHash,
    pub prefix: String,
    pub allow: Option<String>,
    pub effects: Option<String>,
    pub confirm: bool,
    pub expires_at: Option<SystemTime>,
}

/// The result of revoking a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyRevocation {
    /// The key was revoked by this call.
    Revoked(ApiKey),
    /// The key had been revoked before.
    AlreadyRevoked(ApiKey),
    /// There is no such key.
    Unknown,
}

/// The result of adopting the key from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyAdoption {
    /// The gateway accepts the key from now on.
    Accepted,
    /// A person revoked the key, so it stays revoked.
    Revoked,
    /// The key exists with other scopes, limits or another end, or for another tenant or user. It is
    /// unchanged.
    OtherRights(KeyId),
}

impl From<&KeyId> for Value {
    fn from(id: &KeyId) -> Self {
        Self::from(&id.0)
    }
}

impl From<KeyOrigin> for Value {
    fn from(origin: KeyOrigin) -> Self {
        Self::from(origin.name())
    }
}

impl FromValue for KeyId {
    fn from_value(value: Value) -> Option<Self> {
        String::from_value(value).map(Self)
    }
}
