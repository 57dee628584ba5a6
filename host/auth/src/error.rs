//! Why a caller is not recognised.

use thiserror::Error;

use jwt::JwtError;

/// Why a caller is not recognised. The messages say what to do. They do not reveal whether a key
/// exists, except that a caller with a whole key learns that it was revoked.
#[derive(Debug, Error)]
pub enum AuthError {
    /// The request has no `Authorization` header.
    #[error("the header `Authorization: Bearer <key>` is missing")]
    Missing,
    /// The JWT is not accepted.
    #[error(transparent)]
    Jwt(#[from] JwtError),
    /// The header has the wrong form, or the checksum of the key is wrong.
    #[error("the `Authorization` header is not of the form `Bearer <key>`, or the key was not copied whole")]
    Malformed,
    /// The key does not exist.
    #[error("the key is not known")]
    Unknown,
    /// The key was revoked.
    #[error("the key was revoked")]
    Revoked,
    /// The key has expired.
    #[error("the key has expired")]
    Expired,
    /// The cookie of the console belongs to no session, or its session has ended.
    #[error("the session of the console has ended")]
    SessionEnded,
    /// The token is of no agent session, or its session has ended.
    #[error("the agent session has ended")]
    AgentSessionEnded,
    /// The store does not answer, so that the gateway cannot know if it has such a key, or if the
    /// key was revoked.
    #[error("the keys cannot be read")]
    Unavailable,
}
