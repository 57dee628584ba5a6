//! The operator's settings for the sign-in at an OpenID provider.

use secrecy::SecretString;
use url::Url;

/// The OpenID provider of the console, and the people who may sign in.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// The provider's name for itself, which is also the beginning of the URL of its description.
    pub issuer: String,
    /// The id that the provider issued to this gateway.
    pub client_id: String,
    /// `None` for a public client.
    pub client_secret: Option<SecretString>,
    /// The claim of the ID token that says who may sign in.
    pub claim: String,
    /// The value that the claim must be, or have in its list.
    pub value: String,
    /// The scopes that are requested.
    pub scopes: Vec<String>,
    /// The URL to which the provider sends browsers back. `None`: the one below `public_url`.
    pub redirect_url: Option<Url>,
    /// `true` if the provider may be at a loopback or private address.
    pub allow_private_network: bool,
}

impl OidcSettings {
    /// The host of the provider, for people.
    pub fn host(&self) -> String {
        Url::parse(&self.issuer).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }
}
