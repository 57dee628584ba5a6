//! The credentials of accounts from which the gateway gets access tokens.

use database::value::{FromValue, Value};

use super::Integration;

/// The kind of credentials that an account brought, and from which the gateway gets its access
/// tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GrantType {
    /// The id and the secret of an OAuth client.
    ClientCredentials,
    /// The key of a service account.
    ServiceAccount,
    /// The id of an installation of an application.
    AppInstallation,
}

impl GrantType {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::ClientCredentials, Self::ServiceAccount, Self::AppInstallation];

    /// The name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClientCredentials => "client_credentials",
            Self::ServiceAccount => "service_account",
            Self::AppInstallation => "app_installation",
        }
    }

    /// The name of the auth type in answers. Accounts of [`AuthType::OAuth2`](crate::AuthType) have
    /// this name in place of `oauth2`.
    pub const fn auth_type(self) -> &'static str {
        match self {
            Self::ClientCredentials => "oauth2_client_credentials",
            Self::ServiceAccount => "oauth2_service_account",
            Self::AppInstallation => "oauth2_app_installation",
        }
    }
}

impl Integration {
    /// The name of the way in which the account was connected, in answers.
    pub fn auth_type_name(&self) -> &'static str {
        self.grant_type.map_or(self.auth_type.name(), GrantType::auth_type)
    }
}

impl FromValue for GrantType {
    fn from_value(value: Value) -> Option<Self> {
        let name = String::from_value(value)?;
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}
