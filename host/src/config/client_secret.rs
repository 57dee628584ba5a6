//! The secret of an OAuth client: the keys `client_secret` and `client_secret_file`.

use std::fs;

use secrecy::SecretString;

use super::section::Section;
use super::value;

/// Reads both keys. Returns `None` if there is no secret.
pub(super) fn read(section: &mut Section<'_>) -> Option<SecretString> {
    let mut client_secret = None;
    let mut file = String::new();
    section.value("client_secret", &mut client_secret, value::secret);
    section.value("client_secret_file", &mut file, value::string);
    if !file.is_empty() {
        if client_secret.is_some() {
            section.problem("client_secret_file", "is set together with `client_secret`; keep one of them".to_owned());
        }
        match read_file(&file) {
            Ok(secret) => client_secret = Some(secret),
            Err(reason) => section.problem("client_secret_file", format!("names `{file}`, which {reason}")),
        }
    }
    client_secret
}

/// Reads a file without the line break at its end, which editors add.
fn read_file(path: &str) -> Result<SecretString, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    match text.trim() {
        "" => Err("is empty".to_owned()),
        secret => Ok(secret.into()),
    }
}
