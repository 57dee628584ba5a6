//! A secret that was just made, as the person or program that asked for it gets it.

use std::fmt;
use std::ops::Deref;

use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, Serializer};

/// A secret that the gateway has just made. It is shown once, in an answer or by a command, and
/// stored as its hash or sealed.
///
/// It is made from its text alone. So a secret that was given to the gateway, or that was stored,
/// cannot be shown.
#[derive(Clone, Debug, Default)]
pub struct ShownOnce(SecretString);

impl From<String> for ShownOnce {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl ShownOnce {
    /// The secret, to be written into the answer to the one who asked for it.
    pub fn shown(&self) -> Shown<'_> {
        Shown(&self.0)
    }
}

impl Deref for ShownOnce {
    type Target = SecretString;

    fn deref(&self) -> &SecretString {
        &self.0
    }
}

/// A secret that is written as its text. See [`ShownOnce::shown`].
#[derive(Clone, Copy)]
pub struct Shown<'a>(&'a SecretString);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.expose_secret())
    }
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose_secret())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shown_form_of_a_new_secret_has_its_text() {
        let secret = ShownOnce::from("s3cret".to_owned());
        assert!(!format!("{secret:?}").contains("s3cret"));
        assert_eq!(secret.shown().to_string(), "s3cret");
        assert_eq!(serde_json::to_string(&secret.shown()).unwrap(), r#""s3cret""#);
    }
}
