//! Who calls, and what they may do.

use thiserror::Error;

use super::jwt::JwtError;
use super::{Scope, Scopes};
use store::{KeyId, StoreError};

/// Whoever sent a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Whose data this is about. Tenants never see one another.
    pub tenant: String,
    /// The one user that the caller speaks for; none when it speaks for the tenant as a whole.
    pub subject: Option<String>,
    /// The key it showed; none where it showed a JWT.
    pub key_id: Option<KeyId>,
    /// What its token permits.
    pub scopes: Scopes,
}

impl Caller {
    /// # Errors
    /// When the caller lacks the scope.
    pub fn require(&self, scope: Scope) -> Result<(), MissingScope> {
        if self.scopes.contains(scope) { Ok(()) } else { Err(MissingScope(scope)) }
    }
}

/// The caller is known, and may not do this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the token lacks the scope `{}`", .0.name())]
pub struct MissingScope(pub Scope);

/// Why nobody was recognised. The texts tell a caller what to do, and are the same whether a key exists or not; only who holds
/// a whole key learns that it was revoked.
#[derive(Debug, Error)]
pub enum AuthError {
    /// No `Authorization` header.
    #[error("the header `Authorization: Bearer <key>` is missing")]
    Missing,
    /// A JWT that is not accepted.
    #[error(transparent)]
    Jwt(#[from] JwtError),
    /// The header or the key in it is not of the form it should have.
    #[error("the `Authorization` header is not of the form `Bearer <key>`, or the key was not copied whole")]
    Malformed,
    /// There is no such key.
    #[error("the key is not known")]
    Unknown,
    /// The key was good once.
    #[error("the key was revoked")]
    Revoked,
    /// The key cannot be looked for just now.
    #[error("the keys cannot be read")]
    Unavailable(#[source] StoreError),
}
