//! Why a notification is not accepted.

use jwt::JwtError;
use thiserror::Error;

/// Why a notification is not accepted. The messages are for the operator, and repeat nothing of the
/// notification. Its sender learns no reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say what each one is")]
pub enum Rejection {
    #[error("the request is no POST, and no handshake that the inbox declares and the gateway waits for")]
    NotPost,
    #[error("the inbox declares no check, so nothing can be verified")]
    NoCheck,
    #[error("the inbox has no secret; set the one of the service with `connector-gateway inboxes secret`")]
    NoSecret,
    #[error("no secret of the inbox has the form that the service uses; copy it whole from the service")]
    UnusableSecret,
    #[error("the notification has no signature of the declared form")]
    NoSignature,
    #[error("the signature was made with another secret, or the notification was changed")]
    WrongSignature,
    #[error("the notification lacks a header that is signed")]
    NoHeader,
    #[error("the notification has no time in seconds where the service signs one")]
    NoTimestamp,
    #[error(
        "the notification is older than the inbox allows: it was sent again, or the clock of this machine is wrong"
    )]
    TooOld,
    #[error("the time of the notification is in the future: check the clock of this machine")]
    TooNew,
    #[error("the notification has no token where the inbox expects one")]
    NoToken,
    #[error("the token is another one than the gateway gave to the service")]
    WrongToken,
    #[error("the token is no JWT that is signed with RS256 or ES256")]
    UnreadableToken,
    #[error("the JWT is of another issuer (`iss`) than the inbox allows")]
    WrongIssuer,
    #[error(
        "the JWT is for another audience (`aud`): set the same audience at the service and in the settings of the connector"
    )]
    WrongAudience,
    #[error("a claim of the JWT is missing or has another value than the inbox requires")]
    WrongClaim,
    #[error("the JWT is signed with a key (`kid`) that its issuer does not publish")]
    UnknownKey,
    #[error("the keys of the JWT's issuer have not been fetched yet")]
    NoKeys,
    #[error("a setting of the connector that the JWT is compared with is not set")]
    NoSetting,
}

impl Rejection {
    /// A short name for records, which does not change.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotPost => "not-post",
            Self::NoCheck => "no-check",
            Self::NoSecret => "no-secret",
            Self::UnusableSecret => "unusable-secret",
            Self::NoSignature => "no-signature",
            Self::WrongSignature => "wrong-signature",
            Self::NoHeader => "no-header",
            Self::NoTimestamp => "no-timestamp",
            Self::TooOld => "too-old",
            Self::TooNew => "too-new",
            Self::NoToken => "no-token",
            Self::WrongToken => "wrong-token",
            Self::UnreadableToken => "unreadable-token",
            Self::WrongIssuer => "wrong-issuer",
            Self::WrongAudience => "wrong-audience",
            Self::WrongClaim => "wrong-claim",
            Self::UnknownKey => "unknown-key",
            Self::NoKeys => "no-keys",
            Self::NoSetting => "no-setting",
        }
    }

    /// Returns `true` if newer keys of the issuer may verify the notification.
    pub fn needs_keys(self) -> bool {
        matches!(self, Self::UnknownKey | Self::NoKeys)
    }
}

impl From<JwtError> for Rejection {
    fn from(error: JwtError) -> Self {
        match error {
            JwtError::Unreadable | JwtError::Critical => Self::UnreadableToken,
            JwtError::UnknownIssuer => Self::WrongIssuer,
            JwtError::WrongAudience => Self::WrongAudience,
            JwtError::UnknownKey => Self::UnknownKey,
            JwtError::WrongAlgorithm | JwtError::WrongSignature => Self::WrongSignature,
            JwtError::Expired => Self::TooOld,
            JwtError::NotYetValid => Self::TooNew,
            JwtError::Claim(_) | JwtError::NoTenant => Self::WrongClaim,
            JwtError::KeysUnavailable => Self::NoKeys,
        }
    }
}
