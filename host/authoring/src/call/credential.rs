//! The credential that an author calls an operation with.

use std::{env, fs};

use connector_gateway::{Key, KeyForm, KeyUse};
use secrecy::SecretString;

use super::CallError;
use super::arguments::CredentialArguments;
use crate::module_file::FileError;
use contract::{Address, AuthAdditions, AuthScheme};
use egress::{Credential, SHORTEST_SECRET, is_too_short};

/// Words that say how a credential is given.
const HOW: &str = "give it with `--credential-env NAME` or `--credential-file FILE`";

impl CredentialArguments {
    /// Reads the credential for connectors with this scheme, for an account with this address. `None`
    /// if users need no account.
    ///
    /// # Errors
    /// If the credential is missing or cannot be used.
    pub(super) fn read(
        &self,
        scheme: &AuthScheme,
        additions: &AuthAdditions,
        address: &Address,
    ) -> Result<Option<Credential>, CallError> {
        let secret = match (&self.credential_env, &self.credential_file) {
            (None, None) => None,
            (Some(name), _) => {
                let text = env::var(name).map_err(|_| {
                    CallError::Credential(format!("`{name}` is not a variable with text; export it first"))
                })?;
                Some(SecretString::from(files::secret_of(&text)))
            }
            (None, Some(file)) => {
                let text = fs::read_to_string(file).map_err(|source| FileError { file: file.clone(), source })?;
                Some(SecretString::from(files::secret_of(&text)))
            }
        };
        let wrong = |text: &str| Err(CallError::Credential(text.to_owned()));
        match (scheme, secret) {
            (AuthScheme::None, None) => Ok(None),
            (AuthScheme::None, Some(_)) => wrong("users of this connector need no account; leave the credential out"),
            (AuthScheme::Oauth2(_), None) => {
                wrong(&format!("the operation runs with a user's access token (OAuth 2.0); {HOW}"))
            }
            (AuthScheme::ApiKey(key), None) => {
                wrong(&format!("the operation runs with a user's {}; {HOW}", KeyForm::of(key, additions).line()))
            }
            (_, Some(secret)) if is_too_short(&secret) => wrong(&format!(
                "it has fewer than {SHORTEST_SECRET} bytes, so it cannot be masked in answers; check the text"
            )),
            (AuthScheme::Oauth2(_), Some(token)) => {
                Credential::bearer(token).map(Some).map_err(|error| CallError::Credential(error.to_string()))
            }
            (AuthScheme::ApiKey(scheme), Some(secret)) => {
                let key = key(KeyForm::of(scheme, additions), &secret)?;
                let usage = KeyUse::of(scheme, additions.signature.as_ref(), address);
                key.credential(&usage).map(Some).map_err(|error| CallError::Credential(error.to_string()))
            }
        }
    }
}

fn key(form: KeyForm, secret: &SecretString) -> Result<Key, CallError> {
    let key = Key::from_line(form, secret).map_err(|error| CallError::Credential(error.to_string()))?;
    match key.too_short() {
        Some(part) => Err(CallError::Credential(format!(
            "its {part} has fewer than {SHORTEST_SECRET} bytes, so it cannot be masked in answers"
        ))),
        None => Ok(key),
    }
}
