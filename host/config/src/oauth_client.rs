//! The keys of a section `oauth_clients.NAME`: a registration with an OAuth provider, and an
//! application that users install.

use std::collections::BTreeMap;

use secrecy::SecretString;

use super::client_secret;
use super::declare::Entry;
use super::kind::Shown;
use super::list::List;
use super::private_key::rsa_key;
use super::section::Section;
use super::value;

/// The section of one provider or connector.
#[derive(Clone, Debug, Default)]
pub struct Registration {
    /// The gateway's registration with the provider.
    pub client: Option<OauthClient>,
    /// The gateway's application at a service whose accounts are installations of it.
    pub app: Option<OauthApp>,
    /// The token with which the gateway asks the service about its own application, such as who may see
    /// an event.
    pub app_token: Option<SecretString>,
}

/// The gateway's registration with an OAuth provider.
#[derive(Clone, Debug)]
pub struct OauthClient {
    /// The id that the provider issued.
    pub client_id: String,
    /// `None` for a public client.
    pub client_secret: Option<SecretString>,
}

/// An application that is registered at a service, and that users install there.
#[derive(Clone, Debug)]
pub struct OauthApp {
    /// The id that the service issued.
    pub id: String,
    /// The private key of the application, an RSA key in PEM.
    pub private_key: SecretString,
}

impl From<OauthClient> for Registration {
    fn from(client: OauthClient) -> Self {
        Self { client: Some(client), app: None, app_token: None }
    }
}

/// The sections by their names.
pub(super) struct Registrations;

impl Entry<BTreeMap<String, Registration>> for Registrations {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut BTreeMap<String, Registration>) {
        section.each(key, |name, sections| {
            sections.section(name, |section| {
                let (client, app) = (read_client(section), read_app(section));
                let app_token = client_secret::read_app_token(section);
                if client.is_some() || app.is_some() || app_token.is_some() {
                    target.insert(name.to_owned(), Registration { client, app, app_token });
                }
            });
        });
    }

    fn show(&self, list: &mut List, key: &'static str, registrations: &BTreeMap<String, Registration>) {
        list.section(key, |list| {
            for (name, Registration { client, app, app_token }) in registrations {
                let client_secret = client.as_ref().and_then(|client| client.client_secret.as_ref());
                list.section(name, |list| {
                    list.add("client_id", client.as_ref().map(|client| client.client_id.as_str()));
                    list.add("client_secret", Shown::Secret(client_secret.is_some()));
                    list.add("app_id", app.as_ref().map(|app| app.id.as_str()));
                    list.add("private_key", Shown::Secret(app.is_some()));
                    list.add("app_token", Shown::Secret(app_token.is_some()));
                });
            }
        });
    }
}

/// Reads a registration. Returns `None` if the client's id is empty, as in the example.
fn read_client(section: &mut Section<'_>) -> Option<OauthClient> {
    let mut client_id = String::new();
    value::string().read(section, "client_id", &mut client_id);
    let client_secret = client_secret::read(section);
    if client_id.is_empty() && client_secret.is_some() {
        section.problem("client_id", "is missing, but there is a client secret".to_owned());
    }
    (!client_id.is_empty()).then_some(OauthClient { client_id, client_secret })
}

/// Reads an application that users install at the service. Returns `None` if its id is empty, as in
/// the example.
fn read_app(section: &mut Section<'_>) -> Option<OauthApp> {
    let mut id = String::new();
    value::string().read(section, "app_id", &mut id);
    let private_key = client_secret::read_private_key(section);
    match (id.is_empty(), private_key) {
        (true, None) => None,
        (true, Some(_)) => {
            section.problem("app_id", "is missing, but there is a private key".to_owned());
            None
        }
        (false, None) => {
            section.problem("private_key", "is missing, but there is an `app_id`".to_owned());
            None
        }
        (false, Some(private_key)) => {
            if let Err(error) = rsa_key(&private_key) {
                section.problem("private_key", format!("cannot be used: {error}"));
            }
            Some(OauthApp { id, private_key })
        }
    }
}
