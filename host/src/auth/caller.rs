//! The caller of a request, and its permissions.

use thiserror::Error;

use super::scope::{Scope, Scopes};
use store::KeyId;

/// The caller of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The tenant whose data the caller works with. Tenants never see each other's data.
    pub tenant: String,
    /// The user that the caller acts for, or `None` if it acts for every user of the tenant.
    pub subject: Option<String>,
    /// The API key, or `None` if the caller sent a JWT.
    pub key_id: Option<KeyId>,
    /// The permissions of the key or JWT.
    pub scopes: Scopes,
}

impl Caller {
    /// # Errors
    /// If the caller does not have the scope.
    pub fn require(&self, scope: Scope) -> Result<(), MissingScope> {
        if self.scopes.contains(scope) { Ok(()) } else { Err(MissingScope(scope)) }
    }
}

/// The caller is known, but its token lacks this scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the token lacks the scope `{}`", .0.name())]
pub struct MissingScope(pub Scope);
