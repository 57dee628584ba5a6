//! Why no one has signed in.

use thiserror::Error;

use jwt::JwtError;

/// Why no one has signed in. The messages repeat no code, no token and no secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OidcError {
    /// The provider cannot be reached, or cannot answer now.
    #[error("the OpenID provider cannot be asked: {0}")]
    Unavailable(String),
    /// The provider's answer is not of the form of OpenID Connect.
    #[error("the answer of the OpenID provider is not understood: {0}")]
    NotUnderstood(String),
    /// The provider refused the code or the client.
    #[error("the OpenID provider refused the sign-in with the error `{0}`")]
    Refused(String),
    /// The ID token is not accepted.
    #[error("the ID token is not accepted: {0}")]
    IdToken(#[source] JwtError),
    /// The person does not have the right.
    #[error("the claim `{claim}` of the ID token does not have the value that lets a person in")]
    NotAdmitted {
        /// The claim.
        claim: String,
    },
}

impl From<JwtError> for OidcError {
    fn from(error: JwtError) -> Self {
        match error {
            JwtError::KeysUnavailable => Self::Unavailable("its keys cannot be fetched".to_owned()),
            error => Self::IdToken(error),
        }
    }
}
