//! The forms that a browser sends from the page of a link.

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use super::page::ADDRESS_FIELD;
use config::Config;
use contract::{AddressPart, PartForm};
use integrations::{self, DEVICE_CODE};
use registry::Connector;
use schema::Schema;
use store::{AccountAddress, GrantType};

/// The fields that are not sent if the user has left them empty.
const SENT_IF_FILLED: [&str; 10] = [
    "client_id",
    "client_secret",
    "key_file",
    "subject",
    "installation_id",
    "access_key_id",
    "secret_access_key",
    "session_token",
    "key_id",
    "secret",
];

/// The fields of a form.
#[derive(Default)]
pub(super) struct Form {
    pub(super) connector: Option<String>,
    pub(super) is_finish: bool,
    /// The parts of the account's address.
    address: AccountAddress,
    /// The name of the way to connect the account.
    auth_type: Option<String>,
    /// The names and values of a key or of other credentials.
    credentials: Vec<(String, SecretString)>,
}

impl Form {
    pub(super) fn parse(body: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in form_urlencoded::parse(body) {
            match &*name {
                "connector" => form.connector = Some(value.into_owned()),
                "finish" => form.is_finish = true,
                "auth_type" => form.auth_type = Some(value.into_owned()),
                "api_key" | "username" | "password" => {
                    form.credentials.push((name.into_owned(), value.into_owned().into()));
                }
                known if SENT_IF_FILLED.contains(&known) && !value.is_empty() => {
                    form.credentials.push((name.into_owned(), value.into_owned().into()));
                }
                name => {
                    if let Some(part) = name.strip_prefix(ADDRESS_FIELD) {
                        form.address.insert(part.to_owned(), value.trim().to_owned());
                    }
                }
            }
        }
        form
    }

    /// The parts of the account's address that the connector asks the user for. Names of hosts are the
    /// same in upper and lower case.
    pub(super) fn address_for(&self, connector: &Connector) -> AccountAddress {
        let parts = connector.address_parts().iter().filter(|part| part.is_from_user());
        let value = |part: &AddressPart| {
            let value = self.address.get(&part.name)?;
            let value = if part.form == PartForm::Segment { value.clone() } else { value.to_ascii_lowercase() };
            Some((part.name.clone(), value))
        };
        parts.filter_map(value).collect()
    }

    /// The credentials as the JSON that POST …/integrations takes.
    pub(super) fn credentials(&self) -> SecretString {
        let members = self.credentials.iter().map(|(name, value)| {
            let text = value.expose_secret();
            let value = match name.as_str() {
                // The text of a file that is no JSON is refused by the schema.
                "key_file" => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
                _ => json!(text),
            };
            (name.clone(), value)
        });
        Value::Object(members.collect::<Map<_, _>>()).to_string().into()
    }

    /// The kind of credentials from which the gateway is to get access tokens. `None` for the way of
    /// the connector's auth scheme.
    pub(super) fn grant_type(&self) -> Option<GrantType> {
        let named = self.auth_type.as_deref()?;
        GrantType::ALL.into_iter().find(|known| known.auth_type() == named)
    }

    /// Returns `true` for the way by a device code.
    pub(super) fn is_device(&self) -> bool {
        self.auth_type.as_deref() == Some(DEVICE_CODE)
    }

    /// Returns `true` if the connector takes these credentials in the way that the form names.
    pub(super) fn fits(&self, connector: &Connector, config: &Config) -> bool {
        let named = self.auth_type.as_deref().unwrap_or_default();
        let credentials: Value = serde_json::from_str(self.credentials().expose_secret()).unwrap_or_default();
        let mut body = json!({"auth_type": named, "credentials": credentials});
        let address = self.address_for(connector);
        if !address.is_empty() {
            body["address"] = json!(address);
        }
        let body = SecretString::from(body.to_string());
        let schema = Schema::compile(&integrations::init_schema(connector, config, named).to_string(), false);
        schema.is_ok_and(|schema| schema.parse(body.expose_secret().as_bytes()).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(form: &[u8]) -> Value {
        serde_json::from_str(Form::parse(form).credentials().expose_secret()).unwrap()
    }

    #[test]
    fn fields_become_credentials_and_empty_ones_are_left_out() {
        let form = b"connector=mail&auth_type=oauth2_service_account&key_file=%7B%22client_email%22%3A%22a%22%7D&subject=&other=1";
        assert_eq!(credentials(form), json!({"key_file": {"client_email": "a"}}));
        assert_eq!(Form::parse(form).grant_type(), Some(GrantType::ServiceAccount));
        assert_eq!(credentials(b"username=ann&password="), json!({"username": "ann", "password": ""}));
        assert_eq!(Form::parse(b"auth_type=oauth2").grant_type(), None);
        assert_eq!(credentials(b"key_file=hunter2"), json!({"key_file": "hunter2"}));
    }
}
