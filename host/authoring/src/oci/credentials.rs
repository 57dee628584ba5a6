//! The credentials for a registry: from the command line, else as `docker login` and similar tools
//! have stored them.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, HeaderValue};
use reqwest::RequestBuilder;
use secrecy::SecretString;
use serde::Deserialize;
use std::collections::HashMap;

use super::RegistryError;
use crate::options::RegistryArguments;
use egress::basic_header;

/// A helper stores a token of an identity provider under this name.
const IDENTITY_TOKEN: &str = "<token>";

/// The user of a registry.
#[derive(Debug)]
pub(super) struct Credentials {
    /// The value of the header that has the name and the password.
    authorization: HeaderValue,
}

impl Credentials {
    fn new(username: &str, password: &str) -> Result<Self, RegistryError> {
        let authorization = basic_header(username, &SecretString::from(password));
        Ok(Self { authorization: authorization.map_err(|error| wrong(error.to_string()))? })
    }

    /// Adds the name and the password to a request.
    pub(super) fn authorize(&self, request: RequestBuilder) -> RequestBuilder {
        request.header(AUTHORIZATION, self.authorization.clone())
    }
}

/// The part of Docker's configuration about credentials.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DockerConfig {
    auths: HashMap<String, StoredAuth>,
    creds_store: Option<String>,
    cred_helpers: HashMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StoredAuth {
    auth: Option<String>,
}

/// The output of a credential helper.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperOutput {
    username: String,
    secret: String,
}

/// Finds the credentials of a registry. `None` if there are none.
///
/// # Errors
/// If standard input or the file of Docker cannot be read, or if the credentials have a form that
/// is not supported.
pub(super) fn find(registry: &str, arguments: &RegistryArguments) -> Result<Option<Credentials>, RegistryError> {
    if let Some(username) = &arguments.username {
        let mut password = String::new();
        io::stdin().read_to_string(&mut password).map_err(|error| wrong(format!("standard input: {error}")))?;
        return Credentials::new(username, files::secret_of(&password)).map(Some);
    }
    let Some(file) = docker_config() else { return Ok(None) };
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(format!("`{}`: {error}", file.display()))),
    };
    // A message of the parser could quote a secret.
    let config: DockerConfig = serde_json::from_slice(json_text::without_mark(&text))
        .map_err(|error| wrong(format!("`{}` is not JSON at line {}", file.display(), error.line())))?;
    stored(&config, registry, &file)
}

fn docker_config() -> Option<PathBuf> {
    let folder = std::env::var_os("DOCKER_CONFIG").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".docker")))?;
    Some(folder.join("config.json"))
}

fn stored(config: &DockerConfig, registry: &str, file: &Path) -> Result<Option<Credentials>, RegistryError> {
    if let Some(helper) = config.cred_helpers.get(registry).or(config.creds_store.as_ref()) {
        return run_helper(helper, registry);
    }
    let entry = config.auths.iter().find(|(key, _)| host(key) == registry);
    let Some(auth) = entry.and_then(|(_, stored)| stored.auth.as_deref()).filter(|auth| !auth.is_empty()) else {
        return Ok(None);
    };
    let decoded = STANDARD.decode(auth).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    match decoded.as_deref().and_then(|text| text.split_once(':')) {
        Some((username, password)) => Credentials::new(username, password).map(Some),
        None => Err(wrong(format!("the entry of `{registry}` in `{}` has no user name and password", file.display()))),
    }
}

/// The host of a key such as `https://registry.example.com/v1/`.
fn host(key: &str) -> &str {
    let key = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
    key.split('/').next().unwrap_or_default()
}

/// Runs a credential helper, such as the one of a keychain. It fails if it knows no credentials.
fn run_helper(helper: &str, registry: &str) -> Result<Option<Credentials>, RegistryError> {
    let program = format!("docker-credential-{helper}");
    let failed = |error: io::Error| wrong(format!("`{program}` cannot be started: {error}"));
    let mut command = Command::new(&program);
    let started = command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = started.map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(registry.as_bytes()).map_err(failed)?;
    }
    let finished = child.wait_with_output().map_err(failed)?;
    if !finished.status.success() {
        return Ok(None);
    }
    match serde_json::from_slice(&finished.stdout) {
        Ok(HelperOutput { username, .. }) if username == IDENTITY_TOKEN => {
            Err(wrong(format!("`{program}` has an identity token for `{registry}`, which is not supported")))
        }
        Ok(HelperOutput { username, secret }) => Credentials::new(&username, &secret).map(Some),
        Err(_) => Err(wrong(format!("the output of `{program}` is not understood"))),
    }
}

fn wrong(reason: String) -> RegistryError {
    RegistryError::Credentials(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(config: &serde_json::Value, registry: &str) -> Result<Option<Credentials>, RegistryError> {
        stored(&serde_json::from_value(config.clone()).unwrap(), registry, Path::new("config.json"))
    }

    #[test]
    fn the_entry_of_the_registry_is_found_in_each_form_of_its_key() {
        let auth = STANDARD.encode("user:pass:word");
        for key in ["a.example:5000", "https://a.example:5000", "https://a.example:5000/v1/"] {
            let config = serde_json::json!({"auths": {key: {"auth": auth}}});
            let Credentials { authorization } = find(&config, "a.example:5000").unwrap().unwrap();
            assert_eq!(authorization, format!("Basic {auth}"), "{key}");
            assert!(authorization.is_sensitive());
            assert!(find(&config, "a.example").unwrap().is_none());
        }
    }

    #[test]
    fn an_entry_that_is_not_understood_is_named_without_its_secret() {
        let config = serde_json::json!({"auths": {"a.example": {"auth": STANDARD.encode("s3cret")}}});
        let reason = find(&config, "a.example").unwrap_err().to_string();
        assert!(reason.contains("a.example") && !reason.contains("s3cret"), "{reason}");
    }

    #[test]
    fn a_helper_that_is_missing_is_named() {
        let config = serde_json::json!({"credHelpers": {"a.example": "no-such-helper"}});
        let reason = find(&config, "a.example").unwrap_err().to_string();
        assert!(reason.contains("docker-credential-no-such-helper"), "{reason}");
    }
}
