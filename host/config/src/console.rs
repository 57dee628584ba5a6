//! The keys of the section `console.oidc`.

use url::Url;

use super::client_secret;
use super::declare::Entry;
use super::kind::{Shown, or_empty};
use super::list::List;
use super::section::{Expected, Given, Section};
use super::value;
use auth::OidcSettings;

/// The scope without which a provider sends no ID token.
const OPENID: &str = "openid";

/// The section, which is `None` if its required keys are all empty, as in the example.
pub(super) struct Oidc;

impl Entry<Option<OidcSettings>> for Oidc {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut Option<OidcSettings>) {
        section.section(key, |section| *target = read_oidc(section));
    }

    fn show(&self, list: &mut List, key: &'static str, oidc: &Option<OidcSettings>) {
        let Some(oidc) = oidc else { return };
        list.section(key, |list| show(oidc, list));
    }
}

fn show(oidc: &OidcSettings, list: &mut List) {
    let OidcSettings { issuer, client_id, client_secret, claim, value, scopes, redirect_url, allow_private_network } =
        oidc;
    list.add("issuer", issuer.as_str());
    list.add("client_id", client_id.as_str());
    list.add("client_secret", Shown::Secret(client_secret.is_some()));
    list.add("claim", claim.as_str());
    list.add("value", value.as_str());
    list.add("scopes", scopes.as_slice());
    list.add("redirect_url", redirect_url.as_ref().map(value::shown_url));
    list.add("allow_private_network", *allow_private_network);
}

fn read_oidc(section: &mut Section<'_>) -> Option<OidcSettings> {
    let (mut issuer, mut client_id) = (None, String::new());
    section.value("issuer", &mut issuer, issuer_url);
    value::string().read(section, "client_id", &mut client_id);
    let client_secret = client_secret::read(section);
    let (mut claim, mut claim_value) = (String::new(), String::new());
    value::string().read(section, "claim", &mut claim);
    value::string().read(section, "value", &mut claim_value);
    let mut scopes = vec![OPENID.to_owned()];
    value::strings().read(section, "scopes", &mut scopes);
    let mut redirect_url = None;
    value::optional_endpoint().read(section, "redirect_url", &mut redirect_url);
    let mut allow_private_network = false;
    value::boolean().read(section, "allow_private_network", &mut allow_private_network);

    let required = [
        ("issuer", issuer.is_some()),
        ("client_id", !client_id.is_empty()),
        ("claim", !claim.is_empty()),
        ("value", !claim_value.is_empty()),
    ];
    if required.iter().all(|(_, is_set)| !is_set) && client_secret.is_none() {
        return None;
    }
    for (key, is_set) in required {
        if !is_set {
            let message = "is missing; signing in to the console needs `issuer`, `client_id`, `claim` and `value`";
            section.problem(key, message.to_owned());
        }
    }
    if !scopes.iter().any(|scope| scope == OPENID) {
        section.problem("scopes", "must have \"openid\", without which a provider sends no ID token".to_owned());
    }
    let (url, issuer) = issuer?;
    if url.scheme() == "http" && !allow_private_network {
        let message = "must begin with https://, because with http:// an attacker in the network could sign in; in a private \
                       network, set `allow_private_network`";
        section.problem("issuer", message.to_owned());
    }
    Some(OidcSettings {
        issuer,
        client_id,
        client_secret,
        claim,
        value: claim_value,
        scopes,
        redirect_url,
        allow_private_network,
    })
}

/// The issuer as a URL, and as its text: a provider's name for itself is compared letter by letter.
fn issuer_url(given: &Given<'_>) -> Result<Option<(Url, String)>, Expected> {
    let text = given.string().unwrap_or_default().to_owned();
    Ok(or_empty(value::base_url()).convert(given)?.map(|url| (url, text)))
}
