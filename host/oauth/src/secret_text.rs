//! The text of a secret, in the forms that this crate passes on: as a member of JSON that is
//! sealed, and as a type of the library for OAuth, which does not print either.

use std::borrow::Cow;

use oauth2::{AuthorizationCode, ClientSecret, PkceCodeVerifier, RefreshToken};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A secret as a member of a value that is sealed.
pub(super) struct SealedText<'a>(Cow<'a, SecretString>);

impl<'a> From<&'a SecretString> for SealedText<'a> {
    fn from(secret: &'a SecretString) -> Self {
        Self(Cow::Borrowed(secret))
    }
}

impl From<SecretString> for SealedText<'_> {
    fn from(secret: SecretString) -> Self {
        Self(Cow::Owned(secret))
    }
}

impl From<SealedText<'_>> for SecretString {
    fn from(text: SealedText<'_>) -> Self {
        text.0.into_owned()
    }
}

impl Serialize for SealedText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose_secret())
    }
}

impl<'de> Deserialize<'de> for SealedText<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(SecretString::from(String::deserialize(deserializer)?).into())
    }
}

/// Returns `true` if both are the same text. Not constant-time: the gateway holds both.
pub(super) fn are_equal(own: &SecretString, other: &SecretString) -> bool {
    own.expose_secret() == other.expose_secret()
}

/// The code that a user came back with, for the library.
pub(super) fn authorization_code(code: &SecretString) -> AuthorizationCode {
    AuthorizationCode::new(code.expose_secret().to_owned())
}

/// A PKCE verifier, for the library.
pub(super) fn pkce_verifier(verifier: &SecretString) -> PkceCodeVerifier {
    PkceCodeVerifier::new(verifier.expose_secret().to_owned())
}

/// A refresh token, for the library.
pub(super) fn refresh_token(token: &SecretString) -> RefreshToken {
    RefreshToken::new(token.expose_secret().to_owned())
}

/// The secret of a client, for the library.
pub(super) fn client_secret(secret: &SecretString) -> ClientSecret {
    ClientSecret::new(secret.expose_secret().to_owned())
}
