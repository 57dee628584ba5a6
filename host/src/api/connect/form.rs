//! The form of the page, as a browser sends it.

use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::form_urlencoded;

use super::page::ADDRESS_FIELD;
use crate::registry::Connector;
use contract::{AddressPart, PartForm};
use store::AccountAddress;

/// The fields of a form.
#[derive(Default)]
pub(super) struct Form {
    pub(super) connector: Option<String>,
    pub(super) is_finish: bool,
    /// The parts of the account's address.
    address: AccountAddress,
    /// The names and values of a key.
    credentials: Vec<(String, SecretString)>,
}

impl Form {
    pub(super) fn parse(body: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in form_urlencoded::parse(body) {
            match &*name {
                "connector" => form.connector = Some(value.into_owned()),
                "finish" => form.is_finish = true,
                "api_key" | "username" | "password" => {
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
        let members = self.credentials.iter().map(|(name, value)| (name.clone(), json!(value.expose_secret())));
        serde_json::Value::Object(members.collect()).to_string().into()
    }
}
