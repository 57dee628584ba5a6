//! Connects an account with the author's own credential.

use std::path::Path;
use std::time::Duration;

use connector_gateway::{Connector, KeyForm};
use hyper::header::AUTHORIZATION;
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::DevError;
use super::provider::Provider;
use crate::module_file::{FileError, read};
use contract::AuthScheme;
use egress::bearer_header;
use store::AccountAddress;
use store::digest::sha256_of_secret;

/// The longest time for connecting an account. The gateway may request the account's name from the
/// upstream.
const CONNECT: Duration = Duration::from_secs(60);

/// The author's own credential.
#[derive(Clone)]
pub(super) struct OwnCredential(SecretString);

impl OwnCredential {
    /// The credential in a file, without the line break at its end.
    pub(super) fn read(file: &Path) -> Result<Self, FileError> {
        Ok(Self(files::secret_of(&String::from_utf8_lossy(&read(file)?)).into()))
    }

    /// The answer of a token endpoint that gives it out as an access token.
    pub(super) fn token_answer(&self) -> Value {
        json!({"access_token": self.0.expose_secret(), "token_type": "Bearer"})
    }

    /// The digest by which it is recognised.
    pub(super) fn digest(&self) -> [u8; 32] {
        sha256_of_secret(&self.0)
    }

    /// The credentials in the body that connects an account.
    fn members(&self, form: KeyForm) -> Value {
        form.members_of(self.0.expose_secret())
    }
}

/// Connects an account at a running gateway, as a user does. `account` has the parts of its
/// address.
pub(super) async fn connect(
    address: &str,
    key: &SecretString,
    connector: &Connector,
    account: &AccountAddress,
    credential: &OwnCredential,
    provider: Option<&Provider>,
) -> Result<(), DevError> {
    let failed = |error: reqwest::Error| DevError::Account(error.without_url().to_string());
    let client = Client::builder().no_proxy().timeout(CONNECT).build().map_err(failed)?;
    let mut body = match (&connector.manifest().auth, provider) {
        (AuthScheme::Oauth2(_), Some(provider)) => json!({"auth_type": "oauth2", "callback_url": provider.page()}),
        (AuthScheme::ApiKey(scheme), _) => {
            let credentials = credential.members(KeyForm::of(scheme, connector.auth_additions()));
            json!({"auth_type": "api_key", "credentials": credentials})
        }
        _ => {
            return Err(DevError::Account(
                "users of this connector need no account; leave the credential out".to_owned(),
            ));
        }
    };
    let parts = connector.address_parts().iter().filter(|part| part.is_from_user());
    let given: AccountAddress =
        parts.filter_map(|part| Some((part.name.clone(), account.get(&part.name)?.clone()))).collect();
    if !given.is_empty() {
        body["address"] = json!(given);
    }
    let connector = connector.name();
    let authorization = bearer_header(key).map_err(|error| DevError::Account(error.to_string()))?;
    let request = client.post(format!("{address}/connectors/{connector}/integrations"));
    let request = request.header(AUTHORIZATION, authorization);
    let response =
        request.header("content-type", "application/json").body(body.to_string()).send().await.map_err(failed)?;
    let is_success = response.status().is_success();
    let document: Value = serde_json::from_slice(&response.bytes().await.map_err(failed)?).unwrap_or_default();
    if !is_success {
        return Err(DevError::Account(reason(&document)));
    }
    if let Some(url) = document["authorization_url"].as_str() {
        let page = client.get(url).send().await.map_err(failed)?;
        let is_connected = page.status().is_success();
        let text = page.text().await.map_err(failed)?;
        if !is_connected || !text.contains("status=success") {
            return Err(DevError::Account(text));
        }
    }
    Ok(())
}

/// The reason in a problem document: each violation of the body with its place, else the detail.
fn reason(problem: &Value) -> String {
    let violation = |error: &Value| {
        let (pointer, detail) = (error["pointer"].as_str()?, error["detail"].as_str()?);
        Some(if pointer.is_empty() { detail.to_owned() } else { format!("`{pointer}`: {detail}") })
    };
    let violations: Vec<String> = problem["errors"].as_array().into_iter().flatten().filter_map(violation).collect();
    match violations.is_empty() {
        true => problem["detail"].as_str().unwrap_or("the gateway refused it").to_owned(),
        false => violations.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_about_a_refused_credential_has_the_place_of_each_violation() {
        let problem = json!({"detail": "The body has 2 violations; `errors` names them.", "errors": [
            {"pointer": "/credentials/password", "detail": "It is empty."},
            {"pointer": "", "detail": "Too much."},
        ]});
        assert_eq!(reason(&problem), "`/credentials/password`: It is empty. Too much.");
        assert_eq!(reason(&json!({"detail": "The service refused the key."})), "The service refused the key.");
        assert_eq!(reason(&json!(null)), "the gateway refused it");
    }
}
