//! An API key: who it speaks for and what it permits. The key itself is not here, only its SHA-256.

use std::fmt;
use std::time::SystemTime;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

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

/// What a key permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Calling operations.
    Operate,
    /// Connecting users' accounts.
    Integrate,
    /// Changing the gateway: connectors and keys.
    Admin,
}

impl Scope {
    /// All of them, in the order they are listed in.
    pub const ALL: [Self; 3] = [Self::Operate, Self::Integrate, Self::Admin];

    /// As it is written on the command line and in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operate => "operate",
            Self::Integrate => "integrate",
            Self::Admin => "admin",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Operate => 1,
            Self::Integrate => 2,
            Self::Admin => 4,
        }
    }
}

/// A set of scopes. None implies another.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Scopes(u8);

impl Scopes {
    /// Every scope there is.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Whether the scope is in the set.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Those in the set.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Scope::name).collect();
        formatter.write_str(&names.join(" "))
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Scopes({self})")
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
    /// What it permits.
    pub scopes: Scopes,
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
    pub scopes: Scopes,
    /// See [`ApiKey::hash`].
    pub hash: KeyHash,
    /// See [`ApiKey::prefix`].
    pub prefix: String,
}

impl ToSql for KeyId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

impl FromSql for KeyId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        String::column_result(value).map(Self)
    }
}

impl ToSql for Scopes {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.to_string().into())
    }
}

impl FromSql for Scopes {
    /// A scope that this version does not know permits nothing.
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let names = value.as_str()?;
        Ok(Scope::ALL.into_iter().filter(|scope| names.split(' ').any(|name| name == scope.name())).collect())
    }
}

impl ToSql for KeyOrigin {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let name = ORIGINS.iter().find(|(origin, _)| origin == self).map_or("", |(_, name)| name);
        Ok(name.into())
    }
}

impl FromSql for KeyOrigin {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let name = value.as_str()?;
        ORIGINS.iter().find(|(_, known)| *known == name).map(|(origin, _)| *origin).ok_or(FromSqlError::InvalidType)
    }
}
