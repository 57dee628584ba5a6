//! The forms that a browser sends from the page of a link.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::time::Instant;
use url::form_urlencoded;

use super::link_page::ADDRESS_FIELD;
use contract::{AddressPart, PartForm};
use gateway::Gateway;
use integrations::{Begun, ConnectRequest, CredentialField, CredentialsForm, FieldKind, Way};
use pipeline::connect::{self, ConnectError};
use registry::Connector;
use schema::Schema;
use store::{AccountAddress, Integration};

/// The most fields of a form that are read. Those of the page have some ten. A short field takes
/// many times its size, and anyone can send a form.
const MAX_FIELDS: usize = 100;

/// The fields of a form.
#[derive(Default)]
pub(super) struct Form {
    pub(super) connector: Option<String>,
    pub(super) is_finish: bool,
    /// The parts of the account's address.
    address: AccountAddress,
    /// The name of the way to connect the account.
    pub(super) auth_type: Option<String>,
    /// The names and values of the other fields that the user has filled in.
    filled: Vec<(String, SecretString)>,
}

impl Form {
    pub(super) fn parse(body: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in form_urlencoded::parse(body).take(MAX_FIELDS) {
            match &*name {
                "connector" => form.connector = Some(value.into_owned()),
                "finish" => form.is_finish = true,
                "auth_type" => form.auth_type = Some(value.into_owned()),
                name => match name.strip_prefix(ADDRESS_FIELD) {
                    Some(part) => drop(form.address.insert(part.to_owned(), value.trim().to_owned())),
                    None if value.is_empty() => {}
                    None => form.filled.push((name.to_owned(), value.into_owned().into())),
                },
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

    /// The credentials of a way.
    pub(super) fn credentials(&self, way: Way<'_>, connector: &Connector) -> TypedCredentials {
        TypedCredentials(way.form(connector).map_or_else(|| "{}".into(), |form| self.members(&form)))
    }

    fn members(&self, form: &CredentialsForm) -> SecretString {
        let member = |CredentialField { name, kind, .. }| {
            let (_, value) = self.filled.iter().find(|(filled, _)| filled == name)?;
            let text = value.expose_secret();
            let value = match kind {
                // The text of a file that is no JSON is refused by the schema.
                FieldKind::File => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
                FieldKind::Text | FieldKind::Secret => json!(text),
            };
            Some((name.to_owned(), value))
        };
        Value::Object(form.fields().filter_map(member).collect()).to_string().into()
    }
}

/// Credentials that a person has typed, as the JSON that POST …/integrations takes.
pub(super) struct TypedCredentials(SecretString);

impl TypedCredentials {
    /// Returns `true` if the form of a way accepts these credentials.
    pub(super) fn fit(&self, way: Way<'_>, connector: &Connector) -> bool {
        let schema = way.form(connector).map(CredentialsForm::schema);
        let schema = schema.and_then(|schema| Schema::compile(&schema.to_string(), false).ok());
        schema.is_some_and(|schema| schema.parse(self.0.expose_secret().as_bytes()).is_ok())
    }

    /// Begins to connect an account with them. See [`connect::begin`].
    pub(super) async fn begin(
        &self,
        gateway: &Gateway,
        connector: &Arc<Connector>,
        way: Way<'_>,
        request: &ConnectRequest,
        arrived: Instant,
    ) -> Result<Begun<Integration>, ConnectError> {
        let credentials = self.0.expose_secret().as_bytes();
        connect::begin(gateway.services(), connector, way, request, credentials, arrived).await
    }
}

#[cfg(test)]
mod tests {
    use contract::AuthAdditions;
    use integrations::KeyForm;
    use store::GrantType;

    use super::*;

    fn credentials(sent: &[u8], form: &CredentialsForm) -> Value {
        serde_json::from_str(Form::parse(sent).members(form).expose_secret()).unwrap()
    }

    #[test]
    fn fields_of_the_way_become_credentials_and_empty_ones_are_left_out() {
        let of_account = CredentialsForm::of(GrantType::ServiceAccount, &AuthAdditions::default());
        let sent = b"connector=mail&key_file=%7B%22client_email%22%3A%22a%22%7D&subject=&client_id=1";
        assert_eq!(credentials(sent, &of_account), json!({"key_file": {"client_email": "a"}}));
        assert_eq!(credentials(b"key_file=hunter2", &of_account), json!({"key_file": "hunter2"}));
        let login = KeyForm::Login.form();
        assert_eq!(credentials(b"username=ann&password=&api_key=1", &login), json!({"username": "ann"}));
    }

    #[test]
    fn a_form_has_a_limited_number_of_fields() {
        let filled = |count: usize| Form::parse("a=b&".repeat(count).as_bytes()).filled.len();
        assert_eq!((filled(MAX_FIELDS), filled(MAX_FIELDS + 1), filled(200_000)), (100, 100, 100));
    }
}
