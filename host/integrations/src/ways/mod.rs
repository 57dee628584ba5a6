//! The ways to connect an account. The auth scheme of a connector is one of them, and the connector
//! may declare more with `auth-additions`.
//!
//! All ways have one flow. `pipeline::connect` runs it, because operations of the connector answer
//! the question of the third stage:
//! 1. **begin**: [`Integrations::begin`] reads the request. A way whose user must decide first
//!    stores an authorization (`authorization`).
//! 2. **exchange**: the way gets the secret of the account.
//! 3. **identify**: the service, or the credentials themselves, say whose account it is.
//! 4. **confirm**: an authorization may wait for the caller's confirmation (`conclude`).
//! 5. **store**: the account is stored (`connect`).
//!
//! `request` has the request that all ways get. Each way is a file, with its first two stages and
//! the members that its request has:
//! - `authorization_code`: the user signs in at the provider, which sends the browser back
//! - `device_code`: the user enters a code on another device
//! - `api_key`: the user has a key
//! - `credentials`: the account brings credentials from which the gateway gets access tokens:
//!   - `client_credentials`: an OAuth client
//!   - `service_account`: the key of a service account
//!   - `app_installation`: the installation of an application

mod api_key;
mod app_installation;
mod authorization_code;
mod client_credentials;
mod credentials;
mod device_code;
mod request;
mod service_account;

use super::credentials_form::CredentialsForm;
use super::{AccountSecret, BeginError, IntegrationError, Integrations, KeyForm, NotConfigured};
use config::Config;
use contract::words::{nearest, shortened};
use contract::{AddressPart, ApiKey, AuthScheme, Oauth2};
use registry::Connector;
use store::{AccountAddress, AuthType, GrantType};

pub(super) use self::credentials::grant_types;
pub(super) use self::request::Member;

pub use self::authorization_code::{NoAuthorization, StartedAuthorization};
pub use self::device_code::{DEVICE_CODE, DeviceStep, StartedDevice};
pub use self::request::{ConnectRequest, Obtained};

use self::request::replace;

/// A way to connect an account of a connector.
#[derive(Clone, Copy, Debug)]
pub enum Way<'a> {
    /// The user signs in at the provider.
    AuthorizationCode(&'a Oauth2),
    /// With a key that the user got from the service.
    ApiKey(&'a ApiKey),
    /// The service needs no secret.
    NoSecret,
    /// With credentials from which the gateway gets access tokens.
    Credentials(GrantType),
    /// With a code that the user enters on another device.
    DeviceCode(&'a Oauth2),
}

/// The first stage of a connection. `T` is the account of a way that needs no more of the user.
pub enum Begun<T> {
    /// The user must sign in at the provider.
    Page(StartedAuthorization),
    /// The user must enter a code on another device.
    Code(StartedDevice),
    /// The user has nothing more to do.
    Done(T),
}

impl<'a> Way<'a> {
    /// The ways of a connector, the one of its scheme first. The gateway does not ask the service
    /// about an account that brings its credentials, so users must know every part of its address.
    pub fn of(connector: &'a Connector, config: &Config) -> Vec<Self> {
        let additions = connector.auth_additions();
        let knows_address = connector.address_parts().iter().all(AddressPart::is_from_user);
        let grants = grant_types(additions).filter(|_| knows_address).map(Self::Credentials);
        let (scheme, device) = match &connector.manifest().auth {
            AuthScheme::Oauth2(scheme) => (
                authorization_code::is_offered(connector, scheme, config).then_some(Self::AuthorizationCode(scheme)),
                additions.device_code.as_ref().map(|_| Self::DeviceCode(scheme)),
            ),
            AuthScheme::ApiKey(scheme) => (Some(Self::ApiKey(scheme)), None),
            AuthScheme::None => (Some(Self::NoSecret), None),
        };
        scheme.into_iter().chain(grants).chain(device).collect()
    }

    /// The way with a name.
    ///
    /// # Errors
    /// A sentence about a name that none of the ways has, with the nearest one.
    pub fn find(ways: &[Self], named: &str) -> Result<Self, String> {
        let found = ways.iter().copied().find(|way| way.name() == named);
        found.ok_or_else(|| unknown_name(named, &ways.iter().map(|way| way.name()).collect::<Vec<_>>()))
    }

    /// The name of the way, the `auth_type` of requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::AuthorizationCode(_) => AuthType::OAuth2.name(),
            Self::ApiKey(_) => AuthType::ApiKey.name(),
            Self::NoSecret => AuthType::None.name(),
            Self::Credentials(grant_type) => grant_type.auth_type(),
            Self::DeviceCode(_) => DEVICE_CODE,
        }
    }

    /// The names of all ways.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        let of_schemes = AuthType::ALL.map(AuthType::name).into_iter();
        of_schemes.chain(GrantType::ALL.map(GrantType::auth_type)).chain([DEVICE_CODE])
    }

    /// The form of the credentials that the request has. `None` if it has none.
    pub fn form(self, connector: &Connector) -> Option<CredentialsForm> {
        match self {
            Self::ApiKey(scheme) => Some(KeyForm::of(scheme, connector.auth_additions()).form()),
            Self::Credentials(grant_type) => Some(CredentialsForm::of(grant_type, connector.auth_additions())),
            Self::AuthorizationCode(_) | Self::DeviceCode(_) | Self::NoSecret => None,
        }
    }

    /// The members of the request that not every way has.
    pub(super) fn members(self, connector: &Connector) -> Vec<Member> {
        match self {
            Self::AuthorizationCode(_) => authorization_code::members(),
            Self::DeviceCode(_) => vec![replace()],
            Self::ApiKey(_) | Self::Credentials(_) | Self::NoSecret => {
                let credentials =
                    |form: CredentialsForm| Member { name: "credentials", schema: form.schema(), is_required: true };
                self.form(connector).map(credentials).into_iter().collect()
            }
        }
    }
}

impl Integrations {
    /// Begins to connect an account. `credentials` is JSON, as the form of the way has it.
    ///
    /// # Errors
    /// If the credentials cannot be used, if settings are missing, if the provider gives nothing,
    /// or if the store or the vault fails.
    pub async fn begin(
        &self,
        connector: &Connector,
        way: Way<'_>,
        request: &ConnectRequest,
        credentials: &[u8],
    ) -> Result<Begun<Obtained>, BeginError> {
        Ok(match way {
            Way::AuthorizationCode(scheme) => Begun::Page(self.begin_authorization(connector, scheme, request).await?),
            Way::DeviceCode(scheme) => Begun::Code(self.begin_device(connector, scheme, request).await?),
            Way::ApiKey(scheme) => Begun::Done(api_key::read(connector, scheme, request, credentials)?),
            Way::Credentials(grant_type) => {
                Begun::Done(self.fetch_tokens(connector, grant_type, request, credentials).await?)
            }
            Way::NoSecret => Begun::Done((AccountSecret::None, None)),
        })
    }

    /// The settings that the operator must make before a user of the tenant can connect an account.
    /// `None` if users can connect one.
    ///
    /// # Errors
    /// If the store or the vault fails.
    pub async fn missing_setup(
        &self,
        tenant: &str,
        connector: &Connector,
    ) -> Result<Option<NotConfigured>, IntegrationError> {
        let AuthScheme::Oauth2(scheme) = &connector.manifest().auth else { return Ok(None) };
        // An account that brings its own credentials needs no client of the gateway.
        if Way::of(connector, &self.config).iter().any(|way| matches!(way, Way::Credentials(_))) {
            return Ok(None);
        }
        let client = self.client_for_new(tenant, connector, scheme).await?;
        let address = connector.example_address(&AccountAddress::new());
        Ok(self.configured_provider(connector, scheme, client, &address).err())
    }
}

fn unknown_name(named: &str, names: &[&str]) -> String {
    let question = nearest(named, names.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
    let question = question.as_deref().unwrap_or(".");
    format!(
        "`{}` is no auth type of this connector{question} The auth types are: {}.",
        shortened(named),
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::unknown_name;

    #[test]
    fn an_unknown_way_is_told_with_the_nearest_one_and_all_of_them() {
        assert_eq!(
            unknown_name("oauth2_device", &["oauth2", "oauth2_device_code"]),
            "`oauth2_device` is no auth type of this connector; did you mean `oauth2_device_code`? \
             The auth types are: oauth2, oauth2_device_code."
        );
        assert_eq!(
            unknown_name("password", &["api_key"]),
            "`password` is no auth type of this connector. The auth types are: api_key."
        );
    }
}
