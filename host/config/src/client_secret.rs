//! Secrets that the configuration has as text or as the name of a file: the keys `client_secret`
//! and `client_secret_file`, and the keys of a private key and of the token of an application.

use std::fs;

use secrecy::SecretString;

use super::declare::Entry;
use super::section::Section;
use super::value;

/// Reads both keys. Returns `None` if there is no secret.
pub(super) fn read(section: &mut Section<'_>) -> Option<SecretString> {
    read_either(section, "client_secret", "client_secret_file")
}

/// Reads the keys `private_key` and `private_key_file`. Returns `None` if there is no key.
pub(super) fn read_private_key(section: &mut Section<'_>) -> Option<SecretString> {
    read_either(section, "private_key", "private_key_file")
}

/// Reads the keys `app_token` and `app_token_file`. Returns `None` if there is no token.
pub(super) fn read_app_token(section: &mut Section<'_>) -> Option<SecretString> {
    read_either(section, "app_token", "app_token_file")
}

fn read_either(section: &mut Section<'_>, key: &'static str, file_key: &'static str) -> Option<SecretString> {
    let mut secret = None;
    let mut file = String::new();
    value::secret().read(section, key, &mut secret);
    value::string().read(section, file_key, &mut file);
    if !file.is_empty() {
        if secret.is_some() {
            section.problem(file_key, format!("is set together with `{key}`; keep one of them"));
        }
        match read_file(&file) {
            Ok(read) => secret = Some(read),
            Err(reason) => section.problem(file_key, format!("names `{file}`, which {reason}")),
        }
    }
    secret
}

/// Reads a file without what editors add.
fn read_file(path: &str) -> Result<SecretString, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    match files::secret_of(&text) {
        "" => Err("is empty".to_owned()),
        secret => Ok(secret.into()),
    }
}
