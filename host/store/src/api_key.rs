//! An API key: who it speaks for and what it permits. The key itself is not here, only its SHA-256.

use std::fmt;
use std::time::SystemTime;

use super::StoreError;
use super::session::{FromRow, FromValue, Row, Value};

/// SHA-256 of a key.
pub type KeyHash = [u8; 32];

/// Names a key without giving it away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyId(pub String);

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// How a key came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrigin {
    /// On the command line.
    Command,
    /// By the first start with an empty store.
    FirstStart,
    /// From `GATEWAY_BOOTSTRAP_KEY`.
    Environment,
}

const ORIGINS: [(KeyOrigin, &str); 3] =
    [(KeyOrigin::Command, "command"), (KeyOrigin::FirstStart, "first_start"), (KeyOrigin::Environment, "environment")];

/// A key, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Its name in commands and logs.
    pub id: KeyId,
    /// Its name for people.
    pub name: String,
    /// The tenant it belongs to.
    pub tenant: String,
    /// The one user it speaks for, if it is bound to one.
    pub subject: Option<String>,
    /// Names of the scopes that the key has, separated by spaces. The store does not interpret them.
    pub scopes: String,
    /// SHA-256 of the key.
    pub hash: KeyHash,
    /// The key's first characters; empty when a person chose it.
    pub prefix: String,
    /// How it came to be.
    pub origin: KeyOrigin,
    /// When.
    pub created_at: SystemTime,
    /// Since when it is no longer good.
    pub revoked_at: Option<SystemTime>,
    /// When it was last used, to about a minute.
    pub last_used_at: Option<SystemTime>,
}

/// A key that is to be stored.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    /// See [`ApiKey::id`].
    pub id: KeyId,
    /// See [`ApiKey::name`].
    pub name: String,
    /// See [`ApiKey::tenant`].
    pub tenant: String,
    /// See [`ApiKey::subject`].
    pub subject: Option<String>,
    /// See [`ApiKey::scopes`].
    pub scopes: String,
    /// See [`ApiKey::hash`].
    pub hash: KeyHash,
    /// See [`ApiKey::prefix`].
    pub prefix: String,
}

impl From<&KeyId> for Value {
    fn from(id: &KeyId) -> Self {
        Self::from(&id.0)
    }
}

impl From<KeyOrigin> for Value {
    fn from(origin: KeyOrigin) -> Self {
        let name = ORIGINS.iter().find(|(known, _)| *known == origin).map_or("", |(_, name)| name);
        Self::from(name)
    }
}

impl FromValue for KeyId {
    fn from_value(value: Value) -> Option<Self> {
        String::from_value(value).map(Self)
    }
}

impl FromValue for KeyOrigin {
    fn from_value(value: Value) -> Option<Self> {
        let name = String::from_value(value)?;
        ORIGINS.iter().find(|(_, known)| *known == name).map(|(origin, _)| *origin)
    }
}

impl FromRow for ApiKey {
    fn from_row(row: &mut Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.read()?,
            name: row.read()?,
            tenant: row.read()?,
            subject: row.read()?,
            scopes: row.read()?,
            hash: row.read()?,
            prefix: row.read()?,
            origin: row.read()?,
            created_at: row.read()?,
            revoked_at: row.read()?,
            last_used_at: row.read()?,
        })
    }
}
